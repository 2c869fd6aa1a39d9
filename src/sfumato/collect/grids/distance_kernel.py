"""Products with the distance kernel exp(-beta d(x, y)) of a grid, without ever holding the matrix of a large one.

    (K f)(x) = sum_y exp(-beta d(x, y)) f(y)

Three forms, chosen by size: *dense* below about 1,000 cells; *truncated*, a short stencil, where the kernel falls below
1e-18 within a few cells; *fft* otherwise, in O(m log m) time and O(m) memory. Only the FFT subtracts, with an absolute
error of about eps |k| |f|, so a small product would be noise, even negative. It is guarded for f >= 0:

* never below the rigorous bound  K f >= max(f, sum f exp(-beta diameter))  (k(0) = 1 and no distance is larger);
* a product below 1e6 times the error scale (1e10 on small grids) is recomputed as a direct sum of positive terms;
* where those would be too many, the error scale is added, so that the product is never understated.

Privacy never depends on this error: a client computes its own row from (beta, c), see :mod:`.grid_channel`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy.fft

from sfumato.base.arrays import BoolArray, FloatArray, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_loops import direct_sums, stencil_product
from sfumato.collect.grids.on_gpu import DeviceKernel, attempt, device_kernel, products, takes

Form = Literal["dense", "fft", "truncated"]

DENSE_BELOW = 1_000
_NEGLIGIBLE = 1e-18
_WRAPPED = 1e-20
_LONGEST_STENCIL = 3
_DIRECT_BUDGET = 3e8
_SMALL_WORK = 4e6
_TWO_WORKERS_FROM = 250_000
_ROWS_AT_ONCE = 16


def choose_form(grid: Grid, beta: float) -> Form:
    """Dense for few cells, truncated where the kernel dies within a few cells, FFT otherwise."""
    if grid.cells < DENSE_BELOW:
        return "dense"
    if _reach(beta, min(grid.cell_height, grid.cell_width)) <= _LONGEST_STENCIL:
        return "truncated"
    return "fft"


@dataclass(frozen=True, slots=True, eq=False)
class GridKernel:
    """The operator K of one grid and beta (per unit of the grid); build it with :func:`grid_kernel`."""

    grid: Grid
    beta: float
    form: Form
    by_distance: bool
    values: FloatArray
    """dense: the matrix; fft: the real spectrum, empty where it lies on a GPU; truncated: the quarter stencil."""
    norm: float
    """Euclidean norm of the kernel over all offsets, which scales the FFT's error."""
    smallest: float
    """A lower bound of every entry (0 for the distance-weighted kernel)."""

    def error_scale(self, f: FloatArray) -> float:
        """The size of the absolute error of one product with ``f``: eps |k| |f| and what wraps, for the FFT."""
        if self.form == "dense":
            return 0.0
        if self.form == "truncated":
            return float(_NEGLIGIBLE * f.sum())
        rounding = np.finfo(np.float64).eps * self.norm * math.sqrt(float(f @ f))
        return float(rounding + _WRAPPED * f.sum())

    def product(self, f: FloatArray, *, needed: BoolArray | bool = True) -> FloatArray:
        """K f for f >= 0 of shape (cells,) or (cells, k), guarded. ``needed``: where an accurate value matters."""
        if self.form == "dense":
            return self.values @ f
        if f.ndim == 1:
            return self.with_guard(f, needed=needed)[0]
        columns = np.ascontiguousarray(f.T)
        raw = self.signed_rows(columns)
        for k in range(len(raw)):
            mask = needed[:, k] if isinstance(needed, np.ndarray) and needed.ndim == 2 else needed
            self._guard(raw[k], columns[k], mask)
        return np.ascontiguousarray(raw.T)

    def signed_product(self, f: FloatArray) -> FloatArray:
        """K f for f of any sign, unguarded: its error is absolute, see :meth:`error_scale`."""
        return self.values @ f if self.form == "dense" else self._raw(f[None])[0]

    def signed_rows(self, rows: FloatArray) -> FloatArray:
        """rows K for (k, cells) of any sign, unguarded: K is symmetric. A few at once stay in the cache."""
        if self.form == "dense":
            return rows @ self.values
        return np.concatenate([self._raw(rows[at : at + _ROWS_AT_ONCE]) for at in range(0, len(rows), _ROWS_AT_ONCE)])

    def with_guard(self, f: FloatArray, *, needed: BoolArray | bool = True) -> tuple[FloatArray, int]:
        """K f, and in how many needed cells its relative error may exceed 1e-6 because direct sums were too many."""
        if self.form == "dense":
            return self.values @ f, 0
        raw = self._raw(f[None])[0]
        return raw, self._guard(raw, f, needed)

    def _guard(self, raw: FloatArray, f: FloatArray, needed: BoolArray | bool) -> int:
        """Make ``raw`` what :meth:`with_guard` promises, in place; how many cells were lost."""
        lost = 0
        scale = self.error_scale(f)
        if needed is not False and scale > 0.0:
            weak = raw < (1e10 if float(self.grid.cells) ** 2 <= _SMALL_WORK else 1e6) * scale
            if needed is not True:
                weak &= needed
            unsafe = np.flatnonzero(weak)
            if unsafe.size:
                support = np.flatnonzero(f)
                if float(unsafe.size) * support.size <= _DIRECT_BUDGET:
                    raw[unsafe] = self._direct(unsafe, support, f)
                else:
                    raw[unsafe] += scale
                    lost = int(unsafe.size)
        if not self.by_distance:
            np.maximum(raw, f, out=raw)
        np.maximum(raw, float(f.sum()) * self.smallest, out=raw)
        return lost

    def table(self) -> FloatArray:
        """(rows, columns): the kernel by absolute row and column offset."""
        distances = offset_distances(self.grid)
        kernel: FloatArray = np.exp(-self.beta * distances)
        return kernel * distances if self.by_distance else kernel

    @property
    def device(self) -> DeviceKernel | None:
        """The same operator on the GPU, where there is one and the grid is worth it."""
        if self.form != "fft" or not takes(self.grid.cells):
            return None
        sides = (self.grid.cell_height, self.grid.cell_width)
        return attempt(lambda: device_kernel(self.grid.shape, sides, self.beta, self.by_distance))

    def _direct(self, cells: np.ndarray, support: np.ndarray, f: FloatArray) -> FloatArray:
        out = np.empty(cells.size)
        direct_sums(cells, support, f[support], self.table(), self.grid.columns, out)
        return out

    def _raw(self, f: FloatArray) -> FloatArray:
        """K f for every row of (k, cells)."""
        rows, columns = self.grid.shape
        if self.form == "truncated":
            out = np.empty(f.shape)
            for one, product in zip(np.ascontiguousarray(f), out, strict=True):
                stencil_product(one, rows, columns, self.values, product)
            return out

        device = self.device
        found = None if device is None else attempt(lambda: products(device, f))
        if found is not None:
            return found
        # Axis by axis, so that the rows that are only padding are never transformed.
        tall, wide = _padded(self.grid, self.beta)
        values = self.values if self.values.size else _spectrum(self.grid, self.beta, self.by_distance)[0]
        workers = 2 if self.grid.cells >= _TWO_WORKERS_FROM else 1
        spectrum = scipy.fft.rfft(f.reshape(-1, rows, columns), n=wide, axis=2, workers=workers)
        spectrum = scipy.fft.fft(spectrum, n=tall, axis=1, overwrite_x=True, workers=workers)
        spectrum *= values
        spectrum = scipy.fft.ifft(spectrum, axis=1, overwrite_x=True, workers=workers)[:, :rows]
        result = scipy.fft.irfft(spectrum, n=wide, axis=2, workers=workers)
        return np.ascontiguousarray(result[:, :, :columns]).reshape(len(f), -1)


