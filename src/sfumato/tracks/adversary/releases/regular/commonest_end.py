"""Rides begin and end at home: the fullest neighbourhood of their ends, as wide as the noise, and its mean."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.regular.averaging import NEAR_M, fullest, width_of
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Of home all ends; of work those of working hours."""
    use = seen.at_work(seen.end_s) if told.work else np.ones(len(seen.end_s), dtype=bool)
    ends = seen.ends[use, :2]
    if not len(ends):
        return None
    width = width_of(ends, max(NEAR_M, told.noise_m(seen)))
    return np.asarray(ends[fullest(ends, width)].mean(axis=0))[None]


def stays(seen: SeenTrack, told: Knowledge, most: int = 10) -> FloatArray | None:
    """Where the person stays: neighbourhoods of ends and ten-minute means, the fullest first."""
    points = np.vstack([np.repeat(seen.ends[:, :2], 3, axis=0), seen.slots_m])
    found: list[FloatArray] = []
    radius = max(NEAR_M, told.noise_m(seen))
    while len(points) and len(found) < most:
        there = fullest(points, radius)
        found.append(points[there].mean(axis=0) if there.size else points[0])
        points = points[np.hypot(*(points - found[-1]).T) >= 1.5 * radius]
    return np.array(found) if found else None
