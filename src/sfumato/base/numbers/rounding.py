"""Which way to round, and by how much: what is promised must hold for the very doubles that are drawn from.

A channel draws output y with probability Q[x, y] / S_x, S_x the exact sum of the stored row, and a prior is p / sum(p).
Both sums are 1 only to rounding, so a measured leakage is off by an absolute amount, however small the leakage itself:
at epsilon d = 1e-9 a relative margin of 1e-13 is nothing. The functions here bound that amount.

u = 2^-53. A library's log, log1p, exp and expm1 are within 1 unit in the last place (2 u) of their result; a sum of n
positive terms is within n u of its own, whatever the order.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray

UNIT = 2.0**-53


def rounded_up(value: float, ulps: float = 8.0) -> float:
    """At least the true value of a formula whose result is within ``ulps`` units 2u of it, relatively."""
    return math.nextafter(value * (1 + 2 * ulps * UNIT), math.inf) if value > 0 and math.isfinite(value) else value


def rounded_down(value: float, ulps: float = 8.0) -> float:
    """At most the true value, likewise; never below 0."""
    return max(0.0, math.nextafter(value * (1 - 2 * ulps * UNIT), 0.0)) if value > 0 and math.isfinite(value) else value


def row_sums_apart(matrix: FloatArray) -> float:
    """ln(largest / smallest row sum), rounded up: how far normalising the stored rows moves a ratio between two.

    Sums are taken in the widest numbers the machine has, and their own rounding is added.
    """
    off = matrix.sum(axis=1, dtype=np.longdouble) - 1
    error: float = 2 * matrix.shape[1] * float(np.finfo(np.longdouble).eps)
    return rounded_up(float(off.max() - off.min()) * (1 + 1e-6)) + error


def log_ratio_error(matrix: FloatArray) -> float:
    """By how much ln Q(y | x) - ln Q(y | x'), computed as a difference of logarithms, may lie below the truth.

    Each logarithm is off by 2u of itself, their difference by u of itself, and the rows' sums move it further.
    """
    positive = matrix[matrix > 0]
    if positive.size == 0:
        return 0.0
    largest = max(abs(math.log(float(positive.min()))), abs(math.log(float(positive.max()))))
    return 8 * UNIT * (largest + 1) + row_sums_apart(matrix)


def lift_error(matrix: FloatArray, prior: FloatArray) -> float:
    """By how much a log-lift ln Q(y | x) - ln sum p Q may lie from the truth: as above, and m is a sum of n terms.

    n u for the sum, u for each product and 2u for each logarithm; the prior's own sum and the rows' sums are exact.
    """
    mass = abs(math.fsum([*prior.tolist(), -1.0]))
    return log_ratio_error(matrix) + 4 * (prior.size + 2) * UNIT + 2 * mass
