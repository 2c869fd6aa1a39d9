"""Could these positions hold the noise that is stated? A one-sided test that a true release fails once in 10,000.

A release is y = x + z with the path x, whatever it is, and noise z of a stated law. A path that was never protected, or
was smoothed afterwards, moves less from point to point than noise alone would.

*Gaussian noise.* With Γ the covariance at the released times and the mean left free, S = min_m (y-m)ᵀΓ⁻¹(y-m) summed
over both coordinates is noncentral χ² with 2(n-1) degrees of freedom. The noncentral law is stochastically larger than
the central one whatever x is, so P(S ≤ s) ≤ F(s) with F the central distribution function: F(S) is a p-value. Snapping
to a grid of step s moves √S by at most √(2n) (s/2)/√λ, λ the least eigenvalue of Γ, which is added before F is taken.

*Planar Laplace noise.* One coordinate of the difference of two draws is the sum of three Laplace variables of scale
1/ε: P(|D| > u/ε) = e^{-u}(8+5u+u²)/8. It is symmetric and unimodal, so |D + c| is stochastically larger than |D|
[Anderson1955]; -Σ log P(|D| ≤ |d|) over disjoint pairs is stochastically smaller than a gamma variable.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from sfumato.arrays import FloatArray, distinct
from sfumato.priors.kernels import Kernel
from sfumato.priors.statespace import is_markov, markov_form, whitened_products

REFUSED_BELOW = 1e-4
PLANE_SLACK = 0.01  # metres of a path laid out in a plane, relative
DENSE_TIMES = 300
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
    form = markov_form(kernel) if is_markov(kernel) else None
    white = 0.0 if form is None else form.white_m2
    if white > 0 and _fine(snap_m, white):
        columns = np.hstack([path, np.ones((times.size, 1))])

        products = whitened_products(times, columns, kernel)
        squares = sum(float(products[k, k] - products[k, 2] ** 2 / products[2, 2]) for k in (0, 1))
        freedom, least, points = times.size - 1, white, times.size
    else:
        found = _dense(kernel, times, path, snap_m)
        if found is None:
            return None
        squares, freedom, least, points = found
    if not math.isfinite(squares):
        return None
    grid = math.sqrt(2 * points / least) * snap_m / 2
    reach = (1 + PLANE_SLACK) * math.sqrt(max(squares, 0.0)) + grid
    return float(scipy.special.chdtr(2 * freedom, reach**2))


def _fine(snap_m: float, least_m2: float) -> bool:
    return snap_m / 2 <= _COARSEST * math.sqrt(least_m2)


def _dense(
    kernel: Kernel, times_s: FloatArray, path_m: FloatArray, snap_m: float
) -> tuple[float, int, float, int] | None:
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
    along = vectors[:, used].T @ path_m[chosen]
    return float(np.sum(along**2 / values[used][:, None])), int(np.count_nonzero(used)), least, chosen.size


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
