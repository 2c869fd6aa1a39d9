"""A map cut into areas that its reports can tell apart, and what is known of each.

A cell is what people report, and smaller than what a crowd of blurred reports can tell: its interval may be 0 to 40 %.
So cells are put together until an area says something. Were people spread evenly, an area of share s would have the
interval s +- z sqrt(v(s)), with v from the covariance of the very estimate that the intervals are made from
(:mod:`sfumato.collect.estimation.linear`: nothing is assumed about where in the area people are). Areas are *told
apart* when

    z_0.95 sqrt(v)  <=  s        (one with twice its even share of people comes out above it, one with none below it)

holds for the middle one of them, and neighbours are by :mod:`.resolution`, which a plan promises: the wider of the two.
Both know the channels and the number of reports, and nothing else. **The areas are chosen without looking at what was
reported**: an interval that covers a region of anybody's choice in 95 of 100 campaigns covers each of these in 95 of
100. Areas drawn around what stands out would not have that: of a hundred noisy cells the largest is the luckiest.

The grid's rows are cut into round(height / width) runs of nearly equal length, the columns likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from sfumato.accountant.compose import Reporting
from sfumato.base.arrays import FloatArray, IntArray, positive, read_only
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.linear import linearised
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.estimation.uncertainty import Intervals, interval_ends
from sfumato.collect.loop.resolution import Resolution, resolution

MOST_AREAS = 400
DRAWN_UP_TO = 1_000
"""Cells of a grid whose map is cut into areas: beyond, another inverse of their covariance takes a cycle too long."""
_NICE = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5)
_FINER = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class ToldAreas:
    """Rectangles of cells that cover the grid, one entry each: (row, column, rows, columns), and the people in it."""

    boxes: IntArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True)
class Sharpness:
    """What a number of reports can tell: how wide areas must be, and what it takes to see finer. The grid's unit."""

    reports: int
    width: float | None
    """None: not even the halves of the map can be told apart."""
    finer_width: float | None
    """None: every cell can be told from its neighbour already."""
    more_reports: int | None


def cut(grid: Grid, width: float | None) -> IntArray:
    """The boxes (row, column, rows, columns) of areas about ``width`` wide; None: one box, the whole grid."""
    if width is None:
        return np.array([[0, 0, grid.rows, grid.columns]], dtype=np.int64)
    wide = positive(width, "The width")
    while True:
        rows = _runs(grid.rows, grid.rows * grid.cell_height / wide)
        columns = _runs(grid.columns, grid.columns * grid.cell_width / wide)
        if (len(rows) - 1) * (len(columns) - 1) <= MOST_AREAS:
            break
        wide *= 1.1
    boxes = [
        (top, left, bottom - top, right - left) for top, bottom in pairwise(rows) for left, right in pairwise(columns)
    ]
    return np.array(boxes, dtype=np.int64)


def chosen_cells(grid: Grid, boxes: IntArray) -> FloatArray:
    """One 0/1 row of (areas, cells) per box."""
    chosen = np.zeros((len(boxes), grid.rows, grid.columns))
    for one, (row, column, rows, columns) in zip(chosen, boxes, strict=True):
        one[row : row + rows, column : column + columns] = 1.0
    return chosen.reshape(len(boxes), -1)


def areas(grid: Grid, boxes: IntArray, estimate: FloatArray, intervals: Intervals) -> ToldAreas:
    """The share of every box in ``estimate``, with its interval, which holds the share shown."""
    assert intervals.linear is not None
    chosen = chosen_cells(grid, boxes)
    share = chosen @ estimate
    low, high = interval_ends(intervals.linear.sums(chosen, intervals.target), intervals.level)
    low, high = np.minimum(np.clip(low, 0.0, 1.0), share), np.maximum(np.clip(high, 0.0, 1.0), share)
    return ToldAreas(boxes, read_only(share), read_only(low), read_only(high))


def told_apart(tallies: Sequence[Tally], reporting: Reporting) -> Resolution:
    """From how many reports on areas of every width are told apart, with these channels in these proportions."""
    channel = tallies[-1].channel
    grid, planned = channel.grid, resolution(channel)
    even = linearised(tallies, np.full(grid.cells, 1.0 / grid.cells), reporting, dense=True)
    assert even.inverse is not None
    needed: list[float] = []
    for width, least in zip(planned.widths, planned.reports, strict=True):
        chosen = chosen_cells(grid, cut(grid, width))
        share = chosen @ even.theta
        # The part of the variance that comes from the pull does not fall with the number of reports.
        stays = np.sum((chosen @ even.inverse * (even.pull * even.theta)) ** 2, axis=1)
        falls = np.maximum(even.sums(chosen, "reporters").variance - stays, 0.0)
        room = (share / ndtri(0.975)) ** 2 - stays
        each = np.where(room > 0, even.reports * falls / np.maximum(room, 1e-300), np.inf)
        needed.append(max(least, float(np.median(each))))
    # A wider area is never harder to tell: what the remainders of a cut say otherwise is their own doing.
    return Resolution(planned.widths, np.maximum.accumulate(needed[::-1])[::-1])


def sharpness(known: Resolution, cell_width: float, reports: int) -> Sharpness:
    """How wide areas must be with so many reports, and how many more it takes for the next finer round width."""
    width = known.width_told_apart(reports)
    if width is None:
        widths = [one for one, needed in zip(known.widths, known.reports, strict=True) if math.isfinite(needed)]
        finer = widths[-1] if widths else None
    else:
        finer = _round_below(_FINER * width)
        finer = max(finer, cell_width) if max(finer, cell_width) < 0.9 * width else None
    needed = None if finer is None else known.reports_for(finer)
    more = None if needed is None or not math.isfinite(needed) else max(1, math.ceil(needed) - reports)
    return Sharpness(reports, width, finer if more is not None else None, more)


def _round_below(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step for step in _NICE if step * power <= value * (1 + 1e-9)) * power


def _runs(cells: int, count: float) -> list[int]:
    """Where runs of nearly equal length begin and end: at most one per cell, at least one."""
    whole = min(cells, max(1, round(count)))
    return [round(index * cells / whole) for index in range(whole + 1)]
