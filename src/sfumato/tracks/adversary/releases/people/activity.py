"""Re-identification from hours and shape: no place at all, only when somebody moves, how far and for how long.

A release of true times gives these away whatever noise is on its places.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import SeenTrack, once

_HOUR_S = 3600.0


def score(known: KnownPerson, releases: list[SeenTrack], noise_m: float) -> FloatArray:
    """Minus the distance between the habits of the known half and those of each release's later half."""
    wanted = _habits(known.earlier)
    return np.array([-float(np.abs(wanted - _habits(seen.later)).sum()) for seen in releases])


@once
def _habits(seen: SeenTrack) -> FloatArray:
    """Shares of time by hour (smoothed) and weekday, and how many points ten minutes hold, on a log scale."""
    if not len(seen.slot_s):
        return np.zeros(39)
    local = seen.slot_s + seen.east_s
    by_hour = np.bincount((local // _HOUR_S % 24).astype(int), minlength=24).astype(float)
    by_hour = (np.roll(by_hour, 1) + 2 * by_hour + np.roll(by_hour, -1)) / 4
    by_day = np.bincount((local // (24 * _HOUR_S) % 7).astype(int), minlength=7).astype(float)
    density = np.bincount(np.clip(np.log2(seen.slot_points), 0, 7).astype(int), minlength=8).astype(float)
    return np.concatenate([part / part.sum() for part in (by_hour, by_day, density)])
