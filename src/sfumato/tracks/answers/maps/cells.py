"""The cells an answer is given for: a grid of square cells, H3 hexagons, or named areas; and latent cells within them.

A grid's latent cells divide its cells exactly. Hexagons and areas take from each latent cell the part of it that lies
inside (told on nine places of it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.base.things.hexagons import HexCells
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.maps.areas import Areas
from sfumato.tracks.answers.maps.window import Bounds, Window, extent_of, reporting_grid

Cells = Grid | HexCells | Areas
NOTHING = 1e-12  # of everybody
_HEXAGON_M = 1_281_256.0  # mean edge at resolution 0; every next one is 1/√7 of it
_HEXAGON_SIDES = 1.61  # a square of that many edges is as large as a hexagon
_WITHIN = (-1 / 3, 0.0, 1 / 3)


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

    def summed_on(self, window: Window) -> Reporting:
        """How this window's latent cells go into the cells."""
        return Reporting(self.cells, window, None if self.cells is self.grid else _into(self.cells, window))


@dataclass(frozen=True, slots=True, eq=False)
class Reporting:
    """Latent cells summed into the cells asked for; ``into`` (cells, latent) is None for a grid."""

    cells: Cells
    window: Window
    into: csr_array | None

    def masses(self, latent: FloatArray) -> FloatArray:
        """Sums (..., cells) of latent cells (..., rows, columns)."""
        if self.into is None:
            return self.window.reported(latent)
        flat = latent.reshape(-1, latent.shape[-2] * latent.shape[-1])
        return np.asarray((self.into @ flat.T).T).reshape(*latent.shape[:-2], -1)

    def shares(self, latent: FloatArray) -> FloatArray:
        """Shares (..., cells), summing to 1."""
        masses = self.masses(latent)
        share = masses / np.maximum(masses.sum(axis=-1, keepdims=True), 1e-300)
        return np.where(share < NOTHING, 0.0, share)


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
        side = _HEXAGON_M / math.sqrt(7.0) ** h3
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
    lat, lon = window.centres_deg()
    assert window.grid.cell_height_deg is not None
    assert window.grid.cell_width_deg is not None
    up, across = window.grid.cell_height_deg / window.finer, window.grid.cell_width_deg / window.finer
    locate: Callable[..., IntArray] = cells.locate
    found = np.concatenate(
        [
            locate(np.clip(lat + a * up, -90, 90), (lon + b * across + 180.0) % 360.0 - 180.0)
            for a in _WITHIN
            for b in _WITHIN
        ]
    )
    latent = np.tile(np.arange(len(lat)), len(_WITHIN) ** 2)
    inside = found >= 0
    if not inside.any():
        raise InputError("No cell lies where the release is.", "Check the areas, or name another rectangle.")
    weight = np.full(int(inside.sum()), 1.0 / len(_WITHIN) ** 2)
    return csr_array((weight, (found[inside], latent[inside])), shape=(cells.cells, len(lat)))
