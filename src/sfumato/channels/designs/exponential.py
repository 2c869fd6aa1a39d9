"""The exponential mechanism over places: Q(y | x) proportional to e^(-rate d(x, y)) on the places themselves.

Every row has its own normalising sum, so its geo-indistinguishability lies between the rate and twice the rate; it is
measured, and :func:`exponential_for_epsilon` finds the rate whose measured value is the one asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.geo import geo_epsilon
from sfumato.base.numbers.rounding import UNIT, log_ratio_error, rounded_up
from sfumato.base.things.channel import Channel, checked_distortion
from sfumato.channels.designs.limits import checked_smallest, largest_rate
from sfumato.channels.designs.promises import GeoPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel

MOST_LOOKED_AT = 400


def exponential_matrix(distances: npt.ArrayLike, rate: float) -> FloatArray:
    """The rows e^(-rate d) divided by their sums."""
    d = checked_distortion(distances, "The distances")
    with np.errstate(over="ignore"):
        weights = np.exp(-positive(rate, "rate") * (d - d.min(axis=1, keepdims=True)))
    out: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return out


def exponential_for_epsilon(
    distances: npt.ArrayLike,
    epsilon: float,
    *,
    metric: bool = False,
    unit: str = "m",
    plane_error: float = 0.0,
    inputs: Sequence[str] = (),
) -> DesignedChannel:
    """The exponential mechanism with the largest rate whose geo-indistinguishability, rounded up, is at most epsilon.

    ``metric`` says that the distances obey the triangle inequality, as those between places do. Then the output that
    tells x from x' best is x itself, d(x', y) - d(x, y) <= d(x, x'), and with Z the rows' sums ::

        epsilon = max over x, x' of  rate + (ln Z(x') - ln Z(x)) / d(x, x')

    takes n^2 steps instead of n^3. Up to 400 places that is looked at and not believed; distances that break it are
    measured pair by pair and output by output.
    """
    d = checked_distortion(distances, "The distances")
    eps = positive(epsilon, "epsilon", at_most=1e100)
    if d.shape[0] != d.shape[1]:
        raise InputError(f"The distances are {d.shape}.", "Give one per pair of places.")
    checked_smallest(eps, d)
    names = tuple(inputs)
    labels = partial(Channel, inputs=names, outputs=names, distortion=d, distortion_name="euclidean")
    promise = GeoPromise(d, eps, unit, plane_error)
    if metric and _is_metric(d) and d.shape[0] > 1 and 2 * eps * float(d.max(initial=0.0)) < 600:
        closeness = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
        rate = _rate_for(d, closeness, eps)
        for _ in range(40):
            channel = labels(exponential_matrix(d, rate))
            measured = _epsilon_at_most(channel, d, closeness, rate)
            if measured <= eps:
                return DesignedChannel(channel, promise)
            rate *= 1 - 1.5 * (measured - eps) / measured - 1e-15
    rate = largest_rate(lambda r: geo_epsilon(exponential_matrix(d, r), d), eps, low=0.4 * eps, high=1.05 * eps)
    return DesignedChannel(promise.keep(exponential_matrix(d, rate), labels), promise)


def _is_metric(d: FloatArray) -> bool:
    """Whether d(x, z) <= d(x, y) + d(y, z), to rounding; the caller's word where there are more than 400 places."""
    if d.shape[0] > MOST_LOOKED_AT:
        return True
    return all(bool(np.all(d <= (d[:, [y]] + d[[y], :]) * (1 + 2e-15))) for y in range(d.shape[0]))


def _rate_for(d: FloatArray, closeness: FloatArray, epsilon: float) -> float:
    """The rate whose epsilon is this one, by secants: epsilon is between the rate and twice the rate."""

    def over(rate: float) -> float:
        logs = np.log(np.exp(-rate * d).sum(axis=1))
        return rate + float(((logs[None, :] - logs[:, None]) * closeness).max()) - epsilon

    low, high = 0.5 * epsilon, epsilon
    if over(high) <= 0 or over(low) >= 0:  # rows of equal sums: epsilon is the rate; or, to rounding, half of it
        return high if over(high) <= 0 else low
    return float(brentq(over, low, high, xtol=1e-13 * epsilon, rtol=1e-13))


def _epsilon_at_most(channel: Channel, d: FloatArray, closeness: FloatArray, rate: float) -> float:
    """At least the epsilon of the stored doubles: how far each is from the formula is measured, entry by entry.

    ln Q(y | x) = -rate d(x, y) - ln Z(x) + off(x, y), so that ln Q(y | x) - ln Q(y | x') is at most
    rate d(x, x') + ln Z(x') - ln Z(x) + max_y off(x, y) - min_y off(x', y).
    """
    if np.any(channel.matrix == 0):
        return math.inf
    logs = np.log(np.exp(-rate * d).sum(axis=1))
    off = np.log(channel.matrix) + rate * d + logs[:, None]
    size = float(np.abs(logs).max() + 2 * rate * d.max()) + 1
    error = log_ratio_error(channel.matrix) + 16 * UNIT * size
    change = (logs - off.min(axis=1))[None, :] - (logs - off.max(axis=1))[:, None] + error
    return rounded_up(rate + max(0.0, float((change * closeness).max())))


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's exponential."""
    return exponential_for_epsilon(
        task.prior.distances_m(),
        task.level,
        metric=True,
        unit=task.unit,
        plane_error=task.plane_error,
        inputs=task.prior.labels,
    ).with_labels(task)
