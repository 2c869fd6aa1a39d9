"""Compiled loops for a :class:`~sfumato.base.things.channel.Channel` that is held and measured again and again.

NumPy needs ten calls where one loop over 36 x 36 entries takes a microsecond. A bare matrix, checked at every call, is
measured by NumPy. Each loop also says whether the prior is one as it stands; where it is not, its result is not used.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.compiled import compile_loop
from sfumato.base.things.channel import LEAST_PROBABILITY, ROUNDING, Channel

_AT_ONCE = 1 << 15
_NEAR, _FAR = 0.05, 0.5
_DOUBLES = np.dtype(np.float64)
_SERIES = np.array([1.0 / (k * (k - 1)) for k in range(13, 1, -1)])


def plain_prior(prior: npt.ArrayLike, channel: Channel) -> FloatArray | None:
    """The prior as it is, unchecked, where it can be handed to a loop."""
    p = getattr(prior, "probabilities", prior)
    if type(p) is not np.ndarray or p.dtype is not _DOUBLES or p.strides != (8,):
        return None
    return p if p.size == channel.matrix.shape[0] else None


@compile_loop()
def _look(p: FloatArray) -> tuple[bool, float]:
    """Whether this is a prior as it stands (its sum 1, no entry negative, NaN or tiny), and its largest entry."""
    top, good, total = 0.0, True, 0.0
    for value in p:
        total += value
        top = max(top, value)
        good = good and (value == 0 or value >= LEAST_PROBABILITY)
    return good and abs(total - 1) <= ROUNDING, top


@compile_loop()
def one_guess(q: FloatArray, p: FloatArray) -> tuple[bool, float, float]:
    """sum_y max_x p(x) Q(y | x) and max p."""
    best = np.zeros(q.shape[1])
    for x in range(q.shape[0]):
        weight = p[x]
        for y in range(q.shape[1]):
            best[y] = max(best[y], weight * q[x, y])
    good, top = _look(p)
    return good, best.sum(), top


@compile_loop()
def best_of_table(gains: FloatArray, q: FloatArray, p: FloatArray) -> tuple[bool, float, float, float, int]:
    """The best gain before a report, after it on average, after the worst one, and which that is."""
    (guesses, symbols), outputs = gains.shape, q.shape[1]
    best, mass = np.empty(outputs), np.zeros(outputs)
    some = max(16, _AT_ONCE // symbols)
    for at in range(0, outputs, some):
        end = min(at + some, outputs)
        joint = np.empty((symbols, end - at))
        for x in range(symbols):
            for y in range(at, end):
                joint[x, y - at] = p[x] * q[x, y]
                mass[y] += joint[x, y - at]
        found = np.dot(gains, joint)
        best[at:end] = found[0]
        for w in range(1, guesses):
            for y in range(at, end):
                best[y] = max(best[y], found[w, y - at])
    worst, worst_output = -math.inf, 0
    for y in range(outputs):
        if mass[y] > 0 and best[y] > worst * mass[y]:
            worst, worst_output = best[y] / mass[y], y
    return _look(p)[0], np.dot(gains, p).max(), best.sum(), worst, worst_output


@compile_loop()
def column_maxima(q: FloatArray) -> float:
    """sum_y max_x Q(y | x)."""
    best = np.zeros(q.shape[1])
    for x in range(q.shape[0]):
        for y in range(q.shape[1]):
            best[y] = max(best[y], q[x, y])
    return float(best.sum())


@compile_loop()
def guesses_needed(q: FloatArray, p: FloatArray) -> tuple[bool, float]:
    """sum_i i j_(i) over joint columns j, likeliest first, without sorting them.

    Of two symbols the less likely is asked for after the other: the sum is sum_x j_x + sum_{x < x'} min(j_x, j_x').
    """
    symbols, outputs = q.shape
    joint, asked = np.empty((symbols, outputs)), np.zeros(outputs)
    for x in range(symbols):
        for y in range(outputs):
            joint[x, y] = p[x] * q[x, y]
            asked[y] += joint[x, y]
        for other in range(x):
            for y in range(outputs):
                asked[y] += min(joint[x, y], joint[other, y])
    return _look(p)[0], asked.sum()


@compile_loop()
def information(q: FloatArray, p: FloatArray) -> tuple[bool, float]:
    """sum p m [r ln r - (r - 1)] over lifts r = Q / m, near 1 as in :mod:`sfumato.channels.priors.excess`."""
    mass = np.zeros(q.shape[1])
    for x in range(q.shape[0]):
        for y in range(q.shape[1]):
            mass[y] += p[x] * q[x, y]
    inverse = np.zeros(mass.size)
    for y in range(mass.size):
        inverse[y] = 1.0 / mass[y] if mass[y] > 0 else 0.0
    told = 0.0
    for x in range(q.shape[0]):
        row = 0.0
        for y in range(q.shape[1]):
            m = mass[y]
            lift, v = q[x, y] * inverse[y], (q[x, y] - m) * inverse[y]
            if abs(v) >= _FAR:
                row += m * (lift * math.log(lift) - v if lift > 0 else 1.0)
            elif abs(v) >= _NEAR:  # ln(1 + v) to the rounding of v, not of 1 + v
                row += m * ((1 + v) * math.log1p(v) - v)
            else:
                series = 0.0
                for term in _SERIES:
                    series = term - v * series
                row += m * v * v * series
        told += p[x] * row
    return _look(p)[0], told