def offset_distances(grid: Grid) -> FloatArray:
    """(rows, columns): distance by absolute row and column offset, in the grid's unit."""
    down = np.arange(grid.rows) * grid.cell_height
    right = np.arange(grid.columns) * grid.cell_width
    distances: FloatArray = np.hypot(down[:, None], right[None, :])
    return distances


def matrix_from_table(table: FloatArray) -> FloatArray:
    """The (m, m) matrix whose entries depend on the absolute row and column offsets only."""
    rows, columns = table.shape
    row = np.abs(np.subtract.outer(np.arange(rows), np.arange(rows)))
    column = np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    matrix = table[row[:, None, :, None], column[None, :, None, :]].reshape(rows * columns, rows * columns)
    return np.ascontiguousarray(matrix)


def grid_kernel(grid: Grid, beta: float, *, form: Form | None = None, by_distance: bool = False) -> GridKernel:
    """K of ``grid`` at ``beta`` per unit, or with ``by_distance`` the kernel d exp(-beta d) that gives distortions."""
    positive(beta, "beta")
    if form is not None and form not in ("dense", "fft", "truncated"):
        raise InputError(f"There is no kernel form '{form}'.", "Use dense, fft or truncated.")
    return _build(grid, float(beta), form or choose_form(grid, beta), by_distance)


