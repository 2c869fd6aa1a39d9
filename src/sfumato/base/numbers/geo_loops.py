"""The compiled loops behind geo-indistinguishability: the largest change of a log-probability per distance."""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop

_ROWS, _OUTPUTS = 16, 512
"""A tile of the loop: this many rows against as many others, over this many outputs at a time, fits the cache."""


_NEAR = 12
"""Paths between places go through this many nearest neighbours of each."""


@compile_loop(fastmath={"nnan", "nsz"})
def steepest(logs: FloatArray, distances: FloatArray, order: IntArray, error: float) -> tuple[float, float]:
    """max over pairs of max over y of |logs[x, y] - logs[x', y]| / distance, and of (that + error) / distance.

    Infinite at distance 0. ``logs`` is finite; ``order[x]`` are the places by their distance from x. A change along a
    path is at most the sum of its steps, so that most pairs far apart need not be looked at: first the steepest of near
    places is found, then only pairs whose path could be steeper.
    """
    count, outputs = logs.shape
    near = min(_NEAR, count - 1)
    steps = np.empty((count, near))
    worst, above = 0.0, 0.0
    for x in range(count):
        for index in range(near):
            other = order[x, index + 1]
            change = 0.0
            for y in range(outputs):
                change = max(change, abs(logs[x, y] - logs[other, y]))
            steps[x, index] = change
            if distances[x, other] > 0:
                worst = max(worst, change / distances[x, other])
                above = max(above, (change + error) / distances[x, other])
            elif change > 1e-12:
                return math.inf, math.inf
    steeper = np.zeros((count, count), np.bool_)
    for x in range(count):
        along = np.full(count, np.inf)
        along[x] = 0.0
        for place in order[x]:
            for index in range(near):
                along[place] = min(along[place], along[order[place, index + 1]] + steps[place, index])
            steeper[x, place] = (1 + 1e-12) * along[place] + error > worst * distances[x, place]
    for first in range(0, count, _ROWS):
        for second in range(first, count, _ROWS):
            most = np.zeros((_ROWS, _ROWS))
            for start in range(0, outputs, _OUTPUTS):
                end = min(start + _OUTPUTS, outputs)
                for other in range(second, min(second + _ROWS, count)):
                    for x in range(first, min(first + _ROWS, count), 4):
                        # Four rows at once: the other one is loaded once. Past the end the last row stands again.
                        x1, x2, x3 = min(x + 1, count - 1), min(x + 2, count - 1), min(x + 3, count - 1)
                        if not (steeper[x, other] or steeper[x1, other] or steeper[x2, other] or steeper[x3, other]):
                            continue
                        a, b, c, d = 0.0, 0.0, 0.0, 0.0
                        for y in range(start, end):
                            there = logs[other, y]
                            a = max(a, abs(logs[x, y] - there))
                            b = max(b, abs(logs[x1, y] - there))
                            c = max(c, abs(logs[x2, y] - there))
                            d = max(d, abs(logs[x3, y] - there))
                        row = x - first
                        most[row, other - second] = max(most[row, other - second], a)
                        most[row + 1, other - second] = max(most[row + 1, other - second], b)
                        most[row + 2, other - second] = max(most[row + 2, other - second], c)
                        most[row + 3, other - second] = max(most[row + 3, other - second], d)
            for x in range(first, min(first + _ROWS, count)):
                for other in range(max(second, x + 1), min(second + _ROWS, count)):
                    apart = distances[x, other]
                    if not steeper[x, other]:
                        continue
                    if apart > 0:
                        worst = max(worst, most[x - first, other - second] / apart)
                        above = max(above, (most[x - first, other - second] + error) / apart)
                    elif most[x - first, other - second] > 1e-12:
                        return math.inf, math.inf
    return worst, above


@compile_loop(fastmath={"nnan", "nsz"})
def steepest_of_table(logs: FloatArray, rows: IntArray, columns: IntArray, sides: tuple[float, float]) -> float:
    """The same for Q = table[row class, column class], without an error.

    ``rows`` and ``columns`` hold every (class seen from x, class seen from x', steps between x and x') of an axis; any
    two of them occur together.
    """
    worst = 0.0
    for i in range(rows.shape[0]):
        down = rows[i, 2] * sides[0]
        for j in range(columns.shape[0]):
            across = columns[j, 2] * sides[1]
            apart = math.sqrt(down * down + across * across)
            if apart > 0:
                change = logs[rows[i, 0], columns[j, 0]] - logs[rows[i, 1], columns[j, 1]]
                worst = max(worst, abs(change) / apart)
    return worst
