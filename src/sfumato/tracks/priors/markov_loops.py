"""The compiled filter and smoother behind :mod:`sfumato.tracks.priors.statespace`.

The observation is the sum of every component's first state plus white. The smoother is the disturbance form (r, N
backwards): no matrix is inverted, every step costs O(d²) for d states, and only one block of steps is stored at a time
(checkpoints every √n steps), so memory is O(√n d²).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import math

import numpy as np

from sfumato.base.compiled import compiled
from sfumato.tracks.priors.markov_steps import stationary, transition

_jit = compiled(error_model="numpy")


@_jit
def _begin(states, offsets, variances, P, scratch):
    P[:, :] = 0.0
    for c in range(len(states)):
        stationary(states[c], scratch)
        o = offsets[c]
        for i in range(states[c]):
            for j in range(states[c]):
                P[o + i, o + j] = variances[c] * scratch[i, j]


@_jit
def _all_transitions(lag, states, constant, rates, As, Qs):
    for c in range(len(states)):
        transition(states[c], constant[c], rates[c] * lag, As[c], Qs[c])


@_jit
def _predict(states, constant, offsets, variances, As, Qs, a, P, T):
    """a ← A a and P ← A P Aᵀ + Q, block by block."""
    d = P.shape[0]
    m = a.shape[1]
    for c in range(len(states)):
        o = offsets[c]
        p = states[c]
        if constant[c]:
            for k in range(d):
                T[o, k] = P[o, k]
            continue
        for i in range(p):
            for k in range(d):
                s = 0.0
                for j in range(p):
                    s += As[c, i, j] * P[o + j, k]
                T[o + i, k] = s
        for col in range(m):
            s0 = a[o, col]
            if p == 1:
                a[o, col] = As[c, 0, 0] * s0
            elif p == 2:
                s1 = a[o + 1, col]
                a[o, col] = As[c, 0, 0] * s0 + As[c, 0, 1] * s1
                a[o + 1, col] = As[c, 1, 0] * s0 + As[c, 1, 1] * s1
            else:
                s1 = a[o + 1, col]
                s2 = a[o + 2, col]
                for i in range(3):
                    a[o + i, col] = As[c, i, 0] * s0 + As[c, i, 1] * s1 + As[c, i, 2] * s2
    for c in range(len(states)):
        o = offsets[c]
        p = states[c]
        for k in range(o + p):  # the lower triangle and the diagonal block
            for i in range(p):
                s = 0.0
                if constant[c]:
                    s = T[k, o]
                else:
                    for j in range(p):
                        s += T[k, o + j] * As[c, i, j]
                P[k, o + i] = s
                P[o + i, k] = s
        for i in range(p):
            for j in range(p):
                P[o + i, o + j] += variances[c] * Qs[c, i, j]


@_jit
def _update(offsets, white, z, a, P, u, K, v):
    """Observe the sum of the components' first states plus white. Returns F; fills u = PH, K, v."""
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
def likelihood(times, values, states, constant, rates, variances, offsets, d, white):
    """Σ log F, Σ v²/F per column, and how many observations counted; ``times`` sorted, repeats are new looks."""
    n, m = values.shape
    c = len(states)
    As = np.zeros((c, 3, 3))
    Qs = np.zeros((c, 3, 3))
    P = np.zeros((d, d))
    T = np.zeros((d, d))
    scratch = np.zeros((3, 3))
    a = np.zeros((d, m))
    u = np.zeros(d)
    K = np.zeros(d)
    v = np.zeros(m)
    _begin(states, offsets, variances, P, scratch)
    log_sum = 0.0
    squares = np.zeros(m)
    last = -1.0
    for t in range(n):
        if t > 0:
            lag = times[t] - times[t - 1]
            if lag != last:
                _all_transitions(lag, states, constant, rates, As, Qs)
                last = lag
            _predict(states, constant, offsets, variances, As, Qs, a, P, T)
        F = _update(offsets, white, values[t], a, P, u, K, v)
        log_sum += math.log(F) if F > 0 else -np.inf
        for col in range(m):
            squares[col] += v[col] * v[col] / F if F > 0 else 0.0
    return log_sum, squares


@_jit
def _stored_block(
    start,
    stop,
    times,
    values,
    states,
    constant,
    rates,
    variances,
    offsets,
    white,
    g,
    a,
    P,
    T,
    As_all,
    Qs,
    u,
    Ks,
    Fs,
    vs,
    pg,
    g_mean,
    g_var,
):
    """Run the filter over [start, stop) from the state *predicted for* ``start``, keeping what the way back needs."""
    d = P.shape[0]
    m = a.shape[1]
    last = -1.0
    for t in range(start, stop):
        b = t - start
        Fs[b] = _update(offsets, white, values[t], a, P, u, Ks[b], vs[b])
        # Kept *after* the observation: the filtered covariance is small where the predicted one may be huge.
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += P[i, j] * g[j]
            pg[b, i] = s
        s = 0.0
        for i in range(d):
            s += g[i] * pg[b, i]
        g_var[b] = s
        for col in range(m):
            s = 0.0
            for i in range(d):
                s += g[i] * a[i, col]
            g_mean[b, col] = s
        if t + 1 < len(times):
            lag = times[t + 1] - times[t]
            if b > 0 and lag == last:
                As_all[b] = As_all[b - 1]
            else:
                _all_transitions(lag, states, constant, rates, As_all[b], Qs)
                last = lag
            _predict(states, constant, offsets, variances, As_all[b], Qs, a, P, T)


