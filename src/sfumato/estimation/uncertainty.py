"""How sure a map is: intervals for every cell and for any region, with the target named.

The estimate that predicts best is smoothed, hence biased, and a percentile bootstrap around it covers too little. So
the interval is centred at the estimate with its smoothing taken out. Let q_s = theta C_s, B_s = C_s diag(1/q_s) C_s'
and H = sum_s n_s B_s at the smoothed theta. One scoring step, weighted least squares in the counts n_s(y),

    theta~ = theta + (H + P)^-1 (sum_s C_s (n_s / q_s) - n),         P = tau n diag(1/theta),

is unbiased for P = 0. P is a faint pull back to theta (its standard deviation is 1/sqrt(tau) = 100 times that of a
multinomial of true places); the bias it can cause, were every cell's estimate wrong by 100 %, is added to the variance.

The variance is that of the reports given the people, A = sum_s n_s (B_s - B_s diag(theta) B_s), in a sandwich:
V = (H + P)^-1 A (H + P)^-1 for *reporters* who report in every cycle; for cohorts the chance of who fell into which
cycle is added; for the *population* the people's own sampling is. All in closed form, so that any region costs one
product.

``method="bootstrap"`` instead resamples people (not reports) and refits with four times the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sfumato.arrays import FloatArray, read_only
from sfumato.errors import InputError
from sfumato.estimation.joint import Estimate, joint
from sfumato.estimation.likelihood import Likelihood, inverse_normaliser
from sfumato.estimation.tally import Tally, checked_region, checked_tallies
from sfumato.mechanisms.grids.grid_channel import GridChannel
from sfumato.mechanisms.grids.sampling import draw_reports
from sfumato.randomness import Random, randomness

Target = Literal["reporters", "population"]

LARGEST_COVARIANCE = 2_500
"""Cells up to which the covariance of all cells is held; beyond, ask for regions."""
_TAU = 1e-4
UNDERSMOOTHING = 4


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Lower and upper ends per cell at ``level``, for the share of the ``target`` ("reporters" or "population")."""

    lower: FloatArray
    upper: FloatArray
    centre: FloatArray
    """The estimate without its smoothing; it may be slightly negative."""
    target: Target
    level: float
    method: str
    covariance: FloatArray | None = None
    replicates: FloatArray | None = None
    """(cells, replicates): kept by the bootstrap so that regions can be asked for."""

    def region(self, cells: npt.ArrayLike) -> tuple[float, float]:
        """The interval of the share of people in these cells together."""
        chosen = np.zeros(self.centre.size)
        chosen[checked_region(cells, chosen.size)] = 1.0
        if self.covariance is not None:
            middle, sd = float(chosen @ self.centre), math.sqrt(max(0.0, float(chosen @ self.covariance @ chosen)))
            reach = _normal_quantile(self.level) * sd
            low, high = middle - reach, middle + reach
        else:
            assert self.replicates is not None
            ends = _percentiles(chosen @ self.replicates, self.level)
            low, high = float(ends[0]), float(ends[1])
        return min(1.0, max(0.0, low)), max(0.0, min(1.0, high))


def intervals(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    estimate: Estimate | None = None,
    target: Target = "reporters",
    reporting: Literal["once", "every-cycle"] = "once",
    level: float = 0.95,
    method: Literal["sandwich", "bootstrap"] = "sandwich",
    replicates: int = 200,
    rng: Random = 0,
) -> Intervals:
    """Intervals for every cell; :meth:`Intervals.region` gives any region. Above 2,500 cells use
    :func:`region_interval`.

    ``reporting`` says whether a person reports once or in every cycle: it decides what varies. ``rng`` serves the
    bootstrap only.
    """
    filled = checked_tallies(tallies)
    _checked(target, reporting, level)
    known = _fitting(estimate, filled)
    if method == "bootstrap":
        if replicates < 2:
            raise InputError(f"{replicates} replicates were asked for.", "Take at least 2; 200 is usual.")
        return _bootstrap(filled, known, target, reporting, level, replicates, rng)
    if method != "sandwich":
        raise InputError(f"There is no method '{method}'.", "Use sandwich or bootstrap.")
    if filled[0].channel.cells > LARGEST_COVARIANCE:
        raise InputError(
            f"The covariance of {filled[0].channel.cells} cells is too large to hold.",
            "Ask for regions with region_interval, or use larger cells.",
        )
    centre, covariance = _sandwich(filled, known.probabilities, target, reporting)
    reach = _normal_quantile(level) * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Intervals(
        read_only(np.clip(centre - reach, 0.0, 1.0)),
        read_only(np.clip(centre + reach, 0.0, 1.0)),
        read_only(centre),
        target,
        level,
        method,
        read_only(covariance),
    )


