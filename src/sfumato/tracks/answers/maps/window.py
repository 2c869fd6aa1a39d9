"""The window a map is worked out on: reporting cells, finer latent cells inside them, and a margin for the noise.

The latent cells must be finer than the reporting cells and than the noise, since people do not stand evenly over a
reporting cell (with latent = reporting cells a map comes out worse than the blurred histogram). Lines run along
parallels and meridians, as in :class:`~sfumato.base.things.grid.Grid`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.base.things.traces import Trace

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
        cell = min(grid.cell_height, grid.cell_width)
        finer = max(least, math.ceil(cell / (LATENT_OF_NOISE * noise_m)))
        margin = math.ceil(MARGIN * noise_m * finer / cell)
        rows, columns = grid.rows * finer + 2 * margin, grid.columns * finer + 2 * margin
        if rows * columns > LARGEST_WINDOW:
            raise InputError(
                f"The map would need {rows} x {columns} cells of {cell / finer:.3g} m to be worked out.",
                "Use larger cells, or name a smaller rectangle (--bounds south,west,north,east).",
            )
        return cls(grid, finer, margin)

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
        assert self.grid.north_deg is not None
        assert self.grid.cell_height_deg is not None
        return (self.grid.north_deg - lat_deg) * self.finer / self.grid.cell_height_deg + self.margin

    def _columns_of(self, lon_deg: FloatArray) -> FloatArray:
        assert self.grid.west_deg is not None
        assert self.grid.cell_width_deg is not None
        across = (lon_deg - self.grid.west_deg + 180.0) % 360.0 - 180.0
        across = np.where(across < -self._reach_deg, across + 360.0, across)
        return across * self.finer / self.grid.cell_width_deg + self.margin

    @property
    def _reach_deg(self) -> float:
        assert self.grid.cell_width_deg is not None
        return (self.margin / self.finer + 1) * self.grid.cell_width_deg

    def reported(self, latent: FloatArray) -> FloatArray:
        """Latent cells (..., rows, columns) summed into the reporting cells (..., cells), margin cut off."""
        inner = latent[..., self.margin : latent.shape[-2] - self.margin, self.margin : latent.shape[-1] - self.margin]
        lead, k = inner.shape[:-2], self.finer
        out: FloatArray = inner.reshape(*lead, self.grid.rows, k, self.grid.columns, k).sum(axis=(-3, -1))
        return out.reshape(*lead, self.grid.cells)

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitude and longitude of each latent cell's centre, margin included, flattened."""
        rows, columns = self.shape
        assert self.grid.north_deg is not None
        assert self.grid.west_deg is not None
        assert self.grid.cell_height_deg is not None
        assert self.grid.cell_width_deg is not None
        lat = self.grid.north_deg - (np.arange(rows) - self.margin + 0.5) * self.grid.cell_height_deg / self.finer
        lon = self.grid.west_deg + (np.arange(columns) - self.margin + 0.5) * self.grid.cell_width_deg / self.finer
        return np.repeat(lat, columns), np.tile((lon + 180.0) % 360.0 - 180.0, rows)


def reporting_grid(traces: Sequence[Trace], cell_m: float, bounds: Bounds | None = None) -> Grid:
    """Square cells over the rectangle, by default the one that holds the release.

    A few stray points far away would make it a country: where the rectangle of all but one in a thousand points is less
    than a quarter of the whole, that one is taken (the answer says how many points lie outside).
    """
    size = positive(cell_m, "cell_m")
    if bounds is None:
        bounds = extent_of(traces)
    south, west, north, east = bounds
    return Grid.from_bounds(south, west, north, east, cell_size_m=size)


def extent_of(traces: Sequence[Trace]) -> Bounds:
    """South, west, north, east of the released points; across the date line where that is shorter."""
    lat = np.concatenate([trace.lat_deg for trace in traces])
    lon = np.concatenate([trace.lon_deg for trace in traces])
    middle = float(
        np.quantile(lon, 0.5, method="higher")
    )  # somebody's: between both sides of the date line is Greenwich
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
