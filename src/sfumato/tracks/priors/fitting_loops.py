"""The compiled loops behind :mod:`.fitting`: profile likelihood of Matérn + nugget and its maximum.

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

from sfumato.base.compiled import compiled

_jit = compiled(error_model="numpy", fastmath=False)
_LOG_2PI = math.log(2.0 * math.pi)


@_jit
def _sums_1(times, values, first, last, rate, white, products):
    """Σ log F, and Σ v_c v_last/F and Σ v_c²/F into ``products`` (2, columns), for one Matérn-1/2 state."""
    m = values.shape[1]
    v = np.zeros(m)
    state = np.zeros(m)
    known = 0.0
    log_sum = 0.0
    product = 1.0
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
        for c in range(m):
            products[0, c] += v[c] * v[m - 1] / F
            products[1, c] += v[c] * v[c] / F
        known += p * p / F
        product *= F
        if product < 1e-100 or product > 1e100:
            log_sum += math.log(product)
            product = 1.0
    return log_sum + math.log(product)


@_jit
def _sums_2(times, values, first, last, rate, white, products):
    """The same for the two Matérn-3/2 states (f, f'/λ)."""
    m = values.shape[1]
    v = np.zeros(m)
    s0 = np.zeros(m)
    s1 = np.zeros(m)
    m00 = 0.0
    m01 = 0.0
    m11 = 0.0
    lag = -1.0
    a = b = c_ = d = 0.0
    log_sum = 0.0
    product = 1.0
    for t in range(first, last):
        if t > first:
            new = times[t] - times[t - 1]
            if new != lag:
                lag = new
                x = rate * lag
                e = math.exp(-x)
                a = e * (1.0 + x)
                b = e * x
                c_ = -b
                d = e * (1.0 - x)
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
        for c in range(m):
            products[0, c] += v[c] * v[m - 1] * g
            products[1, c] += v[c] * v[c] * g
        m00 += p * p * g
        m01 += p * q * g
        m11 += q * q * g
        product *= F
        if product < 1e-100 or product > 1e100:
            log_sum += math.log(product)
            product = 1.0
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
    log_sum = 0.0
    product = 1.0
    for t in range(first, last):
        if t > first:
            new = times[t] - times[t - 1]
            if new != lag:
                lag = new
                x = rate * lag
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
        for c in range(m):
            products[0, c] += v[c] * v[m - 1] * g
            products[1, c] += v[c] * v[c] * g
        for i in range(3):
            for j in range(3):
                M[i, j] += u[i] * u[j] * g
        product *= F
        if product < 1e-100 or product > 1e100:
            log_sum += math.log(product)
            product = 1.0
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
def _inside(x, low, high):
    return min(max(x, low), high)


@_jit
def maximise(times, values, first, last, states, low, high, fixed_white, restricted, tolerance):
    """A coarse grid, then Nelder-Mead over (log length, log white), kept inside the box. Returns (x, y, ll, evals)."""
    best = -np.inf
    x0 = 0.5 * (low[0] + high[0])
    y0 = low[1]
    columns = 9
    rows = 1 if fixed_white else 5
    evaluations = 0
    for i in range(columns):
        x = low[0] + (high[0] - low[0]) * (i + 0.5) / columns
        for j in range(rows):
            y = low[1] if fixed_white else low[1] + (high[1] - low[1]) * (j + 0.25) / rows
            value, _ = profile(times, values, first, last, states, x, y, restricted)
            evaluations += 1
            if value > best:
                best = value
                x0 = x
                y0 = y
    px = np.empty(3)
    py = np.empty(3)
    f = np.empty(3)
    step_x = 0.4 * (high[0] - low[0]) / columns
    step_y = 0.0 if fixed_white else 0.4 * (high[1] - low[1]) / rows
    for restart in range(2):  # the second start shakes a simplex that has collapsed onto the box's side
        size = 1.0 if restart == 0 else 0.2
        px[0] = x0
        py[0] = y0
        px[1] = _inside(x0 + size * step_x, low[0], high[0])
        py[1] = y0
        px[2] = x0 if not fixed_white else _inside(x0 - size * step_x, low[0], high[0])
        py[2] = y0 if fixed_white else _inside(y0 + size * step_y, low[1], high[1])
        if px[1] == x0:
            px[1] = x0 - size * step_x
        if not fixed_white and py[2] == y0:
            py[2] = y0 - size * step_y
        f[0] = best
        for k in range(1, 3):
            f[k], _ = profile(times, values, first, last, states, px[k], py[k], restricted)
            evaluations += 1
        for _ in range(200):
            order = np.argsort(-f)
            px = px[order]
            py = py[order]
            f = f[order]
            width = max(abs(px[1] - px[0]), abs(px[2] - px[0]), abs(py[1] - py[0]), abs(py[2] - py[0]))
            if f[0] - f[2] <= tolerance and width < 0.05:
                break
            if width < 1e-9:
                break
            cx = 0.5 * (px[0] + px[1])
            cy = 0.5 * (py[0] + py[1])
            rx = _inside(2.0 * cx - px[2], low[0], high[0])
            ry = _inside(2.0 * cy - py[2], low[1], high[1])
            fr, _ = profile(times, values, first, last, states, rx, ry, restricted)
            evaluations += 1
            if fr > f[0]:
                ex = _inside(3.0 * cx - 2.0 * px[2], low[0], high[0])
                ey = _inside(3.0 * cy - 2.0 * py[2], low[1], high[1])
                fe, _ = profile(times, values, first, last, states, ex, ey, restricted)
                evaluations += 1
                if fe > fr:
                    px[2], py[2], f[2] = ex, ey, fe
                else:
                    px[2], py[2], f[2] = rx, ry, fr
                continue
            if fr > f[1]:
                px[2], py[2], f[2] = rx, ry, fr
                continue
            if fr > f[2]:
                kx = 0.5 * (cx + rx)
                ky = 0.5 * (cy + ry)
            else:
                kx = 0.5 * (cx + px[2])
                ky = 0.5 * (cy + py[2])
            fk, _ = profile(times, values, first, last, states, kx, ky, restricted)
            evaluations += 1
            if fk > max(f[2], fr):
                px[2], py[2], f[2] = kx, ky, fk
                continue
            for k in range(1, 3):
                px[k] = 0.5 * (px[0] + px[k])
                py[k] = 0.5 * (py[0] + py[k])
                f[k], _ = profile(times, values, first, last, states, px[k], py[k], restricted)
                evaluations += 1
        top = np.argmax(f)
        x0 = px[top]
        y0 = py[top]
        best = f[top]
    return x0, y0, best, evaluations


@_jit
def maximise_many(times, values, starts, states, lows, highs, fixed_white, restricted, tolerance, out):
    """Each slice [starts[k], starts[k+1]) alone; ``out`` (count, 5) = log length, log white, variance, ll, evals."""
    for k in range(len(starts) - 1):
        first = starts[k]
        last = starts[k + 1]
        x, y, best, evaluations = maximise(
            times, values, first, last, states, lows[k], highs[k], fixed_white, restricted, tolerance
        )
        _, variance = profile(times, values, first, last, states, x, y, restricted)
        out[k, 0] = x
        out[k, 1] = y
        out[k, 2] = variance
        out[k, 3] = best
        out[k, 4] = evaluations
