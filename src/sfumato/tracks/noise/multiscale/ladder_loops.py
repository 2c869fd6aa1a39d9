"""The compiled loops of multiscale noise for many people at once: words to normals, and all rungs one step further.

*Normals.* The ziggurat [Marsaglia2000] with 256 layers, in Doornik's form: the density is cut into 255 rectangles and
a base with the tail, all of one area v. Of one 64-bit word, 8 bits choose the layer, one the sign, and 53 others a
uniform u; |x| = u·x_i lies under the density for sure when u < x_{i+1}/x_i (98.5 of 100 times), else one further
uniform decides exactly, and beyond r = 3.654 the tail is Marsaglia's: r − log(u)/r, accepted when −2 log(u') exceeds
the square of what was added. So the law is the normal one to the 53 bits of its uniforms, tails included: nothing is
cut off before r − log(2⁻⁵³)/r = 13.7 standard deviations, where 10⁻⁴² of the mass lies.

*Rungs.* Each is the two-state chain of :mod:`~sfumato.tracks.noise.multiscale.process`; a row of normals holds
east f, east f', north f, north f' of all rungs, then white east, white north. Steps are whole milliseconds, so few
differ, and the matrices of a step are kept in a table by step: what stands there is what would be computed.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled
from sfumato.base.randomness import Words
from sfumato.tracks.noise.multiscale.process import transition

LAYERS = 256
TAIL_FROM = 3.6541528853610088
SLOTS = 1021  # a prime: steps are multiples of seconds
_AREA = TAIL_FROM * math.exp(-0.5 * TAIL_FROM**2) + math.sqrt(math.pi / 2.0) * math.erfc(TAIL_FROM / math.sqrt(2.0))


def _edges() -> FloatArray:
    edges = np.zeros(LAYERS + 1)
    edges[0], edges[1] = _AREA / math.exp(-0.5 * TAIL_FROM**2), TAIL_FROM
    for layer in range(2, LAYERS):
        height = _AREA / edges[layer - 1] + math.exp(-0.5 * edges[layer - 1] ** 2)
        edges[layer] = math.sqrt(-2.0 * math.log(height))
    return edges


EDGES = _edges()
_SURE = EDGES[1:] / EDGES[:-1]
# The same in whole numbers of 2⁻⁵³, exactly: below which the uniform is sure, and what it is multiplied by.
_SURE_BELOW, _STEPS = np.ceil(_SURE * 2.0**53).astype(np.int64), EDGES[:-1] * 2.0**-53
_HEIGHTS = np.exp(-0.5 * EDGES**2)
_UNIT = 2.0**-53


@compiled(nogil=True, inline="always")
def _uniform(word: np.uint64) -> float:
    """In (0, 1], of the upper 53 bits."""
    return (np.float64(word >> np.uint64(11)) + 1.0) * _UNIT


@compiled(nogil=True)
def _rarely(word: np.uint64, words: Words, at: int, end: int) -> tuple[float, int]:
    """The normal that begins with ``word`` where its layer does not settle it, and the next word's place (-1: none)."""
    while True:
        layer = np.int64(word & np.uint64(255))
        x = np.float64(word >> np.uint64(11)) * _UNIT * EDGES[layer]
        if np.float64(word >> np.uint64(11)) * _UNIT < _SURE[layer]:
            return (-x if word & np.uint64(256) else x), at
        if layer == 0:
            while True:
                if at + 2 > end:
                    return 0.0, -1
                beyond = -math.log(_uniform(words[at])) / TAIL_FROM
                twice = -2.0 * math.log(_uniform(words[at + 1]))
                at += 2
                if twice > beyond * beyond:
                    x = TAIL_FROM + beyond
                    return (-x if word & np.uint64(256) else x), at
        if at + 2 > end:
            return 0.0, -1
        low, high = _HEIGHTS[layer], _HEIGHTS[layer + 1]
        if low + _uniform(words[at]) * (high - low) < math.exp(-0.5 * x * x):
            return (-x if word & np.uint64(256) else x), at + 1
        word = words[at + 1]
        at += 2


