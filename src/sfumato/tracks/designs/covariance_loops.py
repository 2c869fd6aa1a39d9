"""The compiled sweep of a state-space covariance product, apart so that numba is loaded only where one is needed."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.compiled import compiled


@compiled()
def sweep(steps: FloatArray, rate: float, poly: FloatArray, x: FloatArray, out: FloatArray) -> None:
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
