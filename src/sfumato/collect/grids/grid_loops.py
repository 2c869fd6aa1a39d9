"""Compiled loops over the cells of a grid: direct sums, exact Lipschitz constants, short stencils.

Kept apart so that numba is imported only when a loop is needed. Distances come from a (rows, columns) table indexed by
the absolute row and column offsets; every array is float64 or int64.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop


@compile_loop()
def direct_sums(
    cells: IntArray, sources: IntArray, weights: FloatArray, table: FloatArray, columns: int, out: FloatArray
) -> None:
    """out[i] = sum_j weights[j] * table(offset of cells[i] and sources[j]): positive terms, no cancellation."""
    for i in range(cells.size):
        row, column = cells[i] // columns, cells[i] % columns
        total = 0.0
        for j in range(sources.size):
            total += weights[j] * table[abs(sources[j] // columns - row), abs(sources[j] % columns - column)]
        out[i] = total


@compile_loop()
def log_sums(log_weights: FloatArray, scaled: FloatArray, columns: int, out: FloatArray) -> None:
    """out[x] = log sum_y exp(log_weights[y] - scaled(offset of x and y)), shifted by the largest exponent."""
    cells = log_weights.size
    for x in range(cells):
        row, column = x // columns, x % columns
        top = -np.inf
        for y in range(cells):
            value = log_weights[y] - scaled[abs(y // columns - row), abs(y % columns - column)]
            if value > top:
                top = value
        total = 0.0
        for y in range(cells):
            total += np.exp(log_weights[y] - scaled[abs(y // columns - row), abs(y % columns - column)] - top)
        out[x] = top + np.log(total)


@compile_loop()
def lipschitz_all_pairs(values: FloatArray, distance: FloatArray, columns: int) -> float:
    """max over x != x' of |values[x] - values[x']| / distance."""
    cells = values.size
    best = 0.0
    for x in range(cells):
        row, column = x // columns, x % columns
        for z in range(x + 1, cells):
            slope = abs(values[x] - values[z]) / distance[z // columns - row, abs(z % columns - column)]
            if slope > best:
                best = slope
    return best


@compile_loop()
def lipschitz_arcs(values: FloatArray, rows: int, columns: int, arcs: IntArray, lengths: FloatArray) -> float:
    """The same, over the pairs joined by one of the given (row, column) offsets only."""
    best = 0.0
    for k in range(arcs.shape[0]):
        down, right = arcs[k, 0], arcs[k, 1]
        for i in range(max(0, -down), min(rows, rows - down)):
            for j in range(max(0, -right), min(columns, columns - right)):
                gap = abs(values[(i + down) * columns + j + right] - values[i * columns + j])
                if gap / lengths[k] > best:
                    best = gap / lengths[k]
    return best


@compile_loop()
def largest_log_ratio(beta: float, log_z: FloatArray, support: IntArray, distance: FloatArray, columns: int) -> float:
    """max over x != x' and y in support of [beta (d(x',y) - d(x,y)) + log_z(x') - log_z(x)] / d(x,x')."""
    cells = log_z.size
    best = 0.0
    for x in range(cells):
        row, column = x // columns, x % columns
        for z in range(cells):
            if z == x:
                continue
            row_z, column_z = z // columns, z % columns
            farthest = -np.inf
            for k in range(support.size):
                y_row, y_column = support[k] // columns, support[k] % columns
                gain = (
                    distance[abs(y_row - row_z), abs(y_column - column_z)]
                    - distance[abs(y_row - row), abs(y_column - column)]
                )
                if gain > farthest:
                    farthest = gain
            ratio = (beta * farthest + log_z[z] - log_z[x]) / distance[abs(row_z - row), abs(column_z - column)]
            if ratio > best:
                best = ratio
    return best


@compile_loop()
def stencil_product(values: FloatArray, rows: int, columns: int, stencil: FloatArray, out: FloatArray) -> None:
    """out = values convolved with the (reach + 1, reach_columns + 1) quarter stencil, mirrored in both directions."""
    reach, reach_columns = stencil.shape[0] - 1, stencil.shape[1] - 1
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(max(0, i - reach), min(rows, i + reach + 1)):
                for l in range(max(0, j - reach_columns), min(columns, j + reach_columns + 1)):
                    total += values[k * columns + l] * stencil[abs(k - i), abs(l - j)]
            out[i * columns + j] = total
