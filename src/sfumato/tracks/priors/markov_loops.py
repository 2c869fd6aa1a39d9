"""The compiled filter and smoother behind :mod:`sfumato.tracks.priors.statespace`.

The observation is the sum of every component's first state plus white. The smoother is the disturbance form (r, N
backwards): no matrix is inverted, every step costs O(d²) for d states, and only one block of steps is stored at a time
(checkpoints every √n steps), so memory is O(√n d²).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.tracks.priors.markov_steps import stationary, transition

_jit = compile_loop(error_model="numpy")
_inlined = compile_loop(error_model="numpy", inline="always")  # a call would count references to every array of a walk


class _Walk(NamedTuple):
    """Where a filter stands: mean a (d, columns) and covariance P of the state, and the arrays that it works in."""

    a: FloatArray
    P: FloatArray
    offsets: IntArray  # where each component's states begin
    lag: FloatArray  # (1,): the lag that As and Qs are for
    As: FloatArray
    Qs: FloatArray
    T: FloatArray
    u: FloatArray
    K: FloatArray
    v: FloatArray


@_jit
def _begin(form, columns):
    """The walk before the first observation: every component stationary."""
    c = len(form.states)
    offsets = np.zeros(c, np.int64)
    d = 0
    for k in range(c):
        offsets[k] = d
        d += form.states[k]
    P = np.zeros((d, d))
    scratch = np.zeros((3, 3))
    for k in range(c):
        stationary(form.states[k], scratch)
        o = offsets[k]
        for i in range(form.states[k]):
            for j in range(form.states[k]):
                P[o + i, o + j] = form.variances_m2[k] * scratch[i, j]
    As, Qs = np.zeros((c, 3, 3)), np.zeros((c, 3, 3))
    room = np.zeros((d, d)), np.zeros(d), np.zeros(d), np.zeros(columns)
    return _Walk(np.zeros((d, columns)), P, offsets, np.full(1, -1.0), As, Qs, room[0], room[1], room[2], room[3])


@_jit
def _move(states, offsets, As, x, M, T):
    """x ← A x and M ← A M Aᵀ, block by block, for a symmetric M."""
    d = M.shape[0]
    for c in range(len(states)):
        o = offsets[c]
        p = states[c]
        for i in range(p):
            for k in range(d):
                s = 0.0
                for j in range(p):
                    s += As[c, i, j] * M[o + j, k]
                T[o + i, k] = s
        for col in range(x.shape[1]):
            s0 = x[o, col]
            if p == 1:
                x[o, col] = As[c, 0, 0] * s0
            elif p == 2:
                s1 = x[o + 1, col]
                x[o, col] = As[c, 0, 0] * s0 + As[c, 0, 1] * s1
                x[o + 1, col] = As[c, 1, 0] * s0 + As[c, 1, 1] * s1
            else:
                s1 = x[o + 1, col]
                s2 = x[o + 2, col]
                for i in range(3):
                    x[o + i, col] = As[c, i, 0] * s0 + As[c, i, 1] * s1 + As[c, i, 2] * s2
    for c in range(len(states)):
        o = offsets[c]
        p = states[c]
        for k in range(o + p):  # the lower triangle and the diagonal block
            for i in range(p):
                s = 0.0
                for j in range(p):
                    s += T[k, o + j] * As[c, i, j]
                M[k, o + i] = s
                M[o + i, k] = s


@_inlined
def _predict(form, lag, w):
    """a ← A a and P ← A P Aᵀ + Q over a lag in seconds; A and Q are kept while the lag stays the same."""
    if lag != w.lag[0]:
        for c in range(len(form.states)):
            transition(form.states[c], form.rates_per_s[c] * lag, w.As[c], w.Qs[c])
        w.lag[0] = lag
    _move(form.states, w.offsets, w.As, w.a, w.P, w.T)
    for c in range(len(form.states)):
        o = w.offsets[c]
        for i in range(form.states[c]):
            for j in range(form.states[c]):
                w.P[o + i, o + j] += form.variances_m2[c] * w.Qs[c, i, j]


@_inlined
def _update(white, z, w):
    """Observe the sum of the components' first states plus white. Returns F; fills u = PH, K, v."""
    a, P, u, K, v, offsets = w.a, w.P, w.u, w.K, w.v, w.offsets
    d = P.shape[0]
    F = white
    for i in range(d):
        s = 0.0
        for c in range(len(offsets)):
            s += P[i, offsets[c]]
        u[i] = s
    for c in range(len(offsets)):
        F += u[offsets[c]]
    for col in range(a.shape[1]):
        s = z[col]
        for c in range(len(offsets)):
            s -= a[offsets[c], col]
        v[col] = s
    if F <= 0.0:  # nothing random is observed: nothing is learned
        K[:] = 0.0
        return 0.0
    for i in range(d):
        K[i] = u[i] / F
    for i in range(d):
        for col in range(a.shape[1]):
            a[i, col] += K[i] * v[col]
    # (I - KHᵀ) P (I - KHᵀ)ᵀ + K R Kᵀ = P - K uᵀ for the exact gain: half the work, and symmetric by construction.
    for i in range(d):
        for j in range(i + 1):
            s = P[i, j] - K[i] * u[j]
            P[i, j] = s
            P[j, i] = s
    return F


