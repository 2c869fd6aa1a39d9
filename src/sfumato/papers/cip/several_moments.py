"""How much several moments together can give away, and the worst of all sets of moments that contain a given one.

[Meehan2020, Sec. 2]: protecting a point truly means protecting every subsequence that contains it, "exponential in the
number of points". Here they are enumerated, exactly, for short traces. The worst set is neither the point alone nor the
whole trace: a wild hypothesis about several moments of a smooth path is, by regression, a wilder one about the others,
which their noise does not hide. So no fixed noise keeps every subsequence of a smooth prior at the loss of one moment;
what is promised must name the sets.

The largest ΔᵀJΔ over the moves an adversary compares: J is the loss matrix of a compound secret
(:func:`sfumato.tracks.losses.gaussian_loss.loss_matrix`). The hypotheses differ by at most r at *each* location. All
values here are per unit radius: multiply by r² for μ².

* Bound: ‖Δ‖² ≤ |S| r² gives |S| λ_max(J) [Meehan2021, Sec. 3].
* Exact, one coordinate: ΔᵀJΔ is convex, so its maximum over the box |Δ_k| ≤ 1 is at a sign vector.
* Two independent coordinates, Δ_{x,k}² + Δ_{y,k}² ≤ 1: for one point max(J_x, J_y); for several it can exceed both
  one-coordinate maxima, up to their sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.errors import InputError
from sfumato.tracks.losses.gaussian_loss import checked_pair, loss_matrix


@dataclass(frozen=True, slots=True, eq=False)
class WorstSubsequence:
    """The set with the largest exact loss (over |Δ_k| <= 1), its loss, that of the point alone, and how many sets."""

    indices: IntArray
    loss: float
    alone: float
    examined: int


def worst_subsequence(prior: npt.ArrayLike, noise: npt.ArrayLike, point: int) -> WorstSubsequence:
    """Every subsequence that contains ``point``, exactly: 2^(n-1) sets, so short traces only."""
    sigma, gamma = checked_pair(prior, noise)
    n = len(sigma)
    if n > (most := 12):
        raise InputError(f"{n} points have {2 ** (n - 1)} subsequences.", f"Enumerate at most {most} points.")
    if not 0 <= point < n:
        raise InputError(f"There is no point {point}.", f"The points are 0 .. {n - 1}.")
    others = [i for i in range(n) if i != point]
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    examined = 0
    for size in range(n):
        for chosen in combinations(others, size):
            indices = tuple(sorted((point, *chosen)))
            loss = compound_loss_exact(loss_matrix(sigma, gamma, list(indices)))
            examined += 1
            best = max(best, (loss, indices))
    alone = compound_loss_exact(loss_matrix(sigma, gamma, [point]))
    return WorstSubsequence(np.array(best[1], dtype=np.int64), best[0], alone, examined)


@dataclass(frozen=True, slots=True)
class Approach:
    """One of the instinctual approaches of [Meehan2021, Sec. 1]: what the same noise promises under it, order λ."""

    name: str
    neighbours: str
    epsilon: float
    noise_sd_for_epsilon_1: float


def approaches(
    *, points: int, noise_variance: float, radius: float, domain: float, order: float = 5.0, together: int | None = None
) -> list[Approach]:
    """Approaches A, B and C for independent Gaussian noise of this variance, as Rényi divergences of order λ.

    A: any two whole traces in a domain of this width (λ/2 · n D²/σ²). B: any one location in it, and k of them together
    kε (λ/2 · k D²/σ²). C (geo-indistinguishability): one location within ``radius`` (λ/2 · r²/σ²). Beside each, the
    noise (sd per point) that would make its ε equal to 1. None looks at how the points depend on one another.
    """
    k = points if together is None else together
    if not 1 <= points <= 10**12 or not 1 <= k <= points:
        raise InputError(f"{points} points, {k} of them together.", "Give at least 1, together at most all.")
    half = positive(order, "order", at_most=1e100) / 2
    variance = positive(noise_variance, "noise_variance")
    if variance < 1e-100 or max(domain, radius) > 1e50:
        raise InputError("Doubles do not suffice for these lengths.", "Use another unit.")
    squares = {
        "A: LDP for the whole trace": ("any two traces in the domain", points * positive(domain, "domain") ** 2),
        "B: LDP for each location": ("any one location in the domain", domain**2),
        f"B: {k} dependent locations": (f"any {k} locations in the domain", k * domain**2),
        "C: geo-indistinguishability": ("one location within the radius", positive(radius, "radius") ** 2),
    }
    return [
        Approach(name, words, half * square / variance, (half * square) ** 0.5)
        for name, (words, square) in squares.items()
    ]


def axes_loss(prior: npt.ArrayLike, noise: npt.ArrayLike, point: int, *, correlation: float) -> tuple[float, float]:
    """(loss if the axes were independent, exact loss) of one moment when both axes share a kernel and correlate by ρ.

    X = path ⊗ R, R = [[1, ρ], [ρ, 1]], noise independent between axes. In the eigenbasis of R the two coordinates are
    independent with variances 1 ± ρ, so the exact loss is the larger of the two with the prior scaled by 1 ± ρ.
    """
    if not -1 < correlation < 1:
        raise InputError(f"The correlation is {correlation:g}.", "It lies strictly between -1 and 1.")
    sigma, _ = checked_pair(prior, noise)
    losses = [
        float(loss_matrix(scale * sigma, noise, [point])[0, 0]) for scale in (1.0, 1 + correlation, 1 - correlation)
    ]
    return losses[0], max(losses[1:])


_LARGEST_ENUMERATION = 20


def compound_loss_bound(loss: FloatArray) -> float:
    """|S| λ_max(J), an upper bound for one coordinate; infinite where the loss is."""
    if not np.all(np.isfinite(loss)):
        return math.inf
    return len(loss) * max(float(np.linalg.eigvalsh(loss)[-1]), 0.0)


def _signs(count: int) -> FloatArray:
    """All 2^count sign vectors, (2^count, count)."""
    codes = np.arange(1 << count)[:, None] >> np.arange(count)[None, :]
    return np.where(codes & 1, -1.0, 1.0)


def compound_loss_exact(loss: FloatArray) -> float:
    """max ΔᵀJΔ over |Δ_k| ≤ 1, by enumerating sign vectors in two halves; at most 20 locations."""
    size = len(loss)
    if size > _LARGEST_ENUMERATION:
        raise InputError(
            f"The secret has {size} locations; the exact maximum is enumerated up to {_LARGEST_ENUMERATION}.",
            "Use compound_loss_bound, or split the secret.",
        )
    if not np.all(np.isfinite(loss)):
        return math.inf
    half = len(loss) // 2
    # Δ and -Δ give the same value, so the last sign is fixed.
    first, second = _signs(half), _signs(len(loss) - half)
    second = second[second[:, -1] > 0]
    own_first = np.einsum("ij,jk,ik->i", first, loss[:half, :half], first)
    own_second = np.einsum("ij,jk,ik->i", second, loss[half:, half:], second)
    cross = first @ loss[:half, half:] @ second.T
    values = own_first[:, None] + own_second[None, :] + 2 * cross
    return float(values.max())
