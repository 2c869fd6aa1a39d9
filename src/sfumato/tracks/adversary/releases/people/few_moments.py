"""Re-identification from k points: where one person truly was at a few moments, held against every release."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import SLOT_S, SeenTrack

_WRONG_TIME, _SLACK_M = -12.0, 100.0


def score(known: KnownPerson, releases: list[SeenTrack], noise_m: float) -> FloatArray:
    """The log-likelihood of each release at the known moments; a moment it lacks speaks against it."""
    size2 = noise_m**2 + _SLACK_M**2
    out = np.zeros(len(releases))
    for number, seen in enumerate(releases):
        at = np.clip(np.searchsorted(seen.slot_s, known.times_s), 0, max(len(seen.slot_s) - 1, 0))
        for moment, near in enumerate(at):
            few = slice(max(near - 1, 0), near + 1)
            close = np.abs(seen.slot_s[few] - known.times_s[moment]) <= SLOT_S
            if not close.any():
                out[number] += _WRONG_TIME
                continue
            away = seen.globe_m[few][close] - known.globe_m[moment]
            out[number] += max(-float((away**2).sum(axis=1).min()) / (2 * size2), _WRONG_TIME)
    return out
