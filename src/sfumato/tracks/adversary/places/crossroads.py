"""The attacker who looks where many lines of travel cross: straight streets lead from the door to the zone's border.

Every pair of rides whose lines, extended straight into the zone, meet ahead of both gates gives a point; the guess is
the middle of the fullest neighbourhood of such points. Unlike least squares it is not led astray by rides that turned.
Pairs within one cluster of gates (one street) and nearly parallel ones say little and are left out; a pair of streets
counts by the root of how often they were taken together, so that one pair of commutes does not outvote ten streets.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.crossing import guess as least_squares
from sfumato.tracks.adversary.places.zone_view import ZoneView, clusters_of, evenly

_CELL_M, _NEAR_M, _PARALLEL, _MOST_GATES = 25.0, 75.0, 0.3, 400


def guess(view: ZoneView) -> FloatArray | None:
    """The fullest neighbourhood of crossings in the inner disc; least squares where no two lines cross in it."""
    points, weight = crossings_m(view)
    if not len(points):
        return least_squares(view)
    cells = np.floor(points / _CELL_M).astype(np.int64)
    low = cells.min(axis=0)
    count = np.zeros(cells.max(axis=0) - low + 1)
    np.add.at(count, tuple((cells - low).T), weight)
    reach = int(_NEAR_M // _CELL_M)
    near = _sums(_sums(count, reach).T, reach).T
    fullest = np.array(np.unravel_index(np.argmax(near), near.shape)) + low
    close = (np.abs(cells - fullest) <= reach).all(axis=1)
    return np.asarray(weight[close] @ points[close] / weight[close].sum())


def guess_from_far(view: ZoneView) -> FloatArray | None:
    """The same with the last kilometre's direction instead of the last hundred metres'."""
    return guess(view.seen_from_far())


def crossings_m(view: ZoneView) -> tuple[FloatArray, FloatArray]:
    """Where two lines of travel meet ahead of both gates, inside the inner disc, and what each crossing counts."""
    stops = view.of_stops()
    few = evenly(len(stops.gates_m), _MOST_GATES)
    gates, headings = stops.gates_m[few], stops.headings[few]
    if len(few) < 2:
        return np.empty((0, 2)), np.empty(0)
    label, _ = clusters_of(gates)
    one, other = np.triu_indices(len(few), 1)
    use = label[one] != label[other]
    one, other = one[use], other[use]
    u, v, apart = headings[one], headings[other], gates[other] - gates[one]
    turn = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    use = np.abs(turn) > _PARALLEL
    one, other, u, v, apart, turn = (rows[use] for rows in (one, other, u, v, apart, turn))
    along = (apart[:, 0] * v[:, 1] - apart[:, 1] * v[:, 0]) / turn
    back = (apart[:, 0] * u[:, 1] - apart[:, 1] * u[:, 0]) / turn
    points = gates[one] + along[:, None] * u
    use = (along > 0) & (back > 0) & (np.hypot(*points.T) <= view.inner_radius_m)
    pair = np.minimum(label[one], label[other]) * len(few) + np.maximum(label[one], label[other])
    _, which, taken = np.unique(pair[use], return_inverse=True, return_counts=True)
    return points[use], 1.0 / np.sqrt(taken[which])


def _sums(count: FloatArray, reach: int) -> FloatArray:
    """Sums over ``reach`` rows on either side."""
    padded = np.vstack([np.zeros((reach + 1, count.shape[1])), count, np.zeros((reach, count.shape[1]))])
    total = np.cumsum(padded, axis=0)
    return np.asarray(total[2 * reach + 1 :] - total[: -2 * reach - 1])
