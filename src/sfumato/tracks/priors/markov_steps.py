"""The compiled steps of Markov processes in time: exact transitions of Matérn 1/2, 3/2 and 5/2, and what needs no more.

A component is a Matérn process of half-integer order with p = 1, 2 or 3 states (f, f'/λ, f''/λ²), or a constant (rate
0, one state). In the unit-free lag x = λ d both the transition A(x) and the innovation covariance Q(x) are closed
forms; Q is an integral of e^{-2u} u^k, evaluated by its series for small x and never as a difference, so lags of a
microsecond and of a century are both exact [Sarkka2019].
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import math

import numpy as np

from sfumato.base.compiled import compile_loop

_jit = compile_loop(error_model="numpy")


@_jit
def _tail(order, y):
    """1 - e^{-y} Σ_{j≤order} y^j/j!, without cancellation."""
    if y > 3.0 + order:
        term = 1.0
        total = 1.0
        for j in range(1, order + 1):
            term *= y / j
            total += term
        return 1.0 - math.exp(-y) * total
    term = 1.0
    for j in range(1, order + 2):
        term *= y / j
    total = 0.0
    j = order + 1
    while True:
        total += term
        j += 1
        term *= y / j
        if term <= 1e-17 * total or j > 200:
            break
    return math.exp(-y) * total


@_jit
def _moment(k, x):
    """∫_0^x e^{-2u} u^k du = k!/2^{k+1} · tail."""
    factor = 0.5
    for j in range(1, k + 1):
        factor *= j / 2.0
    return factor * _tail(k, 2.0 * x)


@_jit
def matern32_mean(x):
    """A of the two Matérn-3/2 states: A₁₁, A₁₂, A₂₁, A₂₂ over the unit-free lag x ≥ 0."""
    e = math.exp(-x)
    return e * (1.0 + x), e * x, -e * x, e * (1.0 - x)


@_jit
def matern32(x):
    """A₁₁, A₁₂, A₂₁, A₂₂ and Q₁₁, Q₁₂, Q₂₂ of the two Matérn-3/2 states [Sarkka2019, Ch. 12]. Q = I - A Aᵀ is

    Q₁₁ = 1 - e^{-2x}(1 + 2x + 2x²),   Q₁₂ = 2x² e^{-2x},   Q₂₂ = 1 - e^{-2x}(1 - 2x + 2x²).
    """
    if x > 350.0:  # e^{-2x} is zero in double precision
        return 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0
    a11, a12, a21, a22 = matern32_mean(x)
    e = math.exp(-x)
    e2 = e * e
    y = 2.0 * x
    if y < 0.5:  # 1 - e^{-y}(1 + y + y²/2) = e^{-y} Σ_{k≥3} y^k/k!, without cancelling
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
    return a11, a12, a21, a22, q11, 0.5 * y * y * e2, q22


@_jit
def matern52_mean(x, A):
    """Fill A (3, 3) of the three Matérn-5/2 states over the unit-free lag x ≥ 0."""
    e = math.exp(-x)
    h = 0.5 * x * x
    A[0, 0] = e * (1.0 + x + h)
    A[0, 1] = e * (x + 2.0 * h)
    A[0, 2] = e * h
    A[1, 0] = -e * h
    A[1, 1] = e * (1.0 + x - 2.0 * h)
    A[1, 2] = e * (x - h)
    A[2, 0] = e * (h - x)
    A[2, 1] = e * (2.0 * h - 3.0 * x)
    A[2, 2] = e * (1.0 - 2.0 * x + h)


@_jit
def transition(states, x, A, Q):
    """Fill A and Q (3, 3) for a unit-variance component over the unit-free lag x ≥ 0; x = 0 for a constant."""
    if states == 1:
        A[0, 0] = math.exp(-x)
        Q[0, 0] = -math.expm1(-2.0 * x)
    elif states == 2:
        A[0, 0], A[0, 1], A[1, 0], A[1, 1], Q[0, 0], Q[0, 1], Q[1, 1] = matern32(x)
        Q[1, 0] = Q[0, 1]
    else:
        for k in range(5):  # in a loop: numba compiles a function anew for every number that stands in a call
            A[k // 3, k % 3] = _moment(k, x)
        m0, m1, m2, m3, m4 = A[0, 0], A[0, 1], A[0, 2], A[1, 0], A[1, 1]
        matern52_mean(x, A)
        q = 16.0 / 3.0
        Q[0, 0] = q * 0.25 * m4
        Q[0, 1] = q * (0.5 * m3 - 0.25 * m4)
        Q[0, 2] = q * (0.5 * m2 - m3 + 0.25 * m4)
        Q[1, 1] = q * (m2 - m3 + 0.25 * m4)
        Q[1, 2] = q * (m1 - 2.5 * m2 + 1.5 * m3 - 0.25 * m4)
        Q[2, 2] = q * (m0 - 4.0 * m1 + 5.0 * m2 - 2.0 * m3 + 0.25 * m4)
        Q[1, 0], Q[2, 0], Q[2, 1] = Q[0, 1], Q[0, 2], Q[1, 2]


@_jit
def stationary(states, P):
    """The unit-variance stationary covariance of the scaled states."""
    for i in range(3):
        for j in range(3):
            P[i, j] = 0.0
    P[0, 0] = 1.0
    if states == 2:
        P[1, 1] = 1.0
    elif states == 3:
        P[1, 1] = 1.0 / 3.0
        P[0, 2] = -1.0 / 3.0
        P[2, 0] = -1.0 / 3.0
        P[2, 2] = 1.0


@_jit
def _lower(states, Q, L):
    """Cholesky of a 1-3 state covariance whose entries may span a hundred orders of magnitude."""
    for i in range(states):
        for j in range(i + 1):
            s = Q[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = math.sqrt(s) if s > 0.0 else 0.0
            else:
                L[i, j] = s / L[j, j] if L[j, j] > 0.0 else 0.0


@_jit
def sample_component(times, states, rate, variance, normals, out):
    """Add one component's path to ``out`` (n, m); ``normals`` is (n, states, m); ``times`` sorted."""
    n, m = out.shape
    A = np.zeros((3, 3))
    Q = np.zeros((3, 3))
    L = np.zeros((3, 3))
    s = np.zeros((3, m))
    fresh = np.zeros((3, m))
    stationary(states, Q)
    _lower(states, Q, L)
    sd = math.sqrt(variance)
    last = -1.0
    for t in range(n):
        if t > 0:
            lag = times[t] - times[t - 1]
            if lag != last:
                transition(states, rate * lag, A, Q)
                _lower(states, Q, L)
                last = lag
        for col in range(m):
            for i in range(states):
                x = 0.0
                if t > 0:
                    for j in range(states):
                        x += A[i, j] * s[j, col]
                for j in range(i + 1):
                    x += L[i, j] * normals[t, j, col]
                fresh[i, col] = x
            for i in range(states):
                s[i, col] = fresh[i, col]
            out[t, col] += sd * s[0, col]


@_jit
def sweep(steps, rate, poly, x, out):
    """y_i = Σ_{j<i} p(t_i - t_j) e^{-rate (t_i - t_j)} x_j with p of degree ≤ 2, by moments of (t_i - t_j)."""
    zeroth = first = second = 0.0
    out[0] = 0.0
    for i in range(1, x.size):
        d = steps[i - 1]
        zeroth += x[i - 1]
        decay = np.exp(-rate * d)
        second = decay * (second + 2 * d * first + d * d * zeroth)
        first = decay * (first + d * zeroth)
        zeroth = decay * zeroth
        total = poly[0] * zeroth
        if poly.size > 1:
            total += poly[1] * first
        if poly.size > 2:
            total += poly[2] * second
        out[i] = total
