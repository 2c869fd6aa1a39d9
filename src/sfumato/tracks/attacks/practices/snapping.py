"""Snapping to a public grid: decimals of degrees, squares, hexagons; and cloaking among the k nearest people."""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.things.frames import snap
from sfumato.base.things.hexagons import h3_library
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.releases.seen import SLOT_S
from sfumato.tracks.places.globe import degrees, surface

METRES_PER_DEGREE, K = 111_195.0, 5
_HEXAGON = math.sqrt(5.0 / 24.0)  # RMS per coordinate of a uniform point in a hexagon of edge 1


def round_degrees(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Rounded to steps of degrees whose RMS per coordinate, to the north, is the size: 12 of a step's variance."""
    step = size_m * math.sqrt(12.0) / METRES_PER_DEGREE
    return [_at(one, np.round(one.lat_deg / step) * step, np.round(one.lon_deg / step) * step) for one in people]


def squares(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """The middles of a public grid of squares as wide as √12 sizes."""
    return [_at(one, *snap(one.lat_deg, one.lon_deg, min(size_m * math.sqrt(12.0), 10_000.0))) for one in people]


def hexagons(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """The middles of H3 cells, of the resolution whose RMS per coordinate is nearest to the size."""
    h3 = h3_library()
    edges = [h3.average_hexagon_edge_length(k, unit="m") for k in range(16)]
    fits = min(range(16), key=lambda k: abs(math.log(_HEXAGON * edges[k] / size_m)))
    out: list[Trace | None] = []
    for one in people:
        cells = [h3.latlng_to_cell(lat, lon, fits) for lat, lon in zip(one.lat_deg, one.lon_deg, strict=True)]
        middles = {cell: h3.cell_to_latlng(cell) for cell in set(cells)}
        where = np.array([middles[cell] for cell in cells])
        out.append(_at(one, where[:, 0], where[:, 1]))
    return out


def cloak(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """The mean of the five nearest people of the same ten minutes, oneself among them; nothing where fewer are."""
    slots = [np.floor(one.times_s / SLOT_S).astype(np.int64) for one in people]
    means: dict[int, list[tuple[int, np.ndarray]]] = {}
    for number, one in enumerate(people):
        points = surface(one.lat_deg, one.lon_deg)
        for slot in np.unique(slots[number]):
            means.setdefault(int(slot), []).append((number, points[slots[number] == slot].mean(axis=0)))
    out: list[Trace | None] = []
    for number, one in enumerate(people):
        where, keep = np.zeros((len(one), 3)), np.zeros(len(one), dtype=bool)
        for slot in np.unique(slots[number]):
            there = means[int(slot)]
            if len(there) < K:
                continue
            points = np.array([point for _, point in there])
            own = next(point for whose, point in there if whose == number)
            near = np.argsort(np.linalg.norm(points - own, axis=1))[:K]
            at = slots[number] == slot
            where[at], keep[at] = points[near].mean(axis=0), True
        if not keep.any():
            out.append(None)
            continue
        lat, lon = degrees(where[keep])
        out.append(Trace(lat, lon, one.times_s[keep], one.segment[keep]))
    return out


def _at(trace: Trace, lat_deg: np.ndarray, lon_deg: np.ndarray) -> Trace:
    return Trace(np.clip(lat_deg, -90.0, 90.0), lon_deg, trace.times_s, trace.segment)
