"""Planar noise on a grid, from a cell's centre: Laplace noise clamped and snapped to a cell, or geometric noise.

Planar Laplace noise itself, eps-geo-indistinguishable on the plane, is
:mod:`sfumato.base.numbers.planar_laplace_noise`. Planar geometric noise is a random step on the infinite lattice of
cells, P(step) proportional to e^(-epsilon |step|): clamped to a grid's rectangle it is a channel whose exact epsilon is
at most the nominal one, because the normalising sum is the same for every cell, unlike that of the exponential
mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.geo import geo_loops
from sfumato.base.numbers.rounding import log_ratio_error, rounded_up
from sfumato.base.things.channel import Channel, checked_distortion
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.limits import checked_plane_error, checked_smallest
from sfumato.channels.designs.promises import GeoPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel

_DECADES = 42.0


def planar_laplace_channel(grid: Grid, epsilon: float, *, plane_error: float | None = None) -> DesignedChannel:
    """Planar Laplace from a cell's centre, clamped to the grid's rectangle and snapped to a cell; exact epsilon.

    ``epsilon`` is per unit of the grid. Clamping and snapping are post-processing, so the exact epsilon of the channel
    is at most the nominal one; it is measured on the matrix. Cell masses are sums of positive quadrature terms with
    full tails, so even the smallest is accurate to about 1e-13 of itself. ``plane_error`` is that of the grid unless
    given; the guarantee states it, and above 2 % a promise per metre is refused.
    """
    eps = positive(epsilon, "epsilon", at_most=1e100)
    off = checked_plane_error(grid.plane_error if plane_error is None else plane_error)
    distances = checked_distortion(grid.distance_matrix(), "The distances")
    checked_smallest(eps, distances)
    promise, labels = GeoPromise(distances, eps, grid.unit, off), _labelled(grid, distances)
    less = 0.0
    while less < 1e-3:
        table = _Table.of(grid, eps * (1 - less))
        matrix = table.matrix()
        if np.any(matrix == 0):
            break
        channel = labels(matrix / matrix.sum(axis=1, keepdims=True))
        measured = table.epsilon_at_most(channel, matrix)
        if measured <= eps:
            return DesignedChannel(channel, promise)
        less = max(4 * less, 1e-15, 1.5 * (measured - eps) / measured)
    return DesignedChannel(promise.keep(planar_laplace_matrix(grid, eps), labels), promise)


def planar_laplace_matrix(grid: Grid, epsilon: float) -> FloatArray:
    """The rows of that channel as integrated, before they are certified."""
    checked_smallest(positive(epsilon, "epsilon", at_most=1e100), np.array([grid.cell_width, grid.cell_height]))
    return _Table.of(grid, epsilon).matrix()


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The few different numbers of the matrix: the mass of every rectangle that a cell can be, seen from a centre."""

    grid: Grid
    masses: FloatArray
    down: _Intervals
    across: _Intervals

    @classmethod
    def of(cls, grid: Grid, eps: float) -> _Table:
        across = _axis_intervals(grid.columns, grid.cell_width)
        down = _axis_intervals(grid.rows, grid.cell_height)
        return cls(grid, _interval_masses(across, down, eps), down, across)

    def matrix(self) -> FloatArray:
        """Q[x, y]: which of the distinct intervals an output's span is, seen from an input, along each axis."""
        grid = self.grid
        matrix = self.masses[np.ix_(self.down.of.ravel(), self.across.of.ravel())]
        matrix = matrix.reshape(grid.rows, grid.rows, grid.columns, grid.columns)
        return matrix.transpose(0, 2, 1, 3).reshape(grid.cells, grid.cells)

    def epsilon_at_most(self, channel: Channel, matrix: FloatArray) -> float:
        """At least the epsilon of the stored doubles, in cells^2 steps: rows and columns of the grid are separable.

        The exact epsilon of the table is a maximum over what an axis can show of two inputs and an output, for each
        axis by itself; how far the channel that ships is from the table is measured entry by entry.
        """
        sides = float(self.grid.cell_height), float(self.grid.cell_width)
        exact = geo_loops().steepest_of_table(np.log(self.masses), self.down.triples(), self.across.triples(), sides)
        off = np.log(channel.matrix) - np.log(matrix)
        error = log_ratio_error(channel.matrix) + log_ratio_error(matrix) + float(off.max() - off.min())
        return rounded_up(exact + error / min(sides))


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """The distinct spans of cells along one axis as seen from cell centres; the outermost reach to infinity."""

    low: FloatArray
    high: FloatArray
    of: IntArray

    def triples(self) -> IntArray:
        """Every (interval seen from x, interval seen from x', steps between x and x') that some output shows."""
        count = self.of.shape[0]
        place = np.arange(count)
        steps = np.abs(place[:, None] - place[None, :])
        seen = np.stack(
            np.broadcast_arrays(self.of[:, None, :], self.of[None, :, :], steps[:, :, None]), axis=-1
        ).reshape(-1, 3)
        return np.ascontiguousarray(np.unique(seen, axis=0), dtype=np.int64)

    @property
    def farthest(self) -> float:
        """The farthest that a span begins."""
        return float(np.abs(self.low[np.isfinite(self.low)]).max(initial=0.0))

    def sums(self) -> list[tuple[int, int, int]]:
        """(span, cell, rest): spans to infinity that are a cell and the rest, the outermost first."""
        endless = {float(low): i for i, low in enumerate(self.low) if np.isinf(self.high[i]) and low > 0}
        cells = {float(low): i for i, low in enumerate(self.low) if np.isfinite(self.high[i])}
        found = []
        for low in sorted(endless, reverse=True):
            cell = cells.get(low)
            rest = None if cell is None else endless.get(float(self.high[cell]))
            if cell is not None and rest is not None:
                found.append((endless[low], cell, rest))
        return found


