"""The compiled walk forward behind ``innovations``, ``whitened_products`` and causal posteriors of the state space."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import numpy as np

from sfumato.base.compiled import compiled
from sfumato.tracks.priors.markov_loops import _all_transitions, _begin, _predict, _update

_jit = compiled(error_model="numpy")


@_jit
def forward(times, values, states, constant, rates, variances, offsets, d, white, pick):
    """v/√F of every value (one column each), F the variance of what is new in it; ``times`` sorted and distinct.

    And mean and variance of ``pick`` times the state given the values so far; nothing of these where ``pick`` is empty.
    """
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
    out = np.zeros((n, m))
    means = np.zeros((n, m))
    spread = np.zeros(n)
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
                out[t, i] = v[i] / np.sqrt(F)
        for i in range(len(pick)):
            for col in range(m):
                means[t, col] += pick[i] * a[i, col]
            for j in range(len(pick)):
                spread[t] += pick[i] * P[i, j] * pick[j]
    return out, means, spread
