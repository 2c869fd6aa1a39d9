"""The channel a collector publishes: a grid, beta and one weight per cell; its rows are made where they are needed.

    P(y | x) = c(y) exp(-beta d(x, y)) / Z(x),      Z = K c,   K(x, y) = exp(-beta d(x, y))

For the grid's own metric d and any c >= 0 the exact geo-indistinguishability is ([Biswas2023, Sec. 3], corrected)

    epsilon = max_{x != x'} [beta max_{y: c(y) > 0} (d(x', y) - d(x, y)) + log Z(x') - log Z(x)] / d(x, x')
           <= beta + Lip(log Z) <= 2 beta,        equality in the first where c > 0 on every cell,

so 2 beta holds for every channel of this shape, whoever chose c, as long as the client builds its row from (beta, c)
in logarithms. The guarantee is between cells: two places either side of a border get the factor of adjacent cells.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, IntArray, finite, positive, read_only
from sfumato.channel import Channel, Random, checked_probabilities
from sfumato.errors import InputError, NotCertified
from sfumato.grid import Grid
from sfumato.mechanisms.grids.kernel import GridKernel, grid_kernel, offset_distances

if TYPE_CHECKING:
    from sfumato.guarantees import Guarantee

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"lower": self.lower, "upper": self.upper, "exact": self.exact, "unit": f"1/{self.unit}"}


@dataclass(frozen=True, slots=True, eq=False)
class GridChannel:
    """P(y | x) proportional to ``output_weights[y] exp(-beta d(x, y))`` on ``grid``; beta per unit of the grid."""

    grid: Grid
    beta: float
    output_weights: FloatArray
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

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

    def sample(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report for every true cell in ``x``, by the samplers of :mod:`.sampling`; OS entropy by default."""
        from sfumato.mechanisms.grids.sampling import draw_report, draw_reports

        cells = np.asarray(x)
        if cells.ndim == 0:
            return np.asarray(draw_report(self, cells.item(), rng=rng), dtype=np.int64)
        return draw_reports(self, cells.ravel(), rng=rng).reshape(cells.shape)

    def log_normaliser(self) -> FloatArray:
        """log Z for every cell: direct sums up to 5,000 cells, then the guarded FFT, refused where it is noise."""
        if "log_z" not in self._known:
            self._known["log_z"] = read_only(self._log_normaliser())
        known: FloatArray = self._known["log_z"]
        return known

    def normaliser(self) -> FloatArray:
        """Z for every cell."""
        out: FloatArray = np.exp(self.log_normaliser())
        return out

    def epsilon(self) -> EpsilonRange:
        """The exact geo-indistinguishability of this very channel per unit of the grid, or a certified bracket."""
        if "epsilon" not in self._known:
            self._known["epsilon"] = self._epsilon()
        known: EpsilonRange = self._known["epsilon"]
        return known

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

    def version(self, cycle: int) -> str:
        """SHA-256 of (grid, beta, c, cycle): one public name for one channel of one cycle.

        The bytes are ``sfumato-channel-1\\n`` in ASCII, then little-endian float64 values: rows, columns, cell_height,
        cell_width, north_deg, west_deg, cell_height_deg, cell_width_deg (NaN-free: 0 where the grid is on paper),
        beta, cycle, then c in the grid's order. Any language can form them from the JSON it received.
        """
        grid = self.grid
        numbers = (
            grid.rows, grid.columns, grid.cell_height, grid.cell_width, grid.north_deg or 0.0, grid.west_deg or 0.0,
            grid.cell_height_deg or 0.0, grid.cell_width_deg or 0.0, self.beta, cycle,
        )  # fmt: skip
        digest = hashlib.sha256(b"sfumato-channel-1\n")
        digest.update(struct.pack("<10d", *(float(number) for number in numbers)))
        digest.update(self.output_weights.astype("<f8").tobytes())
        return digest.hexdigest()

    def guarantee(self) -> Guarantee:
        """Geo-indistinguishability of one report, at the exact level of the channel as shipped."""
        from sfumato.guarantees import Guarantee

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
            from sfumato.mechanisms.grids.loops import log_sums

            out = np.empty(self.cells)
            with np.errstate(divide="ignore"):
                log_weights = np.log(weights)
            log_sums(log_weights, self.beta * offset_distances(self.grid), self.grid.columns, out)
            return out
        z, lost = self.kernel.guarded(weights)
        if lost or float(z.min()) <= 0.0:
            raise NotCertified(
                f"The normaliser of {lost} cells is too small to be computed at this size.",
                "Mix a floor into the output weights: floor=0.01.",
            )
        return np.log(z)

    def _epsilon(self) -> EpsilonRange:
        from sfumato.mechanisms.grids.loops import largest_log_ratio, lipschitz_all_pairs, lipschitz_arcs

        unit, beta, grid = self.grid.unit, self.beta, self.grid
        if grid.cells == 1:
            return EpsilonRange(0.0, 0.0, unit)
        everywhere = float(self.output_weights.min()) > 0.0
        try:
            log_z = self.log_normaliser()
        except NotCertified:
            # 2 beta needs no Z; without a floor nothing sharper can be said from a noisy one.
            return EpsilonRange(beta if everywhere else 0.0, 2 * beta, unit)
        if grid.cells <= EXACT_UP_TO:
            if everywhere:
                slope = lipschitz_all_pairs(log_z, offset_distances(grid), grid.columns)
                return EpsilonRange(min(beta + slope, 2 * beta), min(beta + slope, 2 * beta), unit)
            if grid.cells <= _EXACT_WITH_ZEROS_UP_TO:
                support = np.flatnonzero(self.output_weights)
                exact = largest_log_ratio(beta, log_z, support, offset_distances(grid), grid.columns)
                return EpsilonRange(exact, exact, unit)
            slope = lipschitz_all_pairs(log_z, offset_distances(grid), grid.columns)
            return EpsilonRange(0.0, min(beta + slope, 2 * beta), unit)
        arcs, lengths, ratio = neighbour_arcs(grid)
        slope = lipschitz_arcs(log_z, grid.rows, grid.columns, arcs, lengths)
        error = 2 * self._relative_error() / float(lengths.min())
        lower = max(beta, beta + slope - error) if everywhere else 0.0
        return EpsilonRange(min(lower, 2 * beta), min(2 * beta, beta + ratio * (slope + error)), unit)

    def _relative_error(self) -> float:
        # The FFT's error scale with a margin of ten, against the smallest normaliser.
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