def _axis_intervals(count: int, size: float) -> _Intervals:
    low = np.full((count, count), -np.inf)
    high = np.full((count, count), np.inf)
    offset = np.arange(count)[None, :] - np.arange(count)[:, None]
    low[:, 1:] = ((offset - 0.5) * size)[:, 1:]
    high[:, :-1] = ((offset + 0.5) * size)[:, :-1]
    with np.errstate(invalid="ignore"):  # one cell alone reaches from minus to plus infinity
        mirrored = low + high < 0  # the density is the same on both sides
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    spans, of = np.unique(np.stack([low.ravel(), high.ravel()], axis=1), axis=0, return_inverse=True)
    return _Intervals(spans[:, 0], spans[:, 1], of.reshape(count, count).astype(np.int64))


def _smallest_side(spans: _Intervals) -> float:
    sides = spans.high - spans.low
    finite_sides = sides[np.isfinite(sides)]
    edges = np.concatenate([spans.low, spans.high])
    return float(min(finite_sides.min(initial=np.inf), 2 * np.abs(edges[np.isfinite(edges)]).min(initial=1.0)))


def _interval_masses(across: _Intervals, down: _Intervals, eps: float) -> FloatArray:
    """masses[j, i] = probability that the step lies in the rectangle (across i) x (down j).

    A span that reaches to infinity is a cell and the next such span: integrated is only the outermost, the others are
    sums (of positive terms, so that the smallest mass keeps its digits).
    """
    scale = min(_smallest_side(across), _smallest_side(down)) / 2
    far_x, far_y = across.farthest, down.farthest
    nodes_x = [_quadrature(low, high, eps, scale, far_y) for low, high in zip(across.low, across.high, strict=True)]
    nodes_y = [_quadrature(low, high, eps, scale, far_x) for low, high in zip(down.low, down.high, strict=True)]
    out = np.zeros((len(nodes_y), len(nodes_x)))
    sums_x, sums_y = across.sums(), down.sums()
    summed_x, summed_y = {i for i, _, _ in sums_x}, {j for j, _, _ in sums_y}
    for j, (y, wy) in enumerate(nodes_y):
        for i, (x, wx) in enumerate(nodes_x):
            if i in summed_x or j in summed_y:
                continue
            if across.low[i] < 0 < across.high[i] and down.low[j] < 0 < down.high[j]:
                spans = (-across.low[i], across.high[i]), (-down.low[j], down.high[j])
                out[j, i] = sum(_quadrant(a, b, eps) for a in spans[0] for b in spans[1])
            else:
                radius = np.hypot(x[None, :], y[:, None])
                out[j, i] = eps * eps / (2 * math.pi) * (wy @ np.exp(-eps * radius) @ wx)
    for i, cell, rest in sums_x:
        out[:, i] = out[:, cell] + out[:, rest]
    for j, cell, rest in sums_y:
        out[j, :] = out[cell, :] + out[rest, :]
    return out


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    knots, weights = np.polynomial.legendre.leggauss(24)
    return knots, weights


