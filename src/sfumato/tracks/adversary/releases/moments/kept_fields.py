"""Speed and course that were left in a release: added up, they are the true way but for a shift of each ride, and a
drift.

Receivers write them of the step before a point, after it, or of the moment: the likeliest of the three is taken. Where
they are missing the smoothed release goes on. The shift is the mean under the law of the noise of what the released
points say about it; what is left is noise and drift, and is smoothed under the prior that suits it best.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit, likeliest_fit
from sfumato.tracks.adversary.releases.regular.averaging import mean_under
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

SPEED, COURSE = "speed", "course"


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Dead reckoning, ride by ride; None where speed (m/s) or course (degrees from north) was not kept."""
    if SPEED not in seen.kept or COURSE not in seen.kept or len(seen.times_s) < 3:
        return None
    course = np.radians(seen.kept[COURSE])
    pace = seen.kept[SPEED][:, None] * np.column_stack([np.sin(course), np.cos(course)])
    free = best_fit(seen, told)
    onward = np.diff(seen.path_m if free is None else free, axis=0)
    noise, ways = told.noise(seen), []
    for each in (pace[1:], pace[:-1], 0.5 * (pace[1:] + pace[:-1])):
        steps = np.where(np.isnan(each), onward, each * np.diff(seen.times_s)[:, None])
        way = np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])
        for number in np.unique(seen.ride):
            ride = np.flatnonzero(seen.ride == number)
            way[ride] += mean_under(noise, seen.times_s[ride], seen.path_m[ride] - way[ride])
        ways.append((way, replace(seen, path_m=seen.path_m - way)))
    way, left = max(ways, key=lambda one: likeliest_fit(one[1], noise)[1])
    drift = best_fit(left, replace(told, law=noise))
    return way if drift is None else way + drift
