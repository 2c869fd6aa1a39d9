"""The compiled loops of multiscale noise: words to normals, every rung one step further, and states between two others.

*Normals.* The ziggurat [Marsaglia2000] with 256 layers, in Doornik's form: the density is cut into 255 rectangles and
a base with the tail, all of one area v. Of one 64-bit word, 8 bits choose the layer, one the sign, and 53 others a
uniform u; |x| = u·x_i lies under the density for sure when u < x_{i+1}/x_i (98.5 of 100 times), else one further
uniform decides exactly, and beyond r = 3.654 the tail is Marsaglia's: r − log(u)/r, accepted when −2 log(u') exceeds
the square of what was added. So the law is the normal one to the 53 bits of its uniforms, tails included: nothing is
cut off before r − log(2⁻⁵³)/r = 13.7 standard deviations, where 10⁻⁴² of the mass lies.

*Rungs.* Each is a unit Matérn-3/2 process, whose scaled state s = (f, f' l/√3) moves by the exact A and Q of
:func:`~sfumato.tracks.priors.markov_steps.matern32`, x = √3 Δt / l. For many people a row of normals holds east f,
east f', north f, north f' of all rungs, then white east, white north. Steps are whole milliseconds, so few differ, and
the matrices of a step are kept in a table by step: what stands there is what would be computed.

*Between.* Between a left state (x₁ before) and a right state (x₂ after) the state is Gaussian with precision
Q₁⁻¹ + A₂ᵀQ₂⁻¹A₂ and information Q₁⁻¹A₁s_left + A₂ᵀQ₂⁻¹s_right; both terms are positive, so nothing cancels however
close the times are.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.base.randomness import Words
from sfumato.tracks.priors.markov_steps import matern32

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


@compile_loop(nogil=True, inline="always")
def _uniform(word: np.uint64) -> float:
    """In (0, 1], of the upper 53 bits."""
    return (np.float64(word >> np.uint64(11)) + 1.0) * _UNIT


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
def _matrices(step_s: float, rates: FloatArray, held: FloatArray) -> None:
    """Fill ``held`` (7, M) with A and the Cholesky factor of Q of every rung over one step."""
    for m in range(rates.size):
        a11, a12, a21, a22, q11, q12, q22 = matern32(rates[m] * step_s)
        l11 = math.sqrt(q11)
        l21 = q12 / l11 if l11 > 0.0 else 0.0
        held[0, m], held[1, m], held[2, m], held[3, m] = a11, a12, a21, a22
        held[4, m], held[5, m], held[6, m] = l11, l21, math.sqrt(max(q22 - l21 * l21, 0.0))


@compile_loop(nogil=True)
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


@compile_loop()
def advance(
    steps_s: FloatArray,
    rates: FloatArray,
    amplitudes: FloatArray,
    white: float,
    state: FloatArray,
    normals: FloatArray,
    out: FloatArray,
) -> None:
    """Fill ``out`` (n, 2) with the sum of the processes after each step, and leave ``state`` (M, 2, 2) at the end.

    A negative step means "start here": the state is drawn from its stationary distribution. Row i of ``normals``
    holds, per scale, east z₁ z₂ then north z₁ z₂, and at its end the white draws east, north.
    """
    scales = rates.size
    last = -1.0
    held = np.zeros((7, scales))
    for i in range(steps_s.size):
        step = steps_s[i]
        if step >= 0.0 and step != last:
            _matrices(step, rates, held)
            last = step
        east = white * normals[i, 4 * scales]
        north = white * normals[i, 4 * scales + 1]
        for m in range(scales):
            if step < 0.0:
                for c in range(2):
                    state[m, c, 0] = normals[i, 4 * m + 2 * c]
                    state[m, c, 1] = normals[i, 4 * m + 2 * c + 1]
            else:
                for c in range(2):
                    f, d = state[m, c, 0], state[m, c, 1]
                    z1, z2 = normals[i, 4 * m + 2 * c], normals[i, 4 * m + 2 * c + 1]
                    state[m, c, 0] = held[0, m] * f + held[1, m] * d + held[4, m] * z1
                    state[m, c, 1] = held[2, m] * f + held[3, m] * d + held[5, m] * z1 + held[6, m] * z2
            east += amplitudes[m] * state[m, 0, 0]
            north += amplitudes[m] * state[m, 1, 0]
        out[i, 0] = east
        out[i, 1] = north


@compile_loop()
def _between(
    x1: float, x2: float
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """Left matrix (4 numbers), right matrix (4) and Cholesky factor (3) of the state between two states."""
    a11, a12, a21, a22, q11, q12, q22 = matern32(x1)
    det = q11 * q22 - q12 * q12
    p11, p12, p22 = q22 / det, -q12 / det, q11 / det  # Q₁⁻¹
    b11, b12, b21, b22, r11, r12, r22 = matern32(x2)
    det = r11 * r22 - r12 * r12
    i11, i12, i22 = r22 / det, -r12 / det, r11 / det  # Q₂⁻¹
    # A₂ᵀ Q₂⁻¹
    t11, t12 = b11 * i11 + b21 * i12, b11 * i12 + b21 * i22
    t21, t22 = b12 * i11 + b22 * i12, b12 * i12 + b22 * i22
    h11 = p11 + t11 * b11 + t12 * b21
    h12 = p12 + t11 * b12 + t12 * b22
    h22 = p22 + t21 * b12 + t22 * b22
    det = h11 * h22 - h12 * h12
    c11, c12, c22 = h22 / det, -h12 / det, h11 / det
    # c · Q₁⁻¹ A₁
    u11, u12 = p11 * a11 + p12 * a21, p11 * a12 + p12 * a22
    u21, u22 = p12 * a11 + p22 * a21, p12 * a12 + p22 * a22
    l11 = math.sqrt(c11)
    l21 = c12 / l11
    return (
        c11 * u11 + c12 * u21, c11 * u12 + c12 * u22, c12 * u11 + c22 * u21, c12 * u12 + c22 * u22,
        c11 * t11 + c12 * t21, c11 * t12 + c12 * t22, c12 * t11 + c22 * t21, c12 * t12 + c22 * t22,
        l11, l21, math.sqrt(max(c22 - l21 * l21, 0.0)),
    )  # fmt: skip


BETWEEN_SLOTS = 251  # a prime in which the powers of two differ: steps are halves of one another


@compile_loop()
def fill_between(
    times_ms: IntArray,
    left: IntArray,
    right: IntArray,
    rates_per_ms: FloatArray,
    normals: FloatArray,
    states: FloatArray,
    first: int,
    held_steps: IntArray,
    held: FloatArray,
) -> None:
    """Draw ``states`` (n, M, 2, 2) of nodes ``first``.. in order, each between its ``left`` and ``right`` node.

    Nodes 0 and 1 are the two far ends of time, drawn from the stationary distribution. Row i of ``normals`` holds,
    per scale, east z₁ z₂ then north z₁ z₂ of node ``first`` + i. ``held_steps`` (slots, 2) and ``held`` (slots, M, 11)
    keep the matrices of pairs of steps: what stands there is what would be computed.
    """
    scales = rates_per_ms.size
    for i in range(first, times_ms.size):
        z = normals[i - first]
        if i < 2:
            for m in range(scales):
                for c in range(2):
                    states[i, m, c, 0] = z[4 * m + 2 * c]
                    states[i, m, c, 1] = z[4 * m + 2 * c + 1]
            continue
        a, b = left[i], right[i]
        before, after = times_ms[i] - times_ms[a], times_ms[b] - times_ms[i]
        slot = (before * 31 + after) % BETWEEN_SLOTS
        h = held[slot]
        if held_steps[slot, 0] != before or held_steps[slot, 1] != after:
            held_steps[slot, 0], held_steps[slot, 1] = before, after
            for m in range(scales):
                k = _between(rates_per_ms[m] * float(before), rates_per_ms[m] * float(after))
                h[m, 0], h[m, 1], h[m, 2], h[m, 3], h[m, 4], h[m, 5] = k[0], k[1], k[2], k[3], k[4], k[5]
                h[m, 6], h[m, 7], h[m, 8], h[m, 9], h[m, 10] = k[6], k[7], k[8], k[9], k[10]
        for m in range(scales):
            for c in range(2):
                fa, da, fb, db = states[a, m, c, 0], states[a, m, c, 1], states[b, m, c, 0], states[b, m, c, 1]
                z1, z2 = z[4 * m + 2 * c], z[4 * m + 2 * c + 1]
                states[i, m, c, 0] = h[m, 0] * fa + h[m, 1] * da + h[m, 4] * fb + h[m, 5] * db + h[m, 8] * z1
                states[i, m, c, 1] = (
                    h[m, 2] * fa + h[m, 3] * da + h[m, 6] * fb + h[m, 7] * db + h[m, 9] * z1 + h[m, 10] * z2
                )


@compile_loop()
def bisect_to(
    queries_ms: IntArray, low_ms: int, high_ms: int, capacity: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The nodes that halving [low, high] passes on its way to every query (sorted, distinct, inside).

    Returns node times, the indices of each node's left and right end (nodes 0 and 1 are low and high) and each
    query's node. Which nodes a time depends on is fixed by the time alone, so the noise there never depends on the
    order of releases.
    """
    times = np.empty(capacity, np.int64)
    left = np.zeros(capacity, np.int64)
    right = np.zeros(capacity, np.int64)
    found = np.empty(queries_ms.size, np.int64)
    times[0], times[1] = low_ms, high_ms
    count = 2
    stack = np.empty((200, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 1, 0, queries_ms.size
    depth = 1
    while depth > 0:
        depth -= 1
        a, b, first, end = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if first >= end:
            continue
        middle = (times[a] + times[b]) // 2
        node = count
        times[node], left[node], right[node] = middle, a, b
        count += 1
        below = first + np.searchsorted(queries_ms[first:end], middle)
        above = below
        if below < end and queries_ms[below] == middle:
            found[below] = node
            above = below + 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = node, b, above, end
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = a, node, first, below
        depth += 1
    return times[:count], left[:count], right[:count], found
