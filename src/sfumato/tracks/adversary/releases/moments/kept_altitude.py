"""Altitude that was left in a release: other people's tracks are a map of heights, and few places near have just this.

*States* are cells of a grid around the release; somebody stays, or walks at random at one of three speeds (the
likeliest). *Seen* at every look is where the release says, counted by what correlated looks are worth (as on
:mod:`~sfumato.tracks.adversary.releases.moments.roads`), and how high. A cell is as high as the six nearest points of
other people on average, and that is off by what others differ at one place, 5 m at least, and by the usual slope times
the distance to them. Looks that stay as high as each other are one look: an error of the map stays too. The guess is
the posterior mean (forward and backward), and between looks more than a minute apart the fitted smoothing.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit, between_looks
from sfumato.tracks.adversary.releases.moments.roads import MOST_LOOKS, SPEEDS_M_S, looks_worth
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

ELEVATION = "elevation"
CELL_M, MOST_CELLS = 40.0, 25_000
_LEAST_M, _FAR, _NEAREST, _STAY, _FAR_CELLS = 5.0, 4.0, 6, 0.3, 15.0


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean; None where no altitude was kept, or nobody else's heights are known near the release."""
    if ELEVATION not in seen.kept or told.heights_m is None:
        return None
    size = max(told.noise_m(seen), 10.0)
    low, high = seen.path_m.min(axis=0) - 3 * size, seen.path_m.max(axis=0) + 3 * size
    map_m = told.heights_m[((told.heights_m[:, :2] > low) & (told.heights_m[:, :2] < high)).all(axis=1)]
    if len(map_m) < 4 * _NEAREST:
        return None
    cell = max(CELL_M, float(np.sqrt(np.prod(high - low) / MOST_CELLS)))
    east, north = (np.arange(a, b + cell, cell) for a, b in zip(low, high, strict=True))
    cells = np.stack(np.meshgrid(east, north, indexing="ij"), axis=-1)
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    at = evenly(times.size, MOST_LOOKS)
    t, looks, kept = times[at], seen.path_m[first][at], seen.kept[ELEVATION][first][at]
    noise = told.noise(seen)
    worth, spread = looks_worth(noise, t), 2.0 * max(noise.variance_m2, cell**2 / 4.0)
    height, off = heights_of(map_m, cells.reshape(-1, 2))
    counts = _once(kept, float(off.min()))
    scores = []
    for look, up, count, share in zip(looks, kept, counts, worth, strict=True):
        score = -share * ((cells - look) ** 2).sum(axis=2) / spread
        if np.isfinite(up):
            wrong = np.minimum(((up - height) / off) ** 2, _FAR**2) + 2.0 * np.log(off)
            score -= 0.5 * count * wrong.reshape(score.shape)
        scores.append(np.exp(score - score.max()))
    found = _walked(np.array(scores), np.diff(t), cell) @ cells.reshape(-1, 2)
    free = best_fit(seen, told)
    return between_looks(times, t, found, (seen.path_m if free is None else free)[first])[back]


def heights_of(map_m: FloatArray, where_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How high it is, from points (k, 3) of others, and how far off that may be (one sd)."""
    tree = cKDTree(map_m[:, :2])
    away, which = (np.asarray(found) for found in tree.query(map_m[:, :2], k=_NEAREST))
    differ = np.abs(map_m[which, 2] - map_m[:, 2:3])
    close = (away < CELL_M) & (away > 0)
    here = max(1.4826 / np.sqrt(2.0) * float(np.median(differ[close])) if close.any() else 0.0, _LEAST_M)
    other = np.roll(np.arange(len(map_m)), len(map_m) // 2)
    apart = np.hypot(*(map_m[:, :2] - map_m[other, :2]).T)
    slope = float(np.sqrt(np.mean((map_m[:, 2] - map_m[other, 2]) ** 2))) / max(float(np.median(apart)) / 4.0, CELL_M)
    away, which = (np.asarray(found) for found in tree.query(where_m, k=_NEAREST))
    weight = 1.0 / (away + CELL_M / 2.0) ** 2
    height = (weight * map_m[which, 2]).sum(axis=1) / weight.sum(axis=1)
    return np.asarray(height), np.hypot(here, slope * away[:, 0])


def _once(kept_m: FloatArray, near_m: float) -> FloatArray:
    """What each altitude counts: all that stay near the first of them count as one."""
    out, start = np.ones(len(kept_m)), 0
    for k in range(1, len(kept_m) + 1):
        if k == len(kept_m) or abs(kept_m[k] - kept_m[start]) > near_m:
            out[start:k] = 1.0 / (k - start)
            start = k
    return out


def _walked(seen: FloatArray, pauses_s: FloatArray, cell_m: float) -> FloatArray:
    """The posterior of every look, (looks, cells), for the likeliest speed."""
    tried = [_forward(seen, speed * pauses_s / cell_m) for speed in SPEEDS_M_S]
    best = int(np.argmax([score for _, score in tried]))
    forward, steps, after = tried[best][0], SPEEDS_M_S[best] * pauses_s / cell_m, np.ones_like(seen[0])
    for k in range(len(seen) - 1, -1, -1):
        forward[k] *= after
        forward[k] /= max(float(forward[k].sum()), 1e-300)
        if k:
            after = _moved(after * seen[k], float(steps[k - 1]))
            after /= max(float(after.max()), 1e-300)
    return forward.reshape(len(forward), -1)


def _forward(seen: FloatArray, steps: FloatArray) -> tuple[FloatArray, float]:
    """The forward distributions, and the log-likelihood."""
    out, score = np.empty_like(seen), 0.0
    for k, look in enumerate(seen):
        state = look if k == 0 else _moved(out[k - 1], float(steps[k - 1])) * look
        total = float(state.sum())
        score += float(np.log(max(total, 1e-300)))
        out[k] = state / total if total > 0 else look / look.sum()
    return out, score


def _moved(state: FloatArray, cells: float) -> FloatArray:
    """Some stay; the others walk at random, so many cells on average in each direction; far, and they are anywhere."""
    sd = float(max(cells / np.sqrt(2.0), 0.3))
    if sd > _FAR_CELLS:
        return np.asarray(_STAY * state + (1.0 - _STAY) * state.mean())
    return np.asarray(_STAY * state + (1.0 - _STAY) * gaussian_filter(state, sd, mode="constant", truncate=3.0))
