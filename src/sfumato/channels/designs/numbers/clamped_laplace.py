"""Laplace noise on a number with finitely many values, clamped to their range, with a promise of LIP.

Y = clamp(x + Laplace(b(x))) to exactly [min X, max X]; without the clamp an x-dependent b(x) leaks without bound.
Independent: b = D / ln((e^eps - p_min)/(1 - p_min)), D the range, for every eps > 0 (the source splits cases).
Context-aware: b(x) = D / d(x), d(x) = alpha p(x) + beta [Jiang2021, Thm 6; the conditions here: E8, E9]. ``sufficient``
calibration imposes the corrected conditions with those of the two atoms the clamp creates; ``exact`` computes the
leakage itself.
Implemented for completeness: the discrete optimum costs far less, and this can lose to a constant report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import IDEALISED, Guarantee
from sfumato.base.arrays import FloatArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import UNIT, rounded_up
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.cell_prior import positive_prior
from sfumato.channels.conversions.lip_constants import ldp_budget_for_lip
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.promises import both_sides
from sfumato.channels.measures.discrete import epsilon_checked

Calibration = Literal["sufficient", "exact"]


@dataclass(frozen=True, slots=True, eq=False)
class ClampedLaplace:
    """Values, their prior and one scale b(x) per value."""

    values: FloatArray
    prior: FloatArray
    scales: FloatArray
    epsilon: float
    alpha: float | None = None

    def release(self, symbols: npt.ArrayLike, rng: Random = None) -> FloatArray:
        """One clamped noisy value for each symbol (index of a value)."""
        index = np.asarray(symbols)
        if index.size and (
            not np.issubdtype(index.dtype, np.integer) or index.min() < 0 or index.max() >= self.values.size
        ):
            raise InputError("A symbol is not an index of a value.", f"Give whole numbers below {self.values.size}.")
        u = randomness(rng).uniforms(index.shape if index.ndim else (1,)).reshape(index.shape)
        noise = np.where(u < 0.5, np.log(2 * np.minimum(u, 0.5)), -np.log(2 * np.minimum(1 - u, 0.5)))
        noisy = self.values[index] + self.scales[index] * noise
        return np.asarray(np.clip(noisy, self.values.min(), self.values.max()))

    def leakage(self) -> tuple[float, float]:
        """(up, low): the exact LIP leakage of the clamped report, atoms and density."""
        return exact_leakage(self.values, self.prior, self.scales)

    def mean_error(self) -> float:
        """E|Y - X|, closed form: b/2 (2 - e^(-(max - x)/b) - e^(-(x - min)/b)) averaged over x."""
        above, below = self.values.max() - self.values, self.values - self.values.min()
        b = self.scales
        return float(self.prior @ (0.5 * b * (-np.expm1(-above / b) - np.expm1(-below / b))))

    def guarantee(self) -> Guarantee:
        """Local information privacy with the exactly computed leakage beside the target."""
        return Guarantee(
            notion="local information privacy",
            parameters=both_sides((self.epsilon, self.epsilon), self.leakage()),
            assumes=(f"the adversary's prior over {self.prior.size} values is the stated one",),
            covers=("one report of one value, clamped to the range of the values",),
            not_covered=("several reports", "reports that are not clamped"),
            numerics=IDEALISED,
        )


def checked_calibration(name: str) -> Calibration:
    """The calibration of that name, or InputError."""
    names: dict[str, Calibration] = {"sufficient": "sufficient", "exact": "exact"}
    if name not in names:
        raise InputError(f"There is no calibration '{name}'.", "Use sufficient or exact.")
    return names[name]


def independent(
    values: npt.ArrayLike, prior: npt.ArrayLike, epsilon: float, *, calibration: Calibration
) -> ClampedLaplace:
    """The same scale for every value: sufficient D / ln((e^eps - p_min)/(1 - p_min)), or the least exact one."""
    x, p, eps = _checked(values, prior, epsilon)
    extent, smallest = float(np.ptp(x)), float(p.min())
    rate = ldp_budget_for_lip(eps, smallest).nats
    if checked_calibration(calibration) == "exact":
        rate = _largest(lambda tried: _within(x, p, np.full(p.size, extent / tried), eps), rate, eps)
    return ClampedLaplace(x, p, read_only(np.full(p.size, rounded_up(extent / rate))), eps)


def context_aware(
    values: npt.ArrayLike, prior: npt.ArrayLike, epsilon: float, *, calibration: Calibration
) -> ClampedLaplace:
    """d(x) = alpha p(x) + eps with the largest alpha >= 0 that the calibration allows."""
    x, p, eps = _checked(values, prior, epsilon)
    extent, kind = float(np.ptp(x)), checked_calibration(calibration)

    def fits(alpha: float) -> bool:
        d = alpha * p + eps
        return sufficient(p, d, eps) if kind == "sufficient" else _within(x, p, extent / d, eps)

    if not fits(0.0):  # it does, but for rounding
        raise InputError(f"epsilon is {eps:g}: too little to be told from 0 here.", "Ask for more.")
    alpha = _largest(fits, 0.0, eps)
    return ClampedLaplace(x, p, read_only(extent / (alpha * p + eps)), eps, alpha)


def alpha_threshold(prior: npt.ArrayLike, epsilon: float) -> float:
    """The alpha above which every b(x) is below the independent b: ln((e^eps - p_min)/((1 - p_min) e^eps)) / p_min.

    Never feasible under the sufficient conditions except for the uniform prior (E13).
    """
    eps, p = epsilon_checked(epsilon), positive_prior(prior)
    smallest = float(p.min())
    if p.size < 2:
        raise InputError("One symbol alone has nothing to hide.", "Give a prior of at least two.")
    return math.log1p(-math.expm1(-eps) * smallest / (1 - smallest)) / smallest


def sufficient(prior: FloatArray, rates: FloatArray, epsilon: float) -> bool:
    """The corrected conditions of Theorem 6 for rates d(x): density above and below, and the two atoms.

    U: p_x + sum_{x' != x} p_x' d_x'/d_x e^{d_x} <= e^eps;  L: p_x + sum p_x' d_x'/d_x e^{-d_x'} >= e^-eps;
    atoms: p_x + (1 - p_x) e^{d_x} <= e^eps and p_x + sum_{x' != x} p_x' e^{-d_x'} >= e^-eps.
    """
    p, d = prior, rates
    if d.min() <= 0 or d.max() > 700:
        return False
    # Each condition minus 1, so that nothing cancels: d'/d e^d - 1 = (d' - d)/d e^d + (e^d - 1), and likewise below.
    apart = (d[None, :] - d[:, None]) / d[:, None]
    other = p[None, :] * ~np.eye(p.size, dtype=bool)
    upper = (other * (apart * np.exp(d)[:, None] + np.expm1(d)[:, None])).sum(axis=1)
    lower = (other * (-apart * np.exp(-d)[None, :] - np.expm1(-d)[None, :])).sum(axis=1)
    atoms_up = (1 - p) * np.expm1(d)
    atoms_low = other @ -np.expm1(-d)
    error = 8 * (p.size + 8) * UNIT * float(np.expm1(d).max() * (1 + np.abs(apart).max()) + np.abs(apart).max())
    above, below = math.expm1(epsilon) - error, -math.expm1(-epsilon) - error
    return bool(max(upper.max(), atoms_up.max()) <= above and max(lower.max(), atoms_low.max()) <= below)


def _within(values: FloatArray, prior: FloatArray, scales: FloatArray, epsilon: float) -> bool:
    """Whether the exact leakage, with the rounding of its computation, is at most epsilon."""
    if not np.all(np.isfinite(scales)) or scales.min() <= 0:
        return False
    reach = float(np.ptp(values) / scales.min()) + float(np.log1p(np.ptp(scales) / scales.min()))
    error = 32 * (prior.size + 16) * UNIT * reach
    return max(exact_leakage(values, prior, scales)) + error <= epsilon


def exact_leakage(values: FloatArray, prior: FloatArray, scales: FloatArray) -> tuple[float, float]:
    """(up, low) of the clamped report. Between kinks ln f_x is linear and ln sum p f convex, so ln r_x is concave:
    its minimum is at a kink, and its maximum where its derivative, which falls, crosses 0 (bisection)."""
    x, p, b = values, prior, scales
    low_end, high_end = float(x.min()), float(x.max())
    atoms = np.stack([-(x - low_end) / b, -(high_end - x) / b], axis=1)
    atom_lift = atoms - _log_mean(p, atoms)
    narrowest = -np.log1p((b - b.min()) / b.min())  # ln(b_min / b): what all densities share is left out
    knots = np.unique(x)

    def log_density(y: FloatArray) -> FloatArray:
        return np.asarray(-np.abs(y[None, :] - x[:, None]) / b[:, None] + narrowest[:, None])

    def log_lift(y: FloatArray) -> FloatArray:
        logs = log_density(y)
        return np.asarray(logs - _log_mean(p, logs))

    at_knots = log_lift(knots)
    up = max(float(atom_lift.max()), float(at_knots.max()))
    low = max(float(-atom_lift.min()), float(-at_knots.min()))
    for left, right in pairwise(knots):
        slope = np.where(x >= right, 1.0, -1.0) / b
        a, c = np.full(p.size, left), np.full(p.size, right)
        for _ in range(34):  # the value at the maximum is then right to the square of 2^-34
            middle = 0.5 * (a + c)
            logs = np.log(p)[:, None] + log_density(middle)
            weights = np.exp(logs - logs.max(axis=0))
            rising = slope > (slope @ weights) / weights.sum(axis=0)
            a, c = np.where(rising, middle, a), np.where(rising, c, middle)
        up = max(up, float(np.diag(log_lift(0.5 * (a + c))).max()))
    return max(0.0, up), max(0.0, low)


def _log_mean(p: FloatArray, logs: FloatArray) -> FloatArray:
    """ln sum p e^logs for each column, to rounding of the largest |logs|, however small that is."""
    shift = np.where(np.abs(logs).max(axis=0) < 1, 0.0, logs.max(axis=0))
    return np.asarray(shift + np.log1p(p @ np.expm1(logs - shift)))


def _largest(fits: Callable[[float], bool], start: float, unit: float) -> float:
    """The largest argument at which ``fits`` still holds, from a start where it does; the safe side is returned.

    ``unit`` is the size of the steps to begin with.
    """
    low, step = start, 0.1 * max(unit, abs(start))
    most = 1e6 * max(1.0, unit, abs(start))
    while fits(low + step) and step < most:
        low, step = low + step, 2 * step
    high = low + step
    for _ in range(56):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _checked(values: npt.ArrayLike, prior: npt.ArrayLike, epsilon: float) -> tuple[FloatArray, FloatArray, float]:
    x = finite(values, "The values", dimensions=1)
    p = positive_prior(prior, x.size)
    if x.size < 2 or np.unique(x).size != x.size:
        raise InputError("The values are fewer than two or repeat.", "Merge equal values and add their probabilities.")
    if not np.ptp(x) > 0 or not math.isfinite(np.ptp(x)) or np.diff(np.sort(x)).min() < 1e-12 * np.ptp(x):
        raise InputError("Some values differ by less than 1e-12 of their range.", "Merge them, or use another unit.")
    return x, p, design_epsilon(epsilon)
