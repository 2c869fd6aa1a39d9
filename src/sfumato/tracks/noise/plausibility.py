"""Could these positions hold the noise that is stated? A one-sided test that a true release fails once in 10,000.

A release is y = x + z with the path x, whatever it is, and noise z of a stated law. A path that was never protected, or
was smoothed afterwards, moves less from point to point than noise alone would.

*Gaussian noise.* The path is unknown, so only directions in which it cannot hide noise are of use, and in each of them
it can only add. Two looks, each a p-value; the smaller one, doubled, is the answer (Bonferroni):

* as a whole: with Γ the covariance at the released times and the mean left free, S = min_m (y-m)ᵀΓ⁻¹(y-m) summed
  over both coordinates is noncentral χ² with 2(n-1) degrees of freedom, stochastically larger than the central one
  whatever x is, so F(S) with the central F is a p-value. A fast path hides the noise from it;
* from point to point: in windows of five moments or a few more, what is left of y after the best straight line of each
  window. Where people go straight or stand, nothing of the path is in it. With C the rows of these contrasts and
  LLᵀ = CΓCᵀ, e = L⁻¹Cy has independent coordinates N(c, 1), and |N(c, 1)| is stochastically larger than |N(0, 1)|. So
  T = -Σ log P(|N(0, 1)| ≤ |e|) is stochastically smaller than a gamma variable of as many degrees as coordinates
  (Fisher's sum). A coordinate that the path dominates adds nothing to T, and so takes nothing from it: a stop at a
  light speaks however fast the ride is. In up to sixteen stretches of a hundred moments, p times their number.

Snapping to a grid of step s moves e_i by at most (s/2) Σ_j |L⁻¹C|_ij, and √S by at most √(2n) (s/2)/√λ, λ the least
eigenvalue of Γ: both are added before a p-value is taken, toward letting it pass.

*Planar Laplace noise.* One coordinate of the difference of two draws is the sum of three Laplace variables of scale
1/ε: P(|D| > u/ε) = e^{-u}(8+5u+u²)/8. It is symmetric and unimodal, so |D + c| is stochastically larger than |D|
[Anderson1955]; -Σ log P(|D| ≤ |d|) over disjoint pairs is stochastically smaller than a gamma variable.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, distinct, whitening
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import innovations, is_markov, markov_form

REFUSED_BELOW = 1e-4
PLANE_SLACK = 0.01  # metres of a path laid out in a plane, relative
DENSE_TIMES = 300
WINDOW, STRETCH, MOST_STRETCHES = 5, 100, 16
FINEST_GRID_M = 1e-3  # positions are written no finer
_COARSEST = 0.5  # half a step of the grid, in units of the least standard deviation tested


def gaussian_plausibility(
    kernel: Kernel, times_s: FloatArray, positions_m: FloatArray, *, snap_m: float
) -> float | None:
    """A bound on how often true noise of this law looks as smooth as these (n, 2) positions; None: cannot be told."""
    times, back = distinct(times_s)
    if times.size < 2:
        return None
    first = np.zeros(times.size, dtype=np.int64)
    first[back[::-1]] = np.arange(len(back))[::-1]
    path = positions_m[first] - positions_m[first].mean(axis=0)
    found = plausibilities(kernel, times, path[:, :, None], snap_m=snap_m)
    return None if found is None else float(found[0])


def plausibilities(kernel: Kernel, times_s: FloatArray, paths_m: FloatArray, *, snap_m: float) -> FloatArray | None:
    """The same for many paths (n, 2, paths) at the same distinct sorted times, with all that they share done once."""
    looks = [_as_a_whole(kernel, times_s, paths_m, snap_m), _from_point_to_point(kernel, times_s, paths_m, snap_m)]
    told = [look for look in looks if look is not None]
    return np.minimum(1.0, len(looks) * np.min(told, axis=0)) if told else None


def _as_a_whole(kernel: Kernel, times: FloatArray, paths: FloatArray, snap_m: float) -> FloatArray | None:
    """F(S) of every path."""
    n, _, count = paths.shape
    form = markov_form(kernel) if is_markov(kernel) else None
    white = 0.0 if form is None else form.white_m2
    if white > 0 and _fine(snap_m, white):
        known = innovations(times, np.hstack([paths.reshape(n, -1), np.ones((n, 1))]), kernel)
        ones = known[:, -1]
        each = np.sum(known[:, :-1] ** 2, axis=0) - (known[:, :-1].T @ ones) ** 2 / (ones @ ones)
        squares, freedom, least, points = each.reshape(2, count).sum(axis=0), n - 1, white, n
    else:
        found = _dense(kernel, times, paths, snap_m)
        if found is None:
            return None
        squares, freedom, least, points = found
    if not np.all(np.isfinite(squares)):
        return None
    grid = math.sqrt(2 * points / least) * snap_m / 2
    reach = (1 + PLANE_SLACK) * np.sqrt(np.maximum(squares, 0.0)) + grid
    return np.asarray(scipy.special.chdtr(2 * freedom, reach**2))


def _from_point_to_point(kernel: Kernel, times: FloatArray, paths: FloatArray, snap_m: float) -> FloatArray | None:
    """Fisher's sum of what is left after a straight line in each window, in every stretch; p times their number."""
    found = []
    for stretch in _stretches(times.size):
        looks = _contrasts(times[stretch])
        if looks is None:
            continue
        root = whitening(looks @ kernel.covariance(times[stretch]) @ looks.T)
        if root is None:
            continue
        whitened = root @ looks
        moved = np.sum(np.abs(whitened), axis=1)[:, None, None] * max(snap_m, FINEST_GRID_M) / 2
        sizes = (1 + PLANE_SLACK) * np.abs(np.tensordot(whitened, paths[stretch], axes=1)) + moved
        terms = -np.log(np.maximum(scipy.special.erf(sizes / math.sqrt(2)), 1e-300))
        found.append(scipy.special.gammaincc(2 * len(whitened), terms.sum(axis=(0, 1))))
    return np.minimum(1.0, len(found) * np.min(found, axis=0)) if found else None


