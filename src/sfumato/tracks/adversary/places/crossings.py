"""Attackers who follow the lines of travel into the zone: to where they cross, or to where they point.

*Crossing*: every ride is extended straight; the guess is the point nearest to all lines, or to most. *Crossroads*:
straight streets lead from the door to the border, so every pair of lines that meet ahead of both gates gives a point,
and the guess is the middle of the fullest neighbourhood of such points: rides that turned do not lead it astray. Pairs
within one cluster of gates (one street) and nearly parallel ones say little and are left out; a pair of streets counts
by the root of how often they were taken together, so that one pair of commutes does not outvote ten streets.
*Headings*: rides head home; Bayes over the inner disc, with von Mises headings of concentration κ.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.adversary.places.zone_view import ZoneView, candidates_m, clusters_of, into_disc

_ON_LINE_M, _ROUNDS = 30.0, 50
_CELL_M, _NEAR_M, _PARALLEL, _MOST_GATES = 25.0, 75.0, 0.3, 400


def least_squares(view: ZoneView) -> FloatArray | None:
    """The x that minimises Σ |(I - u uᵀ)(x - g)|² over gates g with headings u."""
    if not view.seen:
        return None
    across = np.eye(2) - view.headings[:, :, None] * view.headings[:, None, :]
    normal, right = across.sum(axis=0), np.einsum("nij,nj->i", across, view.gates_m)
    return into_disc(np.linalg.lstsq(normal, right, rcond=1e-6)[0], view.inner_radius_m)


def robust(view: ZoneView) -> FloatArray | None:
    """The x that minimises Σ |distance of x to the line of g|, by reweighting: rides that turned count little."""
    found = least_squares(view)
    if found is None:
        return None
    across = np.eye(2) - view.headings[:, :, None] * view.headings[:, None, :]
    for _ in range(_ROUNDS):
        off = np.linalg.norm(np.einsum("nij,nj->ni", across, found - view.gates_m), axis=1)
        weighted = across / np.maximum(off, _ON_LINE_M)[:, None, None]
        right = np.einsum("nij,nj->i", weighted, view.gates_m)
        found = np.linalg.lstsq(weighted.sum(axis=0), right, rcond=1e-6)[0]
    return into_disc(found, view.inner_radius_m)


def crossroads(view: ZoneView) -> FloatArray | None:
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


def far_crossroads(view: ZoneView) -> FloatArray | None:
    """The same with the last kilometre's direction instead of the last hundred metres'."""
    return crossroads(view.seen_from_far())


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


def _log_likelihood(view: ZoneView, places: FloatArray, kappa: float) -> FloatArray:
    """Σ κ cos(angle between the heading at a gate and the way from it to the place)."""
    way = places[None] - view.gates_m[:, None]
    way = way / np.maximum(np.hypot(way[..., 0], way[..., 1]), 1.0)[..., None]
    return np.asarray(kappa * np.einsum("nhk,nk->h", way, view.headings))


def heading_mean(view: ZoneView, kappa: float = 2.0) -> FloatArray | None:
    """The posterior mean."""
    if not view.seen:
        return None
    places = candidates_m(view.inner_radius_m)
    value = _log_likelihood(view, places, kappa)
    weight = np.exp(value - value.max())
    return np.asarray(weight @ places / weight.sum())


def sharp_heading_mean(view: ZoneView) -> FloatArray | None:
    """The posterior mean for rides that head home straight: κ = 8."""
    return heading_mean(view, 8.0)


def heading_mode(view: ZoneView) -> FloatArray | None:
    """The likeliest place, the same for every κ."""
    if not view.seen:
        return None
    places = candidates_m(view.inner_radius_m)
    return np.asarray(places[np.argmax(_log_likelihood(view, places, 1.0))])
