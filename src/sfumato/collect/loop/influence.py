"""How far forged reports could move the map: in every pooled cycle, piled on a cell, spread over a block, or as people.

Nobody can tell a liar from an honest person, so a map is shown with what a share of liars could do to it. They report
in *every* cycle of the pool, not in the last alone. Three ways of lying are tried at several places: all reports of one
cell (which the exact test may see), the same spread evenly over a block of 3 x 3 cells, and reports drawn through the
channel as if everybody stood there (which nothing can see). The range over places is printed: the worst place is the
one farthest from where people are; a liar who aims badly does less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.earth_mover import earth_movers
from sfumato.collect.estimation.joint import Estimate, joint, steps_by_thinning
from sfumato.collect.estimation.rings import RINGS, cells_of_ring
from sfumato.collect.estimation.tally import Tally, alike, checked_tallies, merge
from sfumato.collect.grids.grid_channel import GridChannel

Way = Literal["piled", "spread", "as people"]
WAYS: tuple[Way, ...] = ("piled", "spread", "as people")
_WATCHED_EXACTLY = 1_000
_EACH_UP_TO, _GROUPS = 20_000, 4
"""Cells times distinct channels up to which the forecast keeps every channel; beyond, this many groups of them."""
_MARGIN = 0.1
_STEPS_OF_SMOOTH = 50
"""Where the map is the smooth one: 2,450 cells and 30 channels are moved within 1 % as far as by 400 steps."""


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How far a share of forged reports, in every pooled cycle, would move the estimate."""

    share: float
    way: Way
    cell: int
    """Where they do most."""
    moved: float
    """Earth mover's distance between the estimates without and with them, at the worst place, and a tenth more: other
    places are worse by about as much. The grid's unit."""
    least: float
    """The same at the best of the places tried, a tenth less."""
    into_cell: float
    """What share of people they would add to their worst cell."""


def fake_report_influence(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    estimate: Estimate,
    *,
    shares: Sequence[float] = (0.01, 0.05),
    candidates: int = 4,
) -> tuple[Influence, ...]:
    """For each share of forged reports and each way of lying, the range over several places.

    The places are the cells farthest from where people are in each direction, the emptiest and the fullest. A pile
    of reports also makes an estimate take up to three times as many steps: where the number is chosen by the reports
    it is chosen again with the forged ones among them, up to 1,000 cells (a smooth estimate takes none: 50).
    """
    filled = merge(checked_tallies(tallies))
    grid = filled[0].channel.grid
    if len(filled) * grid.cells > _EACH_UP_TO:
        filled = alike(filled, most=_GROUPS)
    checked_probabilities(estimate.probabilities, grid.cells)
    if candidates < 1:
        raise InputError(f"{candidates} cells to forge.", "Try at least one.")
    cells = forged_cells(filled[-1].channel, estimate.probabilities, candidates)
    fixed = estimate.stopped_by.startswith("smooth")
    steps = _STEPS_OF_SMOOTH if fixed else max(1, estimate.iterations)
    before = joint(filled, stop=steps).probabilities
    again = not fixed and grid.cells <= _WATCHED_EXACTLY
    found = []
    for share in shares:
        if not 0 < share < 1:
            raise InputError(f"A share of {share} forged reports.", "Give shares between 0 and 1.")
        for way in WAYS:
            tried = []
            for cell in cells:
                lied = [with_forged(tally, share, way, cell) for tally in filled]
                after = joint(lied, stop=max(1, steps_by_thinning(lied)) if again else steps).probabilities
                moved = monitored_distance(before, after, grid)
                tried.append((moved, cell, float(after[cell] - before[cell])))
            worst = max(tried)
            most, least = (1 + _MARGIN) * worst[0], (1 - _MARGIN) * min(tried)[0]
            found.append(Influence(float(share), way, worst[1], most, least, worst[2]))
    return tuple(found)


def with_forged(tally: Tally, share: float, way: Way, cell: int) -> Tally:
    """The tally with so many forged reports that they are ``share`` of all, without chance."""
    forged = share / (1 - share) * tally.total
    channel = tally.channel
    if way == "piled":
        shape = np.zeros(channel.cells)
        shape[cell] = 1.0
    elif way == "spread":
        shape = np.zeros(channel.cells)
        shape[[cell, *cells_of_ring(cell, channel.grid.shape, RINGS[1]).tolist()]] = 1.0
        shape *= channel.output_weights > 0
        shape /= max(1.0, float(shape.sum()))
    else:
        shape = channel.row(cell)
    return Tally(channel, tally.counts + whole(forged * shape))


def whole(amounts: FloatArray) -> IntArray:
    """Whole numbers nearest to ``amounts`` that keep their sum."""
    down = np.floor(amounts).astype(np.int64)
    short = round(float(amounts.sum())) - int(down.sum())
    if short > 0:
        down[np.argsort(down - amounts, kind="stable")[:short]] += 1
    out: IntArray = down
    return out


def forged_cells(channel: GridChannel, theta: FloatArray, count: int) -> list[int]:
    """Places worth forging: the farthest in each quarter, the emptiest, the fullest; only cells that are reported."""
    cells = np.flatnonzero(channel.output_weights > 0)
    centres = channel.grid.centres()
    away = centres[cells] - theta @ centres
    far: list[int] = []
    for down, right in ((1, 1), (1, -1), (-1, 1), (-1, -1))[:count]:
        far.append(int(cells[np.argmax(away @ np.array([down, right]))]))
    if count < 4:
        far = [int(cells[np.argmax(np.linalg.norm(away, axis=1))]), *far[: count - 1]]
    emptiest = cells[np.argsort(theta[cells], kind="stable")[: max(0, count - 3)]]
    return sorted(
        {*far, *(int(cell) for cell in emptiest), *([int(cells[np.argmax(theta[cells])])] if count > 1 else [])}
    )


def monitored_distance(a: npt.ArrayLike, b: npt.ArrayLike, grid: Grid) -> float:
    """The earth mover's distance, exact up to 1,000 cells and from blocks beyond: for watching, in seconds."""
    block = 1 if grid.cells <= _WATCHED_EXACTLY else math.ceil(math.sqrt(grid.cells / 1_000))
    return earth_movers(a, b, grid, block=block).value
