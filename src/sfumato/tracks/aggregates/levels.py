"""Counts on several levels: blocks of cells over cells, made consistent, and cut where they can be told apart.

A grid's cells lie in blocks of 2 x 2, these in blocks of 4 x 4, and so on up to at most nine blocks; other keys lie in
one block. A person changes every level by at most B in L1, so noise of scale B / ε_l on level l costs Σ ε_l together;
each level has twice the share of the one above it. What follows looks at the noisy counts alone and costs nothing:

*One value for each block.* With y_v the noisy count of a block, of variance s², the least-squares counts that add up
are found in two passes [Hay2010]: upwards z_v, the mean of y_v and of its cells' Σ z, by their variances; downwards
what is missing between a block and its cells is divided among them by their variances, where none may fall below 0
(what would is 0, and the others carry its part). Whole numbers then by largest remainders, block by block.

*Told apart.* A block is shown as its parts where an even part of **its own** noisy count would be told from 0 on the
next level, y_v / n ≥ t with t the half-width there; otherwise as one area. A part's noise has no say in whether it is
shown, and its interval is y ± t of its own level. Of every area that a table may show the interval misses in at most
1 - confidence of all tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.randomness import Randomness
from sfumato.base.things.grid import Grid
from sfumato.tracks.aggregates.noise_law import UseOfData, reach_of
from sfumato.tracks.aggregates.opendp_noise import noisy_counts

_MOST_BLOCKS = 9
_MOST_LEVELS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """``parents`` of each level's blocks, coarsest level first (its own are 0), and the side of a block in cells."""

    parents: tuple[IntArray, ...]
    sides: tuple[int, ...]

    @classmethod
    def of_grid(cls, grid: Grid) -> Levels:
        """Blocks of 1, 2, 4 ... cells a side."""
        sides = [1]
        while _blocks(grid, sides[0]) > _MOST_BLOCKS and len(sides) < _MOST_LEVELS:
            sides.insert(0, 2 * sides[0])
        parents = [np.zeros(_blocks(grid, sides[0]), dtype=np.int64)]
        for side in sides[1:]:
            row, column = np.divmod(np.arange(_blocks(grid, side)), -(-grid.columns // side))
            parents.append(row // 2 * -(-grid.columns // (2 * side)) + column // 2)
        return cls(tuple(parents), tuple(sides))

    @classmethod
    def one_block(cls, keys: int) -> Levels:
        """Everything together, and each key."""
        return cls((np.zeros(1, dtype=np.int64), np.zeros(keys, dtype=np.int64)), (0, 1))

    @property
    def shares(self) -> FloatArray:
        """Of ε for each level."""
        weights = np.array([1.0] if len(self.sides) == 1 else [2.0**level for level in range(len(self.sides))])
        if self.sides[0] == 0:
            weights[-1] = 7.0  # one number of everybody needs little
        return np.asarray(weights / weights.sum())

    def measure(
        self, counts: IntArray, *, bound: int, epsilon: float, source: Randomness
    ) -> tuple[list[IntArray], list[UseOfData]]:
        """The noisy counts of every level, and what each cost."""
        exact = [counts]
        for parent in self.parents[:0:-1]:
            exact.insert(0, _sums(parent, exact[0]).astype(np.int64))
        made = [
            noisy_counts(self._named(side), level, bound=bound, epsilon=float(share) * epsilon, source=source)
            for side, level, share in zip(self.sides, exact, self.shares, strict=True)
        ]
        return [noisy for noisy, _ in made], [spent for _, spent in made]

    def _named(self, side: int) -> str:
        return "everybody" if side == 0 else "each" if side == 1 else f"blocks of {side} x {side} cells"

    def consistent(self, noisy: Sequence[IntArray], spent: Sequence[UseOfData]) -> list[FloatArray]:
        """Least squares, not below 0, sums that agree."""
        variances = [np.full(len(one), 2.0 * cost.scale**2) for one, cost in zip(noisy, spent, strict=True)]
        values = [one.astype(np.float64) for one in noisy]
        for level in range(len(values) - 1, 0, -1):
            sums, spread = _sums(self.parents[level], values[level]), _sums(self.parents[level], variances[level])
            above, own = values[level - 1], variances[level - 1]
            values[level - 1] = (above * spread + sums * own) / (spread + own)
            variances[level - 1] = spread * own / (spread + own)
        values[0] = np.maximum(values[0], 0.0)
        for level in range(1, len(values)):
            values[level] = _divided(values[level - 1], values[level], variances[level], self.parents[level])
        return values

    def whole(self, values: Sequence[FloatArray], unit: int = 1) -> list[IntArray]:
        """The same as whole numbers of ``unit``, every block the sum of its parts."""
        out = [np.rint(values[0] / unit).astype(np.int64)]
        for level in range(1, len(values)):
            parent, value = self.parents[level], values[level] / unit
            floor = np.floor(value + 1e-9).astype(np.int64)
            left = out[-1] - _sums(parent, floor).astype(np.int64)
            order = np.lexsort((-(value - floor), parent))
            starts = np.searchsorted(parent[order], np.arange(len(left)))
            rank = np.arange(len(order)) - starts[parent[order]]
            floor[order] += rank < left[parent[order]]
            out.append(floor)
        return out

    def told_apart(
        self, noisy: Sequence[IntArray], spent: Sequence[UseOfData], *, confidence: float, least: int
    ) -> list[BoolArray]:
        """Which blocks of each level are shown: they cover everything once. Even parts must reach ``least``, too."""
        reached = np.ones(len(noisy[0]), dtype=bool)
        shown = []
        for level in range(len(noisy) - 1):
            parts = np.bincount(self.parents[level + 1], minlength=len(noisy[level]))
            cut = reached & (noisy[level] >= parts * max(least, reach_of(spent[level + 1].scale, confidence)))
            shown.append(reached & ~cut)
            reached = cut[self.parents[level + 1]]
        return [*shown, reached]


def _blocks(grid: Grid, side: int) -> int:
    return -(-grid.rows // side) * -(-grid.columns // side)


def _sums(parent: IntArray, values: FloatArray | IntArray) -> FloatArray:
    return np.bincount(parent, weights=values, minlength=int(parent.max(initial=0)) + 1).astype(np.float64)


def _divided(totals: FloatArray, values: FloatArray, variances: FloatArray, parent: IntArray) -> FloatArray:
    """Values nearest to these (by their variances) that are not below 0 and sum to the totals."""
    free = np.ones(len(values), dtype=bool)
    while True:
        missing = totals - _sums(parent, np.where(free, values, 0.0))
        weight = _sums(parent, np.where(free, variances, 0.0))
        moved = np.where(free, values + variances * (missing / np.maximum(weight, 1e-300))[parent], 0.0)
        below = free & (moved < 0)
        if not below.any():
            return np.maximum(moved, 0.0)
        free &= ~below
