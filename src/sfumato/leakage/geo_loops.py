"""The compiled loops behind geo-indistinguishability: the largest change of a log-probability per distance."""

from __future__ import annotations

import math

import numba
import numpy as np

from sfumato.arrays import FloatArray, IntArray

_ROWS, _OUTPUTS = 16, 256
"""A tile of the loop: this many rows against as many others, over this many outputs at a time, fits the cache."""


@numba.njit(cache=True, fastmath={"nnan", "nsz"})  # type: ignore[untyped-decorator]
def steepest(logs: FloatArray, distances: FloatArray, error: float) -> float:
    """max over pairs of (max over y of |logs[x, y] - logs[x', y]| + error) / distance; infinite at distance 0.

    ``logs`` is finite.
    """
    count, outputs = logs.shape
    worst = 0.0
    for first in range(0, count, _ROWS):
        for second in range(first, count, _ROWS):
            most = np.zeros((_ROWS, _ROWS))
            for start in range(0, outputs, _OUTPUTS):
                end = min(start + _OUTPUTS, outputs)
                for x in range(first, min(first + _ROWS, count)):
                    for other in range(max(second, x + 1), min(second + _ROWS, count)):
                        high, low = 0.0, 0.0
                        for y in range(start, end):
                            change = logs[x, y] - logs[other, y]
                            high = max(high, change)
                            low = min(low, change)
                        most[x - first, other - second] = max(most[x - first, other - second], high, -low)
            for x in range(first, min(first + _ROWS, count)):
                for other in range(max(second, x + 1), min(second + _ROWS, count)):
                    apart = distances[x, other]
                    if apart > 0:
                        worst = max(worst, (most[x - first, other - second] + error) / apart)
                    elif most[x - first, other - second] > 1e-12:
                        return math.inf
    return worst


@numba.njit(cache=True, fastmath={"nnan", "nsz"})  # type: ignore[untyped-decorator]
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
