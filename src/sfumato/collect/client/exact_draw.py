"""Draw the report of one cell from 64-bit words, exactly, in a way that JavaScript repeats to the last bit.

The channel is P(y | x) = c(y) exp(-beta d(x, y)) / Z(x). Linear probabilities underflow and a 53-bit inverse
distribution function never draws outcomes below 2**-53, which would make some reports impossible from one place and
possible from another: an infinite loss. Here every weight is an integer times a power of two, so nothing underflows:

    -beta d = k ln 2 + r,  |r| <= (ln 2)/2,      weight(y) = [c(y) p(r)] 2**k,      p = the degree-13 Taylor sum of exp

with ``c p`` one rounded product, k carried apart as an integer (the log domain), and every step made of +, -, *, floor
and sqrt only, which IEEE 754 defines to the last bit: Python and JavaScript therefore compute the *same* integers
W(y) = weight(y) 2**1200. One report takes 20 words, U = their big-endian concatenation, and is

    y = the first cell with W(0) + ... + W(y) > floor(U (sum of W) / 2**1280).

No outcome is lost: the smallest weight is above 2**-1120 of the sum (a device refuses a channel where it
would not be), so the 1280 bits distort no probability by more than a factor 1 +- 2**-150; the double-precision weights
are within 1e-12 relative of the formula, which adds at most 2e-12 to the loss between any two cells at any distance.
The shape is constant: the same words and the same passes over all cells, whatever the place and the outcome.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Words
from sfumato.base.things.grid import Grid

WORDS_PER_REPORT = 20
_BITS = 64 * WORDS_PER_REPORT
_SHIFT = 1200

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # its last 21 bits are zero, so k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_INVERSE_FACTORIALS = tuple(1.0 / math.factorial(i) for i in range(14))


def weights(grid: Grid, output_weights: FloatArray, cell: int, *, beta_per_m: float) -> tuple[FloatArray, IntArray]:
    """The weight of every report from ``cell`` as (v, k), meaning v * 2**k."""
    row, column = divmod(int(cell), grid.columns)
    north = (np.arange(grid.rows) - row) * grid.cell_height
    east = (np.arange(grid.columns) - column) * grid.cell_width
    distances_m = np.sqrt((north * north)[:, None] + (east * east)[None, :]).ravel()
    exponent = -(beta_per_m * distances_m)
    k = np.floor(exponent * _LOG2_E + 0.5)
    r = (exponent - k * _LN2_HIGH) - k * _LN2_LOW
    series = np.full(r.shape, _INVERSE_FACTORIALS[13])
    for coefficient in reversed(_INVERSE_FACTORIALS[:13]):
        series = series * r + coefficient
    return output_weights * series, k.astype(np.int64)


def integer_weights(v: FloatArray, k: IntArray) -> list[int]:
    """W = v * 2**(k + 1200), exactly: a 53-bit integer shifted left."""
    mantissa, exponent = np.frexp(v)
    whole = (mantissa * 2.0**53).astype(np.int64).tolist()
    shifts = (exponent.astype(np.int64) - 53 + k + _SHIFT).tolist()
    if min(shifts) < 0:
        raise InputError("A weight of the channel is too small to be drawn exactly.", "Do not use this channel.")
    return [w << s for w, s in zip(whole, shifts, strict=True)]


def cell_from_words(v: FloatArray, k: IntArray, words: Sequence[int] | Words) -> int:
    """The report that these 20 words draw: a pure function, the same in JavaScript. Not part of the public API."""
    if len(words) != WORDS_PER_REPORT:
        raise InputError(f"A report takes {WORDS_PER_REPORT} words, not {len(words)}.")
    uniform = 0
    for word in words:
        uniform = (uniform << 64) | int(word)
    cumulative = list(accumulate(integer_weights(v, k)))
    threshold = (uniform * cumulative[-1]) >> _BITS
    return sum(total <= threshold for total in cumulative)


def probabilities(v: FloatArray, k: IntArray) -> FloatArray:
    """The distribution that :func:`cell_from_words` draws from, as doubles."""
    linear: FloatArray = np.ldexp(v, (k - k.max()).astype(np.int32))
    return linear / float(linear.sum())