@lru_cache(maxsize=8)
def _build(grid: Grid, beta: float, form: Form, by_distance: bool) -> GridKernel:
    distances = offset_distances(grid)
    smallest = 0.0 if by_distance else math.exp(-beta * float(distances[-1, -1]))
    if form == "dense":
        kernel = np.exp(-beta * distances)
        values = matrix_from_table(kernel * distances if by_distance else kernel)
        return GridKernel(grid, beta, form, by_distance, read_only(values), 0.0, smallest)
    if form == "truncated":
        reach_rows = min(grid.rows - 1, _reach(beta, grid.cell_height))
        reach_columns = min(grid.columns - 1, _reach(beta, grid.cell_width))
        near = distances[: reach_rows + 1, : reach_columns + 1]
        stencil = np.exp(-beta * near) * (near if by_distance else 1.0)
        return GridKernel(grid, beta, form, by_distance, read_only(stencil), 0.0, smallest)

    elsewhere = GridKernel(grid, beta, form, by_distance, read_only(np.empty((0, 0))), 0.0, smallest)
    device = elsewhere.device
    if device is not None:
        return replace(elsewhere, norm=device.norm)
    spectrum, norm = _spectrum(grid, beta, by_distance)
    return GridKernel(grid, beta, form, by_distance, spectrum, norm, smallest)


@lru_cache(maxsize=2)
def _spectrum(grid: Grid, beta: float, by_distance: bool) -> tuple[FloatArray, float]:
    """The real spectrum of the wrapped kernel and its norm."""
    # Offsets wrap: index i and padded - i are the same distance, or so far apart that neither counts.
    down, right = (np.minimum(np.arange(size), size - np.arange(size)) for size in _padded(grid, beta))
    wrapped = np.hypot((down * grid.cell_height)[:, None], (right * grid.cell_width)[None, :])
    kernel = np.exp(-beta * wrapped)
    if by_distance:
        kernel *= wrapped
    return read_only(scipy.fft.rfft2(kernel).real.copy()), float(np.linalg.norm(kernel))


def _padded(grid: Grid, beta: float) -> tuple[int, int]:
    """Room for the kernel's reach: beyond it, what wraps around is below 1e-20 of the mass."""
    sides = (grid.cell_height, grid.cell_width)
    needed = (
        min(2 * size - 1, size + math.ceil(-math.log(_WRAPPED) / (beta * side)))
        for size, side in zip(grid.shape, sides, strict=True)
    )
    rows, columns = (scipy.fft.next_fast_len(size, real=True) for size in needed)
    return int(rows), int(columns)


def _reach(beta: float, side: float) -> int:
    return math.ceil(-math.log(_NEGLIGIBLE) / (beta * side))
