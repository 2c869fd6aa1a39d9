"""How fine a map a number of reports can draw, known before anybody reports.

Two neighbouring areas, ``w`` wide, one with twice as many people as the other: they are *told apart* when the fuller
one comes out fuller in 95 of 100 campaigns. With people spread evenly over square areas A of the grid, and C_A the
distribution of a report from area A, a report holds the Fisher information

    J_AB = sum_y C_A(y) C_B(y) / q(y),      q = sum_A theta_A C_A,

about the shares theta, the estimate of a difference of shares has variance (e_A - e_B)' J^-1 (e_A - e_B) / n, and areas
are told apart from

    n(w) = (z_0.95 / delta)^2 (e_A - e_B)' J^-1 (e_A - e_B),      delta = (2/3) theta_A

reports on. It is said for the two neighbours in the middle of the map, where reports blur in from all sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sfumato.base.arrays import FloatArray, IntArray, positive, read_only
from sfumato.collect.grids.grid_channel import GridChannel

_CONFIDENCE = 0.95
_DIFFERENCE = 2 / 3
"""Of an average share: one area has 4/3 of it, its neighbour 2/3, twice as many as the other."""
_MOST_AREAS = 15 * 15
_FEWEST_REPORTS = 25.0
"""Areas that so few reports tell apart are wide enough: the formula is for many."""
_STEP = 1.25
_SMALLEST_TOLD = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """Widths of areas, in the grid's unit, narrowest first, and from how many reports on each is told apart."""

    widths: FloatArray
    reports: FloatArray

    def width_told_apart(self, reports: float) -> float | None:
        """How wide areas must be to be told apart with so many reports; None if not even halves of the map are."""
        if positive(reports, "The number of reports") < self.reports[-1]:
            return None
        known = np.isfinite(self.reports)
        return _between(reports, self.reports[known][::-1], self.widths[known][::-1])

    def reports_for(self, width: float) -> float | None:
        """How many reports tell areas of this width apart; None if there are none: less than a cell, or over half."""
        if not self.widths[0] <= positive(width, "The width") <= self.widths[-1]:
            return None
        needed = _between(width, self.widths, self.reports)
        return needed if math.isfinite(needed) else None


def resolution(channel: GridChannel) -> Resolution:
    """What the channel can tell, from single cells up to halves of the map."""
    found = [_needed(channel, side) for side in _sides(channel)]
    widths, reports = (np.array(column) for column in zip(*found, strict=True))
    # A wider area is never harder to tell; where the map does not divide evenly it may seem so.
    return Resolution(read_only(widths), read_only(np.maximum.accumulate(reports[::-1])[::-1]))


def _sides(channel: GridChannel) -> Iterator[int]:
    """Sides of areas in cells, from 1 to half of the grid's longer side, a quarter more each time."""
    longer = max(channel.grid.rows, channel.grid.columns)
    side, areas = 1, longer + 1
    while side <= max(1, longer // 2):
        if round(longer / side) < areas:
            areas = round(longer / side)
            yield side
        side = max(side + 1, math.floor(side * _STEP))


def _needed(channel: GridChannel, side: int) -> tuple[float, float]:
    """How wide areas of about ``side`` cells are, and from how many reports on they are told apart."""
    grid = channel.grid
    rows, columns = _areas(grid.rows, side), _areas(grid.columns, side)
    tall, wide = int(rows[-1]) + 1, int(columns[-1]) + 1
    width = math.sqrt(grid.rows * grid.cell_height / tall * grid.columns * grid.cell_width / wide)
    if tall == wide == 1:
        return width, math.inf
    # The middle of a large map is as good as all of it: far areas do not blur into it.
    top, tall = _middle(tall)
    left, wide = _middle(wide)
    seen = ((rows >= top) & (rows < top + tall))[:, None] & ((columns >= left) & (columns < left + wide))[None, :]
    area = np.where(seen, (rows - top)[:, None] * wide + (columns - left)[None, :], -1).ravel()
    sizes = np.bincount(area[area >= 0], minlength=tall * wide)
    rates = np.stack([channel.report_distribution((area == one) / sizes[one]) for one in range(tall * wide)])
    shares = sizes / sizes.sum()
    information = (rates / (shares @ rates)) @ rates.T
    here = (tall // 2) * wide + wide // 2
    beside = [here - step for step, there in ((1, wide > 1), (wide, tall > 1)) if there]
    variance = _variance_of_differences(information, here, beside)
    needed = (ndtri(_CONFIDENCE) / (_DIFFERENCE * shares[here])) ** 2 * variance * grid.cells / sizes.sum()
    return width, max(float(needed), _FEWEST_REPORTS)


def _variance_of_differences(information: FloatArray, one: int, others: list[int]) -> float:
    """The largest of the estimated differences of shares, for one report; infinite where reports say nothing."""
    differences = np.zeros((information.shape[0], len(others)))
    differences[one] = 1.0
    differences[others, range(len(others))] = -1.0
    values, vectors = np.linalg.eigh(information)
    along, told = vectors.T @ differences, values > _SMALLEST_TOLD * values[-1]
    if float(np.abs(along[~told]).max(initial=0.0)) > 1e-6:
        return math.inf
    return float((along[told] ** 2 / values[told, None]).sum(axis=0).max())


def _areas(cells: int, side: int) -> IntArray:
    """Which area each of ``cells`` in a row belongs to: as even as may be, about ``side`` cells each."""
    count = max(1, round(cells / side))
    out: IntArray = np.arange(cells) * count // cells
    return out


def _middle(areas: int) -> tuple[int, int]:
    """The first of the areas in the middle, and how many of them."""
    most = math.isqrt(_MOST_AREAS)
    return max(0, (areas - most) // 2), min(areas, most)


def _between(value: float, x: FloatArray, y: FloatArray) -> float:
    """y at x = value: straight between points, in logarithms."""
    with np.errstate(divide="ignore"):
        return float(np.exp(np.interp(math.log(value), np.log(x), np.log(y))))
