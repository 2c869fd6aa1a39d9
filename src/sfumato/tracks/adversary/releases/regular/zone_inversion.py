"""Zone inversion: rides that are cut out around a place all end on one circle, and its middle is the place.

Circles through three ends are tried (always the same ones for the same release). Best is the one with the most ends
near it that head inward and come from different sides, and with nothing inside: a zone is empty. It is fitted again to
those ends. *Extrapolation* goes on straight from the ends of
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
_NEAR_M, _MOST_NEAR_M, _MOST_ENDS, _BUSY_M, _INWARD, _MOST_PATH, _GUESSES = 45.0, 150.0, 400, 1000.0, 0.2, 800, 2


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The middles of the two best circles (home and work are often both cut out); None where no ring of ends shows."""
    rows, found = _ends(seen, told), list[FloatArray]()
    while len(found) < _GUESSES and (ring := _ring(rows, seen, told)) is not None:
        found.append(circle_through(rows[ring, :2]).centre_m)
        rows = rows[~ring]
    return np.array(found) if found else None


def extrapolate(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Where the lines of travel cross."""
    rows = _ends(seen, told)
    ends = rows[:, :2]
    if len(ends) < 3:
        return None
    ring = _ring(rows, seen, told)
    if ring is None:
        middle, radius = commonest(ends), _BUSY_M
        ring = np.hypot(*(ends - middle).T) < radius
    else:
        found = circle_through(ends[ring])
        middle, radius = found.centre_m, found.radius_m
    rows = rows[ring].copy()
    rows[:, :2] -= middle
    rows[:, 4:6] -= middle
    point = robust(ZoneView.of_rows(rows, radius_m=radius, inner_radius_m=radius))
    return None if point is None else (point + middle)[None]


def _ends(seen: SeenTrack, told: Knowledge) -> FloatArray:
    """The rows of ends that count."""
    use = seen.at_work(seen.end_s) if told.work else np.ones(len(seen.end_s), dtype=bool)
    return np.asarray(seen.ends[use][evenly(int(use.sum()), _MOST_ENDS)])


def _ring(rows: FloatArray, seen: SeenTrack, told: Knowledge) -> BoolArray | None:
    """Which ends lie on the best circle; None where fewer than five do, or from few sides."""
    ends_m, near_m = rows[:, :2], min(_NEAR_M + told.noise_m(seen), _MOST_NEAR_M)
    if len(ends_m) < FEWEST:
        return None
    path = np.vstack([part[evenly(len(part), _MOST_PATH)] for part in (seen.path_m, seen.slots_m)])
    triples = np.random.default_rng(len(ends_m)).integers(0, len(ends_m), (TRIED, 3))
    centres, radii = _circles(*(ends_m[triples[:, k]] for k in range(3)))
    best, most = None, 0.0
    for centre, radius in zip(centres, radii, strict=True):
        away = ends_m - centre
        far = np.hypot(*away.T)
        on = (np.abs(far - radius) < near_m) & ((away * rows[:, 2:4]).sum(axis=1) < -_INWARD * far)
        if on.sum() < FEWEST:
            continue
        side = np.floor((np.arctan2(away[on, 1], away[on, 0]) / (2 * np.pi) % 1.0) * SIDES)
        inside = (far < radius - near_m).sum()
        score = np.sqrt(len(np.unique(side))) * on.sum() / (1.0 + inside)
        if score > most:  # only then is the way looked at, which costs more
            score /= 1.0 + 200.0 * (np.hypot(*(path - centre).T) < radius - near_m).mean()
        if score > most:
            best, most = on, score
    return best if best is not None and most >= 2 * FEWEST else None


def _circles(a: FloatArray, b: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centres and radii through three points each, of a size that zones have."""
    turn = 2.0 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = [((p - a) ** 2).sum(axis=1) for p in (b, c)]
        east = (lengths[0] * (c - a)[:, 1] - lengths[1] * (b - a)[:, 1]) / turn
        north = (lengths[1] * (b - a)[:, 0] - lengths[0] * (c - a)[:, 0]) / turn
    radii = np.hypot(east, north)
    good = np.isfinite(radii) & (radii > LEAST_M) & (radii < MOST_M)
    return (a + np.column_stack([east, north]))[good], radii[good]