@compiled(nogil=True)
def fill_normals(words: Words, at: int, end: int, out: FloatArray, count: int) -> int:
    """``count`` standard normals from the words of ``at`` .. ``end``; the next word's place, -1 where they ran out."""
    i = 0
    while at >= 0 and at + (count - i) <= end:
        word = np.uint64(0)
        while i < count:  # indices without a sign: nothing is counted from the end
            word = words[np.uint64(at)]
            layer, u = word & np.uint64(255), np.int64(word >> np.uint64(11))
            if u >= _SURE_BELOW[layer]:
                break
            x = np.float64(u) * _STEPS[layer]
            out[np.uint64(i)] = -x if word & np.uint64(256) else x
            at += 1
            i += 1
        if i == count:
            return at
        out[i], at = _rarely(word, words, at + 1, end)
        i += 1
    return -1


@compiled(nogil=True)
def _matrices(step_s: float, rates: FloatArray, held: FloatArray) -> None:
    for m in range(rates.size):
        a11, a12, a21, a22, q11, q12, q22 = transition(rates[m] * step_s)
        l11 = math.sqrt(q11)
        l21 = q12 / l11 if l11 > 0.0 else 0.0
        held[0, m], held[1, m], held[2, m], held[3, m] = a11, a12, a21, a22
        held[4, m], held[5, m], held[6, m] = l11, l21, math.sqrt(max(q22 - l21 * l21, 0.0))


@compiled(nogil=True)
def advance_people(
    times_ms: IntArray,
    row_at: IntArray,
    row_end: IntArray,
    words: Words,
    word_at: IntArray,
    word_end: IntArray,
    rates: FloatArray,
    amplitudes: FloatArray,
    white: float,
    constant: float,
    state: FloatArray,
    begun: IntArray,
    held: FloatArray,
    held_step: IntArray,
    out: FloatArray,
) -> None:
    """Each person's noise from row ``row_at`` on, until their rows or their words end; leaves both places there.

    ``times_ms`` never runs backwards within a person; equal times get equal noise. ``state`` is (people, 4 M + 2): the
    chains and the constant pair, of which ``begun`` says whether they were drawn. ``held`` (SLOTS, 7, M) keeps the
    matrices of the steps in ``held_step`` (-1 where there are none) from call to call.
    """
    scales = rates.size
    width = 4 * scales + 2
    z = np.empty(width)
    for p in range(row_at.size):
        row, at, end = row_at[p], word_at[p], word_end[p]
        s = state[p]
        if begun[p] == 0:
            after = fill_normals(words, at, end, z, 2)
            if after < 0:
                continue
            s[4 * scales], s[4 * scales + 1], at = constant * z[0], constant * z[1], after
            begun[p] = 1
        while row < row_end[p]:
            if begun[p] == 2 and times_ms[row] == times_ms[row - 1]:
                out[row, 0], out[row, 1] = out[row - 1, 0], out[row - 1, 1]
                row += 1
                continue
            after = fill_normals(words, at, end, z, width)
            if after < 0:
                break
            at = after
            if begun[p] == 1:
                for k in range(4 * scales):
                    s[k] = z[k]
                begun[p] = 2
            else:
                step = times_ms[row] - times_ms[row - 1]
                slot = step % SLOTS
                if held_step[slot] != step:
                    _matrices(step / 1000.0, rates, held[slot])
                    held_step[slot] = step
                h = held[slot]
                for c in range(0, 4 * scales, 2 * scales):
                    for m in range(scales):
                        f, d = s[c + m], s[c + scales + m]
                        z1, z2 = z[c + m], z[c + scales + m]
                        s[c + m] = h[0, m] * f + h[1, m] * d + h[4, m] * z1
                        s[c + scales + m] = h[2, m] * f + h[3, m] * d + h[5, m] * z1 + h[6, m] * z2
            east = s[4 * scales] + white * z[4 * scales]
            north = s[4 * scales + 1] + white * z[4 * scales + 1]
            for m in range(scales):
                east += amplitudes[m] * s[m]
                north += amplitudes[m] * s[2 * scales + m]
            out[row, 0], out[row, 1] = east, north
            row += 1
        row_at[p], word_at[p] = row, at
