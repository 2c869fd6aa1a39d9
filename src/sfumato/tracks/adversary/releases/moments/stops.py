"""People stop and go: where the smoothed path stays near one place for five minutes, it is taken to stand still there.

A stop is one unknown place seen through all of its moments: its generalised least squares mean under the law of the
noise, which is the exact posterior of a mixture that knows when the person stood still.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit
from sfumato.tracks.adversary.releases.regular.averaging import mean_under
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

STOP_S, NEAR_M = 300.0, 50.0


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The fitted smoothing, and one place for every stop."""
    path = best_fit(seen, told)
    if path is None:
        return None
    near = max(NEAR_M, 0.25 * told.noise_m(seen))
    out, start = path.copy(), 0
    for at in range(1, len(path) + 1):
        if at < len(path) and np.hypot(*(path[at] - path[start])) < near:
            continue
        if seen.times_s[at - 1] - seen.times_s[start] >= STOP_S:
            out[start:at] = mean_under(told.noise(seen), seen.times_s[start:at], seen.path_m[start:at])
        start = at
    return out
