"""The compiled loops behind guesses: for whoever measures small channels by the thousand.

Each looks at the prior on its way, in the place of a check of its own, and says whether it needs neither repair nor
refusal: where it does, what the loop found is not used.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.compiled import compiled
from sfumato.base.things.channel import LEAST_PROBABILITY, ROUNDING

_AT_ONCE = 1 << 15
_NEAR, _FAR = 0.05, 0.5
_SERIES = np.array([1.0 / (k * (k - 1)) for k in range(13, 1, -1)])


@compiled()
def looked_over(p: FloatArray) -> tuple[float, bool]:
    """The largest entry, and whether this is a prior as it stands: its sum 1, no entry negative, NaN or tiny."""
    top, good, total = 0.0, True, 0.0
    for value in p:
        total += value
        top = max(top, value)
        good = good and (value == 0 or value >= LEAST_PROBABILITY)
    return top, good and abs(total - 1) <= ROUNDING


@compiled()
def in_pairs(values: FloatArray) -> float:
    """The sum as eight sums side by side: up to 128 values in NumPy's very order."""
    count = values.size
    out, whole = 0.0, 0
    if count >= 8:
        a, b, c, d, e, f, g, h = values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]
        whole = count - count % 8
        for i in range(8, whole, 8):
            a, b, c, d = a + values[i], b + values[i + 1], c + values[i + 2], d + values[i + 3]
            e, f, g, h = e + values[i + 4], f + values[i + 5], g + values[i + 6], h + values[i + 7]
        out = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, count):
        out += values[i]
    return out


@compiled()
def one_guess(q: FloatArray, p: FloatArray) -> tuple[bool, float, float]:
    """Whether the prior is good; sum_y max_x p(x) Q(y | x); max p."""
    best = np.zeros(q.shape[1])
    for x in range(q.shape[0]):
        weight = p[x]
        for y in range(q.shape[1]):
            best[y] = max(best[y], weight * q[x, y])
    top, good = looked_over(p)
    return good, in_pairs(best), top


@compiled()
def best_of_table(gains: FloatArray, q: FloatArray, p: FloatArray) -> tuple[bool, float, float, float, int]:
    """Whether the prior is good; the best gain before a report, after it on average, after the worst; which that is."""
    guesses, symbols = gains.shape
    outputs = q.shape[1]
    before = np.dot(gains, p).max()
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
        for y in range(at, end):
            best[y] = found[0, y - at]
        for w in range(1, guesses):
            for y in range(at, end):
                best[y] = max(best[y], found[w, y - at])
    worst, worst_output = -math.inf, 0
    for y in range(outputs):
        if mass[y] > 0 and best[y] > worst * mass[y]:
            worst, worst_output = best[y] / mass[y], y
    return looked_over(p)[1], before, in_pairs(best), worst, worst_output


@compiled()
def largest_of_columns(q: FloatArray) -> float:
    """sum_y max_x Q(y | x)."""
    best = np.zeros(q.shape[1])
    for x in range(q.shape[0]):
        for y in range(q.shape[1]):
            best[y] = max(best[y], q[x, y])
    return float(in_pairs(best))


@compiled()
def guesses_needed(q: FloatArray, p: FloatArray) -> tuple[bool, float]:
    """Whether the prior is good; sum_i i j_(i) over joint columns j, likeliest first, without sorting them.

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
    return looked_over(p)[1], in_pairs(asked)


@compiled()
def smaller_sides(q: FloatArray, p: FloatArray, truth: BoolArray) -> tuple[bool, float, float]:
    """Whether the prior is good; min(P(holds), P(not)) before a report, and summed over reports."""
    yes, no = np.zeros(q.shape[1]), np.zeros(q.shape[1])
    holds, fails = 0.0, 0.0
    for x in range(q.shape[0]):
        if truth[x]:
            holds += p[x]
            for y in range(q.shape[1]):
                yes[y] += p[x] * q[x, y]
        else:
            fails += p[x]
            for y in range(q.shape[1]):
                no[y] += p[x] * q[x, y]
    return looked_over(p)[1], min(holds, fails), in_pairs(np.minimum(yes, no))


@compiled()
def information(q: FloatArray, p: FloatArray) -> tuple[bool, float]:
    """Whether the prior is good; sum p m [r ln r - (r - 1)] over lifts r = Q / m, near 1 as in priors.excess."""
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
            lift, v = q[x, y] * inverse[y], (q[x, y] - mass[y]) * inverse[y]
            if abs(v) >= _FAR:
                row += mass[y] * (lift * math.log(lift) - v if lift > 0 else 1.0)
            elif abs(v) >= _NEAR:  # ln(1 + v) to the rounding of v, not of 1 + v
                row += mass[y] * ((1 + v) * math.log1p(v) - v)
            else:
                series = 0.0
                for term in _SERIES:
                    series = term - v * series
                row += mass[y] * v * v * series
        told += p[x] * row
    return looked_over(p)[1], told