def uniform_channel(grid: Grid, beta: float) -> GridChannel:
    """The channel with equal weights: row-normalised exp(-beta d)."""
    return GridChannel(grid, beta, np.full(grid.cells, 1.0 / grid.cells))


def spent_by_one_place(channels: list[GridChannel]) -> EpsilonRange:
    """What reports through all these channels about one unchanging place cost together, per unit of the grid.

    T reports of one place are one report of a product channel, whose exact level is T beta + Lip(sum_t log Z_t) when
    every c > 0 (beta may differ: sum_t beta_t); at most sum_t 2 beta_t. A person who moves pays sum_t 2 beta_t
    d(x_t, x'_t).
    """
    if not channels:
        return EpsilonRange(0.0, 0.0)
    grid = channels[0].grid
    if any(channel.grid != grid for channel in channels):
        raise InputError("The channels belong to different grids.", "Compose channels of one grid only.")
    total_beta = sum(channel.beta for channel in channels)
    if len(channels) == 1:
        return channels[0].epsilon()
    if grid.cells == 1:
        return EpsilonRange(0.0, 0.0, grid.unit)
    from sfumato.mechanisms.grids.loops import lipschitz_all_pairs, lipschitz_arcs

    everywhere = all(float(channel.output_weights.min()) > 0 for channel in channels)
    try:
        log_z = np.sum([channel.log_normaliser() for channel in channels], axis=0)
    except NotCertified:
        return EpsilonRange(total_beta if everywhere else 0.0, 2 * total_beta, grid.unit)
    if grid.cells <= EXACT_UP_TO:
        level = min(2 * total_beta, total_beta + lipschitz_all_pairs(log_z, offset_distances(grid), grid.columns))
        return EpsilonRange(level if everywhere else 0.0, level, grid.unit)
    arcs, lengths, ratio = neighbour_arcs(grid)
    slope = lipschitz_arcs(log_z, grid.rows, grid.columns, arcs, lengths)
    error = sum(2 * channel._relative_error() for channel in channels) / float(lengths.min())
    lower = max(total_beta, total_beta + slope - error) if everywhere else 0.0
    upper = min(2 * total_beta, total_beta + ratio * (slope + error))
    return EpsilonRange(min(lower, 2 * total_beta), upper, grid.unit)
