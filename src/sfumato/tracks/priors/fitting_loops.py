"""The compiled loops behind :mod:`.fit_prior`: profile likelihood of Matérn + nugget and its maximum.

The process has unit variance and white variance ρ²; its real variance is profiled out: σ̂² = Σ v²/F / (n m). With an
unknown mean (``restricted``) the last column of ``values`` is ones; with innovations v of a coordinate and w of the
ones, Σv²/F becomes Σv²/F - (Σvw/F)²/Σw²/F, log Σw²/F joins the determinant, and n becomes n - 1 (REML). With P the
stationary covariance and M = P - (filtered covariance), prediction is M ← A M Aᵀ and an observation adds a rank one
term, so no innovation covariance is needed; ρ² ≥ 1e-10 keeps that subtraction harmless (1e-5 in the log-likelihood).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

import math

import numpy as np

from sfumato.base.compiled import compile_loop
from sfumato.tracks.priors.markov_steps import matern32_mean, matern52_mean

_jit = compile_loop(error_model="numpy", fastmath=False)
_LOG_2PI = math.log(2.0 * math.pi)


@compile_loop(error_model="numpy", inline="always")
def _score(v, F, products, log_sum, product):
    """Add v_c v_last/F and v_c²/F to ``products`` (2, columns); Σ log F so far, as a sum and a product to take."""
    m = len(v)
    g = 1.0 / F
    for c in range(m):
        products[0, c] += v[c] * v[m - 1] * g
        products[1, c] += v[c] * v[c] * g
    product *= F
    if product < 1e-100 or product > 1e100:
        return log_sum + math.log(product), 1.0
    return log_sum, product


@_jit
def _sums_1(times, values, first, last, rate, white, products):
    """Σ log F, and Σ v_c v_last/F and Σ v_c²/F into ``products`` (2, columns), for one Matérn-1/2 state."""
    m = values.shape[1]
    v = np.zeros(m)
    state = np.zeros(m)
    known = 0.0
    log_sum, product = 0.0, 1.0
    for t in range(first, last):
        if t > first:
            e = math.exp(-rate * (times[t] - times[t - 1]))
            known *= e * e
            for c in range(m):
                state[c] *= e
        p = 1.0 - known
        F = p + white
        for c in range(m):
            v[c] = values[t, c] - state[c]
            state[c] += p / F * v[c]
        known += p * p / F
        log_sum, product = _score(v, F, products, log_sum, product)
    return log_sum + math.log(product)


@_jit
def _sums_2(times, values, first, last, rate, white, products):
    """The same for the two Matérn-3/2 states (f, f'/λ)."""
    m = values.shape[1]
    v = np.zeros(m)
    s0 = np.zeros(m)
    s1 = np.zeros(m)
    m00 = m01 = m11 = 0.0
    lag = -1.0
    a = b = c_ = d = 0.0
    log_sum, product = 0.0, 1.0
    for t in range(first, last):
        if t > first:
            new = times[t] - times[t - 1]
            if new != lag:
                lag = new
                a, b, c_, d = matern32_mean(rate * lag)
            t00 = a * m00 + b * m01
            t01 = a * m01 + b * m11
            t10 = c_ * m00 + d * m01
            t11 = c_ * m01 + d * m11
            m00 = t00 * a + t01 * b
            m01 = t00 * c_ + t01 * d
            m11 = t10 * c_ + t11 * d
            for c in range(m):
                f0 = s0[c]
                s0[c] = a * f0 + b * s1[c]
                s1[c] = c_ * f0 + d * s1[c]
        p = 1.0 - m00
        q = -m01
        F = p + white
        g = 1.0 / F
        for c in range(m):
            v[c] = values[t, c] - s0[c]
            s0[c] += p * g * v[c]
            s1[c] += q * g * v[c]
        m00 += p * p * g
        m01 += p * q * g
        m11 += q * q * g
        log_sum, product = _score(v, F, products, log_sum, product)
    return log_sum + math.log(product)


@_jit
def _sums_3(times, values, first, last, rate, white, products):
    """The same for the three Matérn-5/2 states (f, f'/λ, f''/λ²)."""
    m = values.shape[1]
    v = np.zeros(m)
    s = np.zeros((3, m))
    fresh = np.zeros(3)
    M = np.zeros((3, 3))
    T = np.zeros((3, 3))
    A = np.zeros((3, 3))
    u = np.zeros(3)
    lag = -1.0
    log_sum, product = 0.0, 1.0
    for t in range(first, last):
        if t > first:
            new = times[t] - times[t - 1]
            if new != lag:
                lag = new
                matern52_mean(rate * lag, A)
            for i in range(3):
                for j in range(3):
                    T[i, j] = A[i, 0] * M[0, j] + A[i, 1] * M[1, j] + A[i, 2] * M[2, j]
            for i in range(3):
                for j in range(i + 1):
                    r = T[i, 0] * A[j, 0] + T[i, 1] * A[j, 1] + T[i, 2] * A[j, 2]
                    M[i, j] = r
                    M[j, i] = r
            for c in range(m):
                for i in range(3):
                    fresh[i] = A[i, 0] * s[0, c] + A[i, 1] * s[1, c] + A[i, 2] * s[2, c]
                for i in range(3):
                    s[i, c] = fresh[i]
        u[0] = 1.0 - M[0, 0]
        u[1] = -M[0, 1]
        u[2] = -1.0 / 3.0 - M[0, 2]
        F = u[0] + white
        g = 1.0 / F
        for c in range(m):
            v[c] = values[t, c] - s[0, c]
            for i in range(3):
                s[i, c] += u[i] * g * v[c]
        for i in range(3):
            for j in range(3):
                M[i, j] += u[i] * u[j] * g
        log_sum, product = _score(v, F, products, log_sum, product)
    return log_sum + math.log(product)


@_jit
def profile(times, values, first, last, states, log_length, log_white, restricted):
    """(log-likelihood at the best variance, that variance) of the slice [first, last)."""
    columns = values.shape[1]
    products = np.zeros((2, columns))
    rate = math.sqrt(2.0 * states - 1.0) / math.exp(log_length)
    white = math.exp(log_white)
    if states == 1:
        log_sum = _sums_1(times, values, first, last, rate, white, products)
    elif states == 2:
        log_sum = _sums_2(times, values, first, last, rate, white, products)
    else:
        log_sum = _sums_3(times, values, first, last, rate, white, products)
    m = columns - 1 if restricted else columns
    count = (last - first - 1) * m if restricted else (last - first) * m
    squares = 0.0
    for c in range(m):
        squares += products[1, c]
        if restricted:
            squares -= products[0, c] * products[0, c] / products[1, columns - 1]
    if restricted:
        log_sum += math.log(products[1, columns - 1])
    variance = max(squares / count, 1e-12)  # a trace that never moves: a micrometre
    if not (variance < np.inf) or not (log_sum < np.inf):
        return -np.inf, 1.0
    return -0.5 * (count * (_LOG_2PI + math.log(variance)) + m * log_sum + squares / variance), variance


@_jit
def _sort_corners(f):
    """The three corners (x, y, log-likelihood) in place, the likeliest first, ties as they were."""
    for k in range(1, 3):
        for i in range(k, 0, -1):
            if f[i, 2] > f[i - 1, 2]:
                for j in range(3):
                    f[i, j], f[i - 1, j] = f[i - 1, j], f[i, j]


@_jit
def _at(times, values, first, last, states, low, high, restricted, x, y, point):
    """Put (x, y), kept inside the box, and the log-likelihood there into ``point``: one corner of a simplex."""
    point[0] = min(max(x, low[0]), high[0])
    point[1] = min(max(y, low[1]), high[1])
    point[2], _ = profile(times, values, first, last, states, point[0], point[1], restricted)


@_jit
def maximise(times, values, first, last, states, low, high, fixed_white, restricted, tolerance):
    """A coarse grid, then Nelder-Mead over (log length, log white), kept inside the box. Returns (x, y, ll, evals)."""
    best = np.array([0.5 * (low[0] + high[0]), low[1], -np.inf])
    columns = 9
    rows = 1 if fixed_white else 5
    evaluations = 0
    for i in range(columns):
        x = low[0] + (high[0] - low[0]) * (i + 0.5) / columns
        for j in range(rows):
            y = low[1] if fixed_white else low[1] + (high[1] - low[1]) * (j + 0.25) / rows
            value, _ = profile(times, values, first, last, states, x, y, restricted)
            evaluations += 1
            if value > best[2]:
                best[0], best[1], best[2] = x, y, value
    f = np.empty((3, 3))  # the corners: x, y, log-likelihood
    new, further = np.empty(3), np.empty(3)
    step_x = 0.4 * (high[0] - low[0]) / columns
    step_y = 0.0 if fixed_white else 0.4 * (high[1] - low[1]) / rows
    for restart in range(2):  # the second start shakes a simplex that has collapsed onto the box's side
        size = 1.0 if restart == 0 else 0.2
        for k in range(3):
            for j in range(3):
                f[k, j] = best[j]
        f[1, 0] = min(best[0] + size * step_x, high[0])
        if f[1, 0] == best[0]:
            f[1, 0] = best[0] - size * step_x
        if fixed_white:
            f[2, 0] = max(best[0] - size * step_x, low[0])
        else:
            f[2, 1] = min(best[1] + size * step_y, high[1])
            if f[2, 1] == best[1]:
                f[2, 1] = best[1] - size * step_y
        for k in range(1, 3):
            f[k, 2], _ = profile(times, values, first, last, states, f[k, 0], f[k, 1], restricted)
            evaluations += 1
        for _ in range(200):
            _sort_corners(f)
            width = max(abs(f[1, 0] - f[0, 0]), abs(f[2, 0] - f[0, 0]), abs(f[1, 1] - f[0, 1]), abs(f[2, 1] - f[0, 1]))
            if (f[0, 2] - f[2, 2] <= tolerance and width < 0.05) or width < 1e-9:
                break
            cx, cy = 0.5 * (f[0, 0] + f[1, 0]), 0.5 * (f[0, 1] + f[1, 1])
            x, y = 2.0 * cx - f[2, 0], 2.0 * cy - f[2, 1]
            _at(times, values, first, last, states, low, high, restricted, x, y, new)
            evaluations += 1
            if new[2] > f[0, 2]:
                x, y = 3.0 * cx - 2.0 * f[2, 0], 3.0 * cy - 2.0 * f[2, 1]
                _at(times, values, first, last, states, low, high, restricted, x, y, further)
                evaluations += 1
                for j in range(3):
                    f[2, j] = further[j] if further[2] > new[2] else new[j]
                continue
            if new[2] > f[1, 2]:
                for j in range(3):
                    f[2, j] = new[j]
                continue
            near = new if new[2] > f[2, 2] else f[2]
            x, y = 0.5 * (cx + near[0]), 0.5 * (cy + near[1])
            _at(times, values, first, last, states, low, high, restricted, x, y, further)
            evaluations += 1
            if further[2] > max(f[2, 2], new[2]):
                for j in range(3):
                    f[2, j] = further[j]
                continue
            for k in range(1, 3):
                x, y = 0.5 * (f[0, 0] + f[k, 0]), 0.5 * (f[0, 1] + f[k, 1])
                _at(times, values, first, last, states, low, high, restricted, x, y, f[k])
                evaluations += 1
        _sort_corners(f)
        for j in range(3):
            best[j] = f[0, j]
    return best[0], best[1], best[2], evaluations


@_jit
def maximise_many(times, values, starts, states, lows, highs, fixed_white, restricted, tolerance, out):
    """Each slice [starts[k], starts[k+1]) alone; ``out`` (count, 5) = log length, log white, variance, ll, evals."""
    for k in range(len(starts) - 1):
        first = starts[k]
        last = starts[k + 1]
        out[k, 0], out[k, 1], out[k, 3], out[k, 4] = maximise(
            times, values, first, last, states, lows[k], highs[k], fixed_white, restricted, tolerance
        )
        _, out[k, 2] = profile(times, values, first, last, states, out[k, 0], out[k, 1], restricted)
