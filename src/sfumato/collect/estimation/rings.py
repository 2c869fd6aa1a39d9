"""Counts that no map whatever explains: a cell reported too often for how often its surroundings are.

Whoever is at x, the channel reports cell v and the cells u around it in proportions with

    P(v | x) / P(u | x) = (c_v / c_u) exp(beta (d(x, u) - d(x, v)))  <=  (c_v / c_u) exp(beta d(u, v)),

so for every ring U around v and every map, changing or not,

    q(v) <= lambda q(U),      lambda = c_v / sum_{u in U} c_u exp(-beta d(u, v)).

Given n(v) + n(U), n(v) is at most binomial with lambda / (1 + lambda): an exact test, valid for any map and for any
change over time. Several cycles together keep the largest lambda. What passes is what people
could have caused: forged reports drawn as if from a place are not seen, and cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids.grid_channel import GridChannel

RINGS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0, 1), (1, 0), (0, -1), (-1, 0)),
    tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)),
    tuple((i, j) for i in range(-2, 3) for j in range(-2, 3) if (i, j) != (0, 0)),
)
"""Offsets (rows, columns) of the four neighbours, of all eight, and of the 24 within two cells."""


@dataclass(frozen=True, slots=True)
class Excess:
    """The cell whose count is least possible under any map."""

    p_value: float
    """Bonferroni over cells and rings: honest reports fall below p with probability at most p."""
    cell: int
    reported: int
    at_most: float
    """How many reports of it the most favourable map expects, given its surroundings."""


def impossible_excess(tallies: Sequence[Tally]) -> Excess:
    """The exact test of the reports of all these tallies together, cell by cell and ring by ring."""
    counts = np.sum([tally.counts for tally in tallies], axis=0).astype(np.float64)
    best = Excess(1.0, 0, int(counts[0]), float(counts[0]))
    for around, ratio in _rings(tallies, counts):
        # P(binomial >= counts), without the half second that importing scipy.stats takes.
        tails = np.where(counts > 0, betainc(np.maximum(counts, 1), around + 1, ratio / (1 + ratio)), 1.0)
        cell = int(np.argmin(tails))
        p_value = min(1.0, float(tails[cell]) * counts.size * len(RINGS))
        if p_value < best.p_value:
            best = Excess(p_value, cell, int(counts[cell]), float(ratio[cell] * around[cell]))
    return best


def _rings(tallies: Sequence[Tally], counts: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """(reports of the ring, largest lambda) for every cell, ring by ring."""
    for ring in RINGS:
        around = _shifted_sum(counts, tallies[0].channel, ring, weighted=False)
        ratio = np.zeros(counts.size)
        for channel in {id(tally.channel): tally.channel for tally in tallies}.values():
            weights = _shifted_sum(channel.output_weights, channel, ring, weighted=True)
            with np.errstate(divide="ignore", over="ignore"):
                ratio = np.maximum(ratio, channel.output_weights / np.maximum(weights, 1e-300))
        yield around, np.minimum(ratio, 1e12)


def _shifted_sum(
    values: FloatArray, channel: GridChannel, ring: Sequence[tuple[int, int]], *, weighted: bool
) -> FloatArray:
    """sum over the ring's cells of values (times exp(-beta d)), 0 outside the grid."""
    grid = channel.grid
    padded = np.pad(values.reshape(grid.shape), 2)
    total = np.zeros(grid.shape)
    for down, right in ring:
        distance = float(np.hypot(down * grid.cell_height, right * grid.cell_width))
        factor = float(np.exp(-channel.beta * distance)) if weighted else 1.0
        total += factor * padded[2 + down : 2 + down + grid.rows, 2 + right : 2 + right + grid.columns]
    return total.ravel()


def cells_of_ring(cell: int, shape: tuple[int, int], ring: Sequence[tuple[int, int]]) -> IntArray:
    """The cells of the grid at these offsets of ``cell``."""
    row, column = divmod(cell, shape[1])
    inside = [
        (row + down) * shape[1] + column + right
        for down, right in ring
        if 0 <= row + down < shape[0] and 0 <= column + right < shape[1]
    ]
    return np.array(inside, dtype=np.int64)
