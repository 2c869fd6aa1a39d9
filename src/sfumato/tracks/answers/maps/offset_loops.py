"""The compiled loop of :mod:`~sfumato.tracks.answers.maps.offsets`: a release laid on a map at every shift."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled


@compiled()
def overlaps(row: IntArray, column: IntArray, mass: FloatArray, seen: FloatArray, reach: int) -> FloatArray:
    """Σ_i mass_i · seen[cell_i - u] for every shift u of up to ``reach`` cells; beyond the map its edge is taken."""
    rows, columns = seen.shape
    out = np.zeros((2 * reach + 1, 2 * reach + 1))
    for i in range(len(row)):
        for a in range(-reach, reach + 1):
            r = min(max(row[i] - a, 0), rows - 1)
            for b in range(-reach, reach + 1):
                c = min(max(column[i] - b, 0), columns - 1)
                out[a + reach, b + reach] += mass[i] * seen[r, c]
    return out
