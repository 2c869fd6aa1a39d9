"""The channel a collector publishes: a grid, beta and one weight per cell; its rows are made where they are needed.

    P(y | x) = c(y) exp(-beta d(x, y)) / Z(x),      Z = K c,   K(x, y) = exp(-beta d(x, y))

For the grid's own metric d and any c >= 0 the exact geo-indistinguishability is ([Biswas2023, Remark 3] has the bound)

    epsilon = max_{x != x'} [beta max_{y: c(y) > 0} (d(x', y) - d(x, y)) + log Z(x') - log Z(x)] / d(x, x')
           <= beta + Lip(log Z) <= 2 beta,        equality in the first where c > 0 on every cell,

so 2 beta holds for every channel of this shape, whoever chose c, as long as the client builds its row from (beta, c)
in logarithms. The guarantee is between cells: two places either side of a border get the factor of adjacent cells.

With weights of 0 the right side is still an upper bound. Several reports of one place are one report of the product
channel, whose level is that of sum_t beta_t and sum_t log Z_t, so the same functions serve one channel and many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, IntArray, finite, positive, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.rounding import UNIT
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.distance_kernel import GridKernel, grid_kernel, offset_distances
from sfumato.collect.grids.grid_loops import (
    largest_log_ratio,
    lipschitz_all_pairs,
    lipschitz_arcs,
    log_sums,
    stencil_product,
)

EXACT_UP_TO = 5_000
"""Cells up to which log Z and epsilon are computed exactly, over all pairs."""
_EXACT_WITH_ZEROS_UP_TO = 700
_LINEAR_IS_SAFE = 1e-290
_SMALLEST_LOG_Z = -700.0
"""1/Z is a double down to here; below, sums are formed row by row."""


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


@dataclass(slots=True, eq=False)
class _Known:
    """What a channel has computed about itself and need not compute again."""

    log_z: FloatArray | None = None
    epsilon: EpsilonRange | None = None
    alias_tables: tuple[FloatArray, npt.NDArray[np.int32]] | None = None
    """The samplers' own: thresholds and aliases of every row."""


