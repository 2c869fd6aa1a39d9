"""A periodic prior learned from values at any times: the length scale, the period, the spread and the nugget.

    k(d) = σ² exp(-2 sin²(π d / p) / l²) + τ² (d = 0)        [Meehan2021, Sec. 5]

The periodic kernel is a sum of lines, σ² Σ_m c_m cos(2π m d / p) with c_m = 2 e^(-1/l²) I_m(1/l²)
(:meth:`.kernels.Periodic.spectral_lines`), so with F = [√c_m cos(ω_m t), √c_m sin(ω_m t)] the covariance
is σ²(F Fᵀ + ρI), ρ = τ²/σ². One thin singular value decomposition of F gives the likelihood for every ρ: O(n r²) for r
lines, at any timestamps, without an n x n matrix. The variance is profiled out and ρ searched inside.

Periods from four usual gaps to two thirds of the span are tried by regression on three harmonics, the best are scored
by their likelihood at several length scales, and the best of those polished. A period shorter than the sampling
resolves would alias to anything, so p l / 2π, the time over which values are alike, must be at least half the usual gap
(``resolved``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import Periodic

LENGTH_SCALES = (0.01, 100.0)
"""The length scale is a pure number: how much of the period two moments may be apart and still be alike."""
_RATIOS = np.exp(np.linspace(math.log(1e-10), math.log(1e4), 57))


@dataclass(frozen=True, slots=True)
class PeriodicFit:
    """The best length scale (a pure number), period (s), spread and nugget (unit of the values) and log-likelihood."""

    length_scale: float
    period_s: float
    sd: float
    nugget: float
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class Assumed:
    """Spread and white spread taken for known, as in an experiment that scales every trace to unit variance."""

    sd: float
    white_sd: float


def fit_periodic(
    times_s: FloatArray,
    values: FloatArray,
    *,
    periods_s: tuple[float, float] | None = None,
    length_scales: tuple[float, float] = (0.05, 20.0),
    assumed: Assumed | None = None,
    resolved: bool = True,
) -> PeriodicFit:
    """The maximum likelihood of (n, coordinates) values around 0, the same kernel for every coordinate.

    ``periods_s`` limits the search (default: four usual gaps to two thirds of the span).
    ``resolved=False`` also admits kernels that the sampling cannot tell from noise.
    """
    low, high = length_scales
    if not LENGTH_SCALES[0] <= low < high <= LENGTH_SCALES[1]:
        raise InputError(f"Length scales from {low:g} to {high:g}.", "They lie in .01 .. 100, shortest first.")
    span = float(times_s[-1] - times_s[0])
    gaps = np.diff(times_s)
    usual = float(np.median(gaps[gaps > 0]))
    shortest, longest = (4 * usual, span / 1.5) if periods_s is None else periods_s
    least = math.log(math.pi * usual) if resolved else -math.inf  # of log(period) + log(length scale)
    if not 0 < shortest < longest:
        raise InputError(
            f"No period between {shortest:g} and {longest:g} s can be found in {span:g} s.",
            "Give values over more than two periods.",
        )
    candidates = _likely_periods(times_s, values, shortest, longest, span)

    def score(log_length: float, log_period: float) -> tuple[float, float, float]:
        if log_length + log_period < least:
            return math.inf, 1.0, 1.0
        return _profile(times_s, values, math.exp(log_length), math.exp(log_period), assumed)

    lengths = np.linspace(math.log(max(low, 0.15)), math.log(min(high, 5.0)), 7)
    starts = sorted((score(l, math.log(p))[0], l, math.log(p)) for p in candidates for l in lengths)
    best = (math.inf, 0.0, 0.0)
    for _, l, p in starts[:3]:
        best = min(best, _polished(score, (l, p), np.log([low, shortest]), np.log([high, longest])))
    if math.isinf(best[0]):
        raise InputError(
            f"No length scale from {low:g} to {high:g} is resolved by points {usual:g} s apart.",
            "Give a longer period, or resolved=False.",
        )
    value, ratio, variance = score(best[1], best[2])
    sd = math.sqrt(variance)
    return PeriodicFit(math.exp(best[1]), math.exp(best[2]), sd, math.sqrt(ratio) * sd, -value)


def _polished(
    score: Callable[[float, float], tuple[float, float, float]],
    start: tuple[float, float],
    lows: FloatArray,
    highs: FloatArray,
) -> tuple[float, float, float]:
    """(value, log length, log period) of a local search from one start, within limits."""

    def cost(x: FloatArray) -> float:
        inside = np.clip(x, lows, highs)
        return score(float(inside[0]), float(inside[1]))[0]

    near = np.array(start) + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.01]])
    best, value, *_ = scipy.optimize.fmin(
        cost, near[0], xtol=1e-8, ftol=1e-10, maxiter=400, full_output=True, disp=False, initial_simplex=near
    )
    found = np.clip(best, lows, highs)
    return float(value), float(found[0]), float(found[1])


def features(times_s: FloatArray, length_scale: float, period_s: float) -> FloatArray:
    """F with F Fᵀ = the unit periodic kernel at these times, (n, lines)."""
    omega, carried = Periodic(period_s, length_scale).spectral_lines()
    strong = carried > 1e-14
    omega, carried = omega[strong], carried[strong]
    angle = np.outer(times_s, omega)
    size = np.sqrt(carried)
    still = omega == 0
    return np.concatenate([size * np.cos(angle), (size * np.sin(angle))[:, ~still]], axis=1)


def _profile(
    times_s: FloatArray, values: FloatArray, length: float, period_s: float, assumed: Assumed | None
) -> tuple[float, float, float]:
    """(-log-likelihood, τ²/σ², σ²) at the best ratio, or at the assumed one."""
    n, axes = values.shape
    left, size, _ = np.linalg.svd(features(times_s, length, period_s), full_matrices=False)
    along = left.T @ values
    rest = max(float(np.sum((values - left @ along) ** 2)), 0.0)
    power, squares = np.sum(along**2, axis=1), size**2
    outside = n - size.size
    ratios = _RATIOS if assumed is None else np.array([assumed.white_sd**2 / assumed.sd**2])

    def at(ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        spread = squares[:, None] + ratio[None, :]
        quadratic = np.sum(power[:, None] / spread, axis=0) + rest / ratio
        logs = axes * (np.sum(np.log(spread), axis=0) + outside * np.log(ratio))
        if assumed is not None:
            v = assumed.sd**2
            return 0.5 * (quadratic / v + logs + n * axes * math.log(2 * math.pi * v)), np.full(ratio.size, v)
        variance = np.maximum(quadratic / (n * axes), 1e-300)
        return 0.5 * (n * axes * (np.log(2 * math.pi * variance) + 1) + logs), variance

    costs, variances = at(ratios)
    k = int(np.argmin(costs))
    if ratios.size > 1:
        step = math.log(ratios[1] / ratios[0])
        for _ in range(4):  # each round narrows the ratio tenfold
            fine = np.exp(np.clip(np.log(ratios[k]) + step * np.linspace(-1, 1, 21), math.log(1e-10), math.log(1e4)))
            costs, variances = at(fine)
            ratios, k, step = fine, int(np.argmin(costs)), step / 10
    return float(costs[k]), float(ratios[k]), float(variances[k])


def _likely_periods(
    times_s: FloatArray, values: FloatArray, shortest: float, longest: float, span: float
) -> FloatArray:
    """The periods whose first harmonics explain most, on a grid four times finer than 1/span, best first."""
    count = min(max(int(4 * span * (1 / shortest - 1 / longest)) + 2, 40), 4000)
    periods = 1 / np.linspace(1 / longest, 1 / shortest, count)
    order = np.arange(1, 4)
    left = np.empty(count)
    for k, period in enumerate(periods):
        angle = (2 * math.pi / period) * np.outer(times_s, order)
        design = np.concatenate([np.ones((times_s.size, 1)), np.cos(angle), np.sin(angle)], axis=1)
        found, *_ = np.linalg.lstsq(design, values, rcond=1e-9)
        left[k] = float(np.sum((values - design @ found) ** 2))
    padded = np.concatenate([[math.inf], left, [math.inf]])
    dips = np.flatnonzero((left <= padded[:-2]) & (left <= padded[2:]))
    best = periods[dips[np.argsort(left[dips])][:6]]
    parts = np.concatenate([best, best / 2, best / 3])
    return np.unique(parts[(parts >= shortest) & (parts <= longest)])
