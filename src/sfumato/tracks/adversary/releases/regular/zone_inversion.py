"""Zone inversion: rides that are cut out around a place all end on one circle, and its middle is the place.

Circles through three ends are tried (always the same ones for the same release); the one with the most ends near it
that come from different sides is fitted again to those. *Extrapolation* goes on straight from the ends of
that circle, or of the busiest kilometre, to where most lines of travel cross.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, evenly
from sfumato.tracks.adversary.places.crossings import robust
from sfumato.tracks.adversary.places.cuts import circle_through, commonest
from sfumato.tracks.adversary.places.zone_view import ZoneView
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack

LEAST_M, MOST_M, FEWEST, SIDES, TRIED = 100.0, 2500.0, 5, 12, 4000
_NEAR_M, _MOST_ENDS, _BUSY_M = 30.0, 400, 1000.0


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The middle of the best circle; None where no ring of ends shows."""
    ends = _ends(seen, told)
    ring = _ring(ends, _NEAR_M + told.noise_m(seen))
    return None if ring is None else circle_through(ends[ring]).centre_m[None]


def extrapolate(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Where the lines of travel cross."""
    ends = _ends(seen, told)
    if len(ends) < 3:
        return None
    ring = _ring(ends, _NEAR_M + told.noise_m(seen))
    if ring is None:
        middle, radius = commonest(ends), _BUSY_M
        ring = np.hypot(*(ends - middle).T) < radius
    else:
        found = circle_through(ends[ring])
        middle, radius = found.centre_m, found.radius_m
    use = seen.at_work(seen.end_s) if told.work else np.ones(len(seen.ends), dtype=bool)
    rows = seen.ends[use][evenly(int(use.sum()), _MOST_ENDS)][ring].copy()
    rows[:, :2] -= middle
    rows[:, 4:6] -= middle
    point = robust(ZoneView.of_rows(rows, radius_m=radius, inner_radius_m=radius))
    return None if point is None else (point + middle)[None]


def _ends(seen: SeenTrack, told: Knowledge) -> FloatArray:
    use = seen.at_work(seen.end_s) if told.work else np.ones(len(seen.ends), dtype=bool)
    return np.asarray(seen.ends[use, :2][evenly(int(use.sum()), _MOST_ENDS)])


def _ring(ends_m: FloatArray, near_m: float) -> BoolArray | None:
    """Which ends lie on the best circle; None where fewer than five do, or from few sides."""
    if len(ends_m) < FEWEST:
        return None
    rng = np.random.default_rng(len(ends_m))
    triples = rng.integers(0, len(ends_m), (TRIED, 3))
    a, b, c = (ends_m[triples[:, k]] for k in range(3))
    turn = 2.0 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = [((p - a) ** 2).sum(axis=1) for p in (b, c)]
        east = (lengths[0] * (c - a)[:, 1] - lengths[1] * (b - a)[:, 1]) / turn
        north = (lengths[1] * (b - a)[:, 0] - lengths[0] * (c - a)[:, 0]) / turn
    radii = np.hypot(east, north)
    good = np.isfinite(radii) & (radii > LEAST_M) & (radii < MOST_M)
    best, most = None, 0.0
    for centre, radius in zip((a + np.column_stack([east, north]))[good], radii[good], strict=True):
        away = ends_m - centre
        on = np.abs(np.hypot(*away.T) - radius) < near_m
        if on.sum() < FEWEST:
            continue
        side = np.floor((np.arctan2(away[on, 1], away[on, 0]) / (2 * np.pi) % 1.0) * SIDES)
        inside = np.hypot(*away.T) < radius - near_m
        score = len(np.unique(side)) * np.sqrt(on.sum()) / (1.0 + inside.sum())
        if score > most:
            best, most = on, score
    return best if best is not None and most >= 4 * np.sqrt(FEWEST) else None
