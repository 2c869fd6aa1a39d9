"""The exponential mechanism over places: Q(y | x) proportional to e^(-rate d(x, y)) on the places themselves.

Every row has its own normalising sum, so its geo-indistinguishability lies between the rate and twice the rate; it is
measured, and :func:`exponential_for_epsilon` finds the rate whose measured value is the one asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, finite, positive
from sfumato.errors import InputError
from sfumato.leakage.discrete import geo_epsilon
from sfumato.mechanisms.channels.geo_optimal import GeoChannel, certified_geo
from sfumato.mechanisms.channels.named_design import ChannelTask, DesignedChannel
from sfumato.mechanisms.channels.rate import largest_rate


def exponential_matrix(distances: npt.ArrayLike, rate: float) -> FloatArray:
    """The rows e^(-rate d) divided by their sums."""
    d = finite(distances, "The distances", dimensions=2)
    if d.min() < 0:
        raise InputError("The distances are negative.", "Give distances of at least 0.")
    weights = np.exp(-positive(rate, "rate") * (d - d.min(axis=1, keepdims=True)))
    out: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return out


def exponential_for_epsilon(
    distances: npt.ArrayLike,
    epsilon: float,
    *,
    unit: str = "m",
    plane_error: float = 0.0,
    inputs: Sequence[str] = (),
) -> GeoChannel:
    """The exponential mechanism with the largest rate whose measured geo-indistinguishability is at most epsilon."""
    d = finite(distances, "The distances", dimensions=2)
    eps = positive(epsilon, "epsilon")
    rate = largest_rate(lambda r: geo_epsilon(exponential_matrix(d, r), d), eps, low=0.4 * eps, high=1.05 * eps)
    return certified_geo(
        exponential_matrix(d, rate),
        d,
        eps,
        unit=unit,
        plane_error=plane_error,
        inputs=tuple(inputs),
        outputs=tuple(inputs),
        distortion=d,
        distortion_name="euclidean",
    )


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's exponential."""
    made = exponential_for_epsilon(
        task.prior.distances_m(),
        task.level,
        unit=task.unit,
        plane_error=task.plane_error,
        inputs=task.prior.labels,
    )
    return DesignedChannel.exact(task, made.channel, made.guarantee)
