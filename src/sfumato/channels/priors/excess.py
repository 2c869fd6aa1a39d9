"""(1 + v) ln(1 + v) - v, what a lift of 1 + v adds to an information: never negative, and quadratic near v = 0.

Written as it stands it loses every digit at v = 1e-8, where it is 5e-17; near 0 it is summed as a series instead.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

_NEAR = 0.05
_LEAST = float(np.nextafter(-1.0, 0.0))


def excess(v: FloatArray) -> FloatArray:
    """For every v >= -1, to about 1e-14 of itself: sum over k >= 2 of (-v)^k / (k (k - 1)) near 0."""
    small = np.abs(v) < _NEAR
    far = np.maximum(v, _LEAST)  # at -1 the product is 0 and 1 is left, to less than the rounding
    out: FloatArray = (1 + far) * np.log1p(far) - far
    near = v[small]
    if near.size:
        series = np.zeros_like(near)
        for k in range(13, 1, -1):
            series = 1.0 / (k * (k - 1)) - near * series
        out[small] = near * near * series
    return out


def excess_of_log(log_lift: float) -> float:
    """The same with 1 + v = e^x: x e^x - e^x + 1, near 0 as the sum over k >= 2 of (k - 1) x^k / k!."""
    if math.isnan(log_lift):
        raise InputError("The log lift is not a number.", "Give a number.")
    if log_lift > 700:
        return math.inf
    if log_lift < -700:
        return 1.0
    if abs(log_lift) >= 0.5:
        return log_lift * math.exp(log_lift) - math.expm1(log_lift)
    term, total = log_lift * log_lift / 2, 0.0
    for k in range(2, 24):
        total += (k - 1) * term
        term *= log_lift / (k + 1)
    return total
