"""What one report gives away: the exact epsilon per kilometre of its channel, and how well two cells are told apart.

With K(x, y) = exp(-beta d(x, y)) and Z = K c, for X = Y, a metric d and c > 0 (2 beta is [Biswas2023, Remark 3]):

    epsilon = beta + max over x != x' of |log Z(x) - log Z(x')| / d(x, x')  <=  2 beta  for every c, even a hostile one.

d is in the metres of the grid's plane; per kilometre of the ground a level is larger by the grid's ``ground_stretch``,
and stated so where that is above 2 %.

Somebody who knows that a person is in one of two cells, each as likely, guesses right with probability
(1 + TV)/2, TV = half the sum of |P(y | x) - P(y | x')|; the worst pair at most ``within_m`` apart is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.grid import Grid

LARGEST_EXACT = 16_384
_LARGEST_PAIR_WORK = 100_000_000


@dataclass(frozen=True, slots=True)
class Reveals:
    """``epsilon_per_km`` is exact where ``exact``, else the bound 2 beta; ``two_cell_success`` likewise or a bound."""

    epsilon_per_km: float
    two_beta_per_km: float
    exact: bool
    two_cell_success: float
    two_cell_within_m: float
    two_cell_exact: bool


def kernel_table(grid: Grid, *, beta_per_m: float) -> FloatArray:
    """exp(-beta d) by (rows apart, columns apart)."""
    north = np.arange(grid.rows) * grid.cell_height
    east = np.arange(grid.columns) * grid.cell_width
    table: FloatArray = np.exp(-beta_per_m * np.sqrt((north * north)[:, None] + (east * east)[None, :]))
    return table


def normaliser(grid: Grid, output_weights: FloatArray, *, beta_per_m: float) -> FloatArray:
    """Z = K c by direct sums (never by FFT: its error would enter the guarantee), shaped (rows, columns)."""
    table = kernel_table(grid, beta_per_m=beta_per_m)
    c = output_weights.reshape(grid.shape)
    columns = np.arange(grid.columns)
    apart = np.abs(columns[:, None] - columns[None, :])
    z = np.zeros(grid.shape)
    for rows_apart in range(grid.rows):
        spread = c @ table[rows_apart][apart]
        z[: grid.rows - rows_apart] += spread[rows_apart:]
        if rows_apart:
            z[rows_apart:] += spread[: grid.rows - rows_apart]
    return z


def offsets_by_distance(grid: Grid) -> list[tuple[float, int, int]]:
    """(distance in m, rows down, columns right) of half of all offsets, nearest first."""
    found = []
    for down in range(grid.rows):
        for right in range(-(grid.columns - 1), grid.columns):
            if down > 0 or right > 0:
                found.append((math.hypot(down * grid.cell_height, right * grid.cell_width), down, right))
    found.sort()
    return found


def cells_apart(values: FloatArray, down: int, right: int) -> tuple[FloatArray, FloatArray]:
    """``values`` at the cells x and at the cells x + (down, right), for every x where both exist."""
    rows, columns = values.shape[0], values.shape[1]
    here = values[: rows - down, max(0, -right) : columns - max(0, right)]
    there = values[down:, max(0, right) : columns - max(0, -right)]
    return here, there


def slope_of_log_normaliser(grid: Grid, log_z: FloatArray) -> float:
    """max |log Z(x) - log Z(x')| / d(x, x') over all pairs; it stops once the range cannot beat the best."""
    spread = float(log_z.max() - log_z.min())
    best = 0.0
    for distance_m, down, right in offsets_by_distance(grid):
        if spread <= best * distance_m:
            break
        here, there = cells_apart(log_z, down, right)
        best = max(best, float(np.abs(here - there).max()) / distance_m)
    return best


def reveals(grid: Grid, output_weights: FloatArray, *, beta_per_m: float, within_m: float = 1000.0) -> Reveals:
    """What a report through this channel gives away."""
    bound = 2 * beta_per_m
    exact = grid.cells <= LARGEST_EXACT
    epsilon_per_m = bound if grid.cells > 1 else 0.0  # a report of the only cell there is tells nothing
    within = max(within_m, grid.cell_height if grid.rows > 1 else 0, grid.cell_width if grid.columns > 1 else 0)
    near = list(_near(grid, within))
    success_exact = exact and len(near) * grid.cells**2 <= _LARGEST_PAIR_WORK
    success = 0.5
    if exact and grid.cells > 1:
        z = normaliser(grid, output_weights, beta_per_m=beta_per_m)
        epsilon_per_m = min(bound, beta_per_m + slope_of_log_normaliser(grid, np.log(z)))
        if success_exact:
            success = _worst_success(grid, output_weights, z, near, beta_per_m=beta_per_m)
    if not success_exact and grid.cells > 1:
        success = 1 / (1 + math.exp(-epsilon_per_m * within))
    return Reveals(
        epsilon_per_km=1000 * grid.ground_stretch * epsilon_per_m,
        two_beta_per_km=1000 * grid.ground_stretch * bound,
        exact=exact,
        two_cell_success=success,
        two_cell_within_m=within,
        two_cell_exact=success_exact,
    )


def _near(grid: Grid, within_m: float) -> Iterator[tuple[int, int]]:
    for down in range(min(grid.rows, int(within_m / grid.cell_height) + 2)):
        reach = min(grid.columns - 1, int(within_m / grid.cell_width) + 1)
        for right in range(-reach, reach + 1):
            if (down > 0 or right > 0) and math.hypot(down * grid.cell_height, right * grid.cell_width) <= within_m:
                yield down, right


def _worst_success(
    grid: Grid, c: FloatArray, z: FloatArray, near: list[tuple[int, int]], *, beta_per_m: float
) -> float:
    table = kernel_table(grid, beta_per_m=beta_per_m)
    row, column = np.divmod(np.arange(grid.cells), grid.columns)
    worst = 0.0
    for x in range(grid.cells):
        here = table[np.abs(row - row[x]), np.abs(column - column[x])] * (c / z.flat[x])
        for down, right in near:
            r, s = int(row[x]) + down, int(column[x]) + right
            if r < grid.rows and 0 <= s < grid.columns:
                there = table[np.abs(row - r), np.abs(column - s)] * (c / z[r, s])
                worst = max(worst, 0.5 * float(np.abs(here - there).sum()))
    return min(1.0, 0.5 * (1 + worst))
