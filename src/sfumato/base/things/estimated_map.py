"""An estimated map: shares of cells with their intervals, from protected tracks or from reports; and the step to it.

One step of expectation maximisation for a mixture seen through noise, which five methods share:

    c  <-  c . g,      g = Kᵀ (p / K c)

K c is how the places c would be seen, p how they were seen. With a channel's rows for K it is the iterative Bayesian
update [Biswas2023, Def. 2.5]; with counts p and the spread of a noise it deconvolves [Vardi1985]; with p a prior and
K = exp(-beta d) it is Blahut-Arimoto's. Σ p log K c never falls, and is within Σp · (max g - 1) of the best there is.

Cells too small to be told apart are put together to areas, of collections and of releases alike. The rows are cut into
round(height / width) runs of nearly equal length, the columns likewise, whatever the map says: areas drawn around what
stands out would show the luckiest cell, and an interval that holds for any one area of anybody's choice would not hold
for that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.grid import Grid

LEAST_PEOPLE = 5  # fewer give no interval worth the name
Weight = Literal["points", "people", "time"]


class MapCells(Protocol):
    """Cells that a map can be of: a grid, hexagons, or named areas."""

    @property
    def kind(self) -> str:
        """What they are called in JSON."""

    @property
    def cells(self) -> int:
        """How many."""

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of their centres."""

    def labels(self) -> Sequence[str]:
        """Their names."""


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


COUNTING = {"points": "share of points", "people": "share, all counting the same", "time": "share of time"}


def whose_map(people: str, confidence: float | None) -> str:
    """The first note of every map: whose it is, and what its two intervals are for, if it has any."""
    if confidence is None:
        return f"Of {people}."
    level = f"{100 * confidence:g} %"
    return f"Of {people}. {level} intervals: low to high of these people, low_alike to high_alike of people like these."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatedMap(ShownAnswer):
    """Shares of ``cells`` that can be told apart (they sum to 1), each with two intervals (NaN where there is none).

    ``low`` and ``high`` are for the people released; ``low_alike`` and ``high_alike`` for people like these, of whom
    they are a sample. ``picture`` is of the cells ``asked`` for, which may be too fine for numbers. ``naive`` and
    ``counted`` are the released points counted in the one and in the other; ``corrected`` is the part of the answer
    that is not counting.
    """

    cells: MapCells
    asked: MapCells
    grid: Grid
    share: FloatArray
    low: FloatArray
    high: FloatArray
    low_alike: FloatArray
    high_alike: FloatArray
    naive: FloatArray
    picture: FloatArray
    counted: FloatArray
    corrected: float
    confidence: float
    weight: Weight
    people: int
    points: int
    outside: int
    steps: int
    steps_by: str
    latent_m: float
    noise_m: tuple[float, ...]
    largest_person: float
    notes: tuple[str, ...] = ()

    drawn_from: ClassVar[str] = "From protected releases with the blur of the noise taken out"

    @property
    def drawn(self) -> FloatArray:
        """What a picture shows: the shares of the cells asked for."""
        return self.picture

    def to_table(self) -> pa.Table:
        """``lat, lon, share, low, high, low_alike, high_alike`` at the centres, as Arrow; ``cell`` first if named."""
        lat, lon = self.cells.centres_deg()
        numbers = ("share", "low", "high", "low_alike", "high_alike")
        values = {"lat": lat, "lon": lon} | {name: pa.array(getattr(self, name), from_pandas=True) for name in numbers}
        return pa.table(values if isinstance(self.cells, Grid) else {"cell": list(self.cells.labels()), **values})

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.cells.cells,
            "kind_of_cells": self.cells.kind,
            "cells_asked_for": self.asked.cells,
            "corrected": self.corrected,
            "cell_m": self.grid.cell_height if isinstance(self.asked, Grid) else None,
            "people": self.people,
            "share_of_the_largest_person": self.largest_person,
            "points": self.points,
            "points_outside": self.outside,
            "weight": self.weight,
            "noise_m": list(self.noise_m),
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.low).any()),
            "notes": list(self.notes),
        }


def em_factor(seen: FloatArray, expected: FloatArray, back: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """g from p = ``seen`` and K c = ``expected``; ``back`` multiplies by Kᵀ. What nobody saw, and may be 0/0, is 0."""
    return back(np.divide(seen, expected, out=np.zeros_like(seen), where=seen > 0))


def dense_em_steps(
    c: FloatArray, seen: FloatArray, matrix: FloatArray, steps: int, *, scale: FloatArray | None = None
) -> None:
    """So many steps in place, where K = ``matrix`` diag(``scale``) is symmetric but for the scale and nowhere 0.

    Small matrices spend their time in calls: no masks and no new arrays.
    """
    spread, expected, factor = (np.empty_like(c) for _ in range(3))
    for _ in range(steps):
        np.dot(matrix, c if scale is None else np.multiply(c, scale, out=spread), out=expected)
        np.divide(seen, expected, out=expected)
        np.dot(matrix, expected, out=factor)
        if scale is not None:
            factor *= scale
        c *= factor
