"""From the reports of a frequency oracle to frequencies: unbiased, then projected; or by maximum likelihood.

Unbiased: (share of reports that support v - other) / (own - other) [Wang2017, eq. 1]; some come out negative. The
projection is the nearest distribution in Euclidean distance (the "norm-sub" of [Wang2020]). Maximum likelihood uses
that for all five oracles P(report | v) is proportional to 1 + (ratio - 1) [report supports v], by the iterative
Bayesian update.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite
from sfumato.base.errors import InputError
from sfumato.channels.frequency.randomizer import FrequencyOracle

_CHUNK = 1 << 22


def unbiased_frequencies(oracle: FrequencyOracle, reports: IntArray) -> FloatArray:
    """The unbiased estimate of every frequency; the entries may be negative and need not sum to 1."""
    people = _people(reports)
    p, q = float(oracle.own), float(oracle.other)
    return np.asarray((oracle.support_counts(reports) / people - q) / (p - q))


def projected_frequencies(oracle: FrequencyOracle, reports: IntArray) -> FloatArray:
    """The distribution nearest to the unbiased estimate."""
    return onto_simplex(unbiased_frequencies(oracle, reports))


def likeliest_frequencies(
    oracle: FrequencyOracle, reports: IntArray, *, steps: int = 200, tolerance: float = 1e-7
) -> FloatArray:
    """The maximum-likelihood distribution, by the iterative Bayesian update from the uniform one."""
    people = _people(reports)
    if steps < 1:
        raise InputError(f"There are {steps} steps.", "At least one.")
    unique, counts = np.unique(reports, axis=0, return_counts=True)
    extra = np.float32(min(float(oracle.likelihood_ratio - 1), 1e30))
    rows = max(1, _CHUNK // oracle.symbols)
    parts = [
        (oracle.supports(unique[at : at + rows]).astype(np.float32), (counts[at : at + rows] / people))
        for at in range(0, len(unique), rows)
    ]
    theta = np.full(oracle.symbols, 1.0 / oracle.symbols)
    for _ in range(steps):
        weight = np.zeros(oracle.symbols)
        for held, share in parts:
            chance = 1.0 + extra * (held @ theta.astype(np.float32)).astype(np.float64)
            ratio = share / chance
            weight += ratio.sum() + float(extra) * (ratio.astype(np.float32) @ held)
        updated = theta * weight
        updated /= updated.sum()
        moved = float(np.abs(updated - theta).sum())
        theta = updated
        if moved < tolerance:
            break
    return theta


def onto_simplex(values: npt.ArrayLike) -> FloatArray:
    """The nearest distribution: max(v - t, 0) with t such that it sums to 1 (by sorting, exact up to rounding)."""
    v = finite(values, "The estimate", dimensions=1)
    if v.size == 0:
        raise InputError("There is nothing to project.", "Give at least one number.")
    # A common shift changes nothing, and what lies more than 1 below the largest comes out as 0: no sum overflows.
    v = 2.0 * np.maximum(v / 2.0 - v.max() / 2.0, -1.0)
    ordered = np.sort(v)[::-1]
    over = (np.cumsum(ordered) - 1.0) / np.arange(1, v.size + 1)
    kept = int(np.flatnonzero(ordered > over)[-1]) if np.any(ordered > over) else 0
    out: FloatArray = np.maximum(v - over[kept], 0.0)
    total = float(out.sum())
    return np.asarray(out / total if total > 0 else np.eye(1, v.size, int(np.argmax(v)))[0])


def _people(reports: IntArray) -> int:
    if reports.ndim != 2 or len(reports) == 0:
        raise InputError("There are no reports.", "Give at least one, as returned by release.")
    return len(reports)
