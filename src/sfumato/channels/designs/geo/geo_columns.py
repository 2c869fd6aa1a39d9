"""A geo-indistinguishable channel put together from columns that keep the promise by themselves.

A column q keeps it if ln q changes by at most g times the distance. So do e^(-g dist(s, .)), a peak at s; its inverse,
a pit; the larger and the smaller of two such columns; and every sum of them with weights c >= 0. A channel is such a
sum whose rows are one, and each column is reported as the place that costs least:

    min sum_j b_j c_j   s.t.  sum_j c_j q_j(x) = 1 for every x,   c >= 0,    b_j = min_y sum_x p_x d(x, y) q_j(x).

The peaks alone are the tight constraints mechanism [ElSalamouny2014] with weights that know the prior; the columns of
an iteration that has not converged, raised until they keep the promise, bring it near the optimum. Solved by a
primal-dual interior-point method whose matrix is inputs x inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.channels.designs.limits import Deadline

_GAP = 1e-7
_MOST_STEPS = 80
FEW = 500
"""Up to this many places pits and dents are tried too: they gain a digit on skewed priors, and time is no matter."""


def simple_columns(decay: FloatArray) -> FloatArray:
    """(columns, inputs): a constant and a peak at every place; of few places also a pit, and a dent of depth e^-1."""
    flat = np.ones((1, decay.shape[0]))
    if decay.shape[0] > FEW:
        return np.concatenate([flat, decay])
    pits = decay.min(axis=1, keepdims=True) / np.maximum(decay, 1e-290)
    dents = np.minimum(1.0, np.exp(-1.0) / np.maximum(decay, 1e-290))
    return np.concatenate([flat, decay, pits, dents])


def best_reports(columns: FloatArray, prior: FloatArray, distortion: FloatArray) -> tuple[FloatArray, IntArray]:
    """The least cost of every column and the output that has it."""
    costs = (columns * prior) @ distortion
    best = np.argmin(costs, axis=1)
    return np.asarray(costs[np.arange(best.size), best]), best.astype(np.int64)


def best_weights(
    columns: FloatArray,
    costs: FloatArray,
    *,
    gap: float = _GAP,
    deadline: Deadline,
    progress: Callable[[str], None] | None = None,
) -> FloatArray | None:
    """The weights c, rows summing to one within 1e-7; None if that was not reached in time.

    ``gap``: within which share of the cheapest sum to stop.

    Mehrotra's method. The start and the stop are judged by what a channel needs: rows first, then the last digits.
    """
    count, inputs = columns.shape
    ones = np.ones(inputs)
    b = costs / max(float(costs.max()), 1e-300)
    c = np.full(count, 1.0 / float(columns.sum(axis=0).mean()))
    rows, s = np.zeros(inputs), np.maximum(b, float(b.mean()))
    found: FloatArray | None = None
    longest, began = 0.0, time.perf_counter()
    for step in range(_MOST_STEPS):
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
        short = ones - c @ columns
        left = b - columns @ rows - s
        total, value = float(c @ s), float(b @ c)
        if np.abs(short).max() < 1e-7:
            found = c
            if total < gap * value:
                break
        if deadline.left_s <= longest:
            break
        if progress is not None:
            progress(f"putting {count} columns together, step {step + 1}: within {total / max(value, 1e-300):.1e}")
        weight = c / s
        normal = _squared(columns, weight)
        normal[np.diag_indices(inputs)] *= 1 + 1e-14
        try:
            factor = cho_factor(normal)
        except LinAlgError:
            break

        def direction(right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            target = short + (weight * left - right / s) @ columns  # noqa: B023
            move = cho_solve(factor, target)  # noqa: B023
            move += cho_solve(factor, target - normal @ move)  # noqa: B023
            ds = left - columns @ move  # noqa: B023
            return (right - c * ds) / s, move, ds  # noqa: B023

        dc, _, ds = direction(-c * s)
        after = float((c + _longest(c, dc) * dc) @ (s + _longest(s, ds) * ds))
        dc, move, ds = direction((after / total) ** 3 * total / count - c * s - dc * ds)
        primal, dual = min(1.0, 0.995 * _longest(c, dc)), min(1.0, 0.995 * _longest(s, ds))
        c, rows, s = c + primal * dc, rows + dual * move, s + dual * ds
    return found


def _squared(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """columns' diag(weight) columns: half of a matrix product, mirrored."""
    half = dsyrk(1.0, (columns * np.sqrt(weight)[:, None]).T)
    out: FloatArray = np.triu(half) + np.triu(half, 1).T
    return out


def _longest(values: FloatArray, change: FloatArray) -> float:
    ratio = float((change / values).min())
    return 1.0 if ratio >= -1 else -1.0 / ratio
