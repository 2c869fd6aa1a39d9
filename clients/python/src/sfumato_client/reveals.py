"""What one report gives away, by direct sums in plain Python: the same numbers as ``sfumato.collect.client.reveals``.

    epsilon = beta + max over x != x' of |log Z(x) - log Z(x')| / d(x, x')  <= 2 beta,   Z(x) = sum of c(y) exp(-beta d)

and the success of somebody who knows one of two cells at most ``within_m`` apart, (1 + TV)/2. The limits up to which
these are computed, not bounded, are the same as there. A city of 1,600 cells takes 2.5 s and 16,384 cells take 7 s,
once for each new channel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import mul, sub

from sfumato_client.arrays import FloatArray
from sfumato_client.grid import Grid

LARGEST_EXACT = 16_384
_LARGEST_PAIR_WORK = 100_000_000
Table = list[list[float]]


@dataclass(frozen=True, slots=True)
class Reveals:
    """``epsilon_per_km`` is exact where ``exact``, else the bound 2 beta; ``two_cell_success`` likewise or a bound."""

    epsilon_per_km: float
    two_beta_per_km: float
    exact: bool
    two_cell_success: float
    two_cell_within_m: float
    two_cell_exact: bool


def _mirrored_kernel(grid: Grid, beta_per_m: float) -> Table:
    """exp(-beta d) by rows apart, and in each by columns apart from -(columns - 1) to columns - 1."""
    table = []
    for i in range(grid.rows):
        down_m, across = i * grid.cell_height, range(grid.columns)
        half = [math.exp(-beta_per_m * math.hypot(down_m, j * grid.cell_width)) for j in across]
        table.append(half[:0:-1] + half)
    return table


def _normaliser(grid: Grid, c: FloatArray, kernel: Table) -> list[float]:
    """Z = K c, row by row: slices of the mirrored kernel against rows of c."""
    rows, columns = grid.rows, grid.columns
    lines = [c[i * columns : (i + 1) * columns] for i in range(rows)]
    z = []
    for i in range(rows):
        near = [(kernel[abs(i - k)], lines[k]) for k in range(rows)]
        for j in range(columns):
            left = columns - 1 - j
            z.append(sum(sum(map(mul, line[left : left + columns], weights)) for line, weights in near))
    return z


def _slope(grid: Grid, log_z: list[float]) -> float:
    """max |log Z(x) - log Z(x')| / d(x, x') over all pairs; it stops once the range cannot beat the best."""
    rows, columns = grid.rows, grid.columns
    lines = [log_z[i * columns : (i + 1) * columns] for i in range(rows)]
    offsets = [
        (math.hypot(down * grid.cell_height, right * grid.cell_width), down, right)
        for down in range(rows)
        for right in range(-(columns - 1), columns)
        if down > 0 or right > 0
    ]
    offsets.sort()
    spread, best = max(log_z) - min(log_z), 0.0
    for distance_m, down, right in offsets:
        if spread <= best * distance_m:
            break
        here, there = slice(max(0, -right), columns - max(0, right)), slice(max(0, right), columns - max(0, -right))
        for i in range(rows - down):
            worst = max(map(abs, map(sub, lines[i][here], lines[i + down][there])))
            best = max(best, worst / distance_m)
    return best


def _near(grid: Grid, within_m: float) -> Iterator[tuple[int, int]]:
    for down in range(min(grid.rows, int(within_m / grid.cell_height) + 2)):
        reach = min(grid.columns - 1, int(within_m / grid.cell_width) + 1)
        for right in range(-reach, reach + 1):
            if (down > 0 or right > 0) and math.hypot(down * grid.cell_height, right * grid.cell_width) <= within_m:
                yield down, right


def _worst_success(grid: Grid, c: FloatArray, z: list[float], near: list[tuple[int, int]], kernel: Table) -> float:
    rows, columns = grid.rows, grid.columns

    def row_of_channel(cell: int) -> list[float]:
        i, j = divmod(cell, columns)
        left = columns - 1 - j
        line: list[float] = []
        for k in range(rows):
            line += kernel[abs(i - k)][left : left + columns]
        scale = 1 / z[cell]
        return [p * weight * scale for p, weight in zip(line, c, strict=True)]

    worst, kept = 0.0, {}
    for x in range(grid.cells):
        here = kept.pop(x, None) or row_of_channel(x)
        i, j = divmod(x, columns)
        for down, right in near:
            if i + down < rows and 0 <= j + right < columns:
                other = (i + down) * columns + j + right
                if other not in kept:
                    kept[other] = row_of_channel(other)
                worst = max(worst, 0.5 * sum(map(abs, map(sub, here, kept[other]))))
    return min(1.0, 0.5 * (1 + worst))


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
        kernel = _mirrored_kernel(grid, beta_per_m)
        z = _normaliser(grid, output_weights, kernel)
        epsilon_per_m = min(bound, beta_per_m + _slope(grid, [math.log(value) for value in z]))
        if success_exact:
            success = _worst_success(grid, output_weights, z, near, kernel)
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
