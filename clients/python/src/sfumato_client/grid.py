"""A rectangle of the earth cut into equal cells: what a device needs of ``sfumato.base.things.grid``, in plain Python.

Row 0 is the north, column 0 the west, and cell ``row * columns + column``; the same edges belong to the same cells as
there (golden file ``places.json``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato_client.errors import InputError

_SEMI_MAJOR_M = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY_2 = _FLATTENING * (2 - _FLATTENING)
_NO_SCALE = 1e6  # the stretch of a grid at a pole or around the earth: nothing per km of the ground can be said of it


def metres_per_degree(lat_deg: float) -> tuple[float, float]:
    """Length of one degree to the north and of one degree to the east at a latitude, on WGS84."""
    sine = math.sin(math.radians(lat_deg))
    w = math.sqrt(1 - _ECCENTRICITY_2 * sine * sine)
    north = math.radians(1) * _SEMI_MAJOR_M * (1 - _ECCENTRICITY_2) / w**3
    east = math.radians(1) * _SEMI_MAJOR_M / w * math.cos(math.radians(lat_deg))
    return north, east


@dataclass(frozen=True, slots=True)
class Grid:
    """``rows`` x ``columns`` equal cells on the earth."""

    rows: int
    columns: int
    cell_height: float
    cell_width: float
    north_deg: float
    west_deg: float
    cell_height_deg: float
    cell_width_deg: float
    unit: str = "m"

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.rows * self.columns

    @property
    def ground_stretch(self) -> float:
        """The most by which a distance between centres is longer in this plane than on the ground; 1 below 2 %.

        A level per km of the plane is so many times larger per km of the ground. East-west lengths shrink towards the
        poles, and the shortest way between two places of the outermost row bulges beyond it, up to the latitude with
        tan = tan(row) / cos(half the longitudes apart); north-south lengths are shortest nearest to the equator.
        """
        north, height, width = self.north_deg, self.cell_height_deg, self.cell_width_deg
        rows = north - height / 2, north - (self.rows - 0.5) * height
        apart_deg, farthest = (self.columns - 1) * width, max(map(abs, rows))
        if apart_deg >= 180 or farthest >= 90:
            return _NO_SCALE
        bulge = math.degrees(math.atan(math.tan(math.radians(farthest)) / math.cos(math.radians(apart_deg / 2))))
        nearest = 0.0 if rows[1] < 0 < rows[0] else min(map(abs, rows))
        across = self.cell_width / width / metres_per_degree(bulge)[1] if self.columns > 1 else 1.0
        along = self.cell_height / height / metres_per_degree(nearest)[0] if self.rows > 1 else 1.0
        return min(max(across, along), _NO_SCALE) if max(across, along) > 1.02 else 1.0

    def locate(self, lat_deg: Sequence[float], lon_deg: Sequence[float], *, snap: bool = False) -> list[int]:
        """The cell of each point: -1 outside, or the nearest cell with ``snap``. A shared edge belongs south-east."""
        return [self._cell(lat, lon, snap) for lat, lon in zip(lat_deg, lon_deg, strict=True)]

    def _cell(self, lat: float, lon: float, snap: bool) -> int:
        if not (math.isfinite(lat) and math.isfinite(lon)):
            raise InputError("The place holds a value that is NaN or infinite.", "Give latitude and longitude.")
        row = math.floor((self.north_deg - lat) / self.cell_height_deg)
        east_of_west = (lon - self.west_deg) % 360.0
        column = math.floor(east_of_west / self.cell_width_deg)
        # The southern and eastern outer edges belong to the last row and column.
        if row == self.rows and self.north_deg - lat <= self.rows * self.cell_height_deg * (1 + 1e-15):
            row = self.rows - 1
        extent = self.columns * self.cell_width_deg
        if column == self.columns and east_of_west <= extent * (1 + 1e-15):
            column = self.columns - 1
        if snap:
            row = min(max(row, 0), self.rows - 1)
            if column >= self.columns:
                column = 0 if 360.0 - east_of_west < east_of_west - extent else self.columns - 1
        inside = 0 <= row < self.rows and 0 <= column < self.columns
        return row * self.columns + column if inside else -1
