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
        theirs = seen.part(later=True).shapes
        if len(theirs):
            off = np.sort([warp_distance_m(one, other) for one in known.earlier.shapes for other in theirs])[:_BEST]
            out[number] = -float(np.mean(np.log(off + 50.0)))
    return out


@compile_loop()
def warp_distance_m(one: FloatArray, other: FloatArray) -> float:
    """The mean distance of ``one`` to the stretch of ``other`` it fits best, either way along is forward."""
    n, m = len(one), len(other)
    before, now = np.zeros(m), np.zeros(m)
    for i in range(n):
        for j in range(m):
            apart = np.sqrt(((one[i] - other[j]) ** 2).sum())
            least = before[j]
            if j > 0:
                least = min(least, now[j - 1], before[j - 1]) if i > 0 else before[j]
            now[j] = apart + (least if i > 0 else 0.0)
        before, now = now, before
    return float(before.min() / n)
