"""Optimal remapping: every released point is moved to where people usually are, given the size of the noise.

The prior is a sample of the places at which other people and this one were released, in cells of 100 m; the guess is
the posterior mean under a Gaussian of the noise's size, one moment at a time.
"""

from __future__ import annotations

import math

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
    # in units of the noise, in single precision: millimetres over a hundred kilometres
    middle = seen.path_m.mean(axis=0)
    spots, path = (((part - middle) / (math.sqrt(2.0) * size)).astype(np.float32) for part in (places, seen.path_m))
    share, sums = log_share.astype(np.float32), np.column_stack([spots, np.ones(len(spots), np.float32)])
    out = np.empty_like(seen.path_m)
    for start in range(0, len(out), _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        score = np.subtract.outer(path[at, 0], spots[:, 0])
        north = np.subtract.outer(path[at, 1], spots[:, 1])
        score *= score
        north *= north
        score += north
        np.subtract(share, score, out=score)
        score -= score.max(axis=1, keepdims=True)
        found = np.exp(score, out=score) @ sums
        out[at] = found[:, :2] / found[:, 2:] * (math.sqrt(2.0) * size) + middle
    return out
