"""Cutting out: the ends of rides, or a circle around home and work, centred or off-centre."""

from __future__ import annotations

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.releases.seen import rides_of
from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import centred_zone, draw_zone


def trim_ends(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """The first and last so many metres of every ride are left out."""
    return [_trimmed(trace, size_m) for trace in people]


def _trimmed(trace: Trace, size_m: float) -> Trace | None:
    points = surface(trace.lat_deg, trace.lon_deg)
    keep = np.zeros(len(trace), dtype=bool)
    number = np.zeros(len(trace), dtype=np.int64)
    for k, ride in enumerate(rides_of(trace.times_s, trace.segment)):
        along = np.cumsum(np.linalg.norm(np.diff(points[ride], axis=0, prepend=points[ride][:1]), axis=1))
        keep[ride] = (along > size_m) & (along[-1] - along > size_m)
        number[ride] = k
    return _kept(trace, keep, number)


def _kept(trace: Trace, keep: np.ndarray, number: np.ndarray) -> Trace | None:
    if not keep.any():
        return None
    return Trace(trace.lat_deg[keep], trace.lon_deg[keep], trace.times_s[keep], number[keep])


def centred_zones(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """A circle around home and one around work, whose middles are the places."""
    zones = [[centred_zone(*place, radius_m=size_m) for place in _places(trace)] for trace in people]
    return [withhold(trace, own).trace for trace, own in zip(people, zones, strict=True)]


def random_zones(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """The same, drawn once with middles within .8 of the radius from the places: what `sfumato hide` does."""
    out: list[Trace | None] = []
    for trace in people:
        zones = [draw_zone(*place, radius_m=size_m, rng=int(rng.integers(2**31))) for place in _places(trace)]
        out.append(withhold(trace, zones).trace)
    return out


def _places(trace: Trace) -> list[tuple[float, float]]:
    found = [one for one in find_places(trace) if one.label in ("home", "work")]
    return [(one.lat_deg, one.lon_deg) for one in found]
