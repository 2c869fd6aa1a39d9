"""Rectangles of a grid's cells as the cells of a map: what cells too small to be told apart are put together to.

The rows are cut into round(height / width) runs of nearly equal length, the columns likewise, whatever the map says:
areas drawn around what stands out would show the luckiest cell, and an interval that holds for any one area of
anybody's choice would not hold for that one. Maps of collections and maps of releases are cut alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.things.grid import Grid

MOST_AREAS = 400


@dataclass(frozen=True, slots=True, eq=False)
class GridAreas:
    """Boxes (row, column, rows, columns) of a grid's cells, which cover it."""

    kind: ClassVar[str] = "areas of cells"
    grid: Grid
    boxes: IntArray

    @property
    def cells(self) -> int:
        """How many areas there are."""
        return len(self.boxes)

    def labels(self) -> tuple[str, ...]:
        """Of each its cells: first row and column, rows and columns."""
        return tuple("r{} c{} {}x{}".format(*box) for box in self.boxes.tolist())

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of their middles."""
        south, west, north, east = self.bounds_deg()
        return (south + north) / 2, ((west + east) / 2 + 180.0) % 360.0 - 180.0

    def bounds_deg(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """South, west, north and east of each; east may lie beyond 180 degrees."""
        grid = self.grid
        assert grid.north_deg is not None
        assert grid.west_deg is not None
        assert grid.cell_height_deg is not None
        assert grid.cell_width_deg is not None
        row, column, rows, columns = self.boxes.T
        north, west = grid.north_deg - row * grid.cell_height_deg, grid.west_deg + column * grid.cell_width_deg
        return north - rows * grid.cell_height_deg, west, north, west + columns * grid.cell_width_deg

    def sums(self, values: FloatArray) -> FloatArray:
        """(..., areas) of values of the grid's cells (..., cells)."""
        out = np.zeros((*values.shape[:-1], self.cells))
        np.add.at(np.moveaxis(out, -1, 0), self.area_of_cells(), np.moveaxis(values, -1, 0))
        return out

    def locate(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> IntArray:
        """The area of each point, -1 outside."""
        cell = self.grid.locate(lat_deg, lon_deg)
        return np.where(cell < 0, -1, self.area_of_cells()[cell])

    def area_of_cells(self) -> IntArray:
        """Of each of the grid's cells its area."""
        out = np.empty(self.grid.shape, dtype=np.int64)
        for number, (row, column, rows, columns) in enumerate(self.boxes):
            out[row : row + rows, column : column + columns] = number
        return out.ravel()


def cut(grid: Grid, width: float | None, *, most: int = MOST_AREAS) -> IntArray:
    """The boxes (row, column, rows, columns) of areas about ``width`` wide; None: one box, the whole grid."""
    if width is None:
        return np.array([[0, 0, grid.rows, grid.columns]], dtype=np.int64)
    wide = positive(width, "The width")
    while True:
        rows = _runs(grid.rows, grid.rows * grid.cell_height / wide)
        columns = _runs(grid.columns, grid.columns * grid.cell_width / wide)
        if (len(rows) - 1) * (len(columns) - 1) <= most:
            break
        wide *= 1.1
    boxes = [
        (top, left, bottom - top, right - left) for top, bottom in pairwise(rows) for left, right in pairwise(columns)
    ]
    return np.array(boxes, dtype=np.int64)


def _runs(cells: int, count: float) -> list[int]:
    """Where runs of nearly equal length begin and end: at most one per cell, at least one."""
    whole = min(cells, max(1, round(count)))
    return [round(index * cells / whole) for index in range(whole + 1)]