def region_interval(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    cells: npt.ArrayLike,
    *,
    estimate: Estimate | None = None,
    target: Target = "reporters",
    reporting: Literal["once", "every-cycle"] = "once",
    level: float = 0.95,
) -> tuple[float, float]:
    """One region on a grid of any size: the same sandwich with conjugate gradients, never holding a matrix."""
    filled = checked_tallies(tallies)
    _checked(target, reporting, level)
    theta = _lifted(_fitting(estimate, filled).probabilities)
    chosen = np.zeros(theta.size)
    chosen[checked_region(cells, theta.size)] = 1.0
    operators = [_Operator.of(tally, theta) for tally in filled]
    totals = np.array([tally.total for tally in filled], dtype=np.float64)
    n = float(totals.sum())
    root = np.sqrt(theta)

    def information(v: FloatArray) -> FloatArray:
        total = np.zeros_like(v)
        for reports, operator in zip(totals, operators, strict=True):
            total += reports * operator.information(v)
        return total

    # In coordinates v = root w the system is n (tau I + M) with M between 0 and I.
    z = root * _conjugate_gradients(lambda w: root * information(root * w) / n + _TAU * w, root * chosen / n)
    score = np.sum([o.score(t.counts.astype(np.float64)) for o, t in zip(operators, filled, strict=True)], axis=0) - n
    middle = float(chosen @ theta + z @ score)
    pulled = _TAU * n * z / theta
    variance = float(np.sum((pulled * theta) ** 2))
    each = [o.information(z) for o in operators]
    mean = np.sum([t * e for t, e in zip(totals, each, strict=True)], axis=0) / n
    for total, part in zip(totals, each, strict=True):
        variance += float(total * (z @ part - part @ (theta * part)))
        if reporting == "once":
            apart = part - mean
            variance += float(total * (apart @ (theta * apart)))
    if target == "population":
        variance += _sampling_variance(chosen, theta, _people(filled, reporting))
    reach = _normal_quantile(level) * float(np.sqrt(max(variance, 0.0)))
    return min(1.0, max(0.0, middle - reach)), max(0.0, min(1.0, middle + reach))


def multinomial_width(probabilities: npt.ArrayLike, people: int, level: float = 0.95) -> FloatArray:
    """The width an interval would have if everyone's true cell were known for a sample of ``people``."""
    p = np.asarray(probabilities, dtype=np.float64)
    width: FloatArray = 2 * _normal_quantile(level) * np.sqrt(p * (1 - p) / people)
    return width


def _sandwich(
    tallies: Sequence[Tally], probabilities: FloatArray, target: Target, reporting: str
) -> tuple[FloatArray, FloatArray]:
    theta = _lifted(probabilities)
    n = float(sum(tally.total for tally in tallies))
    score, information, spread = np.full(theta.size, -n), np.zeros((theta.size, theta.size)), None
    parts: list[tuple[float, FloatArray]] = []
    spread = np.zeros_like(information)
    for tally in tallies:
        matrix = tally.channel.to_dense().matrix
        reported = theta @ matrix
        scaled = matrix * np.sqrt(np.divide(1.0, reported, out=np.zeros_like(reported), where=reported > 0))
        part = scaled @ scaled.T
        score += matrix @ np.divide(tally.counts, reported, out=np.zeros_like(reported), where=reported > 0)
        information += tally.total * part
        spread += tally.total * (part - (part * theta) @ part)
        parts.append((float(tally.total), part))
    if reporting == "once" and len(parts) > 1:
        mean = information / n
        for total, part in parts:
            apart = part - mean
            spread += total * (apart * theta) @ apart
    pull = _TAU * n / theta
    inverse = np.linalg.inv(information + np.diag(pull))
    centre = theta + inverse @ score
    drawn = inverse * (pull * theta)
    covariance = inverse @ spread @ inverse + drawn @ drawn.T
    if target == "population":
        covariance += (np.diag(theta) - np.outer(theta, theta)) / _people(tallies, reporting)
    return centre, 0.5 * (covariance + covariance.T)


@dataclass(frozen=True, slots=True, eq=False)
class _Operator:
    """B = C diag(1/q) C' of one tally, by products with K: (1/Z) K [c / K(theta/Z)] K (1/Z)."""

    tally: Tally
    inverse_z: FloatArray
    middle: FloatArray
    reported: FloatArray

    @classmethod
    def of(cls, tally: Tally, theta: FloatArray) -> _Operator:
        inverse_z = inverse_normaliser(tally.channel)
        spread = tally.channel.kernel.product(theta * inverse_z)
        return cls(tally, inverse_z, tally.channel.output_weights / spread, spread)

    def information(self, v: FloatArray) -> FloatArray:
        kernel = self.tally.channel.kernel
        return self.inverse_z * kernel.signed_product(self.middle * kernel.signed_product(v * self.inverse_z))

    def score(self, counts: FloatArray) -> FloatArray:
        return self.inverse_z * self.tally.channel.kernel.product(counts / self.reported)


