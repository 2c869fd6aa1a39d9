"""The exact geo-indistinguishability of a grid channel, or a certified bracket of it, from beta and log Z alone.

With K(x, y) = exp(-beta d(x, y)) and weights c above 0 everywhere, the level is beta + Lip(log Z); with weights of 0
that is still an upper bound; 2 beta always is. Several reports of one place are one report of the product channel,
whose level is that of sum_t beta_t and sum_t log Z_t, so the same functions serve one channel and many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.kernel import offset_distances
from sfumato.collect.grids.loops import lipschitz_all_pairs, lipschitz_arcs

EXACT_UP_TO = 5_000
"""Cells up to which log Z and epsilon are computed exactly, over all pairs."""


@dataclass(frozen=True, slots=True)
class EpsilonRange:
    """The exact level lies in [lower, upper], per unit of the grid; the two agree where it was computed exactly."""

    lower: float
    upper: float
    unit: str = "cell"

    @property
    def exact(self) -> bool:
        """Whether the level is known to 1e-9."""
        return self.upper - self.lower <= 1e-9 * max(1.0, self.upper)

    def to_dict(self) -> dict[str, float | bool | str]:
        """Plain values."""
        return {"lower": self.lower, "upper": self.upper, "exact": self.exact, "unit": f"1/{self.unit}"}


def level_without_normaliser(grid: Grid, beta: float, *, everywhere: bool) -> EpsilonRange:
    """2 beta needs no Z; nothing sharper can be said from one that is noise."""
    positive(beta, "beta")
    return EpsilonRange(beta if everywhere else 0.0, 2 * beta, grid.unit)


def level_from_normaliser(
    grid: Grid, beta: float, log_z: FloatArray, *, everywhere: bool, relative_error: Callable[[], float]
) -> EpsilonRange:
    """beta + Lip(log Z): over all pairs up to 5,000 cells, beyond from neighbours, with the error of log Z added.

    ``everywhere``: whether every weight is above 0; ``relative_error`` of Z, asked for on large grids only.
    """
    if grid.cells == 1:
        return EpsilonRange(0.0, 0.0, grid.unit)
    if grid.cells <= EXACT_UP_TO:
        level = min(2 * beta, beta + lipschitz_all_pairs(log_z, offset_distances(grid), grid.columns))
        return EpsilonRange(level if everywhere else 0.0, level, grid.unit)
    arcs, lengths, ratio = neighbour_arcs(grid)
    slope = lipschitz_arcs(log_z, grid.rows, grid.columns, arcs, lengths)
    error = 2 * relative_error() / float(lengths.min())
    lower = max(beta, beta + slope - error) if everywhere else 0.0
    return EpsilonRange(min(lower, 2 * beta), min(2 * beta, beta + ratio * (slope + error)), grid.unit)


def neighbour_arcs(grid: Grid) -> tuple[IntArray, FloatArray, float]:
    """Offsets to 32 neighbours (half of them), their lengths, and r: a path of arcs is at most r times the distance.

    Consecutive arcs have determinant 1, so every offset is a non-negative whole combination of two of them and the path
    stays in the rectangle they span; r = 1 / cos(half the largest angle between consecutive arcs), in scaled
    coordinates.
    """
    quarter = [(0, 1), (1, 3), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (3, 1), (1, 0)]
    angles = [math.atan2(down * grid.cell_height, right * grid.cell_width) for down, right in quarter]
    largest = max(b - a for a, b in pairwise(angles))
    mirrored = [*quarter, *((down, -right) for down, right in quarter[1:-1])]
    kept = [(down, right) for down, right in mirrored if down < grid.rows and abs(right) < grid.columns]
    arcs: IntArray = np.array(kept, dtype=np.int64)
    lengths = np.hypot(arcs[:, 0] * grid.cell_height, arcs[:, 1] * grid.cell_width)
    return arcs, lengths, 1 / math.cos(largest / 2)
