"""One door to every design: times, secrets and kernels in, a certified noise covariance out.

``design`` picks by ``method``: ``joint`` and ``block`` are the closed forms for one secret, ``convex`` the optimum for
any set of secrets, ``minimax`` the same against several priors at once, ``prior-shaped`` noise for every point, and
``published``, ``uniform``, ``concentrated`` the baselines of [Meehan2021].

*Both coordinates at once.* Stack them, X = (x_1..x_n, y_1..y_n): a time i is the pair {i, n+i}, and hypotheses about
that place that differ by at most r in the plane have loss exactly r²·λ_max(J) of the pair. Independent axes are a
block-diagonal prior (an optimal Γ is then block-diagonal too: averaging Γ with its sign-flipped copy raises no loss);
correlated ones bring their cross-covariance. All convex designs apply unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, Solved, finite, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.designs import published
from sfumato.tracks.designs.convex import NUGGET, design_within, least_loss, least_noise
from sfumato.tracks.designs.exact_designs import block, block_compound, joint, one_compound
from sfumato.tracks.designs.noise_design import (
    MOST_RATIO,
    NoiseDesign,
    checked_budget,
    checked_secrets,
    losses_of,
)
from sfumato.tracks.losses.gaussian_loss import checked_prior
from sfumato.tracks.secret import Secret, SecretRule, resolve

if TYPE_CHECKING:
    from sfumato.tracks.priors.kernels import Kernel

METHODS = ("joint", "block", "published", "uniform", "concentrated", "convex", "minimax", "prior-shaped")
CONVEX = ("convex", "minimax")
MINIMAX_GAP = 1e-3


def default_nugget(method: str) -> float:
    """White variance added to the prior, as a share of its variance: none for closed forms, 1e-6 for convex ones."""
    return NUGGET if method in CONVEX else 0.0


def design(
    times_s: npt.ArrayLike,
    secrets: SecretRule | Sequence[SecretRule],
    kernels: Kernel | Sequence[Kernel],
    *,
    budget: float | None = None,
    targets: Sequence[float] | None = None,
    method: str = "convex",
    nugget: float | None = None,
    gap: float | None = None,
    lat_deg: FloatArray | None = None,
    lon_deg: FloatArray | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solved[NoiseDesign]:
    """Noise for the secrets of a trace: the least worst loss at ``budget`` = tr Γ, or the least noise for ``targets``.

    With both, the least noise for the targets if it fits the budget; otherwise the error says the least that works.
    Secrets may bring their own: ``target_loss`` (all of them or none) stands for ``targets``; with different
    ``radius_m`` (all or none) the least of max λ_max(J_S)·(radius/largest radius)² is sought.

    Several ``kernels`` are a class: the design's losses are the worst over it, whatever it was designed for
    (``minimax`` and ``convex`` for all of them, the others for the last one: give the smoothest last).
    ``nugget`` is a share of the prior variance (default: :func:`default_nugget`); ``gap`` defaults to 1e-6, for minimax
    to 1e-3, which takes seconds where 1e-6 takes minutes. ``published`` noise for several secrets is brought to the
    budget (each SDP_A gets as much less); as published it exceeds it: :func:`published.multiple_secrets`.
    """
    times = finite(times_s, "times_s", dimensions=1)
    found = resolve(secrets, times, lat_deg=lat_deg, lon_deg=lon_deg)
    share = default_nugget(method) if nugget is None else float(nugget)
    if not 0 <= share <= MOST_RATIO:
        raise InputError(f"The nugget is {share:g}.", f"It is a share of the prior variance, 0 .. {MOST_RATIO:g}.")
    members = tuple(kernels) if isinstance(kernels, Sequence) else (kernels,)
    if not members:
        raise InputError("No kernel was given.", "Give at least one.")
    priors = [k.covariance(times) + share * k.variance_m2 * np.eye(times.size) for k in members]
    own = _all_or_none([s.target_loss for s in found], "target loss")
    if own and targets is not None:
        raise InputError("The secrets bring their own target losses, and others were given.", "Give them once.")
    reached = gap if gap is not None else (MINIMAX_GAP if method == "minimax" else 1e-6)
    return design_for(
        priors,
        found,
        budget=budget,
        targets=own or targets,
        method=method,
        nugget=share,
        gap=reached,
        progress=progress,
    )


def _all_or_none(values: Sequence[float | None], name: str) -> list[float]:
    given = [float(v) for v in values if v is not None]
    if given and len(given) < len(values):
        raise InputError(
            f"{len(given)} of {len(values)} secrets have a {name} of their own.",
            f"Give every secret a {name}, or none.",
        )
    return given


def design_for(
    priors: Sequence[npt.ArrayLike],
    secrets: Sequence[Secret],
    *,
    budget: float | None,
    targets: Sequence[float] | None,
    method: str,
    nugget: float = 0.0,
    gap: float = 1e-6,
    progress: Callable[[float], None] | None = None,
) -> Solved[NoiseDesign]:
    """:func:`design` for covariances already made."""
    if method not in METHODS:
        raise InputError(f"There is no method '{method}'.", f"Choose from {', '.join(METHODS)}.")
    if budget is None and targets is None:
        raise InputError("Neither a budget nor targets were given.", "A budget fixes the noise, targets the losses.")
    if len(priors) == 0:
        raise InputError("No prior was given.", "Give a covariance, or several at the same times.")
    indices = checked_secrets([s.indices for s in secrets], len(np.asarray(priors[0])))
    radii = tuple(_all_or_none([s.radius_m for s in secrets], "radius"))
    weights = [(max(radii) / r) ** 2 for r in radii] if len(set(radii)) > 1 else None
    solved = _chosen(priors, indices, budget, targets, weights, method, nugget, gap, progress)
    return replace(solved, value=replace(solved.value, radii=radii)) if radii else solved


def _chosen(
    priors: Sequence[npt.ArrayLike],
    indices: tuple[npt.NDArray[np.int64], ...],
    budget: float | None,
    targets: Sequence[float] | None,
    weights: list[float] | None,
    method: str,
    nugget: float,
    gap: float,
    progress: Callable[[float], None] | None,
) -> Solved[NoiseDesign]:
    if targets is not None:
        wanted = list(targets) * len(indices) if len(targets) == 1 else list(targets)
        if method in CONVEX or (method == "joint" and len(indices) == 1):
            if budget is not None:
                return design_within(list(priors), indices, budget=budget, targets=wanted, gap=gap, nugget=nugget)
            return least_noise(list(priors), indices, targets=wanted, gap=gap, nugget=nugget, progress=progress)
        raise InputError(f"The method {method} does not take targets.", "Use convex or minimax, or give a budget.")
    assert budget is not None
    if method in CONVEX:
        return least_loss(
            list(priors), indices, budget=budget, targets=weights, gap=gap, nugget=nugget, progress=progress
        )
    if weights is not None and method not in ("uniform", "prior-shaped"):
        raise InputError(f"The method {method} does not weigh secrets by their radii.", "Use convex or minimax.")
    solved = _at_budget(np.asarray(priors[-1], dtype=np.float64), indices, budget, method, nugget)
    return solved if len(priors) == 1 else _over_class(solved, priors)


def _at_budget(
    prior: FloatArray, secrets: tuple[npt.NDArray[np.int64], ...], budget: float, method: str, nugget: float
) -> Solved[NoiseDesign]:
    started = time.perf_counter()
    if method in ("joint", "block"):
        if len(secrets) != 1:
            raise InputError(
                f"The method {method} is for one secret; {len(secrets)} were given.", "Use the method convex."
            )
        one = secrets[0]
        if method == "joint":
            return (
                joint(prior, int(one[0]), budget=budget, nugget=nugget)
                if len(one) == 1
                else one_compound(prior, one, budget=budget, nugget=nugget)
            )
        solved = (
            block(prior, int(one[0]), budget=budget, nugget=nugget)
            if len(one) == 1
            else block_compound(prior, one, budget=budget, nugget=nugget)
        )
    elif method == "published":
        solved = (
            published.sdp_a(prior, secrets[0], budget=budget, nugget=nugget)
            if len(secrets) == 1
            else _published_within(prior, secrets, budget, nugget)
        )
    elif method == "prior-shaped":
        checked_budget(budget, prior)
        noise = read_only(prior * (budget / float(np.trace(prior))))
        basic = all(len(s) == 1 for s in secrets)
        # V = o/(σ²+o)·Σ, so J_i = tr Σ/(B·Σ_ii) exactly, however ill-conditioned Σ is.
        known = read_only([np.trace(prior) / (budget * prior[s[0], s[0]]) for s in secrets]) if basic else None
        solved = Solved(NoiseDesign(noise, (prior,), secrets, method, nugget, known_losses=known), "exact")
    else:
        maker = published.uniform if method == "uniform" else published.concentrated_noise
        solved = Solved(maker(prior, secrets, budget=budget, nugget=nugget), "exact")
    seconds = time.perf_counter() - started
    loss = float(np.max(solved.value.losses()))
    return _beside_optimum(solved, loss, seconds)


def _published_within(
    prior: FloatArray, secrets: tuple[npt.NDArray[np.int64], ...], budget: float, nugget: float
) -> Solved[NoiseDesign]:
    """Multiple Secrets with each SDP_A's share of the budget lowered until the noise that results has this trace.

    For single times SDP_A and SDP_B are linear in the budget, so one rescaling is exact; with compound secrets SDP_A is
    not, and the algorithm runs once more at the lower budget before the rest is scaled away.
    """
    checked_budget(budget, prior)
    found = published.multiple_secrets(prior, secrets, budget=budget, nugget=nugget)
    if any(len(s) > 1 for s in secrets):
        found = published.multiple_secrets(prior, secrets, budget=budget**2 / found.value.trace, nugget=nugget)
    value = found.value
    noise = read_only(value.noise_covariance * (budget / value.trace))
    return replace(found, value=replace(value, noise_covariance=noise))


def _beside_optimum(solved: Solved[NoiseDesign], loss: float, seconds: float) -> Solved[NoiseDesign]:
    """The certified gap of a design that is not optimal, where the optimum at its trace is closed form."""
    value = solved.value
    bound: float | None = None
    every = len(value.secrets) == len(value.noise_covariance) and all(len(s) == 1 for s in value.secrets)
    if len(value.secrets) == 1 or (every and np.ptp(np.diag(value.priors[0])) == 0):
        bound = least_loss(value.priors[0], value.secrets, budget=value.trace).lower_bound
    gap = None if bound is None or not np.isfinite(loss) else max((loss - bound) / loss, 0.0)
    return Solved(value, solved.status, solved.steps, gap, loss, bound, seconds)


def _over_class(solved: Solved[NoiseDesign], priors: Sequence[npt.ArrayLike]) -> Solved[NoiseDesign]:
    value = solved.value
    members = tuple(np.asarray(p, dtype=np.float64) for p in priors)
    known = losses_of(members, value.noise_covariance, value.secrets)
    whole = NoiseDesign(value.noise_covariance, members, value.secrets, value.method, value.nugget, value.jitter, known)
    return Solved(whole, solved.status, solved.steps, None, float(np.max(known)), None, solved.seconds)


def stacked_prior(prior_x: npt.ArrayLike, prior_y: npt.ArrayLike, cross: npt.ArrayLike | None = None) -> FloatArray:
    """The (2n, 2n) covariance of (x, y); ``cross`` is Cov(x_i, y_j), (n, n), absent for independent axes."""
    east, north = finite(prior_x, "The prior of x", dimensions=2), finite(prior_y, "The prior of y", dimensions=2)
    if east.shape != north.shape:
        raise InputError("The two axes have different numbers of points.", "Give both at the same times.")
    between = np.zeros_like(east) if cross is None else finite(cross, "The cross-covariance", dimensions=2)
    if between.shape != east.shape:
        raise InputError("The cross-covariance does not fit the axes.", "Give Cov(x_i, y_j) as (n, n).")
    return checked_prior(np.block([[east, between], [between.T, north]]), "The prior of both axes together")


def stacked_secrets(secrets: Sequence[npt.ArrayLike], count: int) -> tuple[IntArray, ...]:
    """Each time i as the pair {i, count + i}."""
    return tuple(read_only(np.concatenate([s, s + count]), np.int64) for s in checked_secrets(secrets, count))


def least_loss_two_axes(
    prior_x: npt.ArrayLike,
    prior_y: npt.ArrayLike,
    secrets: Sequence[npt.ArrayLike],
    *,
    budget: float,
    cross: npt.ArrayLike | None = None,
    targets: Sequence[float] | None = None,
    gap: float = 1e-6,
) -> Solved[NoiseDesign]:
    """Least worst loss for secret places; ``budget`` is the trace over both axes."""
    prior = stacked_prior(prior_x, prior_y, cross)
    pairs = stacked_secrets(secrets, len(prior) // 2)
    solved = least_loss(prior, pairs, budget=budget, targets=targets, gap=gap)
    return replace(solved, value=replace(solved.value, axes=2))
