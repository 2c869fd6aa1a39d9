"""How much smaller than noise is what is left of a path after a straight line in each window: compiled, in O(n).

The noise is a Markov process (:mod:`sfumato.tracks.priors.markov_steps`) seen through windows of a few block means b.
In each window, rows R that see no straight line leave Rb; given the windows before, Rb is Gaussian with mean RBa and
covariance RCRᵀ = LLᵀ, a being the state that the windows before tell, B and C what follows from it. e = L⁻¹(Rb - RBa)
are then independent N(0, 1) over all windows: the same numbers as from one dense Cholesky factor of all rows.

*Rounding* of positions by at most h each moves e by at most |L⁻¹R|·h + |L⁻¹RB|·u, where u bounds how far it moves a:
u ← |Φ - G L⁻¹RB| u + |G L⁻¹R| h, Φ the transition over a window and G the gain. The bound is carried in the basis
(f, f + f'/λ, f + 2f'/λ + f''/λ²), in which Φ has no negative entries and so does not grow. No row of the inverse is
longer than 1/√ψ, ψ the white variance (Cauchy and Schwarz), which bounds it too.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import math

import numpy as np

from sfumato.base.compiled import compile_loop
from sfumato.tracks.priors.markov_loops import _begin
from sfumato.tracks.priors.markov_steps import matern32, transition

WINDOW = 5
_jit = compile_loop(error_model="numpy", nogil=True)


@_jit
def _orthogonal(basis, row):
    """Take from a row of unit-free numbers what those before it see, and make it of length 1; how much was left."""
    left = 0.0
    for _ in range(2):
        for k in range(row):
            along = 0.0
            for i in range(basis.shape[1]):
                along += basis[k, i] * basis[row, i]
            for i in range(basis.shape[1]):
                basis[row, i] -= along * basis[k, i]
        length = 0.0
        for i in range(basis.shape[1]):
            length += basis[row, i] ** 2
        length = math.sqrt(length)
        left = length if left == 0.0 else left
        for i in range(basis.shape[1]):
            basis[row, i] /= max(length, 1e-300)
    return left


@_jit
def _left_of_line(times, rows, basis):
    """Fill ``rows`` with orthonormal polynomials of time that see no straight line, from the highest degree down."""
    size = times.size
    middle, reach = times.mean(), 0.0
    for i in range(size):
        basis[0, i] = 1.0 / math.sqrt(size)
        basis[1, i] = times[i] - middle
        reach = max(reach, abs(basis[1, i]))
    length = 0.0
    for i in range(size):  # one moment: nothing but the mean is taken away
        basis[1, i] = basis[1, i] / reach if reach > 0.5e-9 else i - 0.5 * (size - 1)
        length += basis[1, i] ** 2
    for i in range(size):
        basis[1, i] /= math.sqrt(length)
    for row in range(2, size):  # the next power of time; where times repeat, the unit vector of which most is left
        for i in range(size):
            basis[row, i] = basis[1, i] ** row * size ** (0.5 * (row - 1))
        if _orthogonal(basis, row) < 1e-3:
            best, most = 0, -1.0
            for unit in range(size):
                left = 1.0
                for k in range(row):
                    left -= basis[k, unit] ** 2
                if left > most:
                    best, most = unit, left
            for i in range(size):
                basis[row, i] = 1.0 if i == best else 0.0
            _orthogonal(basis, row)
        for i in range(size):
            rows[size - 1 - row, i] = basis[row, i]


@_jit
def _to_basis(states, M):
    """M ← TM in place, T the basis (f, f + f'/λ, f + 2f'/λ + f''/λ²) of every component."""
    o = 0
    for p in states:
        for col in range(M.shape[1]):
            if p == 3:
                M[o + 2, col] += 2.0 * M[o + 1, col] + M[o, col]
            if p >= 2:
                M[o + 1, col] += M[o, col]
        o += p


@_jit
def _from_basis(states, M):
    """Mᵀ ← MᵀT⁻¹ in place."""
    o = 0
    for p in states:
        for col in range(M.shape[1]):
            if p == 3:
                M[o, col] += M[o + 2, col] - M[o + 1, col]
                M[o + 1, col] -= 2.0 * M[o + 2, col]
            elif p == 2:
                M[o, col] -= M[o + 1, col]
        o += p


@_jit
def _whiten(rows, C, L, W):
    """W = L⁻¹R with LLᵀ = RCRᵀ."""
    kept, size = rows.shape
    for i in range(kept):
        for j in range(i + 1):
            s = 0.0
            for k in range(size):
                for m in range(size):
                    s += rows[i, k] * C[min(k, m), max(k, m)] * rows[j, m]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s / L[j, j] if i > j else math.sqrt(s)
    for i in range(kept):
        for k in range(size):
            s = rows[i, k]
            for j in range(i):
                s -= L[i, j] * W[j, k]
            W[i, k] = s / L[i, i]


@_jit
def _over(lag, p, rate, variance, c, As, Qs):
    """Fill A and Q of a component for a lag in seconds."""
    if p == 2:  # without a view of them, which takes longer than the numbers
        a = matern32(rate * lag)
        As[c, 0, 0], As[c, 0, 1], As[c, 1, 0], As[c, 1, 1] = a[0], a[1], a[2], a[3]
        Qs[c, 0, 0], Qs[c, 0, 1], Qs[c, 1, 1] = variance * a[4], variance * a[5], variance * a[6]
        return
    transition(p, rate * lag, As[c], Qs[c])
    for i in range(p):
        for j in range(p):
            Qs[c, i, j] *= variance


@_jit
def _advance_slowly(o, p, A, Q, phi, X, N, blocks, room):
    """Φ ← A Φ, X ← A X (the first ``blocks`` columns) and N ← A N Aᵀ + Q, of a component with p states from o on."""
    for M, width in ((phi, p), (X, blocks), (N, p)):
        for col in range(width):
            for i in range(p):
                room[i, 0] = 0.0
                for j in range(p):
                    room[i, 0] += A[i, j] * M[o + j, col]
            for i in range(p):
                M[o + i, col] = room[i, 0]
    for i in range(p):
        for j in range(p):
            room[i, j] = Q[i, j]
            for k in range(p):
                room[i, j] += N[o + i, k] * A[j, k]
    for i in range(p):
        for j in range(p):
            N[o + i, j] = room[i, j]


@_jit
def _advance(states, offsets, As, Qs, phi, X, N, blocks, room):
    """The same, component by component: Matérn 3/2, of which most noise is, in a tenth of the time."""
    for c in range(states.size):
        o = offsets[c]
        if states[c] != 2:
            _advance_slowly(o, states[c], As[c], Qs[c], phi, X, N, blocks, room)
            continue
        a00, a01, a10, a11 = As[c, 0, 0], As[c, 0, 1], As[c, 1, 0], As[c, 1, 1]
        for j in range(2):
            s0, s1 = phi[o, j], phi[o + 1, j]
            phi[o, j] = a00 * s0 + a01 * s1
            phi[o + 1, j] = a10 * s0 + a11 * s1
        for j in range(blocks):
            s0, s1 = X[o, j], X[o + 1, j]
            X[o, j] = a00 * s0 + a01 * s1
            X[o + 1, j] = a10 * s0 + a11 * s1
        n00, n01, n11 = N[o, 0], N[o, 1], N[o + 1, 1]
        t00, t01, t10, t11 = a00 * n00 + a01 * n01, a00 * n01 + a01 * n11, a10 * n00 + a11 * n01, a10 * n01 + a11 * n11
        N[o, 0] = t00 * a00 + t01 * a01 + Qs[c, 0, 0]
        N[o, 1] = t00 * a10 + t01 * a11 + Qs[c, 0, 1]
        N[o + 1, 0] = N[o, 1]
        N[o + 1, 1] = t10 * a10 + t11 * a11 + Qs[c, 1, 1]


@_jit
def _turn(states, offsets, phi, N, P, T):
    """P ← Φ P Φᵀ + N for a Φ and an N of blocks; T is room."""
    d = P.shape[0]
    for c in range(states.size):
        o, p = offsets[c], states[c]
        for i in range(p):
            for col in range(d):
                s = 0.0
                for j in range(p):
                    s += phi[o + i, j] * P[o + j, col]
                T[o + i, col] = s
    for c in range(states.size):
        o, p = offsets[c], states[c]
        for row in range(d):
            for i in range(p):
                s = 0.0
                for j in range(p):
                    s += T[row, o + j] * phi[o + i, j]
                P[row, o + i] = s
        for i in range(p):
            for j in range(p):
                P[o + i, o + j] += N[o + i, j]


@_jit
def whiten_windows(times, first, stride, paths, form, among, half_step):
    """e of every window, (windows, rows, columns), and how far rounding by ``half_step`` moves it, (windows, rows).

    Of the moments from ``first`` on in steps of ``stride``, in means of ``among``; windows end with the last moment.
    Sorted times, at least three blocks; the white variance is above 0.
    """
    n = (times.size - first + stride - 1) // stride
    m = paths.shape[1]
    size = min(WINDOW, n // among)
    kept, windows = size - 2, n // among // size
    first += stride * (n - windows * size * among)
    d = 0
    for p in form.states:
        d += p
    w = _begin(form, 0)
    states, rates, variances, white_m2 = form.states, form.rates_per_s, form.variances_m2, form.white_m2
    offsets, As, Qs, parts, last = w.offsets, w.As, w.Qs, len(form.states), -1.0
    # From the last moment of a window on: Φ, of each component; what is new since, and its covariance with the blocks.
    phi, N, X, P = np.zeros((d, 3)), np.zeros((d, 3)), np.zeros((d, size)), w.P
    known, x, T = np.zeros((d, size)), np.zeros((d, size)), w.T
    room = np.zeros((3, 3))
    a, fresh, b = np.zeros((d, m)), np.zeros((d, m)), np.zeros((size, m))
    C, B, when = np.zeros((size, size)), np.zeros((size, d)), np.zeros(size)
    rows, basis = np.zeros((kept, size)), np.zeros((size, size))
    L, W, V, G = np.zeros((kept, kept)), np.zeros((kept, size)), np.zeros((kept, d)), np.zeros((d, kept))
    u, moved, closed, turned = np.zeros(d), np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    seen, gained = np.zeros((d, kept)), np.zeros((d, kept))
    out, slack = np.zeros((windows, kept, m)), np.zeros((windows, kept))
    per, t = 1.0 / among, first
    for window in range(windows):
        phi[:, :] = 0.0
        N[:, :] = 0.0
        X[:, :] = 0.0
        C[:, :] = 0.0
        B[:, :] = 0.0
        b[:, :] = 0.0
        when[:] = 0.0
        for c in range(parts):
            for i in range(states[c]):
                phi[offsets[c] + i, i] = 1.0
        for k in range(size):
            for _ in range(among):
                if d > 0 and t > first:
                    lag = times[t] - times[t - stride]
                    if lag != last:
                        for c in range(parts):
                            _over(lag, states[c], rates[c], variances[c], c, As, Qs)
                        last = lag
                    _advance(states, offsets, As, Qs, phi, X, N, k + 1, room)
                when[k] += per * (times[t] - times[first])
                C[k, k] += per * per * white_m2
                for c in range(parts):
                    o = offsets[c]
                    for j in range(k):
                        C[j, k] += per * X[o, j]
                    C[k, k] += per * (2.0 * X[o, k] + per * N[o, 0])
                    for i in range(states[c]):
                        B[k, o + i] += per * phi[o, i]
                        X[o + i, k] += per * N[o + i, 0]
                for col in range(m):
                    b[k, col] += per * paths[t, col]
                t += stride
        # The state known so far comes in again: C ← C + B P Bᵀ, x = X + Φ P Bᵀ, P ← Φ P Φᵀ + N.
        for i in range(d):
            for k in range(size):
                s = 0.0
                for j in range(d):
                    s += P[i, j] * B[k, j]
                known[i, k] = s
        for k in range(size):
            for j in range(k + 1):
                for i in range(d):
                    C[j, k] += B[j, i] * known[i, k]
        for c in range(parts):
            o, p = offsets[c], states[c]
            for i in range(p):
                for k in range(size):
                    s = X[o + i, k]
                    for j in range(p):
                        s += phi[o + i, j] * known[o + j, k]
                    x[o + i, k] = s
        _turn(states, offsets, phi, N, P, T)
        _left_of_line(when, rows, basis)
        _whiten(rows, C, L, W)
        for i in range(kept):
            for j in range(d):
                s = 0.0
                g = 0.0
                for k in range(size):
                    s += W[i, k] * B[k, j]
                    g += W[i, k] * x[j, k]
                V[i, j] = s
                G[j, i] = g
        for i in range(d):
            for j in range(i + 1):
                s = P[i, j]
                for k in range(kept):
                    s -= G[i, k] * G[j, k]
                P[i, j] = s
                P[j, i] = s
        e = out[window]
        for i in range(kept):
            for k in range(size):
                for col in range(m):
                    e[i, col] += W[i, k] * b[k, col]
            for j in range(d):
                for col in range(m):
                    e[i, col] -= V[i, j] * a[j, col]
        fresh[:, :] = 0.0
        for c in range(parts):
            o = offsets[c]
            for i in range(states[c]):
                for j in range(states[c]):
                    for col in range(m):
                        fresh[o + i, col] += phi[o + i, j] * a[o + j, col]
        for i in range(d):
            for k in range(kept):
                for col in range(m):
                    fresh[i, col] += G[i, k] * e[k, col]
        a[:, :] = fresh
        # How far rounding moves e, and the state that the next window begins with.
        most = math.sqrt((window + 1) * size * among / white_m2) * half_step
        for i in range(d):
            for k in range(kept):
                seen[i, k], gained[i, k] = V[k, i], G[i, k]
            for j in range(d):
                s = 0.0
                for k in range(kept):
                    s -= G[i, k] * V[k, j]
                turned[j, i] = s
        for c in range(parts):
            o = offsets[c]
            for i in range(states[c]):
                for j in range(states[c]):
                    turned[o + j, o + i] += phi[o + i, j]
        _from_basis(form.states, seen)
        _from_basis(form.states, turned)
        closed[:, :] = turned.T
        _to_basis(form.states, closed)
        _to_basis(form.states, gained)
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += abs(closed[i, j]) * u[j]
            for k in range(size):
                g = 0.0
                for j in range(kept):
                    g += gained[i, j] * W[j, k]
                s += abs(g) * half_step
            moved[i] = s
        for i in range(kept):
            s = 0.0
            for k in range(size):
                s += abs(W[i, k]) * half_step
            for j in range(d):
                s += abs(seen[j, i]) * u[j]
            slack[window, i] = min(s, most)
        u[:] = moved
    return out, slack
