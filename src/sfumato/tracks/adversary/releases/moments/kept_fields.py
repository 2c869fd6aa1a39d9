"""Speed and course that were left in a release: integrated, they are the true way but for one unknown shift per ride.

The shift is the mean under the law of the noise of what the released points say about it.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.regular.averaging import mean_under
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

SPEED, COURSE = "speed", "course"


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Dead reckoning, ride by ride; None where speed (m/s) or course (degrees from north) was not kept."""
    if SPEED not in seen.kept or COURSE not in seen.kept:
        return None
    speed, course = np.nan_to_num(seen.kept[SPEED]), np.radians(np.nan_to_num(seen.kept[COURSE]))
    pace = speed[:, None] * np.column_stack([np.sin(course), np.cos(course)])
    out = seen.path_m.copy()
    for number in np.unique(seen.ride):
        ride = np.flatnonzero(seen.ride == number)
        if len(ride) < 3:
            continue
        times = seen.times_s[ride]
        steps = 0.5 * (pace[ride][1:] + pace[ride][:-1]) * np.diff(times)[:, None]
        way = np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])
        out[ride] = way + mean_under(told.noise(seen), times, seen.path_m[ride] - way)
    return out
