"""Exact draws from a grid channel by the million, for simulations (a device draws by :mod:`...client.exact_draw`).

Alias tables up to about 1,500 cells, one 64-bit word per report: half of it chooses the column, half is compared with
the column's threshold, and where those bits tie more are drawn, so outcomes below 2^-53 are kept. On larger grids a
window around the place is enumerated and the rest is reached by rejection from c under the envelope
exp(-beta (R+1) min(cell sides)); it needs no normaliser. The window's sums are doubles: an outcome in it below 2^-53 of
its row is never drawn.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite
from sfumato.base.compiled import compile_loop
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, Words, randomness
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.distance_kernel import matrix_from_table, offset_distances
from sfumato.collect.grids.grid_channel import GridChannel

ALIAS_UP_TO = 1_500


def draw_reports(channel: GridChannel, cells: npt.ArrayLike, *, rng: Random = None) -> IntArray:
    """One report for every true cell in ``cells``."""
    places = np.asarray(cells)
    if places.size and not np.issubdtype(places.dtype, np.integer):
        raise InputError("The cells are not whole numbers.", "Give cell indexes, for example from Grid.locate.")
    places = np.ascontiguousarray(places.ravel(), dtype=np.int64)
    outside = int(np.count_nonzero((places < 0) | (places >= channel.cells)))
    if outside:
        raise InputError(
            f"{outside} of {places.size} places are outside the grid.", "Drop them, or locate them with snap=True."
        )
    source = randomness(rng)
    if channel.cells <= ALIAS_UP_TO:
        return _alias(channel, places, source)
    return _window(channel, places, source)


def draw_tally(channel: GridChannel, people: npt.ArrayLike, *, rng: Random = None) -> IntArray:
    """Reports per cell when ``people[x]`` people are in cell x and each reports once."""
    values = finite(people, "The people", dimensions=1)
    if values.size != channel.cells:
        raise InputError(f"There are {values.size} counts for {channel.cells} cells.", "Give one per cell of the grid.")
    if values.min(initial=0.0) < 0 or np.any(values != np.floor(values)):
        raise InputError("Some counts are negative or not whole.", "Give whole numbers of people, at least 0.")
    counts = values.astype(np.int64)
    reports = draw_reports(channel, np.repeat(np.arange(channel.cells), counts), rng=rng)
    return np.bincount(reports, minlength=channel.cells).astype(np.int64)


def _alias(channel: GridChannel, places: IntArray, source: Randomness) -> IntArray:
    stay, other = _alias_tables(channel)
    out = np.empty(places.size, dtype=np.int64)
    spare = source.words(64)
    used = alias_draw(places, stay, other, source.words(places.size), spare, out)
    while used < 0:
        # More ties than spare words: practically never; fresh words redo the whole draw.
        spare = source.words(spare.size * 16)
        used = alias_draw(places, stay, other, source.words(places.size), spare, out)
    return out


def _alias_tables(channel: GridChannel) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    if channel._known.alias_tables is None:
        log_c = np.log(np.maximum(channel.output_weights, 1e-323)) + np.where(channel.output_weights > 0, 0.0, -np.inf)
        logits = log_c[None, :] - channel.beta * _distance_matrix(channel.grid)
        logits -= logits.max(axis=1, keepdims=True)
        rows = np.exp(logits)
        rows /= rows.sum(axis=1, keepdims=True)
        other = np.zeros(rows.shape, dtype=np.int32)
        alias_build(rows, other)
        channel._known.alias_tables = (rows, other)
    return channel._known.alias_tables


@lru_cache(maxsize=2)
def _distance_matrix(grid: Grid) -> FloatArray:
    return matrix_from_table(offset_distances(grid))


def _window(channel: GridChannel, places: IntArray, source: Randomness) -> IntArray:
    grid = channel.grid
    c = channel.output_weights
    cumulative = np.cumsum(c)
    side = min(grid.cell_height, grid.cell_width)
    kernel = np.exp(-channel.beta * offset_distances(grid))
    reach = max(1, math.ceil(4 / (channel.beta * side)))
    out = np.full(places.size, -1, dtype=np.int64)
    order = np.argsort(places, kind="stable")
    waiting = np.ascontiguousarray(places[order])
    drawn = np.full(places.size, -1, dtype=np.int64)
    start = 0
    while start < waiting.size:
        words = source.uniforms(max(64, 8 * min(waiting.size - start, 1 << 18)))
        shape = (grid.rows, grid.columns, reach, channel.beta * side)
        start = int(window_draw(waiting, c, cumulative, kernel, *shape, words, start, drawn))
    out[order] = drawn
    return out


@compile_loop()
def alias_build(rows: FloatArray, other: npt.NDArray[np.int32]) -> None:
    """Turn each row of probabilities into thresholds (in place) and aliases: Walker's tables, by Vose's method."""
    count, cells = rows.shape
    small = np.empty(cells, dtype=np.int32)
    large = np.empty(cells, dtype=np.int32)
    for r in range(count):
        smalls, larges = 0, 0
        for k in range(cells):
            rows[r, k] *= cells
            if rows[r, k] < 1.0:
                small[smalls] = k
                smalls += 1
            else:
                large[larges] = k
                larges += 1
        while smalls > 0 and larges > 0:
            smalls -= 1
            light, heavy = small[smalls], large[larges - 1]
            other[r, light] = heavy
            rows[r, heavy] -= 1.0 - rows[r, light]
            if rows[r, heavy] < 1.0:
                larges -= 1
                small[smalls] = heavy
                smalls += 1
        for k in range(larges):
            rows[r, large[k]] = 1.0
        for k in range(smalls):
            rows[r, small[k]] = 1.0


@compile_loop()
def alias_draw(
    places: IntArray, stay: FloatArray, other: npt.NDArray[np.int32], words: Words, spare: Words, out: IntArray
) -> int:
    """One report per place from one word each; ties and the rejected sliver read ``spare``. -1 if that runs out."""
    cells = np.uint64(stay.shape[1])
    low32 = np.uint64(0xFFFFFFFF)
    # Column = high 32 bits * cells >> 32, redrawn on the sliver that would make it uneven (Lemire).
    sliver = (np.uint64(4294967296) - cells) % cells
    used = 0
    for i in range(places.size):
        word = words[i]
        scaled = (word >> np.uint64(32)) * cells
        while (scaled & low32) < sliver:
            if used >= spare.size:
                return -1
            word = spare[used]
            used += 1
            scaled = (word >> np.uint64(32)) * cells
        column = int(scaled >> np.uint64(32))
        threshold = stay[places[i], column]
        bits = word & low32
        chunk = 4294967296.0
        kept = True
        while threshold < 1.0:
            # threshold * 2^32 = whole + rest exactly; bits decide unless they equal the whole part.
            grown = threshold * chunk
            whole = np.floor(grown)
            value = float(bits)
            if value < whole:
                break
            if value > whole:
                kept = False
                break
            threshold = grown - whole
            if threshold == 0.0:
                kept = False
                break
            if used >= spare.size:
                return -1
            bits = spare[used] & low32
            used += 1
        out[i] = column if kept else other[places[i], column]
    return used


@compile_loop()
def window_draw(
    places: IntArray,
    c: FloatArray,
    cumulative: FloatArray,
    kernel: FloatArray,
    rows: int,
    columns: int,
    reach: int,
    beta_side: float,
    uniforms: FloatArray,
    start: int,
    out: IntArray,
) -> int:
    """Reports for ``places`` (sorted, so that a window serves all in it) from ``start``; where uniforms ran out."""
    partial = np.empty(rows * columns)
    used, previous = 0, -1
    top, left, bottom, right, inside, tail, envelope, radius, count = 0, 0, 0, 0, 0.0, 0.0, 0.0, reach, 0
    for s in range(start, places.size):
        x = places[s]
        row, column = x // columns, x % columns
        if x != previous:
            radius = reach
            while True:
                top, bottom = max(0, row - radius), min(rows - 1, row + radius)
                left, right = max(0, column - radius), min(columns - 1, column + radius)
                inside, count = 0.0, 0
                for i in range(top, bottom + 1):
                    for j in range(left, right + 1):
                        inside += c[i * columns + j] * kernel[abs(i - row), abs(j - column)]
                        partial[count] = inside
                        count += 1
                whole = top == 0 and left == 0 and bottom == rows - 1 and right == columns - 1
                if whole:
                    tail = 0.0
                    break
                # The envelope covers c everywhere; a proposal inside the window is refused and all is drawn again.
                envelope = np.exp(-beta_side * (radius + 1)) * (1 + 1e-9)
                tail = cumulative[-1] * envelope
                if tail <= inside:
                    break
                radius *= 2
            previous = x
        wide = right - left + 1
        y = -1
        while y < 0:
            if used + 3 > uniforms.size:
                return s
            u = uniforms[used] * (inside + tail)
            used += 1
            if u < inside:
                k = np.searchsorted(partial[:count], u, side="right")
                y = (top + k // wide) * columns + left + k % wide
            else:
                k = np.searchsorted(cumulative, uniforms[used] * cumulative[-1], side="right")
                used += 1
                i, j = k // columns, k % columns
                if top <= i <= bottom and left <= j <= right:
                    continue
                if uniforms[used] * envelope < kernel[abs(i - row), abs(j - column)]:
                    y = k
                used += 1
        out[s] = y
    return len(places)
