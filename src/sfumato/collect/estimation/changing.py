"""Maps that change from cycle to cycle: each shrunk towards the average of all, as far as its reports do not object.

    maximise   sum_y n_k(y) log (theta_k C_k)(y)
               -  (stiffness / 2) [ sum_x delta(x)^2 + sum_{i ~ j} (delta_i - delta_j)^2 ]

over delta = log theta_k - log theta_average, for every class k of cycles: each cycle by itself, or what the campaign
declared (weekday and weekend, hours). How stiff is not tuned but measured: if delta varied with variance 1/stiffness,
the counts of class k would miss the average's prediction q by

    sum_y (n_k - n q)^2 / (n q)  ~  cells - 1  +  (n / stiffness) sum_x theta(x)^2 B(x, x),      B = C diag(1/q) C',

so the excess over cells - 1 says it. Without excess the class shows the average; a pooled map is an *average over
time* and says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.collect.estimation.joint import Estimate, judged
from sfumato.collect.estimation.likelihood import Likelihood, stacked_weights
from sfumato.collect.estimation.smooth import log_smooth, roughness
from sfumato.collect.estimation.tally import Tally, checked_tallies, merged
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.kernel import grid_kernel

_STIFFEST = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Changing:
    """The average of all cycles, and one map per class of cycles."""

    average: Estimate
    """Smooth, over all cycles: an average over time."""
    classes: tuple[str, ...]
    """The class of every cycle, in order."""
    maps: Mapping[str, Estimate]
    stiffness: Mapping[str, float]
    """How strongly each class was held to the average; 1e6 where its reports fit it."""

    @property
    def last(self) -> Estimate:
        """The map of the last cycle's class."""
        return self.maps[self.classes[-1]]


def changing(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    classes: Sequence[str] | None = None,
    average: Estimate | None = None,
    only_last: bool = False,
) -> Changing:
    """Maps of every class of cycles. ``classes`` names each cycle's (by default each is its own).

    ``average`` is the log-smooth map of all of them where it is known; ``only_last`` fits the last cycle's class alone.
    """
    given = [entry if isinstance(entry, Tally) else Tally(entry[0], np.asarray(entry[1])) for entry in tallies]
    names = tuple(f"cycle {number + 1}" for number in range(len(given))) if classes is None else tuple(classes)
    if len(names) != len(given):
        raise InputError(f"There are {len(names)} classes for {len(given)} cycles.", "Name the class of every cycle.")
    filled = checked_tallies(given)
    mean = average or log_smooth(filled)
    wanted = [names[-1]] if only_last else list(dict.fromkeys(names))
    maps: dict[str, Estimate] = {}
    stiffness: dict[str, float] = {}
    for name in wanted:
        members = [tally for tally, label in zip(given, names, strict=True) if label == name and tally.total]
        if members:
            together = merged(members)
            stiffness[name] = measured_stiffness(together, mean.probabilities)
            maps[name] = held_to(together, mean.probabilities, stiffness[name])
        else:
            maps[name], stiffness[name] = mean, _STIFFEST
    return Changing(mean, names, maps, stiffness)


def measured_stiffness(tallies: Sequence[Tally], average: FloatArray) -> float:
    """1 / the variance of the change of log density that the excess of Pearson's statistic asks for."""
    excess, rate = 0.0, 0.0
    for tally in tallies:
        channel, n = tally.channel, float(tally.total)
        q = channel.report_distribution(average)
        enough = n * q >= 1.0  # rarer reports tell nothing of the variance and have heavy tails
        if not enough.any():
            continue
        excess += float(np.sum((tally.counts[enough] - n * q[enough]) ** 2 / (n * q[enough]))) - int(enough.sum()) + 1
        squared = grid_kernel(channel.grid, 2 * channel.beta)  # (exp(-beta d))^2
        by_place = squared.product(np.where(enough, channel.output_weights**2 / np.maximum(q, 1e-300), 0.0))
        rate += n * float(np.sum((average / channel.normaliser()) ** 2 * by_place))
    if excess <= 0 or rate / excess >= _STIFFEST:
        return _STIFFEST
    return rate / excess


def held_to(tallies: Sequence[Tally], average: FloatArray, stiffness: float) -> Estimate:
    """The map of these reports, its log density held to that of ``average``."""
    began = time.perf_counter()
    model, weights = Likelihood.of(tallies), stacked_weights(tallies)
    if stiffness >= _STIFFEST:
        return judged(model, average[:, None], weights, tallies, 0, "average", began)
    reports = sum(tally.total for tally in tallies)
    shape = tallies[0].channel.grid.shape
    base = np.log(np.maximum(average, 1e-12 / average.size))

    def objective(delta: FloatArray) -> tuple[float, FloatArray]:
        theta = _normalised(base + delta)
        g, level = model.step(theta[:, None], weights)
        penalty, slope = roughness(delta.reshape(shape))
        value = -reports * float(level[0]) + 0.5 * stiffness * (float(delta @ delta) + penalty)
        return value, -reports * theta * (g[:, 0] - 1.0) + stiffness * (delta + slope.ravel())

    found = minimize(
        objective,
        np.zeros(base.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 1000, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-5},
    )
    theta = _normalised(base + np.asarray(found.x))
    return judged(model, theta[:, None], weights, tallies, int(found.nit), f"held {stiffness:.3g}", began)


def _normalised(log_density: FloatArray) -> FloatArray:
    theta: FloatArray = np.exp(log_density - log_density.max())
    theta /= theta.sum()
    return theta
