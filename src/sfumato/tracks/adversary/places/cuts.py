"""Attackers who go by the cut points alone: the circle through them, the commonest one, or the middle of them all.

A centred zone's middle is the place, and a circle finds it: :func:`circle` knows the zone's radius,
:func:`circle_through` nothing of it; :func:`centre` does not even look. Others start at the commonest exit and go half
a radius inward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.places.zone_view import ZoneView, clusters_of, into_disc

_SCALE_M = 40.0
# Rides are cut 0 to 50 m beyond the radius, a public law: the best single radius is its mean.
MEAN_MARGIN_M = 25.0


def circle(view: ZoneView) -> FloatArray | None:
    """Least squares of |g - c| = R with Huber weights, by Gauss-Newton from five starts, best fit of all."""
    gates, radius = view.gates_m, view.radius_m + MEAN_MARGIN_M
    if len(gates) < 2:
        return None
    best, best_cost = None, np.inf
    turns = np.arange(4) * (np.pi / 2)
    for shift in [np.zeros(2), *(0.7 * radius * np.column_stack([np.cos(turns), np.sin(turns)]))]:
        centre = _fitted(gates, gates.mean(axis=0) + shift, radius)
        cost = float(np.sum(np.minimum(np.abs(np.hypot(*(gates - centre).T) - radius), 4 * _SCALE_M)))
        if cost < best_cost:
            best, best_cost = centre, cost
    return best


def _fitted(gates: FloatArray, centre: FloatArray, radius: float) -> FloatArray:
    for _ in range(40):
        away = gates - centre
        distance = np.maximum(np.hypot(*away.T), 1e-9)
        miss = distance - radius
        weight = np.minimum(1.0, _SCALE_M / np.maximum(np.abs(miss), 1e-9))
        unit = away / distance[:, None]
        normal = (unit * weight[:, None]).T @ unit + 1e-9 * np.eye(2)
        step = np.linalg.solve(normal, (unit * weight[:, None]).T @ miss)
        centre = centre + step
        if float(np.hypot(*step)) < 0.1:
            break
    return np.asarray(centre)


def centre(view: ZoneView) -> FloatArray:
    """The zone's centre: what anybody can guess without a ride."""
    return np.zeros(2)


@dataclass(frozen=True, slots=True, eq=False)
class FittedCircle:
    """A circle through points, and how far they lie from it (root mean square)."""

    centre_m: FloatArray
    radius_m: float
    rms_residual_m: float


def circle_through(points_m: npt.ArrayLike) -> FittedCircle:
    """The circle nearest to the points where a track enters and leaves a hidden zone: its centre is the hidden place.

    Least squares on |p|² = 2 c·p + (R² - |c|²), then Gauss-Newton on the distances. Cutting a fixed circle out of every
    track gives its middle away after a few tracks.
    """
    points = finite(points_m, "points_m", dimensions=2)
    if len(points) < 3 or points.shape[1] != 2:
        raise InputError(f"{len(points)} points do not fix a circle.", "Give at least three (east, north) points.")
    shift = points.mean(axis=0)
    moved = points - shift
    design = np.column_stack([2 * moved, np.ones(len(moved))])
    solution, _, rank, _ = np.linalg.lstsq(design, np.sum(moved**2, axis=1), rcond=None)
    if rank < 3:
        raise InputError("The points lie on a line.", "A circle needs points that do not.")
    centre = solution[:2]
    radius = math.sqrt(max(float(solution[2] + centre @ centre), 0.0))
    for _ in range(50):
        away = moved - centre
        distance = np.linalg.norm(away, axis=1)
        if np.any(distance == 0):
            break
        jacobian = np.column_stack([-away / distance[:, None], -np.ones(len(moved))])
        step = np.linalg.lstsq(jacobian, -(distance - radius), rcond=None)[0]
        centre, radius = centre + step[:2], radius + float(step[2])
        if np.linalg.norm(step) < 1e-10 * max(radius, 1.0):
            break
    residual = np.linalg.norm(moved - centre, axis=1) - radius
    return FittedCircle(read_only(centre + shift), radius, float(np.sqrt(np.mean(residual**2))))


def commonest(points_m: FloatArray, within_m: float = 100.0) -> FloatArray:
    """The mean of the fullest neighbourhood of points."""
    label, count = clusters_of(points_m, within_m)
    return np.asarray(points_m[label == np.argmax(count)].mean(axis=0))


def inward(view: ZoneView) -> FloatArray | None:
    """From the commonest gate R/2 towards the zone's centre."""
    if not view.seen:
        return None
    gate = commonest(view.gates_m)
    return np.asarray(gate * (1.0 - 0.5 * view.radius_m / max(float(np.hypot(*gate)), 1.0)))


def back_along(view: ZoneView) -> FloatArray | None:
    """From the commonest gate of stops R/2 back along its mean heading (back-extrapolation)."""
    if not view.seen:
        return None
    stops = view.of_stops()
    label, count = clusters_of(stops.gates_m, 100.0)
    use = label == np.argmax(count)
    heading = stops.headings[use].mean(axis=0)
    return np.asarray(stops.gates_m[use].mean(axis=0) + 0.5 * view.radius_m * heading)


def middle(view: ZoneView) -> FloatArray | None:
    """The median of the gates' coordinates: in a town of streets north and east, most exits share one with the door."""
    if not view.seen:
        return None
    return into_disc(np.median(view.of_stops().gates_m, axis=0), view.inner_radius_m)
