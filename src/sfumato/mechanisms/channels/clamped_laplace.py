"""Laplace noise on a number with finitely many values, clamped to their range, with a promise of LIP.

Y = clamp(x + Laplace(b(x))) to exactly [min X, max X]; without the clamp an x-dependent b(x) leaks without bound.
Independent: b = D / ln((e^eps - p_min)/(1 - p_min)), D the range, for every eps > 0 (no case split is needed: E14).
Context-aware: b(x) = D / d(x), d(x) = alpha p(x) + beta [Jiang2021, Thm 6, corrected: E8-E13]. ``sufficient``
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
from scipy.optimize import minimize_scalar

from sfumato.arrays import FloatArray, finite, read_only
from sfumato.errors import InputError
from sfumato.guarantees import IDEALISED, Guarantee
from sfumato.leakage.discrete import epsilon_checked
from sfumato.priors.cells import positive_prior
from sfumato.randomness import Random, randomness

Calibration = Literal["sufficient", "exact"]


@dataclass(frozen=True, slots=True, eq=False)
class ClampedLaplace:
    """Values, their prior and one scale b(x) per value."""

    values: FloatArray
    prior: FloatArray
    scales: FloatArray
    epsilon: float
    alpha: float | None = None
    beta: float | None = None

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
        up, low = self.leakage()
        return Guarantee(
            notion="local information privacy",
            parameters={
                "epsilon_up_nats": self.epsilon,
                "epsilon_low_nats": self.epsilon,
                "measured_up_nats": up,
                "measured_low_nats": low,
            },
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
    b = extent / math.log((math.exp(eps) - smallest) / (1 - smallest))
    if calibration == "exact":

        def fits(rate: float) -> bool:
            return max(exact_leakage(x, p, np.full(p.size, extent / rate))) <= eps

        b = extent / _largest(fits, extent / b)
    elif calibration != "sufficient":
        raise InputError(f"There is no calibration '{calibration}'.", "Use sufficient or exact.")
    return ClampedLaplace(x, p, read_only(np.full(p.size, b)), eps)


def context_aware(
    values: npt.ArrayLike,
    prior: npt.ArrayLike,
    epsilon: float,
    *,
    calibration: Calibration,
    beta: float | None = None,
) -> ClampedLaplace:
    """d(x) = alpha p(x) + beta with the largest alpha that the calibration allows; beta = eps unless given."""
    x, p, eps = _checked(values, prior, epsilon)
    base = eps if beta is None else epsilon_checked(beta, "beta")
    extent = float(np.ptp(x))

    def fits(alpha: float) -> bool:
        d = alpha * p + base
        if calibration == "sufficient":
            return sufficient(p, d, eps)
        return max(exact_leakage(x, p, extent / d)) <= eps

    if calibration not in ("sufficient", "exact"):
        raise InputError(f"There is no calibration '{calibration}'.", "Use sufficient or exact.")
    if not fits(0.0):
        raise InputError(
            f"No alpha >= 0 fits with beta = {base:g}.", "Use a smaller beta, or beta = epsilon, which always fits."
        )
    alpha = _largest(fits, 0.0)
    return ClampedLaplace(x, p, read_only(extent / (alpha * p + base)), eps, alpha, base)


def best_context_aware(values: npt.ArrayLike, prior: npt.ArrayLike, epsilon: float) -> ClampedLaplace:
    """The (alpha, beta) of least E|Y - X| under exact calibration, alpha of either sign (golden section over beta)."""
    x, p, eps = _checked(values, prior, epsilon)
    extent = float(np.ptp(x))

    def at(log_beta: float) -> ClampedLaplace:
        base = math.exp(log_beta)

        def fits(alpha: float) -> bool:
            return max(exact_leakage(x, p, extent / (alpha * p + base))) <= eps

        # Start from the most negative slope that keeps every rate positive; leakage then grows with alpha.
        least = -base / float(p.max()) * (1 - 1e-6)
        if fits(0.0):
            alpha = _largest(fits, 0.0)
        elif fits(least):
            low, high = least, 0.0
            for _ in range(50):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if fits(middle) else (low, middle)
            alpha = low
        else:
            return ClampedLaplace(x, p, read_only(np.full(p.size, math.inf)), eps, math.nan, base)
        return ClampedLaplace(x, p, read_only(extent / (alpha * p + base)), eps, alpha, base)

    def error(log_beta: float) -> float:
        found = at(log_beta)
        return found.mean_error() if np.isfinite(found.scales).all() else math.inf

    candidates = np.linspace(math.log(eps / 20), math.log(4 * eps), 25)
    errors = [error(float(candidate)) for candidate in candidates]
    best = int(np.argmin(errors))
    around = (float(candidates[max(best - 1, 0)]), float(candidates[min(best + 1, candidates.size - 1)]))
    refined = minimize_scalar(error, bounds=around, method="bounded", options={"xatol": 1e-6})
    return at(float(refined.x) if float(refined.fun) < errors[best] else float(candidates[best]))


def alpha_threshold(prior: npt.ArrayLike, epsilon: float) -> float:
    """The alpha above which every b(x) is below the independent b: ln((e^eps - p_min)/((1 - p_min) e^eps)) / p_min.

    Never feasible under the sufficient conditions except for the uniform prior (E13).
    """
    eps, p = epsilon_checked(epsilon), positive_prior(prior)
    smallest = float(p.min())
    return math.log((math.exp(eps) - smallest) / ((1 - smallest) * math.exp(eps))) / smallest


def sufficient(prior: FloatArray, rates: FloatArray, epsilon: float) -> bool:
    """The corrected conditions of Theorem 6 for rates d(x): density above and below, and the two atoms.

    U: p_x + sum_{x' != x} p_x' d_x'/d_x e^{d_x} <= e^eps;  L: p_x + sum p_x' d_x'/d_x e^{-d_x'} >= e^-eps;
    atoms: p_x + (1 - p_x) e^{d_x} <= e^eps and p_x + sum_{x' != x} p_x' e^{-d_x'} >= e^-eps.
    """
    p, d, e = prior, rates, math.exp(epsilon)
    if d.min() <= 0:
        return False
    others = float(p @ d) - p * d
    upper = p + others / d * np.exp(d)
    falling = float(p @ (d * np.exp(-d))) - p * d * np.exp(-d)
    lower = p + falling / d
    atoms_up = p + (1 - p) * np.exp(d)
    atoms_low = p + float(p @ np.exp(-d)) - p * np.exp(-d)
    return bool(upper.max() <= e and atoms_up.max() <= e and lower.min() >= 1 / e and atoms_low.min() >= 1 / e)


def exact_leakage(values: FloatArray, prior: FloatArray, scales: FloatArray) -> tuple[float, float]:
    """(up, low) of the clamped report. Between kinks ln f_x is linear and ln sum p f convex, so ln r_x is concave:
    its minimum is at a kink, and its maximum where its derivative, which falls, crosses 0 (bisection)."""
    x, p, b = values, prior, scales
    low_end, high_end = float(x.min()), float(x.max())
    atoms = np.stack([-(x - low_end) / b, -(high_end - x) / b], axis=1) - math.log(2)
    atom_lift = atoms - _logsumexp(np.log(p)[:, None] + atoms)
    knots = np.unique(x)

    def log_density(y: FloatArray) -> FloatArray:
        return np.asarray(-np.abs(y[None, :] - x[:, None]) / b[:, None] - np.log(2 * b)[:, None])

    def log_lift(y: FloatArray) -> FloatArray:
        logs = log_density(y)
        return np.asarray(logs - _logsumexp(np.log(p)[:, None] + logs))

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


def _logsumexp(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))


def _largest(fits: Callable[[float], bool], start: float) -> float:
    """The largest argument at which ``fits`` still holds, from a start where it does; the safe side is returned."""
    low, step = start, max(0.1, 0.1 * abs(start))
    while fits(low + step) and step < 1e6:
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
    return x, p, epsilon_checked(epsilon)
