"""Exact draws from a grid channel: one report on a device, or millions in a simulation; the OS's entropy by default.

*One report* (:func:`draw_report`) has one shape whatever the place: every cell's weight w_x(y), relative to the
heaviest, is formed in logarithms, lifted to 2^-139 where it is smaller, rounded once to 53 bits, and one 256-bit word
picks a position below their sum by multiplication. Rounding moves each log-probability by less than 1e-12. Lifting to t
keeps epsilon: let W_x be the sum over y. The report that x makes most often has w_x = 1 >= w_z, hence
W_z / W_x <= P_x / P_z <= exp(epsilon d) there; and where P_x / P_z = (w_x / w_z) (W_z / W_x) is changed by lifting, its
first factor either falls (w_z lifted) or is at most 1 (w_x lifted). The sums change by less than cells 2^-139. So
epsilon, as certified, holds at every distance up to 1e-12 in the logarithm.

*Millions* (:func:`draw_reports`): alias tables up to about 1,500 cells, one 64-bit word per report; half of it chooses
the column, half is compared with the column's threshold, and where those bits tie more are drawn, so outcomes below
2^-53 are kept. Larger grids: a window around the place is enumerated and the rest is reached by rejection from c
under the envelope exp(-beta (R+1) min(cell sides)); it needs no normaliser. The window's sums are doubles: an
outcome in it below 2^-53 of its row is never drawn, so the window sampler is for simulation and :func:`draw_report`
for people.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.kernel import matrix_from_table, offset_distances
from sfumato.collect.grids.sampling_loops import alias_build, alias_draw, first_above, whole_weights, window_draw

ALIAS_UP_TO = 1_500
FRACTION_BITS = 192
_WORD_BITS = 256


def draw_report(channel: GridChannel, cell: int, *, rng: Random = None) -> int:
    """One report of ``cell``: the same number of operations and random bits for every place."""
    if isinstance(cell, bool) or not isinstance(cell, int | np.integer):
        raise InputError("The cell is not a whole number.", "Give a cell index, for example from Grid.locate.")
    if not 0 <= cell < channel.cells:
        raise InputError("The place is outside the grid.", "Drop it, or locate it with snap=True.")
    log_weights = relative_log_weights(channel, int(cell))
    word = int.from_bytes(randomness(rng).words(_WORD_BITS // 64).astype("<u8").tobytes(), "little")
    return pick(log_weights, word)


def relative_log_weights(channel: GridChannel, cell: int) -> FloatArray:
    """log c(y) - beta d(x, y) minus its largest value: what decides the report of x."""
    if float(channel.output_weights.min()) <= 0:
        raise InputError(
            "This channel never reports some cells.", "A device accepts only weights above 0: ask for a floor."
        )
    logits = np.log(channel.output_weights) - channel.beta * channel.grid.distances_from(cell)
    out: FloatArray = logits - logits.max()
    return out


def pick(log_weights: FloatArray, word: int) -> int:
    """The cell that a 256-bit ``word`` selects: the first whose running sum exceeds word * (sum of all) / 2^256."""
    limbs = np.empty((log_weights.size, 4), dtype=np.uint64)
    total = np.zeros(4, dtype=np.uint64)
    whole_weights(log_weights, limbs, total)
    target = (word * _joined(total)) >> _WORD_BITS
    return int(first_above(limbs, _limbs(target)))


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
        start = int(
            window_draw(
                waiting,
                c,
                cumulative,
                kernel,
                grid.rows,
                grid.columns,
                reach,
                channel.beta * side,
                words,
                start,
                drawn,
            )
        )
    out[order] = drawn
    return out


def _joined(limbs: npt.NDArray[np.uint64]) -> int:
    return int.from_bytes(limbs.astype("<u8").tobytes(), "little")


def _limbs(number: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(number.to_bytes(32, "little"), dtype="<u8").astype(np.uint64)
