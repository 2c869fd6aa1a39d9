"""Rides to and from a made-up home, for tests of places."""

from __future__ import annotations

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import Around

PARIS = (48.8566, 2.3522)


def ride(
    start_m,
    end_m,
    *,
    home=PARIS,
    speed_m_s: float = 5.0,
    every_s: float = 1.0,
    at_s: float = 1.7e9,
    bend: float = 0.2,
    rng=None,
) -> Trace:
    """A ride between two points in metres around home, through a bend, a fix every ``every_s``."""
    start, end = np.asarray(start_m, dtype=float), np.asarray(end_m, dtype=float)
    corner = (start + end) / 2 + bend * np.array([[0, -1], [1, 0]]) @ (end - start)
    length = np.linalg.norm(corner - start) + np.linalg.norm(end - corner)
    share = np.clip(np.arange(0, length / speed_m_s + every_s, every_s) * speed_m_s / length, 0, 1)[:, None]
    path = np.where(share < 0.5, start + 2 * share * (corner - start), corner + (2 * share - 1) * (end - corner))
    if rng is not None:
        path = path + rng.normal(0, 3, path.shape)
    lat, lon = Around(*home).to_degrees(path)
    return Trace(lat, lon, at_s + np.arange(len(path)) * every_s)


def joined(*traces: Trace, segments: bool = False) -> Trace:
    """Several traces one after another, by default in one segment."""
    parts = [np.concatenate([getattr(t, name) for t in traces]) for name in ("lat_deg", "lon_deg", "times_s")]
    number = np.concatenate([np.full(len(t), k if segments else 0) for k, t in enumerate(traces)])
    return Trace(*parts, number)
