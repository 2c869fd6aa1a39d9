"""Which pairs of places to compare while solving: those with no place almost between them.

Leaving pairs out relaxes the program, so that a lower bound of the rest is a lower bound of all; what ships is checked
on every pair. With 3 % to spare a square grid keeps 16 neighbours a cell, with 1 % it keeps 32 (the constraint-reducing
spanner of [Bordenabe2014], without paying its dilation).
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled

_SLACKS = (0.01, 0.03, 0.09)
_MOST_MULTIPLIERS = 120_000_000
"""Two multipliers per pair and output, four bytes each, are held at once."""


def near_pairs(distances: FloatArray, outputs: int) -> IntArray:
    """(pairs, 2) places x < x' with none almost between them; fewer where the multipliers would not fit in memory."""
    order = np.argsort(distances, axis=1, kind="stable")
    for slack in _SLACKS:
        found: IntArray = _kept(distances, order, slack)
        if 2 * found.shape[0] * outputs <= _MOST_MULTIPLIERS:
            break
    return found


@compiled()
def _kept(distances: FloatArray, order: IntArray, slack: float) -> IntArray:
    count = distances.shape[0]
    pairs = []
    for x in range(count - 1):
        for other in range(x + 1, count):
            apart = distances[x, other]
            kept = True
            for middle in order[x]:
                near = distances[x, middle]
                if near >= apart:
                    break
                rest = distances[middle, other]
                if middle != x and rest < apart and near + rest <= (1 + slack) * apart:
                    kept = False
                    break
            if kept:
                pairs.append((x, other))
    out = np.empty((len(pairs), 2), np.int64)
    for index in range(len(pairs)):
        out[index, 0], out[index, 1] = pairs[index]
    return out
