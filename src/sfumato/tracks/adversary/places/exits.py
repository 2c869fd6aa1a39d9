"""Attackers who go by the exits alone: the commonest one and half a radius inward, or the middle of them all."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.zone_view import ZoneView, clusters_of, into_disc


def commonest(points_m: FloatArray, within_m: float = 100.0) -> FloatArray:
    """The mean of the fullest neighbourhood of points."""
    label, count = clusters_of(points_m, within_m)
    return np.asarray(points_m[label == np.argmax(count)].mean(axis=0))


def guess(view: ZoneView) -> FloatArray | None:
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
