"""Re-identification from k points: where one person truly was at a few moments, held against every release.

Times may have been shifted by one amount for all points of a release: shifts of up to four hours are tried.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import SLOT_S, SeenTrack

_WRONG_TIME, _SLACK_M, _SHIFTED = -12.0, 100.0, -3.0
_SHIFTS_S = SLOT_S * np.arange(-24, 25)


def score(known: KnownPerson, releases: list[SeenTrack], noise_m: float) -> FloatArray:
    """The log-likelihood of each release at the known moments; a moment it lacks speaks against it, so does a shift."""
    size2 = noise_m**2 + _SLACK_M**2
    out = np.full(len(releases), _WRONG_TIME * len(known.times_s))
    times = known.times_s + _SHIFTS_S[:, None]
    for number, seen in enumerate(releases):
        if not len(seen.slot_s):
            continue
        at = np.searchsorted(seen.slot_s, times)
        near = np.clip(np.stack([at - 1, at]), 0, len(seen.slot_s) - 1)
        away2 = ((seen.globe_m[near] - known.globe_m) ** 2).sum(axis=3)
        close = np.abs(seen.slot_s[near] - times) <= SLOT_S
        found = np.where(close, np.maximum(-away2 / (2 * size2), _WRONG_TIME), _WRONG_TIME).max(axis=0).sum(axis=1)
        out[number] = (found + np.where(_SHIFTS_S == 0, 0.0, _SHIFTED)).max()
    return out
