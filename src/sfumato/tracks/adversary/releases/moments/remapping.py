"""Optimal remapping: every released point is moved to where people usually are, given the size of the noise.

The prior is a sample of the places at which other people and this one were released, in cells of 100 m; the guess is
the posterior mean under a Gaussian of the noise's size, one moment at a time.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

CELL_M, _MOST, _AT_ONCE = 100.0, 3000, 250


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean over the cells of others and of the release itself; None where nobody else is released."""
    if told.crowd_m is None or not len(told.crowd_m):
        return None
    size = max(told.noise_m(seen), 1.0)
    low, high = seen.path_m.min(axis=0) - 4 * size, seen.path_m.max(axis=0) + 4 * size
    crowd = np.vstack([told.crowd_m, seen.slots_m])
    crowd = crowd[((crowd > low) & (crowd < high)).all(axis=1)]
    cells, count = np.unique(np.round(crowd / CELL_M), axis=0, return_counts=True)
    few = evenly(len(cells), _MOST)
    places, log_share = cells[few] * CELL_M, np.log(count[few] / count[few].sum())
    out = np.empty_like(seen.path_m)
    for start in range(0, len(out), _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        away = ((seen.path_m[at, None] - places[None]) ** 2).sum(axis=2)
        score = log_share - away / (2 * size**2)
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        out[at] = weight @ places / weight.sum(axis=1, keepdims=True)
    return out
