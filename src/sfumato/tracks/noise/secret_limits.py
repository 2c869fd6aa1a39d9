"""What a release made for chosen secrets gives away to adversaries its promise does not speak about.

The design is for one kernel. Beside its promise stand two exact numbers of the same noise Γ, protected points U:

* one unknown place at the points U of a stay, the path going on from it elsewhere like the prior Σ. The other points O
  follow the place by h_O = Σ_OU Σ_UU⁻¹ 1 and stray by the *conditional* P_OO = Σ_OO − Σ_OU Σ_UU⁻¹ Σ_UO, so the loss is
  hᵀ(Γ + P)⁻¹h with h = 1 and P = 0 on U; 1ᵀ(Γ_UU)⁻¹1 alone is no bound where other points are unprotected. A larger
  sd only lowers it (h stays, P grows), a smaller one raises it without limit where Γ_OO is small: the prior's sd is the
  lower limit that is stated. For an offset of the *whole* path h = 1 everywhere;
* every member of a prior class without nugget and offset, each point of U on its own: [K Γ⁻¹ K]_ii, the supremum over
  every sd (`exact_losses`), on a stated grid of length scales.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.units import format_length, plain_number
from sfumato.tracks.losses.exact_losses import DENSE_POINTS, DENSE_SCALES, scales_grid
from sfumato.tracks.priors.classes import PriorClass
from sfumato.tracks.priors.kernels import Constant, Kernel, Product, Scaled, Simple, Sum, White, kernel_named

_FEW_SCALES, _FEW_POINTS = 6, 256  # beyond DENSE_POINTS times
ROUNDED_UP = 1e-6  # more than the jitter of the regression can take away
_FEW_STAYS = 8  # of the longest runs of protected points


def one_place_loss(prior: FloatArray, noise: FloatArray, secrets: Sequence[IntArray], radii: Sequence[float]) -> float:
    """hᵀ(Γ + P)⁻¹h at the largest relative radius: one unknown place at all protected points, or at one run of them."""
    union = np.unique(np.concatenate(list(secrets)))
    stays = [union]
    if len(runs(union)) > 1:
        longest = sorted(runs(union), key=lambda run: run[0] - run[1])[:_FEW_STAYS]
        stays += [np.arange(first, last + 1) for first, last in longest]
    return max(_stay_loss(prior, noise, stay) for stay in stays) * max(radii) ** 2 * (1 + ROUNDED_UP)


def _stay_loss(prior: FloatArray, noise: FloatArray, stay: IntArray) -> float:
    follows, strays = np.ones(len(noise)), np.zeros_like(noise)
    other = np.setdiff1d(np.arange(len(noise)), stay)
    if other.size:
        jitter = 1e-10 * float(np.mean(np.diag(prior)))
        factor = cholesky(prior[np.ix_(stay, stay)] + jitter * np.eye(stay.size), lower=True)
        across = solve_triangular(factor, prior[np.ix_(stay, other)], lower=True)
        follows[other] = across.T @ solve_triangular(factor, np.ones(stay.size), lower=True)
        strays[np.ix_(other, other)] = prior[np.ix_(other, other)] - across.T @ across
    return float(follows @ np.linalg.solve(noise + strays, follows))


def whole_path_loss(noise: FloatArray, radii: Sequence[float]) -> float:
    """1ᵀΓ⁻¹1 at the largest relative radius: an unknown offset of the whole path, every point moved alike."""
    return float(np.linalg.solve(noise, np.ones(len(noise))).sum()) * max(radii) ** 2


def loss_over_class(
    times_s: FloatArray,
    noise: FloatArray,
    secrets: Sequence[IntArray],
    radii: Sequence[float],
    prior_class: PriorClass,
) -> float:
    """The largest loss of a single protected point over the grid of :func:`grid_words`, at its largest radius."""
    union, own = _radius_of_each(secrets, radii)
    scales = DENSE_SCALES
    if times_s.size > DENSE_POINTS:
        scales = _FEW_SCALES
        kept = np.unique(np.linspace(0, union.size - 1, min(union.size, _FEW_POINTS)).round().astype(np.int64))
        union, own = union[kept], own[kept]
    factor = cholesky(noise, lower=True)
    worst = 0.0
    for name in prior_class.kernels:
        for scale in scales_grid(prior_class, scales):
            member = kernel_named(name, length_scale_s=float(scale), sd_m=1.0)
            seen = solve_triangular(factor, member.covariance(times_s, times_s[union]), lower=True, check_finite=False)
            worst = max(worst, float(np.max(np.einsum("ij,ij->j", seen, seen) * own**2)))
    return worst


def _radius_of_each(secrets: Sequence[IntArray], radii: Sequence[float]) -> tuple[IntArray, FloatArray]:
    union = np.unique(np.concatenate(list(secrets)))
    own = np.zeros(union.size)
    for secret, radius in zip(secrets, radii, strict=True):
        places = np.searchsorted(union, secret)
        own[places] = np.maximum(own[places], radius)
    return union, own


def grid_words(points: int) -> str:
    """Which members and points :func:`loss_over_class` tried, in words."""
    if points <= DENSE_POINTS:
        return (
            f"each protected point on its own; every kernel of the class at {DENSE_SCALES} length scales (geometric), "
            "every sd, no nugget, no offset"
        )
    return (
        f"at most {_FEW_POINTS} protected points, each on its own; every kernel of the class at {_FEW_SCALES} length "
        "scales (geometric), every sd, no nugget, no offset"
    )


def kernel_words(kernel: Kernel) -> str:
    """A kernel in a few words, e.g. ``matern32 66 s, sd 123 m + white 1 m``."""
    words = []
    for part in kernel.parts if isinstance(kernel, Sum) else (kernel,):
        scale = f" {plain_number(part.length_scale_s)} s" if isinstance(part, Scaled) else ""
        size = f"sd {format_length(part.sd_m)}" if isinstance(part, Simple) else ""
        words.append(f"{part.to_dict()['kernel']}{scale}{', ' if scale and size else ' '}{size}".strip())
    return " + ".join(words)


def labels_of(secrets: Sequence[IntArray]) -> list[str]:
    """The secrets in words: runs of single points by their ends, groups as groups."""
    single = np.unique(np.concatenate([[-1], *(s for s in secrets if len(s) == 1)])).astype(np.int64)[1:]
    found = []
    for first, last in runs(single) if single.size else []:
        found.append(f"point {first}" if first == last else f"points {first} to {last}, each on its own")
    for secret in secrets:
        if len(secret) > 1:
            parts = [str(a) if a == b else f"{a} to {b}" for a, b in runs(secret)]
            found.append(f"points {', '.join(parts)} together")
    return list(dict.fromkeys(found))


def longest_scale_s(kernel: Kernel) -> float:
    """The longest length scale or period in a kernel, in seconds; a minute where there is none."""
    if isinstance(kernel, Sum | Product):
        return max(
            (longest_scale_s(part) for part in kernel.parts if not isinstance(part, White | Constant)), default=60.0
        )
    return kernel.length_scale_s if isinstance(kernel, Scaled) else getattr(kernel, "period_s", 60.0)


def runs(indices: IntArray) -> list[list[int]]:
    """Indices as [first, last] runs, which keeps windows short."""
    breaks = np.flatnonzero(np.diff(indices) != 1)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    return [[int(a), int(b)] for a, b in zip(firsts, lasts, strict=True)]


def from_runs(written: Sequence[Sequence[int]]) -> IntArray:
    """The indices that :func:`runs` wrote."""
    found: IntArray = read_only(np.concatenate([np.arange(a, b + 1) for a, b in written]), np.int64)
    return found
