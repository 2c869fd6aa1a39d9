"""A rectangle of the earth cut into equal cells, with their centres and distances in metres.

Row 0 is the north, column 0 the west, and cell ``row * columns + column``. A cell is an equal step in latitude and
longitude; metres are measured in the plane that is true to scale at the middle latitude, where one degree is

    north: (pi/180) M,   east: (pi/180) N cos(lat),   M = a(1-e^2)/w^3,  N = a/w,  w = sqrt(1 - e^2 sin^2 lat)

on the WGS84 ellipsoid. East-west lengths are therefore off by at most :attr:`Grid.plane_error` at the north and south
edges (below 0.1 % for a city); whoever states a guarantee per metre states it for the metres of this plane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, positive
from sfumato.base.errors import InputError

LARGEST_DISTANCE_MATRIX = 5_000
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


def ground_distances(lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
    """Distances on the ground between all pairs, in metres, never longer than the geodesic and short of it by < 1 %.

    The straight chord between the points of the ellipsoid, bent over a sphere of the largest radius of curvature; up to
    1,000 km it is short by less than 3e-5 of the distance.
    """
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    across = _SEMI_MAJOR_M / np.sqrt(1 - _ECCENTRICITY_2 * np.sin(lat) ** 2)
    points = np.column_stack(
        [
            across * np.cos(lat) * np.cos(lon),
            across * np.cos(lat) * np.sin(lon),
            (1 - _ECCENTRICITY_2) * across * np.sin(lat),
        ]
    )
    chord = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    diameter = 2 * _SEMI_MAJOR_M / (1 - _FLATTENING)
    out: FloatArray = diameter * np.arcsin(np.minimum(1.0, chord / diameter))
    return out


def plane_deviation(positions_m: FloatArray, lat_deg: FloatArray, lon_deg: FloatArray) -> float:
    """The largest relative difference between distances in a plane and on the ground, over all pairs."""
    step = positions_m[:, None, :] - positions_m[None, :, :]
    plane, ground = np.hypot(step[..., 0], step[..., 1]), ground_distances(lat_deg, lon_deg)
    apart = plane > 0
    return float(np.abs(ground[apart] / plane[apart] - 1).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Grid:
    """``rows`` x ``columns`` equal cells, on the earth (``unit`` "m") or on plain paper (``unit`` "cell" or "m")."""

    kind: ClassVar[str] = "grid"
    rows: int
    columns: int
    cell_height: float
    cell_width: float
    unit: str = "cell"
    north_deg: float | None = None
    west_deg: float | None = None
    cell_height_deg: float | None = None
    cell_width_deg: float | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            count = getattr(self, name)
            if isinstance(count, bool) or not math.isfinite(count) or int(count) != count or count < 1:
                raise InputError(f"{name} is {count}.", "A grid needs at least one row and one column.")
        positive(self.cell_height, "cell_height")
        positive(self.cell_width, "cell_width")
        if self.unit not in ("m", "cell"):
            raise InputError(f"The unit of a grid is '{self.unit}'.", "It is 'm' on the earth or 'cell' on paper.")
        degrees = (self.north_deg, self.west_deg, self.cell_height_deg, self.cell_width_deg)
        on_paper = all(value is None for value in degrees)
        if not on_paper and any(value is None or not math.isfinite(value) for value in degrees):
            raise InputError("A grid on the earth needs its corner and cell size in degrees.", "Use Grid.from_bounds.")

    @classmethod
    def from_bounds(
        cls,
        south: float,
        west: float,
        north: float,
        east: float,
        *,
        cell_size_m: float | None = None,
        shape: tuple[int, int] | None = None,
    ) -> Grid:
        """Cover the rectangle from its north-west corner, with square cells of ``cell_size_m`` or with ``shape`` cells.

        With ``cell_size_m`` the last row and column may stick out to the south and east by less than one cell; with
        ``shape`` = (rows, columns) the rectangle is divided exactly. ``west`` > ``east`` crosses the date line.
        """
        bounds = finite([south, west, north, east], "The bounds", dimensions=1)
        if not (-90 <= bounds[0] < bounds[2] <= 90):
            raise InputError("The bounds do not satisfy -90 <= south < north <= 90.", "Give south, west, north, east.")
        if not all(-180 <= value <= 180 for value in (bounds[1], bounds[3])):
            raise InputError("A longitude lies outside -180 .. 180.", "Give south, west, north, east in degrees.")
        width_deg = east - west if east > west else east - west + 360
        if (east == west) or not 0 < width_deg <= 360:
            raise InputError("The rectangle has no width.", "Give west and east apart.")
        if (cell_size_m is None) == (shape is None):
            raise InputError("Give either cell_size_m or shape.", "For example cell_size_m=250.")
        north_m, east_m = metres_per_degree((south + north) / 2)
        height_m, width_m = (north - south) * north_m, width_deg * east_m
        if cell_size_m is not None:
            size = positive(cell_size_m, "cell_size_m")
            rows, columns = (max(1, math.ceil(extent / size - 1e-9)) for extent in (height_m, width_m))
            cell_height, cell_width = size, size
        else:
            assert shape is not None
            if any(int(count) != count or count < 1 for count in shape):
                raise InputError(f"The shape is {shape}.", "A grid needs at least one row and one column, whole ones.")
            rows, columns = int(shape[0]), int(shape[1])
            cell_height, cell_width = height_m / rows, width_m / columns
        if columns * cell_width / east_m > 360 + cell_width / east_m:
            raise InputError("The grid would wrap around the earth.", "Make it narrower.")
        if north - (rows - 0.5) * cell_height / north_m < -90:
            raise InputError("The last row of cells would have its centre beyond the south pole.", "Use shape instead.")
        return cls(
            rows=rows,
            columns=columns,
            cell_height=cell_height,
            cell_width=cell_width,
            unit="m",
            north_deg=float(north),
            west_deg=float(west),
            cell_height_deg=cell_height / north_m,
            cell_width_deg=cell_width / east_m,
        )

    @classmethod
    def plain(
        cls, rows: int, columns: int, cell_height: float = 1.0, cell_width: float = 1.0, *, unit: str = "cell"
    ) -> Grid:
        """A grid on paper, measured in cells, or in metres (``unit`` "m") when the sizes are metres."""
        return cls(rows=rows, columns=columns, cell_height=cell_height, cell_width=cell_width, unit=unit)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.columns

    @property
    def plane_error(self) -> float:
        """The largest relative error of a length measured in this grid's plane (0 on paper).

        East-west lengths at the edges, and distances between some 40 cells along the border, which on a wide grid are
        shorter on the ground than in the plane (over the pole or across the date line).
        """
        if self.north_deg is None:
            return 0.0
        north, height = self._degrees()[0], self._degrees()[2]
        assert self.cell_width_deg is not None
        used = self.cell_width / self.cell_width_deg
        edges = (min(90.0, north), max(-90.0, north - self.rows * height))
        candidates = [metres_per_degree(edge)[1] for edge in edges]
        if edges[1] < 0 < edges[0]:
            candidates.append(metres_per_degree(0.0)[1])
        rows, columns = (np.unique(np.linspace(0, count - 1, 11).astype(int)) for count in self.shape)
        border = {*((0, c) for c in columns), *((self.rows - 1, c) for c in columns)}
        border |= {*((r, 0) for r in rows), *((r, self.columns - 1) for r in rows)}
        cells = np.array(sorted(row * self.columns + column for row, column in border))
        lat, lon = (values[cells] for values in self.centres_deg())
        return max(*(abs(true / used - 1) for true in candidates), plane_deviation(self.centres()[cells], lat, lon))

    @property
    def ground_stretch(self) -> float:
        """The most by which a distance between centres is longer in this plane than on the ground; 1 below 2 %.

        A level per km of the plane is so many times larger per km of the ground. East-west lengths shrink towards the
        poles, and the shortest way between two places of the outermost row bulges beyond it, up to the latitude with
        tan = tan(row) / cos(half the longitudes apart); north-south lengths are shortest nearest to the equator.
        """
        if self.north_deg is None:
            return 1.0
        north, _, height, width = self._degrees()
        rows = north - height / 2, north - (self.rows - 0.5) * height
        apart_deg, farthest = (self.columns - 1) * width, max(map(abs, rows))
        if apart_deg >= 180 or farthest >= 90:
            return _NO_SCALE
        bulge = math.degrees(math.atan(math.tan(math.radians(farthest)) / math.cos(math.radians(apart_deg / 2))))
        nearest = 0.0 if rows[1] < 0 < rows[0] else min(map(abs, rows))
        across = self.cell_width / width / metres_per_degree(bulge)[1] if self.columns > 1 else 1.0
        along = self.cell_height / height / metres_per_degree(nearest)[0] if self.rows > 1 else 1.0
        return min(max(across, along), _NO_SCALE) if max(across, along) > 1.02 else 1.0

    def centres(self) -> FloatArray:
        """(cells, 2): east and north of each cell's centre from the south-west corner, in the grid's unit."""
        east = (np.arange(self.columns) + 0.5) * self.cell_width
        north = (self.rows - np.arange(self.rows) - 0.5) * self.cell_height
        return np.column_stack([np.tile(east, self.rows), np.repeat(north, self.columns)])

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of the centres, longitudes within -180 .. 180."""
        north, west, height, width = self._degrees()
        lat = north - (np.arange(self.rows) + 0.5) * height
        lon = west + (np.arange(self.columns) + 0.5) * width
        lon = (lon + 180.0) % 360.0 - 180.0
        return np.repeat(lat, self.columns), np.tile(lon, self.rows)

    def locate(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, *, snap: bool = False) -> IntArray:
        """The cell of each point: -1 outside, or the nearest cell with ``snap``. A shared edge belongs south-east."""
        north, west, height, width = self._degrees()
        lat = finite(lat_deg, "lat_deg").ravel()
        lon = finite(lon_deg, "lon_deg").ravel()
        if lat.shape != lon.shape:
            raise InputError(
                f"There are {lat.size} latitudes and {lon.size} longitudes.", "Give one of each per point."
            )
        row = np.floor((north - lat) / height)
        east_of_west = (lon - west) % 360.0
        column = np.floor(east_of_west / width)
        # The southern and eastern outer edges belong to the last row and column.
        row = np.where((row == self.rows) & (north - lat <= self.rows * height * (1 + 1e-15)), self.rows - 1, row)
        edge = (column == self.columns) & (east_of_west <= self.columns * width * (1 + 1e-15))
        column = np.where(edge, self.columns - 1, column)
        if snap:
            row = np.clip(row, 0, self.rows - 1)
            beyond = column >= self.columns
            extent = self.columns * width
            nearer_west = (360.0 - east_of_west) < (east_of_west - extent)
            column = np.where(beyond, np.where(nearer_west, 0, self.columns - 1), column)
        inside = (row >= 0) & (row < self.rows) & (column >= 0) & (column < self.columns)
        cells: IntArray = np.where(inside, row * self.columns + column, -1).astype(np.int64)
        return cells

    def distances_from(self, cell: int) -> FloatArray:
        """Distance from one cell's centre to every centre, in the grid's unit."""
        row, column = divmod(self._checked(cell), self.columns)
        north = (np.arange(self.rows) - row) * self.cell_height
        east = (np.arange(self.columns) - column) * self.cell_width
        distances: FloatArray = np.hypot(north[:, None], east[None, :]).ravel()
        return distances

    def distance_matrix(self) -> FloatArray:
        """All distances between centres; refused above 5,000 cells, where rows on demand are the way."""
        if self.cells > LARGEST_DISTANCE_MATRIX:
            raise InputError(
                f"A distance matrix of {self.cells} cells would need {8e-9 * self.cells**2:.1f} GB.",
                "Use distances_from(cell) row by row, or larger cells.",
            )
        return np.stack([self.distances_from(cell) for cell in range(self.cells)])

    def labels(self) -> tuple[str, ...]:
        """``r<row>c<column>`` for each cell."""
        return tuple(f"r{row}c{column}" for row in range(self.rows) for column in range(self.columns))

    def to_dict(self) -> dict[str, object]:
        """Plain values from which :meth:`from_dict` builds the same grid."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Grid:
        """The grid that :meth:`to_dict` described."""
        unknown = set(values) - {field.name for field in fields(cls)}
        missing = {"rows", "columns", "cell_height", "cell_width"} - set(values)
        if unknown or missing:
            raise InputError(f"The grid has unknown {sorted(unknown)} and lacks {sorted(missing)}.")
        return cls(**values)

    def _checked(self, cell: int) -> int:
        return checked_cell(cell, self.cells)

    def _degrees(self) -> tuple[float, float, float, float]:
        if self.north_deg is None:
            raise InputError("A grid on paper has no latitude and longitude.", "Use Grid.from_bounds.")
        assert self.west_deg is not None
        assert self.cell_height_deg is not None
        assert self.cell_width_deg is not None
        return self.north_deg, self.west_deg, self.cell_height_deg, self.cell_width_deg


def checked_cell(cell: int, count: int) -> int:
    """A cell's number, or an :class:`InputError`."""
    if int(cell) != cell or not 0 <= int(cell) < count:
        raise InputError(f"There is no cell {cell} among {count}.", "Give a whole number from 0.")
    return int(cell)