def _quadrature(low: float, high: float, eps: float, scale: float, aside: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on panels that double away from the origin, where the density has a kink.

    No panel is longer than four decay lengths, and the tail is cut where it is below e^-45 of its start, also so far
    ``aside`` of the origin, where radii grow slowly along the span. ``scale`` is half the smaller side of a cell:
    outside the origin's own cell one coordinate is at least that large.
    """
    starts = max(0.0, low) if math.isinf(high) else 0.0
    longest = math.hypot(aside, starts) + 45.0 / eps
    reach = max(45.0 / eps, math.sqrt((longest - aside) * (longest + aside)) - starts)
    a, b = max(low, min(high, 0.0) - reach), min(high, max(low, 0.0) + reach)
    edges, step = [0.0], scale
    while edges[-1] < max(abs(a), abs(b)):
        edges.append(edges[-1] + step)
        step = min(2 * step, 4.0 / eps) if edges[-1] >= 2 * step else step
    ladder = np.array(edges)
    inner = np.concatenate([-ladder[::-1], ladder[1:]])
    panels = np.unique(np.concatenate([[a, b], inner[(inner > a) & (inner < b)]]))
    knots, weights = _gauss_legendre()
    half, middle = 0.5 * np.diff(panels), 0.5 * (panels[:-1] + panels[1:])
    return (middle[:, None] + half[:, None] * knots).ravel(), (half[:, None] * weights).ravel()


def _quadrant(a: float, b: float, eps: float) -> float:
    """Mass of [0, a] x [0, b]: over angles, the radial mass 1 - (1 + eps R) e^(-eps R) up to the border at R.

    Along the side at distance a the angle is atan(s / a), so each triangle is an integral over s of a / (a^2 + s^2).
    """
    total = 0.25 if math.isinf(a) and math.isinf(b) else 0.0
    for length, side in ((a, b), (b, a)):
        if math.isinf(length):
            continue
        s, weights = _quadrature(0.0, side, eps, length)
        radius = eps * np.hypot(length, s)
        inside = -np.expm1(-radius) - radius * np.exp(-radius)
        total += float(weights @ (length / (length * length + s * s) * inside)) / (2 * math.pi)
        if math.isinf(side):  # beyond the cut everything within the remaining angle counts in full
            total += math.atan2(length, 45.0 / eps) / (2 * math.pi)
    return total


def planar_geometric_channel(grid: Grid, epsilon: float, *, plane_error: float | None = None) -> DesignedChannel:
    """The channel of the clamped lattice noise, for ``epsilon`` per unit of the grid (see planar_laplace_channel)."""
    eps = positive(epsilon, "epsilon", at_most=1e100)
    distances = checked_distortion(grid.distance_matrix(), "The distances")
    checked_smallest(eps, distances)
    off = checked_plane_error(grid.plane_error if plane_error is None else plane_error)
    reach = [int(np.ceil(_DECADES / (eps * size))) + 1 for size in (grid.cell_height, grid.cell_width)]
    reach = [max(steps, count) for steps, count in zip(reach, grid.shape, strict=True)]
    if reach[0] * reach[1] > 60_000_000:
        raise InputError(
            f"With epsilon {eps:g} the noise reaches over {reach[0]} x {reach[1]} cells.",
            "Use larger cells or planar_laplace_channel.",
        )
    down = np.arange(-reach[0], reach[0] + 1) * grid.cell_height
    across = np.arange(-reach[1], reach[1] + 1) * grid.cell_width
    kernel = np.exp(-eps * np.hypot(down[:, None], across[None, :]))
    kernel /= kernel.sum()
    folded = _folded(_folded(kernel, grid.rows, reach[0]).T, grid.columns, reach[1])
    # folded: (columns_in * columns_out, rows_in * rows_out)
    matrix = folded.reshape(grid.columns, grid.columns, grid.rows, grid.rows).transpose(2, 0, 3, 1)
    promise = GeoPromise(distances, eps, grid.unit, off)
    return DesignedChannel(promise.keep(matrix.reshape(grid.cells, grid.cells), _labelled(grid, distances)), promise)


def _folded(kernel: FloatArray, count: int, reach: int) -> FloatArray:
    """Rows of the kernel gathered per (input, output) pair of an axis, everything beyond the border at the border."""
    out = np.empty((count, count, kernel.shape[1]))
    upto = np.cumsum(kernel, axis=0)
    after = np.cumsum(kernel[::-1], axis=0)[::-1]
    for place in range(count):
        zero = reach - place  # the kernel row of output 0
        out[place] = kernel[zero : zero + count]
        if count > 1:
            out[place, 0] = upto[zero]
            out[place, count - 1] = after[zero + count - 1]
        else:
            out[place, 0] = kernel.sum(axis=0)
    folded: FloatArray = out.reshape(count * count, kernel.shape[1])
    return folded


def build_laplace(task: ChannelTask) -> DesignedChannel:
    """The registry's planar-laplace, on the task's grid."""
    assert task.grid is not None
    return planar_laplace_channel(task.grid, task.level, plane_error=task.plane_error).with_labels(task)


def build_geometric(task: ChannelTask) -> DesignedChannel:
    """The registry's planar-geometric, on the task's grid."""
    assert task.grid is not None
    return planar_geometric_channel(task.grid, task.level, plane_error=task.plane_error).with_labels(task)


def _labelled(grid: Grid, distances: FloatArray) -> Callable[[FloatArray], Channel]:
    """From a matrix over the grid's cells to a channel with their names, distances and places."""
    places = grid.centres() if grid.unit == "m" else None
    names = grid.labels()
    return partial(
        Channel, inputs=names, outputs=names, distortion=distances, distortion_name="euclidean", positions_m=places
    )
