"""Geo-indistinguishability of a channel: the smallest g with Q(y | x) <= e^(g d(x, x')) Q(y | x') [Andres2013].

``geo_epsilon`` is the number as measured; ``geo_epsilon_at_most`` is at least the true one of the doubles that are
drawn from (see :mod:`sfumato.base.numbers.rounding`), which is what a promise needs.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from types import ModuleType
from weakref import ref

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import log_ratio_error, rounded_up
from sfumato.base.things.channel import Channel, checked_rows

_FEW = 3_000_000
"""Up to this many (pair, output) triples NumPy is quicker than loading the compiled loop."""
_last: list[tuple[ref[FloatArray], bytes, tuple[float, float]]] = []


def geo_epsilon(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> float:
    """The smallest g as measured; ``distances`` is (inputs, inputs), in metres for a result per metre.

    Two different rows at distance 0 give infinity, and so does an output that only some inputs can give.
    """
    return _measure(channel, distances)[0]


def geo_epsilon_at_most(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> float:
    """An upper bound of the exact g of the stored doubles, normalised or not, above it by rounding only."""
    return rounded_up(_measure(channel, distances)[1])


def geo_loops() -> ModuleType:
    """The compiled loops, loaded when there are many places."""
    from sfumato.base.numbers import geo_loops as loops

    return loops


def _measure(channel: Channel | npt.ArrayLike, distances: npt.ArrayLike) -> tuple[float, float]:
    """Both, in one pass over all pairs; what was measured last is not measured again."""
    q = channel.matrix if isinstance(channel, Channel) else checked_rows(channel)
    d = finite(distances, "The distances", dimensions=2)
    if d.shape != (q.shape[0], q.shape[0]) or d.min() < 0:
        raise InputError("The distances are not one non-negative number per pair of inputs.", "Give a square matrix.")
    d = np.minimum(d, d.T)
    known = blake2b(d.tobytes(), digest_size=16).digest()
    for matrix, apart, found in _last:
        if matrix() is q and apart == known:
            return found
    found = _steepest(q, d, error=log_ratio_error(q))
    if isinstance(channel, Channel):  # its matrix cannot be written to
        _last[:] = [(ref(q), known, found)]
    return found


def _steepest(q: FloatArray, d: FloatArray, *, error: float) -> tuple[float, float]:
    q = q[:, q.max(axis=0) > 0]
    if np.any(q == 0):
        worst = math.inf if q.shape[0] > 1 else 0.0
        return worst, worst
    logs = np.log(q)
    if q.shape[0] * q.size > _FEW:
        plain, above = geo_loops().steepest(logs, d, np.argsort(d, axis=1, kind="stable"), error)
        return plain, above
    plain = above = 0.0
    for x in range(q.shape[0] - 1):
        change = np.abs(logs[x] - logs[x + 1 :]).max(axis=1)
        apart = d[x, x + 1 :]
        near = apart <= 0
        if np.any(change[near] > 1e-12):
            return math.inf, math.inf
        if not near.all():
            change, apart = change[~near], apart[~near]
            with np.errstate(over="ignore"):
                plain = max(plain, float((change / apart).max()))
                above = max(above, float(((change + error) / apart).max()))
    return plain, above
