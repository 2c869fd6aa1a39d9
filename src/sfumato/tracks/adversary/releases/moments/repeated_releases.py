"""Several releases of the same moments: where noise was drawn anew for each, their mean is nearer than any of them.

The mean of all points of one moment, smoothed by what independent noise still shows in it. Noise that continues from
release to release is the same in all of them, and nothing is gained.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """None where hardly any moment was released twice."""
    if (seen.looks > 1).mean() < 0.5:
        return None
    return best_fit(replace(seen, path_m=seen.mean_m), replace(told, law=None))
