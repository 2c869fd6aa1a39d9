"""The outlines of cells: rings of (lon, lat), for files and pictures."""

from __future__ import annotations

import struct

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.estimated_map import MapCells
from sfumato.base.things.grid import Grid
from sfumato.base.things.hexagons import HexCells
from sfumato.tracks.answers.maps.areas import Areas

Rings = list[FloatArray]


def outlines(cells: MapCells) -> list[list[Rings]]:
    """Of each cell its polygons, each of them rings, closed."""
    if isinstance(cells, Areas):
        return [[list(one.rings) for one in shape] for shape in cells.shapes]
    if isinstance(cells, HexCells):
        return [[[_on_one_side(np.array([*ring, ring[0]]))]] for ring in cells.outlines_deg()]
    assert isinstance(cells, Grid)
    lat, lon = cells.centres_deg()
    assert cells.cell_height_deg is not None
    assert cells.cell_width_deg is not None
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) / 2
    corners = corners * np.array([cells.cell_width_deg, cells.cell_height_deg])
    return [[[np.round(np.array([x, y]) + corners, 7)]] for y, x in zip(lat, lon, strict=True)]


def _on_one_side(ring: FloatArray) -> FloatArray:
    """The ring as one piece: across the date line it goes on beyond 180 degrees, as a grid's cells do."""
    return np.column_stack([[beside(lon, ring[0, 0]) for lon in ring[:, 0]], ring[:, 1]])


def beside(lon_deg: float, other_deg: float) -> float:
    """The same meridian, counted on from another so that the way between the two is the short one."""
    return lon_deg - 360.0 * round((lon_deg - other_deg) / 360.0)


def geometry(shape: list[Rings]) -> dict[str, object]:
    """GeoJSON of one cell."""
    coordinates = [[ring.tolist() for ring in rings] for rings in shape]
    if len(coordinates) == 1:
        return {"type": "Polygon", "coordinates": coordinates[0]}
    return {"type": "MultiPolygon", "coordinates": coordinates}


def wkb(shape: list[Rings]) -> bytes:
    """The same as little-endian well-known binary."""
    polygons = [
        struct.pack("<BII", 1, 3, len(rings))
        + b"".join(struct.pack("<I", len(ring)) + np.asarray(ring, dtype="<f8").tobytes() for ring in rings)
        for rings in shape
    ]
    return polygons[0] if len(polygons) == 1 else struct.pack("<BII", 1, 6, len(polygons)) + b"".join(polygons)


def line_wkb(start: tuple[float, float], end: tuple[float, float]) -> bytes:
    """A line from one (lon, lat) to another; a point where they are the same."""
    if start == end:
        return struct.pack("<BI2d", 1, 1, *start)
    return struct.pack("<BII4d", 1, 2, 2, *start, *end)
