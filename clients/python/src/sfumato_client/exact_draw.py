"""Draw the report of one cell from 64-bit words: ``sfumato.collect.client.exact_draw``, number by number, no NumPy.

    -beta d = k ln 2 + r,  |r| <= (ln 2)/2,      weight(y) = [c(y) p(r)] 2**k,      p = the degree-13 Taylor sum of exp

Every step is +, -, *, floor or sqrt of doubles, which IEEE 754 defines to the last bit, so that these are the very
integers W(y) = weight(y) 2**1200 of the NumPy and the JavaScript client (golden file ``reports.json``). One report
takes 20 words, U = their big-endian concatenation, and is the first cell with
W(0) + ... + W(y) > floor(U (sum of W) / 2**1280). Why nothing is lost by that is in the docstring there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from sfumato_client.arrays import FloatArray, IntArray
from sfumato_client.errors import InputError
from sfumato_client.grid import Grid

WORDS_PER_REPORT = 20
_BITS = 64 * WORDS_PER_REPORT
_SHIFT = 1200

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # its last 21 bits are zero, so k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_INVERSE_FACTORIALS = tuple(1.0 / math.factorial(i) for i in range(14))


def weights(grid: Grid, output_weights: FloatArray, cell: int, *, beta_per_m: float) -> tuple[list[float], list[int]]:
    """The weight of every report from ``cell`` as (v, k), meaning v * 2**k."""
    row, column = divmod(cell, grid.columns)
    north = [(i - row) * grid.cell_height for i in range(grid.rows)]
    east = [(j - column) * grid.cell_width for j in range(grid.columns)]
    v, k = [], []
    c = iter(output_weights)
    for n in north:
        for e in east:
            exponent = -(beta_per_m * math.sqrt(n * n + e * e))
            power = math.floor(exponent * _LOG2_E + 0.5)
            r = (exponent - power * _LN2_HIGH) - power * _LN2_LOW
            series = _INVERSE_FACTORIALS[13]
            for coefficient in _INVERSE_FACTORIALS[12::-1]:
                series = series * r + coefficient
            v.append(next(c) * series)
            k.append(power)
    return v, k


def integer_weights(v: FloatArray, k: IntArray) -> list[int]:
    """W = v * 2**(k + 1200), exactly: a 53-bit integer shifted left."""
    out = []
    for value, power in zip(v, k, strict=True):
        mantissa, exponent = math.frexp(value)
        shift = exponent - 53 + power + _SHIFT
        if shift < 0:
            raise InputError("A weight of the channel is too small to be drawn exactly.", "Do not use this channel.")
        out.append(int(mantissa * 2.0**53) << shift)
    return out


def cell_from_words(v: FloatArray, k: IntArray, words: Sequence[int]) -> int:
    """The report that these 20 words draw: a pure function, the same in every client. Not part of the public API."""
    if len(words) != WORDS_PER_REPORT:
        raise InputError(f"A report takes {WORDS_PER_REPORT} words, not {len(words)}.")
    uniform = 0
    for word in words:
        uniform = (uniform << 64) | word
    cumulative = list(accumulate(integer_weights(v, k)))
    threshold = (uniform * cumulative[-1]) >> _BITS
    return sum(total <= threshold for total in cumulative)
