"""The compiled walk behind :func:`sfumato.priors.statespace.whitened_products`: AᵀΣ⁻¹A, one innovation at a time."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import numba
import numpy as np

from sfumato.priors.markov_loops import _all_transitions, _begin, _predict, _update

_jit = numba.njit(cache=True, error_model="numpy")


@_jit
def products(times, values, states, constant, rates, variances, offsets, d, white):
    """Σ_t v vᵀ / F over the innovations v (one per column) with variance F; ``times`` sorted and distinct."""
    n, m = values.shape
    c = len(states)
    As = np.zeros((c, 3, 3))
    Qs = np.zeros((c, 3, 3))
    P = np.zeros((d, d))
    T = np.zeros((d, d))
    a = np.zeros((d, m))
    u = np.zeros(d)
    K = np.zeros(d)
    v = np.zeros(m)
    out = np.zeros((m, m))
    _begin(states, offsets, variances, P, np.zeros((3, 3)))
    last = -1.0
    for t in range(n):
        if t > 0:
            lag = times[t] - times[t - 1]
            if lag != last:
                _all_transitions(lag, states, constant, rates, As, Qs)
                last = lag
            _predict(states, constant, offsets, variances, As, Qs, a, P, T)
        F = _update(offsets, white, values[t], a, P, u, K, v)
        if F > 0.0:
            for i in range(m):
                for j in range(i + 1):
                    out[i, j] += v[i] * v[j] / F
    for i in range(m):
        for j in range(i):
            out[j, i] = out[i, j]
    return out
