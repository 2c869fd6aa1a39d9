"""Geo-indistinguishability of a channel: the smallest g with Q(y | x) <= e^(g d(x, x')) Q(y | x') [Andres2013].

``geo_epsilon`` is the number as measured; ``geo_epsilon_at_most`` is at least the true one of the doubles that are
drawn from (see :mod:`sfumato.base.numbers.rounding`), which is what a promise needs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import log_ratio_error, rounded_up
from sfumato.base.things.channel import Channel, checked_rows

_FEW = 3_000_000
"""Up to this many (pair, output) triples NumPy is quicker than loading the compiled loop."""


def geo_epsilon(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> float:
    """The smallest g as measured; ``distances`` is (inputs, inputs), in metres for a result per metre.

    Two different rows at distance 0 give infinity, and so does an output that only some inputs can give.
    """
    return _steepest(*_checked(channel, distances), error=0.0)


def geo_epsilon_at_most(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> float:
    """An upper bound of the exact g of the stored doubles, normalised or not, above it by rounding only."""
    q, d = _checked(channel, distances)
    return rounded_up(_steepest(q, d, error=log_ratio_error(q)))


def _steepest(q: FloatArray, d: FloatArray, *, error: float) -> float:
    q = q[:, q.max(axis=0) > 0]
    if np.any(q == 0):
        return math.inf if q.shape[0] > 1 else 0.0
    logs = np.log(q)
    if q.shape[0] * q.size > _FEW:
        from sfumato.base.numbers.geo_loops import steepest

        order = np.argsort(d, axis=1, kind="stable")
        return float(steepest(logs, d, order, error))
    worst = 0.0
    for x in range(q.shape[0] - 1):
        change = np.abs(logs[x] - logs[x + 1 :]).max(axis=1)
        apart = d[x, x + 1 :]
        near = apart <= 0
        if np.any(change[near] > 1e-12):
            return math.inf
        if not near.all():
            with np.errstate(over="ignore"):
                worst = max(worst, float(((change[~near] + error) / apart[~near]).max()))
    return worst


def _checked(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    q = channel.matrix if isinstance(channel, Channel) else checked_rows(channel)
    d = finite(distances, "The distances", dimensions=2)
    if d.shape != (q.shape[0], q.shape[0]) or d.min() < 0:
        raise InputError("The distances are not one non-negative number per pair of inputs.", "Give a square matrix.")
    return q, np.minimum(d, d.T)