@_jit
def _backward_block(
    stop, start, n, states, constant, offsets, As_all, Ks, Fs, vs, pg, r, N, T, mean, var, g_mean, g_var
):
    d = N.shape[0]
    m = r.shape[1]
    w = np.zeros(d)
    for t in range(stop - 1, start - 1, -1):
        b = t - start
        if t + 1 < n:
            As = As_all[b]
            # N ← Aᵀ N A and r ← Aᵀ r
            for c in range(len(states)):
                o = offsets[c]
                p = states[c]
                for i in range(p):
                    for k in range(d):
                        if constant[c]:
                            T[o + i, k] = N[o + i, k]
                        else:
                            s = 0.0
                            for j in range(p):
                                s += As[c, j, i] * N[o + j, k]
                            T[o + i, k] = s
                if not constant[c]:
                    for col in range(m):
                        s0 = r[o, col]
                        if p == 1:
                            r[o, col] = As[c, 0, 0] * s0
                        elif p == 2:
                            s1 = r[o + 1, col]
                            r[o, col] = As[c, 0, 0] * s0 + As[c, 1, 0] * s1
                            r[o + 1, col] = As[c, 0, 1] * s0 + As[c, 1, 1] * s1
                        else:
                            s1 = r[o + 1, col]
                            s2 = r[o + 2, col]
                            for i in range(3):
                                r[o + i, col] = As[c, 0, i] * s0 + As[c, 1, i] * s1 + As[c, 2, i] * s2
            for c in range(len(states)):
                o = offsets[c]
                p = states[c]
                for k in range(o + p):
                    for i in range(p):
                        if constant[c]:
                            s = T[k, o + i]
                        else:
                            s = 0.0
                            for j in range(p):
                                s += T[k, o + j] * As[c, j, i]
                        N[k, o + i] = s
                        N[o + i, k] = s
        s = 0.0
        for i in range(d):
            q = 0.0
            for j in range(d):
                q += N[i, j] * pg[b, j]
            s += pg[b, i] * q
        var[t] = g_var[b] - s
        for col in range(m):
            s = g_mean[b, col]
            for i in range(d):
                s += pg[b, i] * r[i, col]
            mean[t, col] = s
        F = Fs[b]
        if F > 0.0:
            # N ← (I - HKᵀ) N (I - KHᵀ) + HHᵀ/F, r ← (I - HKᵀ) r + H v/F; H picks first states.
            kwk = 0.0
            for i in range(d):
                s = 0.0
                for j in range(d):
                    s += N[i, j] * Ks[b, j]
                w[i] = s
            for i in range(d):
                kwk += Ks[b, i] * w[i]
            for c in range(len(states)):
                o = offsets[c]
                for i in range(d):
                    N[o, i] -= w[i]
            for c in range(len(states)):
                o = offsets[c]
                for i in range(d):
                    N[i, o] -= w[i]
            for c in range(len(states)):
                for e in range(len(states)):
                    N[offsets[c], offsets[e]] += kwk + 1.0 / F
            for col in range(m):
                s = 0.0
                for i in range(d):
                    s += Ks[b, i] * r[i, col]
                s = vs[b, col] / F - s
                for c in range(len(states)):
                    r[offsets[c], col] += s


@_jit
def smooth(times, values, states, constant, rates, variances, offsets, d, white, g):
    """E and Var of g·state given every observation, at each of the sorted, distinct times."""
    n, m = values.shape
    c = len(states)
    size = math.ceil(math.sqrt(n)) + 1
    blocks = (n + size - 1) // size
    kept_P = np.zeros((blocks, d, d))
    kept_a = np.zeros((blocks, d, m))
    P = np.zeros((d, d))
    T = np.zeros((d, d))
    scratch = np.zeros((3, 3))
    a = np.zeros((d, m))
    As = np.zeros((c, 3, 3))
    Qs = np.zeros((c, 3, 3))
    u = np.zeros(d)
    K = np.zeros(d)
    v = np.zeros(m)
    _begin(states, offsets, variances, P, scratch)
    last = -1.0
    for t in range(n):
        if t % size == 0:
            kept_P[t // size] = P
            kept_a[t // size] = a
        if t >= (blocks - 1) * size:
            break
        _update(offsets, white, values[t], a, P, u, K, v)
        if t + 1 < n:
            lag = times[t + 1] - times[t]
            if lag != last:
                _all_transitions(lag, states, constant, rates, As, Qs)
                last = lag
            _predict(states, constant, offsets, variances, As, Qs, a, P, T)
    mean = np.zeros((n, m))
    var = np.zeros(n)
    As_all = np.zeros((size, c, 3, 3))
    Ks = np.zeros((size, d))
    Fs = np.zeros(size)
    vs = np.zeros((size, m))
    pg = np.zeros((size, d))
    g_mean = np.zeros((size, m))
    g_var = np.zeros(size)
    r = np.zeros((d, m))
    N = np.zeros((d, d))
    for block in range(blocks - 1, -1, -1):
        start = block * size
        stop = min(n, start + size)
        P[:, :] = kept_P[block]
        a[:, :] = kept_a[block]
        _stored_block(
            start,
            stop,
            times,
            values,
            states,
            constant,
            rates,
            variances,
            offsets,
            white,
            g,
            a,
            P,
            T,
            As_all,
            Qs,
            u,
            Ks,
            Fs,
            vs,
            pg,
            g_mean,
            g_var,
        )
        _backward_block(
            stop, start, n, states, constant, offsets, As_all, Ks, Fs, vs, pg, r, N, T, mean, var, g_mean, g_var
        )
    return mean, var