def _conjugate_gradients(
    apply: Callable[[FloatArray], FloatArray], right: FloatArray, *, tolerance: float = 1e-8, most: int = 2_000
) -> FloatArray:
    x = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    size = float(residual @ residual)
    goal = tolerance**2 * size
    for _ in range(most):
        if size <= goal:
            break
        moved = apply(direction)
        step = size / float(direction @ moved)
        x += step * direction
        residual -= step * moved
        fresh = float(residual @ residual)
        direction = residual + (fresh / size) * direction
        size = fresh
    return x


def _bootstrap(
    tallies: Sequence[Tally], estimate: Estimate, target: Target, reporting: str, level: float, count: int, rng: Random
) -> Intervals:
    source = randomness(rng)
    steps = UNDERSMOOTHING * max(1, estimate.iterations)
    centre = joint(tallies, stop=steps).probabilities
    cells = centre.size
    cumulative = np.cumsum(centre)
    cumulative /= cumulative[-1]

    def fixed(size: int) -> npt.NDArray:
        # As near to size * centre as whole people come; the rest by chance.
        whole = np.floor(size * centre).astype(np.int64)
        short = size - int(whole.sum())
        extra = (
            np.searchsorted(cumulative, source.uniforms(short), side="right") if short else np.zeros(0, dtype=np.int64)
        )
        return np.concatenate([np.repeat(np.arange(cells), whole), extra])

    def sampled(size: int) -> npt.NDArray:
        return np.searchsorted(cumulative, source.uniforms(size), side="right")

    people_of = fixed if target == "reporters" else sampled
    weights = np.empty((cells, len(tallies), count))
    for b in range(count):
        if reporting == "once":
            everyone = people_of(sum(tally.total for tally in tallies))
            everyone = everyone[source.permutation(everyone.size)]
            ends = np.cumsum([tally.total for tally in tallies])
            groups = np.split(everyone, ends[:-1])
        else:
            everyone = people_of(max(tally.total for tally in tallies))
            groups = [
                everyone if tally.total == everyone.size else everyone[source.permutation(everyone.size)[: tally.total]]
                for tally in tallies
            ]
        for s, (tally, group) in enumerate(zip(tallies, groups, strict=True)):
            weights[:, s, b] = np.bincount(draw_reports(tally.channel, group, rng=source), minlength=cells)
    weights /= weights.sum(axis=(0, 1))
    model = Likelihood.of(tallies)
    theta = np.full((cells, count), 1.0 / cells)
    for _ in range(steps):
        theta *= model.step(theta, weights)[0]
    low, high = _percentiles(theta, level)
    return Intervals(
        read_only(np.minimum(low, centre)),
        read_only(np.maximum(high, centre)),
        centre,
        target,
        level,
        "bootstrap",
        None,
        read_only(theta),
    )


def _percentiles(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


def _people(tallies: Sequence[Tally], reporting: str) -> int:
    totals = [tally.total for tally in tallies]
    return max(totals) if reporting == "every-cycle" else sum(totals)


def _sampling_variance(chosen: FloatArray, theta: FloatArray, people: int) -> float:
    share = float(chosen @ theta)
    return float(chosen**2 @ theta - share**2) / people


def _lifted(theta: FloatArray) -> FloatArray:
    """A map without zeros, so that it can be divided by."""
    lifted = np.maximum(theta, 1e-9 / theta.size)
    out: FloatArray = lifted / lifted.sum()
    return out


def _normal_quantile(level: float) -> float:
    return float(ndtri(0.5 + level / 2))


def _fitting(estimate: Estimate | None, tallies: Sequence[Tally]) -> Estimate:
    if estimate is None:
        return joint(tallies)
    cells = tallies[0].channel.cells
    if estimate.probabilities.size != cells:
        raise InputError(
            f"The estimate has {estimate.probabilities.size} cells and the tallies {cells}.",
            "Give the estimate of these tallies, or none.",
        )
    return estimate


def _checked(target: str, reporting: str, level: float) -> None:
    if target not in ("reporters", "population"):
        raise InputError(f"The target is '{target}'.", "Name it: 'reporters' or 'population'.")
    if reporting not in ("once", "every-cycle"):
        raise InputError(f"The reporting is '{reporting}'.", "It is 'once' or 'every-cycle'.")
    if not 0 < level < 1:
        raise InputError(f"The level is {level}.", "It lies between 0 and 1, for example 0.95.")