def _stretches(points: int) -> list[slice]:
    """At most sixteen runs of a hundred moments, from the first to the last."""
    if points <= STRETCH:
        return [slice(0, points)]
    starts = np.linspace(0, points - STRETCH, min(MOST_STRETCHES, -(-points // STRETCH))).astype(np.int64)
    return [slice(int(start), int(start) + STRETCH) for start in starts]


def _contrasts(times: FloatArray) -> FloatArray | None:
    """Orthonormal rows, (rows, n), that no straight line in any window of five moments or a few more is seen by."""
    if times.size < 3:
        return None
    rows, last = np.zeros((times.size, times.size)), 0
    for window in np.array_split(np.arange(times.size), max(1, times.size // WINDOW)):
        span = times[window] - times[window].mean()
        basis, _ = np.linalg.qr(np.stack([np.ones(window.size), span / np.abs(span).max()], axis=1), mode="complete")
        rows[last : last + window.size - 2, window] = basis[:, 2:].T
        last += window.size - 2
    return rows[:last]


def _fine(snap_m: float, least_m2: float) -> bool:
    return snap_m / 2 <= _COARSEST * math.sqrt(least_m2)


def _dense(
    kernel: Kernel, times_s: FloatArray, paths_m: FloatArray, snap_m: float
) -> tuple[FloatArray, int, float, int] | None:
    """(S, directions, least variance, points) in directions of at most 300 points that the grid does not drown."""
    covariance_of_each = np.diag(kernel.covariance(times_s)) if times_s.size <= DENSE_TIMES else None
    if covariance_of_each is None:
        chosen = np.unique(np.linspace(0, times_s.size - 1, DENSE_TIMES).astype(np.int64))
    else:
        chosen = np.flatnonzero(covariance_of_each > 0)
    if chosen.size < 2:
        return None
    covariance = kernel.covariance(times_s[chosen])
    centre = np.eye(chosen.size) - 1.0 / chosen.size
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    least = (snap_m / 2 / (0.1 * _COARSEST)) ** 2 + 1e-10 * float(values[-1])
    used = values > least
    if not used.any():
        return None
    along = np.tensordot(vectors[:, used].T, paths_m[chosen], axes=1)
    return np.sum(along**2 / values[used][:, None, None], axis=(0, 1)), int(np.count_nonzero(used)), least, chosen.size


def laplace_plausibility(
    epsilon_per_m: float, times_s: FloatArray, positions_m: FloatArray, *, snap_m: float
) -> float | None:
    """The same for independent planar Laplace noise, over disjoint pairs of neighbours, one coordinate of each."""
    times, back = distinct(times_s)
    pairs = times.size // 2
    if pairs == 0 or snap_m * epsilon_per_m > _COARSEST:
        return None
    first = np.zeros(times.size, dtype=np.int64)
    first[back[::-1]] = np.arange(len(back))[::-1]
    path = positions_m[first][: 2 * pairs]
    step = np.abs(path[1::2] - path[::2])[np.arange(pairs), np.arange(pairs) % 2]
    u = epsilon_per_m * ((1 + PLANE_SLACK) * step + snap_m)
    below = -np.expm1(-u) - np.exp(-u) * (5 * u + u**2) / 8
    return float(scipy.special.gammaincc(pairs, -np.sum(np.log(np.maximum(below, 1e-300)))))