@dataclass(frozen=True, slots=True, eq=False)
class GridChannel:
    """P(y | x) proportional to ``output_weights[y] exp(-beta d(x, y))`` on ``grid``; beta per unit of the grid."""

    grid: Grid
    beta: float
    output_weights: FloatArray
    _known: _Known = field(default_factory=_Known, init=False, repr=False)

    def __post_init__(self) -> None:
        positive(self.beta, "beta")
        object.__setattr__(self, "beta", float(self.beta))
        weights = finite(self.output_weights, "The output weights", dimensions=1)
        if weights.size != self.grid.cells:
            raise InputError(
                f"There are {weights.size} output weights for {self.grid.cells} cells.",
                "Give one weight per cell, row 0 in the north and column 0 in the west.",
            )
        total = float(weights.sum())
        if weights.min() < 0 or total <= 0:
            raise InputError("Some output weights are negative, or all are 0.", "Give weights of at least 0.")
        # Weights that already sum to 1 are kept bit for bit: they are hashed, signed and sent.
        if abs(total - 1) > 1e-12:
            weights = read_only(weights / total)
        object.__setattr__(self, "output_weights", weights)

    @property
    def shape(self) -> tuple[int, int]:
        """(cells, cells)."""
        return self.grid.cells, self.grid.cells

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.grid.cells

    @property
    def reports_every_cell(self) -> bool:
        """Whether every cell can be reported: no weight is 0."""
        return float(self.output_weights.min()) > 0.0

    @property
    def kernel(self) -> GridKernel:
        """The operator K of this grid and beta, in the form its size asks for."""
        return grid_kernel(self.grid, self.beta)

    def log_row(self, x: int) -> FloatArray:
        """ln P(y | x) for every y, from (beta, c) alone: what a client computes."""
        with np.errstate(divide="ignore"):
            logits = np.log(self.output_weights) - self.beta * self.grid.distances_from(x)
        top = float(logits.max())
        out: FloatArray = logits - (top + math.log(float(np.exp(logits - top).sum())))
        return out

    def row(self, x: int) -> FloatArray:
        """P(y | x) for every y."""
        out: FloatArray = np.exp(self.log_row(x))
        out /= out.sum()
        return out

    def to_dense(self) -> Channel:
        """The whole matrix; refused above 5,000 cells."""
        distances = self.grid.distance_matrix()
        with np.errstate(divide="ignore"):
            logits = np.log(self.output_weights)[None, :] - self.beta * distances
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return Channel(logits, inputs=self.grid.labels(), outputs=self.grid.labels(), distortion=distances)

    def log_normaliser(self) -> FloatArray:
        """log Z for every cell: direct sums up to 5,000 cells, then the guarded FFT, refused where it is noise."""
        if self._known.log_z is None:
            self._known.log_z = read_only(self._log_normaliser())
        return self._known.log_z

    def normaliser(self) -> FloatArray:
        """Z for every cell."""
        out: FloatArray = np.exp(self.log_normaliser())
        return out

    def epsilon(self) -> EpsilonRange:
        """The exact geo-indistinguishability of this very channel per unit of the grid, or a certified bracket."""
        if self._known.epsilon is None:
            self._known.epsilon = self._epsilon()
        return self._known.epsilon

    def report_distribution(self, prior: npt.ArrayLike) -> FloatArray:
        """q = p C, the distribution of a report when the place has distribution ``prior``."""
        p = checked_probabilities(prior, self.cells)
        if self._by_rows(p):
            q: FloatArray = np.zeros(self.cells)
            for x in np.flatnonzero(p):
                q += p[x] * self.row(int(x))
        else:
            shares = np.exp(np.where(p > 0, np.log(np.maximum(p, 1e-323)) - self.log_normaliser(), -np.inf))
            q = self.output_weights * self.kernel.product(shares)
        q /= q.sum()
        return q

    def distortion(self, prior: npt.ArrayLike) -> float:
        """E d(x, y), in the grid's unit."""
        p = checked_probabilities(prior, self.cells)
        seen = p > 0
        if self._by_rows(p):
            places = np.flatnonzero(p)
            return float(sum(p[x] * float(self.row(int(x)) @ self.grid.distances_from(int(x))) for x in places))
        weighted = grid_kernel(self.grid, self.beta, by_distance=True)
        by_place = weighted.product(self.output_weights, needed=seen)
        return _certified(float(np.sum(p[seen] * by_place[seen] * np.exp(-self.log_normaliser()[seen]))))

    def mutual_information(self, prior: npt.ArrayLike) -> float:
        """I(X; Y) in nats: sum_y q log(c / q) - sum_x p log Z - beta E d."""
        p = checked_probabilities(prior, self.cells)
        q = self.report_distribution(p)
        seen = (q > 0) & (self.output_weights > 0)
        # A difference of logarithms: the quotient overflows where q is a denormal.
        ratio = float(np.sum(q[seen] * (np.log(self.output_weights[seen]) - np.log(q[seen]))))
        return max(0.0, _certified(ratio - float(p @ self.log_normaliser()) - self.beta * self.distortion(p)))

    def guarantee(self) -> Guarantee:
        """Geo-indistinguishability of one report, at the exact level of the channel as shipped."""
        level = self.epsilon()
        unit = self.grid.unit
        return Guarantee(
            notion="geo-indistinguishability",
            parameters={f"epsilon_per_{unit}": level.upper, f"two_beta_per_{unit}": 2 * self.beta},
            assumes=("one report per person and epoch", "the client builds its row from (grid, beta, c)"),
            covers=("any two cells of the grid, at their centres' distance",),
            not_covered=(
                "places in the same cell, which are reported alike",
                "that the person took part, when, and how often",
            ),
            numerics="rows in logarithms; epsilon computed from the weights as shipped",
            details={
                "epsilon": level.to_dict(),
                "smallest_weight_times_cells": float(self.output_weights.min()) * self.cells,
            },
        )

    def _by_rows(self, p: FloatArray) -> bool:
        """Whether 1/Z of some place that occurs is no double, so that sums are formed from rows, each in logarithms."""
        if float(self.log_normaliser()[p > 0].min()) >= _SMALLEST_LOG_Z:
            return False
        if self.cells > EXACT_UP_TO:
            raise NotCertified(
                "Some places are so far from every weight that this channel cannot be judged at this size.",
                "Mix a floor into the output weights: floor=0.01.",
            )
        return True

    def _log_normaliser(self) -> FloatArray:
        weights = self.output_weights
        smallest = float(weights.min())
        if smallest >= _LINEAR_IS_SAFE and self.kernel.form == "dense":
            return np.log(self.kernel.product(weights))
        if self.cells <= EXACT_UP_TO:
            # Positive terms: what underflows is nothing beside a sum that does not.
            out, table = np.empty(self.cells), np.exp(-self.beta * offset_distances(self.grid))
            stencil_product(weights, *self.grid.shape, table, out)
            if float(out.min()) >= _LINEAR_IS_SAFE:
                return np.log(out)
            with np.errstate(divide="ignore"):
                log_weights = np.log(weights)
            log_sums(log_weights, self.beta * offset_distances(self.grid), self.grid.columns, out)
            return out
        z, lost = self.kernel.with_guard(weights)
        if lost or float(z.min()) <= 0.0:
            raise NotCertified(
                f"The normaliser of {lost} cells is too small to be computed at this size.",
                "Mix a floor into the output weights: floor=0.01.",
            )
        return np.log(z)

    def _epsilon(self) -> EpsilonRange:
        grid, everywhere = self.grid, self.reports_every_cell
        try:
            log_z = self.log_normaliser()
        except NotCertified:
            return level_without_normaliser(grid, self.beta, everywhere=everywhere)
        if not everywhere and 1 < grid.cells <= _EXACT_WITH_ZEROS_UP_TO:
            support = np.flatnonzero(self.output_weights)
            exact = largest_log_ratio(self.beta, log_z, support, offset_distances(grid), grid.columns)
            return EpsilonRange(exact, exact, grid.unit)
        return level_from_normaliser(
            grid, self.beta, log_z, everywhere=everywhere, relative_error=self.normaliser_error
        )

    def certain_epsilon(self) -> float:
        """At least the exact level of the stored weights and beta: that of :meth:`epsilon` and what rounding can hide.

        Z is a sum of positive products, so log Z is off by at most (cells + beta times the longest distance + a few)
        units, and the FFT's error; it enters at two places, over the smallest distance.
        """
        grid = self.grid
        longest = math.hypot(grid.rows * grid.cell_height, grid.columns * grid.cell_width)
        off = 4 * (grid.cells + self.beta * longest + 16) * UNIT + self.normaliser_error()
        level = self.epsilon().upper * (1 + 8 * UNIT)
        return min(2 * self.beta * (1 + 2 * UNIT), level + 2 * off / min(grid.cell_width, grid.cell_height))

    def normaliser_error(self) -> float:
        """The largest relative error of Z: the FFT's error scale with a margin of ten, against the smallest Z."""
        scale = 10 * self.kernel.error_scale(self.output_weights)
        return scale / float(np.exp(self.log_normaliser().min()))


def _certified(value: float) -> float:
    # max(0, nan) is 0 in Python: a number that could not be computed must never read as "no leakage".
    if not math.isfinite(value):
        raise NotCertified(
            "The information and distortion of this channel cannot be computed.",
            "Mix a floor into the output weights: floor=0.01.",
        )
    return value


def uniform_channel(grid: Grid, beta: float) -> GridChannel:
    """The channel with equal weights: row-normalised exp(-beta d)."""
    return GridChannel(grid, beta, np.full(grid.cells, 1.0 / grid.cells))
