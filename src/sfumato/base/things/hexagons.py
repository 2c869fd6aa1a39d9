"""Hexagons of H3 as cells: for collectors that already count by them. Needs the extra ``geo``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pyproj import Geod

from sfumato.base.arrays import FloatArray, IntArray, finite, read_only
from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.things.grid import LARGEST_DISTANCE_MATRIX, checked_cell


@dataclass(frozen=True, slots=True, eq=False)
class HexCells:
    """H3 hexagons (extra ``geo``) with the questions a :class:`Grid` answers; distances are along the ellipsoid."""

    kind: ClassVar[str] = "h3"
    ids: tuple[str, ...]
    lat_deg: FloatArray
    lon_deg: FloatArray

    @classmethod
    def from_ids(cls, ids: Sequence[str]) -> HexCells:
        """The hexagons with these H3 indexes."""
        h3 = h3_library()
        bad = [index for index in ids if not h3.is_valid_cell(index)]
        if bad or not ids or len(set(ids)) != len(ids):
            raise InputError(f"{len(bad)} of {len(ids)} H3 indexes are not valid, or some repeat.")
        if len({h3.get_resolution(index) for index in ids}) != 1:
            raise InputError("The H3 cells are of several resolutions.", "Bring them to one with h3.cell_to_parent.")
        centres = np.array([h3.cell_to_latlng(index) for index in ids])
        return cls(tuple(ids), read_only(centres[:, 0]), read_only(centres[:, 1]))

    @classmethod
    def from_bounds(cls, south: float, west: float, north: float, east: float, *, resolution: int) -> HexCells:
        """The hexagons whose centre lies in the rectangle; ``west`` > ``east`` crosses the date line."""
        h3 = h3_library()
        if not 0 <= resolution <= 15:
            raise InputError(f"The H3 resolution is {resolution}.", "It lies in 0 .. 15; 9 is about 350 m across.")
        if not (-90 <= south < north <= 90 and -180 <= west <= 180 and -180 <= east <= 180 and west != east):
            raise InputError("The bounds are not a rectangle.", "Give south, west, north, east in degrees.")
        # West of east, one rectangle; otherwise it crosses the date line and is two.
        spans = [(west, east)] if west < east else [(west, 180.0), (-180.0, east)]
        found: set[str] = set()
        for left, right in spans:
            if left < right:
                ring = [(south, left), (south, right), (north, right), (north, left)]
                found |= set(h3.polygon_to_cells(h3.LatLngPoly(ring), resolution))
        ids = sorted(found)
        if not ids:
            raise InputError("No hexagon has its centre in the rectangle.", "Use a finer resolution.")
        return cls.from_ids(ids)

    @property
    def resolution(self) -> int:
        """How fine they are."""
        return int(h3_library().get_resolution(self.ids[0]))

    def parents(self, resolution: int) -> HexCells:
        """The coarser hexagons that hold their centres."""
        h3 = h3_library()
        return HexCells.from_ids(sorted({h3.cell_to_parent(one, resolution) for one in self.ids}))

    @property
    def cells(self) -> int:
        """How many hexagons there are."""
        return len(self.ids)

    def labels(self) -> tuple[str, ...]:
        """The H3 indexes."""
        return self.ids

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of the centres."""
        return self.lat_deg, self.lon_deg

    def outlines_deg(self) -> list[list[tuple[float, float]]]:
        """The corners of each hexagon as (lon, lat), not closed."""
        h3 = h3_library()
        return [[(lon, lat) for lat, lon in h3.cell_to_boundary(index)] for index in self.ids]

    def locate(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> IntArray:
        """The hexagon of each point, -1 outside."""
        h3 = h3_library()
        where = {index: number for number, index in enumerate(self.ids)}
        resolution = h3.get_resolution(self.ids[0])
        lat, lon = finite(lat_deg, "lat_deg").ravel(), finite(lon_deg, "lon_deg").ravel()
        found = [where.get(h3.latlng_to_cell(a, b, resolution), -1) for a, b in zip(lat, lon, strict=True)]
        return np.array(found, dtype=np.int64)

    def distances_from(self, cell: int) -> FloatArray:
        """Geodesic distance in metres from one centre to every centre."""
        at = checked_cell(cell, self.cells)
        here = np.full(self.cells, self.lat_deg[at]), np.full(self.cells, self.lon_deg[at])
        return np.asarray(Geod(ellps="WGS84").inv(here[1], here[0], self.lon_deg, self.lat_deg)[2])

    def distance_matrix(self) -> FloatArray:
        """All distances; refused above 5,000 cells."""
        if self.cells > LARGEST_DISTANCE_MATRIX:
            raise InputError(f"A distance matrix of {self.cells} cells is too large.", "Use distances_from(cell).")
        return np.stack([self.distances_from(cell) for cell in range(self.cells)])


def h3_library() -> Any:
    """The library, or what to install."""
    try:
        import h3
    except ImportError as error:
        raise MissingExtra("h3", "geo") from error
    return h3
