"""Matching against somebody's own earlier public tracks: rides of one person repeat, whatever the day.

Subsequence dynamic time warping: the least mean distance between a known ride and any stretch of a released one, the
best three pairs of each release counted.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.compiled import compile_loop
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import SeenTrack

_BEST = 3


def score(known: KnownPerson, releases: list[SeenTrack], noise_m: float) -> FloatArray:
    """Minus the logarithm of the distances."""
    out = np.full(len(releases), -np.inf)
    if not len(known.earlier.shapes):
        return out
    for number, seen in enumerate(releases):
        theirs = seen.later.shapes
        if len(theirs):
            off = least_warps_m(known.earlier.shapes, theirs, _BEST)
            out[number] = -float(np.mean(np.log(off[np.isfinite(off)] + 50.0)))
    return out


@compile_loop()
def least_warps_m(ours: FloatArray, theirs: FloatArray, most: int) -> FloatArray:
    """The least distances of all pairs, ascending; pairs that cannot be among them are given up early."""
    best = np.full(most, np.inf)
    for i in range(len(ours)):
        for j in range(len(theirs)):
            off = warp_distance_m(ours[i], theirs[j], best[-1])
            if off < best[-1]:
                best[-1] = off
                best.sort()
    return best


@compile_loop()
def warp_distance_m(one: FloatArray, other: FloatArray, enough_m: float = np.inf) -> float:
    """The mean distance of ``one`` to the stretch of ``other`` it fits best, either way along is forward.

    Infinite where it is more than enough.
    """
    n, m = len(one), len(other)
    before, now = np.zeros(m), np.zeros(m)
    for i in range(n):
        for j in range(m):
            apart = np.sqrt(
                (one[i, 0] - other[j, 0]) ** 2 + (one[i, 1] - other[j, 1]) ** 2 + (one[i, 2] - other[j, 2]) ** 2
            )
            least = before[j]
            if i > 0 and j > 0:
                least = min(least, now[j - 1], before[j - 1])
            now[j] = apart + (least if i > 0 else 0.0)
        if now.min() > enough_m * n:
            return np.inf
        before, now = now, before
    return float(before.min() / n)