@_jit
def forward(times, values, form, pick):
    """v/√F of every value (one column each) and F, the variance of what is new in it; ``times`` sorted.

    And mean and variance of ``pick`` times the state given the values so far; nothing of these where ``pick`` is empty.
    A repeated time is a new look with its own white part.
    """
    n, m = values.shape
    w = _begin(form, m)
    new = np.zeros((n, m))
    variances = np.zeros(n)
    means = np.zeros((n, m))
    spread = np.zeros(n)
    for t in range(n):
        if t > 0:
            _predict(form, times[t] - times[t - 1], w)
        F = _update(form.white_m2, values[t], w)
        variances[t] = F
        if F > 0.0:
            for i in range(m):
                new[t, i] = w.v[i] / np.sqrt(F)
        for i in range(len(pick)):
            for col in range(m):
                means[t, col] += pick[i] * w.a[i, col]
            for j in range(len(pick)):
                spread[t] += pick[i] * w.P[i, j] * pick[j]
    return new, variances, means, spread


class _Kept(NamedTuple):
    """What the way back needs of each step of a block: Aᵀ of the next step, K, F, v, Pg, and E and Var of g·state."""

    As: FloatArray
    K: FloatArray
    F: FloatArray
    v: FloatArray
    pg: FloatArray
    mean: FloatArray
    var: FloatArray


@_jit
def _copy(row, target):
    """Number by number: for ``target[:] = row`` numba also compiles what a wrong shape would be told, for seconds."""
    for i in range(len(row)):
        target[i] = row[i]


@_jit
def _keep_block(start, stop, times, values, form, g, w, kept):
    """Run the filter over [start, stop) from the state *predicted for* ``start``, keeping what the way back needs."""
    d = w.P.shape[0]
    for t in range(start, stop):
        b = t - start
        kept.F[b] = _update(form.white_m2, values[t], w)
        _copy(w.K, kept.K[b])
        _copy(w.v, kept.v[b])
        # Kept *after* the observation: the filtered covariance is small where the predicted one may be huge.
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += w.P[i, j] * g[j]
            kept.pg[b, i] = s
        s = 0.0
        for i in range(d):
            s += g[i] * kept.pg[b, i]
        kept.var[b] = s
        for col in range(values.shape[1]):
            s = 0.0
            for i in range(d):
                s += g[i] * w.a[i, col]
            kept.mean[b, col] = s
        if t + 1 < len(times):
            _predict(form, times[t + 1] - times[t], w)
            for c in range(len(form.states)):
                for i in range(3):
                    _copy(w.As[c, :, i], kept.As[b, c, i])


@_jit
def _walk_back(start, stop, n, states, w, kept, r, N, mean, var):
    """Carry r and N back from ``stop`` to ``start``; fills mean and variance given every observation."""
    d = N.shape[0]
    m = r.shape[1]
    first = w.offsets
    NK = np.zeros(d)
    for t in range(stop - 1, start - 1, -1):
        b = t - start
        if t + 1 < n:
            _move(states, first, kept.As[b], r, N, w.T)
        pg, K, F = kept.pg[b], kept.K[b], kept.F[b]
        s = 0.0
        for i in range(d):
            q = 0.0
            for j in range(d):
                q += N[i, j] * pg[j]
            s += pg[i] * q
        var[t] = kept.var[b] - s
        for col in range(m):
            s = kept.mean[b, col]
            for i in range(d):
                s += pg[i] * r[i, col]
            mean[t, col] = s
        if F <= 0.0:
            continue
        # N ← (I - HKᵀ) N (I - KHᵀ) + HHᵀ/F, r ← (I - HKᵀ) r + H v/F; H picks first states.
        KNK = 0.0
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += N[i, j] * K[j]
            NK[i] = s
        for i in range(d):
            KNK += K[i] * NK[i]
        for o in first:
            for i in range(d):
                N[o, i] -= NK[i]
        for o in first:
            for i in range(d):
                N[i, o] -= NK[i]
        for o in first:
            for e in first:
                N[o, e] += KNK + 1.0 / F
        for col in range(m):
            s = 0.0
            for i in range(d):
                s += K[i] * r[i, col]
            s = kept.v[b, col] / F - s
            for o in first:
                r[o, col] += s


@_jit
def smooth(times, values, form, g):
    """E and Var of g·state given every observation, at each of the sorted, distinct times."""
    n, m = values.shape
    size = math.ceil(math.sqrt(n)) + 1
    blocks = (n + size - 1) // size
    w = _begin(form, m)
    c = len(form.states)
    d = w.P.shape[0]
    kept_P = np.zeros((blocks, d, d))
    kept_a = np.zeros((blocks, d, m))
    for t in range(n):
        if t % size == 0:
            for i in range(d):
                _copy(w.P[i], kept_P[t // size, i])
                _copy(w.a[i], kept_a[t // size, i])
        if t >= (blocks - 1) * size:
            break
        _update(form.white_m2, values[t], w)
        _predict(form, times[t + 1] - times[t], w)
    mean = np.zeros((n, m))
    var = np.zeros(n)
    kept = _Kept(
        np.zeros((size, c, 3, 3)),
        np.zeros((size, d)),
        np.zeros(size),
        np.zeros((size, m)),
        np.zeros((size, d)),
        np.zeros((size, m)),
        np.zeros(size),
    )
    r = np.zeros((d, m))
    N = np.zeros((d, d))
    for block in range(blocks - 1, -1, -1):
        start = block * size
        stop = min(n, start + size)
        for i in range(d):
            _copy(kept_P[block, i], w.P[i])
            _copy(kept_a[block, i], w.a[i])
        _keep_block(start, stop, times, values, form, g, w, kept)
        _walk_back(start, stop, n, form.states, w, kept, r, N, mean, var)
    return mean, var
