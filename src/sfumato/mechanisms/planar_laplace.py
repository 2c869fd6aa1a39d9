"""Planar Laplace noise: a random step on the plane whose density falls by e^(-epsilon) per metre, in every direction.

The density of the step z is eps^2/(2 pi) exp(-eps |z|), so the reports of two places d metres apart are within a factor
e^(eps d) of each other: eps-geo-indistinguishability [Andres2013]. The angle is uniform and the radius is Gamma(2)
with rate eps, that is minus the logarithm of the product of two uniforms divided by eps: no Lambert W is needed.
The metres are those of a plane; adding them to degrees is the work of :mod:`sfumato.frames`, never of arithmetic on
earth-centred axes (which shrinks the noise to the north by the sine of the latitude).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import FloatArray, IntArray, positive
from sfumato.channel import Random
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.randomness import randomness

if TYPE_CHECKING:
    from sfumato.mechanisms.geo_indistinguishable import GeoChannel


def planar_laplace_noise(count: int, epsilon_per_m: float, rng: Random = None) -> FloatArray:
    """(count, 2) independent steps to the east and north in metres. Radii come from 104 random bits each."""
    eps = positive(epsilon_per_m, "epsilon_per_m")
    if int(count) != count or count < 0:
        raise InputError(f"count is {count}.", "Give how many points to move, from 0.")
    source = randomness(rng)
    draws = source.uniforms((3, int(count)))
    radius = draws[0]
    radius *= draws[1]
    np.log(radius, out=radius)
    radius *= -1.0 / eps
    angle = draws[2]
    angle *= 2.0 * math.pi
    out = np.empty((int(count), 2))
    np.cos(angle, out=draws[1])
    np.multiply(draws[1], radius, out=out[:, 0])
    np.sin(angle, out=draws[1])
    np.multiply(draws[1], radius, out=out[:, 1])
    return out


def planar_laplace_channel(grid: Grid, epsilon: float) -> GeoChannel:
    """Planar Laplace from a cell's centre, clamped to the grid's rectangle and snapped to a cell; exact epsilon.

    ``epsilon`` is per unit of the grid. Clamping and snapping are post-processing, so the exact epsilon of the channel
    is at most the nominal one; it is measured on the matrix. Cell masses are sums of positive quadrature terms with
    full tails, so even the smallest is accurate to about 1e-13 of itself.
    """
    from sfumato.mechanisms.geo_indistinguishable import certified_geo

    eps = positive(epsilon, "epsilon")
    across = _axis_intervals(grid.columns, grid.cell_width)
    down = _axis_intervals(grid.rows, grid.cell_height)
    masses = _interval_masses(across, down, eps)
    # interval_of[place][cell]: which of the distinct intervals an output's span is, seen from an input.
    matrix = masses[np.ix_(down.of.ravel(), across.of.ravel())]
    matrix = matrix.reshape(grid.rows, grid.rows, grid.columns, grid.columns)
    matrix = matrix.transpose(0, 2, 1, 3).reshape(grid.cells, grid.cells)
    distances = grid.distance_matrix()
    return certified_geo(
        matrix, distances, eps, unit=grid.unit, inputs=grid.labels(), outputs=grid.labels(), distortion=distances,
        distortion_name="euclidean", positions_m=grid.centres() if grid.unit == "m" else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """The distinct spans of cells along one axis as seen from cell centres; the outermost reach to infinity."""

    low: FloatArray
    high: FloatArray
    of: IntArray


def _axis_intervals(count: int, size: float) -> _Intervals:
    low = np.full((count, count), -np.inf)
    high = np.full((count, count), np.inf)
    offset = np.arange(count)[None, :] - np.arange(count)[:, None]
    low[:, 1:] = ((offset - 0.5) * size)[:, 1:]
    high[:, :-1] = ((offset + 0.5) * size)[:, :-1]
    spans, of = np.unique(np.stack([low.ravel(), high.ravel()], axis=1), axis=0, return_inverse=True)
    return _Intervals(spans[:, 0], spans[:, 1], of.reshape(count, count).astype(np.int64))


def _interval_masses(across: _Intervals, down: _Intervals, eps: float) -> FloatArray:
    """masses[j, i] = probability that the step lies in the rectangle (across i) x (down j)."""
    nodes_x = [_quadrature(low, high, eps) for low, high in zip(across.low, across.high, strict=True)]
    nodes_y = [_quadrature(low, high, eps) for low, high in zip(down.low, down.high, strict=True)]
    out = np.empty((len(nodes_y), len(nodes_x)))
    for j, (y, wy) in enumerate(nodes_y):
        for i, (x, wx) in enumerate(nodes_x):
            if across.low[i] < 0 < across.high[i] and down.low[j] < 0 < down.high[j]:
                spans = (-across.low[i], across.high[i]), (-down.low[j], down.high[j])
                out[j, i] = sum(_quadrant(a, b, eps) for a in spans[0] for b in spans[1])
            else:
                radius = np.hypot(x[None, :], y[:, None])
                out[j, i] = eps * eps / (2 * math.pi) * (wy @ np.exp(-eps * radius) @ wx)
    return out


def _quadrature(low: float, high: float, eps: float) -> tuple[FloatArray, FloatArray]:
    # Panels no longer than two decay lengths, cut where the tail is below e^-45 of its start.
    reach = 45.0 / eps
    a, b = max(low, min(high, 0.0) - reach), min(high, max(low, 0.0) + reach)
    panels = max(1, math.ceil((b - a) * eps / 4.0))
    knots, weights = np.polynomial.legendre.leggauss(24)
    edges = np.linspace(a, b, panels + 1)
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[:-1] + edges[1:])
    return (middle[:, None] + half[:, None] * knots).ravel(), (half[:, None] * weights).ravel()


def _quadrant(a: float, b: float, eps: float) -> float:
    """Mass of [0, a] x [0, b]: over angles, the radial mass 1 - (1 + eps R) e^(-eps R) up to the border at R."""
    knots, weights = np.polynomial.legendre.leggauss(64)
    corner = math.pi / 4 if math.isinf(a) and math.isinf(b) else math.atan2(b, a)
    total = 0.0
    for length, angle in ((a, corner), (b, math.pi / 2 - corner)):
        if angle == 0:
            continue
        for start, stop in pairwise(np.linspace(0, angle, 9)):
            theta = 0.5 * (start + stop) + 0.5 * (stop - start) * knots
            radius = eps * length / np.cos(theta) if math.isfinite(length) else np.full(theta.size, math.inf)
            inside = np.where(np.isinf(radius), 1.0, -np.expm1(-radius) - radius * np.exp(-np.minimum(radius, 745.0)))
            total += 0.5 * (stop - start) * float(weights @ inside) / (2 * math.pi)
    return total
