"""Zone inversion: rides that are cut out around a place all end on one circle, and its middle is the place.

Circles through three ends are tried (always the same ones for the same release). Best is the one with the most ends
near it that head inward and come from different sides, and with nothing inside: a zone is empty. It is fitted again to
those ends. *Extrapolation* goes on straight from the ends of
that circle, or of the busiest kilometre, to where most lines of travel cross.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, evenly
from sfumato.base.compiled import compile_loop
from sfumato.tracks.adversary.places.crossings import robust
from sfumato.tracks.adversary.places.cuts import circle_through, commonest
from sfumato.tracks.adversary.places.zone_view import ZoneView
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack, once

LEAST_M, MOST_M, FEWEST, SIDES, TRIED = 100.0, 2500.0, 5, 12, 4000
_NEAR_M, _MOST_NEAR_M, _MOST_ENDS, _BUSY_M, _INWARD, _MOST_PATH, _GUESSES = 45.0, 150.0, 400, 1000.0, 0.2, 800, 2


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The middles of the two best circles (home and work are often both cut out), where fewer show the busiest end."""
    rows, rings = _rings(seen, told.work, told.noise_m(seen))
    if not len(rows):
        return None
    found = [circle_through(rows[ring, :2]).centre_m for ring in rings]
    return np.array([*found, commonest(rows[:, :2])][:_GUESSES])


def extrapolate(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """Where the lines of travel cross."""
    rows, rings = _rings(seen, told.work, told.noise_m(seen))
    ends = rows[:, :2]
    if len(ends) < 3:
        return None
    if not rings:
        middle, radius = commonest(ends), _BUSY_M
        ring = np.hypot(*(ends - middle).T) < radius
    else:
        ring = rings[0]
        found = circle_through(ends[ring])
        middle, radius = found.centre_m, found.radius_m
    rows = rows[ring].copy()
    rows[:, :2] -= middle
    rows[:, 4:6] -= middle
    point = robust(ZoneView.of_rows(rows, radius_m=radius, inner_radius_m=radius))
    return None if point is None else (point + middle)[None]


@once
def _rings(seen: SeenTrack, work: bool, noise_m: float) -> tuple[FloatArray, list[BoolArray]]:
    """The rows of ends that count, and which of them lie on each of the best circles."""
    use = seen.at_work(seen.end_s) if work else np.ones(len(seen.end_s), dtype=bool)
    rows = np.asarray(seen.ends[use][evenly(int(use.sum()), _MOST_ENDS)])
    left, rings = np.ones(len(rows), dtype=bool), list[BoolArray]()
    while len(rings) < _GUESSES and (found := _ring(rows[left], seen, noise_m)) is not None:
        ring = np.zeros(len(rows), dtype=bool)
        ring[np.flatnonzero(left)[found]] = True
        left &= ~ring
        rings.append(ring)
    return rows, rings


def _ring(rows: FloatArray, seen: SeenTrack, noise_m: float) -> BoolArray | None:
    """Which ends lie on the best circle; None where fewer than five do, or from few sides."""
    ends_m, near_m = rows[:, :2], min(_NEAR_M + noise_m, _MOST_NEAR_M)
    if len(ends_m) < FEWEST:
        return None
    path = np.vstack([part[evenly(len(part), _MOST_PATH)] for part in (seen.path_m, seen.slots_m)])
    triples = np.random.default_rng(len(ends_m)).integers(0, len(ends_m), (TRIED, 3))
    centres, radii = _circles(*(ends_m[triples[:, k]] for k in range(3)))
    best, most = best_circle(rows, path, centres, radii, near_m)
    if most < 2 * FEWEST:
        return None
    away = ends_m - centres[best]
    far = np.hypot(*away.T)
    ring = (np.abs(far - radii[best]) < near_m) & ((away * rows[:, 2:4]).sum(axis=1) < -_INWARD * far)
    around = ends_m[ring] - ends_m[ring].mean(axis=0)
    corners = np.column_stack([2 * around, np.ones(len(around))])
    return np.asarray(ring) if np.linalg.matrix_rank(corners) == 3 else None  # rounded ends may lie on one line


@compile_loop()
def best_circle(
    rows: FloatArray, path_m: FloatArray, centres_m: FloatArray, radii_m: FloatArray, near_m: float
) -> tuple[int, float]:
    """The number of the best circle and its score: √sides · ends on it / (1 + ends inside) / (1 + 200 · way inside)."""
    best, most = -1, 0.0
    for k in range(len(radii_m)):
        east, north, radius = centres_m[k, 0], centres_m[k, 1], radii_m[k]
        on, inside, sides = 0, 0, 0
        for i in range(len(rows)):
            x, y = rows[i, 0] - east, rows[i, 1] - north
            far = np.sqrt(x * x + y * y)
            if far < radius - near_m:
                inside += 1
            elif far < radius + near_m and x * rows[i, 2] + y * rows[i, 3] < -_INWARD * far:
                on += 1
                sides |= 1 << int((np.arctan2(y, x) / (2 * np.pi) % 1.0) * SIDES)
        if on < FEWEST:
            continue
        count = 0
        while sides:
            count += sides & 1
            sides >>= 1
        score = np.sqrt(count) * on / (1.0 + inside)
        if score > most:  # only then is the way looked at, which costs more
            within = 0
            for i in range(len(path_m)):
                x, y = path_m[i, 0] - east, path_m[i, 1] - north
                within += x * x + y * y < max(radius - near_m, 0.0) ** 2
            score /= 1.0 + 200.0 * within / len(path_m)
        if score > most:
            best, most = k, score
    return best, most


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
