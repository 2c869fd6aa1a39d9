"""The cells an answer is given for, the window of finer cells that it is worked out on, and the outlines of cells.

Answers are for a grid of square cells, H3 hexagons or named areas. The *latent* cells of the window must be finer than
those and than the noise, since people do not stand evenly over a reporting cell (with latent = reporting cells a map
comes out worse than the blurred histogram). A grid's latent cells divide its cells exactly; hexagons and areas take
from each latent cell the part of it that lies inside. Lines run along parallels and meridians, as in
:class:`~sfumato.base.things.grid.Grid`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.area_shares import Group, neighbours, parts_of_cells, shown_together, sums_of
from sfumato.base.things.areas import Areas
from sfumato.base.things.estimated_map import GridAreas, MapCells, Weight, cut
from sfumato.base.things.grid import Grid
from sfumato.base.things.hexagons import HexCells
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Person, time_weights

MARGIN = 4.0  # noises: released points of people inside are almost never farther out
LATENT_OF_NOISE, LATENT_OF_CELL = 0.4, 2
LARGEST_WINDOW = 1_000_000
_RARE = 5e-4
Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Window:
    """A reporting grid, ``finer`` latent cells along each side of its cells, and ``margin`` latent cells around."""

    grid: Grid
    finer: int
    margin: int

    @classmethod
    def around(cls, grid: Grid, noise_m: float, *, least: int = LATENT_OF_CELL) -> Window:
        """The window that noise of this size needs."""
        found = cls._needed(grid, noise_m, least)
        rows, columns = found.shape
        if rows * columns > LARGEST_WINDOW:
            raise InputError(
                f"The map would need {rows} x {columns} cells of {min(found.latent_m):.3g} m to be worked out.",
                "Use larger cells, or name a smaller rectangle (--bounds south,west,north,east).",
            )
        return found

    @classmethod
    def fits(cls, grid: Grid, noise_m: float) -> bool:
        """Whether that window is small enough to be worked on."""
        rows, columns = cls._needed(grid, noise_m, LATENT_OF_CELL).shape
        return rows * columns <= LARGEST_WINDOW

    @classmethod
    def _needed(cls, grid: Grid, noise_m: float, least: int) -> Window:
        cell = min(grid.cell_height, grid.cell_width)
        finer = max(least, math.ceil(cell / (LATENT_OF_NOISE * noise_m)))
        return cls(grid, finer, math.ceil(MARGIN * noise_m * finer / cell))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of latent cells, margin included."""
        return self.grid.rows * self.finer + 2 * self.margin, self.grid.columns * self.finer + 2 * self.margin

    @property
    def latent_m(self) -> tuple[float, float]:
        """Height and width of a latent cell."""
        return self.grid.cell_height / self.finer, self.grid.cell_width / self.finer

    def places(self, lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
        """(n, 2): latent rows and columns from the north-western corner, with fractions."""
        return np.column_stack([self._rows_of(lat_deg), self._columns_of(lon_deg)])

    def holds(self, places: FloatArray) -> BoolArray:
        """Which places lie in the window."""
        return np.asarray(((places >= 0) & (places < np.array(self.shape))).all(axis=1))

    def metres(self, lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
        """(n, 2): metres south and east of the window's north-western corner."""
        return np.asarray(self.places(lat_deg, lon_deg) * np.array(self.latent_m))

    def _rows_of(self, lat_deg: FloatArray) -> FloatArray:
        north, _, height, _ = _on_the_globe(self.grid)
        return (north - lat_deg) * self.finer / height + self.margin

    def _columns_of(self, lon_deg: FloatArray) -> FloatArray:
        _, west, _, width = _on_the_globe(self.grid)
        across = (lon_deg - west + 180.0) % 360.0 - 180.0
        across = np.where(across < -(self.margin / self.finer + 1) * width, across + 360.0, across)
        return across * self.finer / width + self.margin

    def sum_cells(self, latent: FloatArray) -> FloatArray:
        """Latent cells (..., rows, columns) summed into the reporting cells (..., cells), margin cut off."""
        inner = latent[..., self.margin : latent.shape[-2] - self.margin, self.margin : latent.shape[-1] - self.margin]
        lead, k = inner.shape[:-2], self.finer
        out: FloatArray = inner.reshape(*lead, self.grid.rows, k, self.grid.columns, k).sum(axis=(-3, -1))
        return out.reshape(*lead, self.grid.cells)

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitude and longitude of each latent cell's centre, margin included, flattened."""
        rows, columns = self.shape
        north, west, height, width = _on_the_globe(self.grid)
        lat = north - (np.arange(rows) - self.margin + 0.5) * height / self.finer
        lon = west + (np.arange(columns) - self.margin + 0.5) * width / self.finer
        return np.repeat(lat, columns), np.tile((lon + 180.0) % 360.0 - 180.0, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One release of one person: places (n, 2) in latent rows and columns, when, what each counts; its length."""

    law: int
    person: int
    places: FloatArray
    times_s: FloatArray
    mass: FloatArray
    seconds: float
    duration_s: float


def units_of(
    people: Sequence[Person], laws: Sequence[NoiseLaw], window: Window, *, weight: Weight = "points"
) -> list[Unit]:
    """Every release of everybody, person by person. A point counts one, or the seconds that it stands for, or as much
    as makes everybody count the same."""
    out = []
    for number, person in enumerate(people):
        points = sum(len(trace) for _, trace in person.releases)
        for law, trace in person.releases:
            seconds = time_weights(trace)
            mass = seconds if weight == "time" else np.full(len(trace), 1.0 if weight == "points" else 1.0 / points)
            places = window.places(trace.lat_deg, trace.lon_deg)
            lasts = float(seconds.sum()), float(np.ptp(trace.times_s))
            out.append(Unit(laws.index(law), number, places, trace.times_s, mass, *lasts))
    return out


def count_on(units: Sequence[Unit], law: int, window: Window, groups: Sequence[IntArray] | None = None) -> FloatArray:
    """What counts in each latent cell (groups, rows, columns), of one law; ``groups`` of each unit's points."""
    rows, columns = window.shape
    count = 1 if groups is None else 1 + max(int(one.max(initial=0)) for one in groups)
    out = np.zeros(count * rows * columns)
    for number, unit in enumerate(units):
        if unit.law == law:
            row, column = (np.floor(unit.places[:, axis]).astype(np.int64) for axis in (0, 1))
            inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
            cells = row[inside] * columns + column[inside]
            if groups is not None:
                cells += groups[number][inside] * (rows * columns)
            np.add.at(out, cells, unit.mass[inside])
    return out.reshape(count, rows, columns)


def _on_the_globe(grid: Grid) -> tuple[float, float, float, float]:
    """North and west of a grid's corner, height and width of its cells, all in degrees."""
    assert grid.north_deg is not None
    assert grid.west_deg is not None
    assert grid.cell_height_deg is not None
    assert grid.cell_width_deg is not None
    return grid.north_deg, grid.west_deg, grid.cell_height_deg, grid.cell_width_deg


def reporting_grid(traces: Sequence[Trace], cell_m: float, bounds: Bounds | None = None) -> Grid:
    """Square cells over the rectangle, by default the one that holds the release.

    A few stray points far away would make it a country: where the rectangle of all but one in a thousand points is less
    than a quarter of the whole, that one is taken (the answer says how many points lie outside).
    """
    size = positive(cell_m, "cell_m")
    return Grid.from_bounds(*(extent_of(traces) if bounds is None else bounds), cell_size_m=size)


def extent_of(traces: Sequence[Trace]) -> Bounds:
    """South, west, north, east of the released points; across the date line where that is shorter."""
    lat = np.concatenate([trace.lat_deg for trace in traces])
    lon = np.concatenate([trace.lon_deg for trace in traces])
    middle = float(np.quantile(lon, 0.5, method="higher"))  # somebody's: the mean of both sides may be Greenwich
    across = (lon - middle + 180.0) % 360.0 - 180.0
    whole = _box(lat, across, 0.0)
    most = _box(lat, across, _RARE)
    chosen = most if 4 * _area(most) < _area(whole) else whole
    south, west, north, east = chosen
    tiny = 1e-4
    return (
        max(-90.0, south - tiny),
        (west - tiny + middle + 180.0) % 360.0 - 180.0,
        min(90.0, north + tiny),
        (east + tiny + middle + 180.0) % 360.0 - 180.0,
    )


def _box(lat: FloatArray, lon: FloatArray, rare: float) -> Bounds:
    south, west = (float(np.quantile(values, rare, method="higher")) for values in (lat, lon))
    north, east = (float(np.quantile(values, 1 - rare, method="lower")) for values in (lat, lon))
    return south, west, north, east


def _area(box: Bounds) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


Cells = Grid | HexCells | Areas
MOST_SHOWN = 2_500
_ROUNDED = 1.2  # areas may be so much narrower than asked: cells and hexagons come in whole sizes
NOTHING = 1e-12  # of everybody
_HEXAGON_M = 1_281_256.0  # mean edge at resolution 0; every next one is 1/√7 of it
_HEXAGON_SIDES = 1.61  # a square of that many edges is as large as a hexagon


@dataclass(frozen=True, slots=True, eq=False)
class AskedCells:
    """What was asked for: the cells, and the helper grid whose window the map is worked out on."""

    cells: Cells
    grid: Grid

    @property
    def side_m(self) -> float:
        """About how wide a cell is: the root of its area (of the mean area, for named areas)."""
        if isinstance(self.cells, Areas):
            return math.sqrt(self.grid.cells * self.grid.cell_height * self.grid.cell_width / self.cells.cells)
        return self.grid.cell_height * (1.0 if self.cells is self.grid else _HEXAGON_SIDES)

    @property
    def whole_m2(self) -> float:
        """The ground of the map."""
        return self.grid.cells * self.grid.cell_height * self.grid.cell_width

    def summed_on(self, window: Window) -> Reporting:
        """How this window's latent cells go into the cells."""
        return Reporting(self.cells, window, None if self.cells is self.grid else _into(self.cells, window))


@dataclass(frozen=True, slots=True, eq=False)
class Reporting:
    """Latent cells summed into cells; ``into`` (cells, latent) is None for a grid and rectangles of its cells."""

    cells: Cells | GridAreas
    window: Window
    into: csr_array | None
    told: BoolArray | None = None  # which have numbers; None: all of them

    def masses(self, latent: FloatArray) -> FloatArray:
        """Sums (..., cells) of latent cells (..., rows, columns)."""
        if self.into is None:
            sums = self.window.sum_cells(latent)
            return sums if not isinstance(self.cells, GridAreas) else self.cells.sums(sums)
        return sums_of(self.into, latent.reshape(*latent.shape[:-2], -1))

    def shares(self, latent: FloatArray) -> FloatArray:
        """Shares (..., cells), summing to 1."""
        masses = self.masses(latent)
        share = masses / np.maximum(masses.sum(axis=-1, keepdims=True), 1e-300)
        return np.where(share < NOTHING, 0.0, share)


def wide_enough(reporting: Reporting, width_m: float | None) -> Reporting:
    """The areas that numbers are for: the cells themselves, rectangles of them, coarser hexagons; named areas that are
    too small together with their neighbours (without such they are not ``told``). Without a width nothing is told but
    the whole."""
    cells = reporting.cells
    if isinstance(cells, Grid):
        boxes = cut(cells, width_m, most=MOST_SHOWN)
        return reporting if len(boxes) == cells.cells else replace(reporting, cells=GridAreas(cells, boxes))
    if isinstance(cells, HexCells):
        resolution = cells.resolution
        while resolution > 0 and (width_m is None or _HEXAGON_SIDES * _edge_m(resolution) < width_m / _ROUNDED):
            resolution -= 1
        if resolution == cells.resolution:
            return reporting
        coarser = cells.parents(resolution)
        return Reporting(coarser, reporting.window, _into(coarser, reporting.window))
    assert isinstance(cells, Areas)
    assert reporting.into is not None
    ground = reporting.masses(np.ones(reporting.window.shape)) * math.prod(reporting.window.latent_m)
    least = (math.inf if width_m is None else width_m / _ROUNDED) ** 2
    parts = reporting.into.tocoo()
    of_cell, by_part = np.full(parts.shape[1], -1), np.argsort(parts.data)
    of_cell[parts.col[by_part]] = parts.row[by_part]

    def hardness(one: Group, other: Group) -> float:
        """Below 1 they are both wide enough; of a small one's neighbours the smallest is hardest."""
        small, large = sorted((ground[list(one)].sum(), ground[list(other)].sum()))
        return float(least / small + 1e-9 * small / large) if small > 0 and least < math.inf else math.inf

    groups = shown_together(cells.cells, neighbours(of_cell.reshape(reporting.window.shape)), hardness, 1.0 + 1e-9)
    joined = csr_array(np.array([np.isin(np.arange(cells.cells), group) for group in groups], dtype=np.float64))
    told: BoolArray = np.asarray(joined @ ground) >= least
    if len(groups) == cells.cells and told.all():
        return reporting
    into = csr_array(joined @ reporting.into)
    return Reporting(cells.together(groups), reporting.window, into, None if told.all() else told)


def _edge_m(resolution: int) -> float:
    return _HEXAGON_M / math.sqrt(7.0) ** resolution


def asked_for(
    traces: Sequence[Trace],
    noise_m: float,
    *,
    cell_m: float | None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
) -> AskedCells:
    """Square cells of ``cell_m``, hexagons of resolution ``h3``, or ``areas``: one of the three."""
    if sum(one is not None for one in (cell_m, h3, areas)) != 1:
        raise InputError("Cells are one of three kinds.", "Give the side of square cells, an H3 resolution, or areas.")
    if cell_m is not None:
        grid = reporting_grid(traces, cell_m, bounds)
        return AskedCells(grid, grid)
    if h3 is not None:
        south, west, north, east = extent_of(traces) if bounds is None else bounds
        hexagons = HexCells.from_bounds(south, west, north, east, resolution=h3)
        side = _edge_m(h3)
        return AskedCells(hexagons, _helper((south, west, north, east), side, side))
    assert areas is not None
    if bounds is not None:
        raise InputError("Areas and a rectangle were given.", "Areas say themselves where they are: leave --bounds.")
    return AskedCells(areas, _helper(areas.bounds(), noise_m, noise_m / 2))


def _helper(bounds: Bounds, cell_m: float, around_m: float) -> Grid:
    up = around_m / 111_000
    across = up / max(math.cos(math.radians(max(abs(bounds[0]), abs(bounds[2])))), 0.01)
    south, west, north, east = bounds[0] - up, bounds[1] - across, bounds[2] + up, bounds[3] + across
    west, east = ((value + 180.0) % 360.0 - 180.0 for value in (west, east))
    return Grid.from_bounds(max(south, -90.0), west, min(north, 90.0), east, cell_size_m=cell_m)


def _into(cells: Cells, window: Window) -> csr_array:
    north, west, *size = _on_the_globe(window.grid)
    up, across = (one / window.finer for one in size)
    corner = north + window.margin * up, west - window.margin * across
    found = parts_of_cells(outlines(cells), window.shape, corner, (up, across))
    if not found.nnz:
        raise InputError("No cell lies where the release is.", "Check the areas, or name another rectangle.")
    return found


Rings = list[FloatArray]


def outlines(cells: MapCells) -> list[list[Rings]]:
    """Of each cell its polygons, each of them rings, closed."""
    if isinstance(cells, Areas):
        return [[list(one.rings) for one in shape] for shape in cells.shapes]
    if isinstance(cells, GridAreas):
        sides = np.stack(cells.bounds_deg(), axis=1)
        return [[[np.round(np.array([[w, s], [e, s], [e, n], [w, n], [w, s]]), 7)]] for s, w, n, e in sides]
    if isinstance(cells, HexCells):
        return [[[_on_one_side(np.array([*ring, ring[0]]))]] for ring in cells.outlines_deg()]
    assert isinstance(cells, Grid)
    (lat, lon), (_, _, height, width) = cells.centres_deg(), _on_the_globe(cells)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) / 2 * np.array([width, height])
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


def line_wkb(start: tuple[float, float], end: tuple[float, float]) -> bytes:
    """A line from one (lon, lat) to another; a point where they are the same."""
    if start == end:
        return struct.pack("<BI2d", 1, 1, *start)
    return struct.pack("<BII4d", 1, 2, 2, *start, *end)
