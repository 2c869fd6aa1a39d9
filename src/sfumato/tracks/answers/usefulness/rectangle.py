"""The rectangle that maps are compared on: where the originals are, as far as a map of it can be worked out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.base.things.grid import metres_per_degree
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.answers.maps.window import Bounds, extent_of
from sfumato.tracks.answers.usefulness.measures import MapsAsked

WIDEST_CELLS, WIDEST_NOISES = 120, 120.0  # of the smallest cell; beyond, a map takes minutes


def rectangle(traces: Sequence[Trace], asked: MapsAsked, noise_m: float) -> tuple[MapsAsked, list[str]]:
    """The rectangle asked for, or where the points are; cut around their middle where that is too large to work out."""
    if asked.bounds is not None:
        return asked, []
    south, west, north, east = extent_of(traces)
    middle = float(np.median(np.concatenate([trace.lat_deg for trace in traces])))
    up, right = metres_per_degree(middle)
    most = WIDEST_CELLS * min((*asked.heat_cells_m, *asked.flow_cells_m), default=500.0)
    most = min(most, WIDEST_NOISES * noise_m) if noise_m else most
    height, width = (north - south) * up, ((east - west) % 360.0) * right
    if max(height, width) <= most:
        return replace(asked, bounds=(south, west, north, east)), []
    lon = np.concatenate([trace.lon_deg for trace in traces])
    turn = float(np.angle(np.median(np.cos(np.radians(lon))) + 1j * np.median(np.sin(np.radians(lon))), deg=True))
    centre = float(np.median((lon - turn + 180.0) % 360.0 - 180.0)) + turn
    bounds: Bounds = (
        max(south, middle - most / 2 / up),
        _wrapped(centre - most / 2 / right) if width > most else west,
        min(north, middle + most / 2 / up),
        _wrapped(centre + most / 2 / right) if width > most else east,
    )
    return replace(asked, bounds=bounds), [f"Maps are of the {format_length(most)} around the middle of the points."]


def _wrapped(lon_deg: float) -> float:
    return math.fmod(lon_deg + 540.0, 360.0) - 180.0
