"""Unit Matérn-3/2 processes as two-state Markov chains, exact at any times: forwards, and between two known states.

With x = √3 Δt / l the scaled state s = (f, f' l/√3) has covariance I and moves by [Sarkka2019, Ch. 12]

    s(t + Δt) = A s(t) + N(0, Q),   A = e^{−x} [[1 + x, x], [−x, 1 − x]],   Q = I − A Aᵀ,
    Q₁₁ = 1 − e^{−2x}(1 + 2x + 2x²),   Q₁₂ = 2x² e^{−2x},   Q₂₂ = 1 − e^{−2x}(1 − 2x + 2x²).

Between a left state (x₁ before) and a right state (x₂ after) the state is Gaussian with precision
Q₁⁻¹ + A₂ᵀQ₂⁻¹A₂ and information Q₁⁻¹A₁s_left + A₂ᵀQ₂⁻¹s_right; both terms are positive, so nothing cancels however
close the times are.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled


@compiled()
def transition(x: float) -> tuple[float, float, float, float, float, float, float]:
    """A₁₁, A₁₂, A₂₁, A₂₂, Q₁₁, Q₁₂, Q₂₂ over a scaled step x ≥ 0."""
    if x > 350.0:  # e^{−2x} is zero in double precision
        return 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0
    e = math.exp(-x)
    e2 = e * e
    y = 2.0 * x
    if y < 0.5:  # 1 − e^{−y}(1 + y + y²/2) = e^{−y} Σ_{k≥3} y^k/k!, without cancelling
        term = y * y * y / 6.0
        total = term
        k = 4.0
        while term > 1e-18 * total and k < 40.0:
            term *= y / k
            total += term
            k += 1.0
        q11 = e2 * total
    else:
        q11 = 1.0 - e2 * (1.0 + y + 0.5 * y * y)
    q22 = -math.expm1(-y) + e2 * (y - 0.5 * y * y)
    return e * (1.0 + x), e * x, -e * x, e * (1.0 - x), q11, 0.5 * y * y * e2, q22


@compiled()
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
    last = np.full(scales, -1.0)
    held = np.zeros((scales, 7))
    for i in range(steps_s.size):
        step = steps_s[i]
        east = white * normals[i, 4 * scales]
        north = white * normals[i, 4 * scales + 1]
        for m in range(scales):
            if step < 0.0:
                for c in range(2):
                    state[m, c, 0] = normals[i, 4 * m + 2 * c]
                    state[m, c, 1] = normals[i, 4 * m + 2 * c + 1]
            else:
                if step != last[m]:
                    a11, a12, a21, a22, q11, q12, q22 = transition(rates[m] * step)
                    l11 = math.sqrt(q11)
                    l21 = q12 / l11 if l11 > 0.0 else 0.0
                    held[m, 0], held[m, 1], held[m, 2], held[m, 3] = a11, a12, a21, a22
                    held[m, 4], held[m, 5], held[m, 6] = l11, l21, math.sqrt(max(q22 - l21 * l21, 0.0))
                    last[m] = step
                for c in range(2):
                    f, d = state[m, c, 0], state[m, c, 1]
                    z1, z2 = normals[i, 4 * m + 2 * c], normals[i, 4 * m + 2 * c + 1]
                    state[m, c, 0] = held[m, 0] * f + held[m, 1] * d + held[m, 4] * z1
                    state[m, c, 1] = held[m, 2] * f + held[m, 3] * d + held[m, 5] * z1 + held[m, 6] * z2
            east += amplitudes[m] * state[m, 0, 0]
            north += amplitudes[m] * state[m, 1, 0]
        out[i, 0] = east
        out[i, 1] = north


@compiled()
def _between(
    x1: float, x2: float
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """Left matrix (4 numbers), right matrix (4) and Cholesky factor (3) of the state between two states."""
    a11, a12, a21, a22, q11, q12, q22 = transition(x1)
    det = q11 * q22 - q12 * q12
    p11, p12, p22 = q22 / det, -q12 / det, q11 / det  # Q₁⁻¹
    b11, b12, b21, b22, r11, r12, r22 = transition(x2)
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


@compiled()
def fill_between(
    times_ms: IntArray,
    left: IntArray,
    right: IntArray,
    rates_per_ms: FloatArray,
    normals: FloatArray,
    states: FloatArray,
) -> None:
    """Draw ``states`` (n, M, 2, 2) of nodes 2.. in order, each between its ``left`` and ``right`` node.

    Nodes 0 and 1 are the two far ends of time, drawn from the stationary distribution. Row i of ``normals`` holds,
    per scale, east z₁ z₂ then north z₁ z₂.
    """
    scales = rates_per_ms.size
    for i in range(times_ms.size):
        for m in range(scales):
            if i < 2:
                for c in range(2):
                    states[i, m, c, 0] = normals[i, 4 * m + 2 * c]
                    states[i, m, c, 1] = normals[i, 4 * m + 2 * c + 1]
                continue
            a, b = left[i], right[i]
            k = _between(
                rates_per_ms[m] * float(times_ms[i] - times_ms[a]), rates_per_ms[m] * float(times_ms[b] - times_ms[i])
            )
            for c in range(2):
                fa, da, fb, db = states[a, m, c, 0], states[a, m, c, 1], states[b, m, c, 0], states[b, m, c, 1]
                z1, z2 = normals[i, 4 * m + 2 * c], normals[i, 4 * m + 2 * c + 1]
                states[i, m, c, 0] = k[0] * fa + k[1] * da + k[4] * fb + k[5] * db + k[8] * z1
                states[i, m, c, 1] = k[2] * fa + k[3] * da + k[6] * fb + k[7] * db + k[9] * z1 + k[10] * z2


@compiled()
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
