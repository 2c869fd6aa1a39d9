"""Re-identification from top places: the three places where somebody used to be most, among those of each release."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import SeenTrack, once

TOP = 3
_SLACK_M, _FAR = 200.0, 12.0


def score(known: KnownPerson, releases: list[SeenTrack], noise_m: float) -> FloatArray:
    """Minus the squared distance in noises of each known place to the nearest place of a release's later half."""
    wanted, shares = _top(known.earlier, noise_m, TOP)
    out = np.full(len(releases), -np.inf)
    for number, seen in enumerate(releases):
        there, _ = _top(seen.later, noise_m, 2 * TOP)
        if not len(there) or not len(wanted):
            continue
        away = np.linalg.norm(wanted[:, None] - there[None], axis=2).min(axis=1)
        out[number] = -shares @ np.minimum(away**2 / (2 * (noise_m**2 + _SLACK_M**2)), _FAR)
    return out


@once
def _top(seen: SeenTrack, noise_m: float, most: int) -> tuple[FloatArray, FloatArray]:
    """The fullest cells, as wide as the noise, and their shares of the time."""
    if not len(seen.globe_m):
        return np.empty((0, 3)), np.empty(0)
    size = max(2 * _SLACK_M, 2 * noise_m)
    cells, which, count = np.unique(np.round(seen.globe_m / size), axis=0, return_inverse=True, return_counts=True)
    middle = np.zeros((len(cells), 3))
    np.add.at(middle, which.reshape(-1), seen.globe_m)
    best = np.argsort(-count, kind="stable")[:most]
    return middle[best] / count[best, None], count[best] / count[best].sum()
