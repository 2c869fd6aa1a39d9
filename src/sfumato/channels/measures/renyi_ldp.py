"""Rényi local differential privacy and the (epsilon, delta) profile: divergences between the rows of a channel.

D_a(Q_x || Q_x') = ln(sum_y Q(y|x)^a Q(y|x')^(1-a)) / (a - 1) at its worst over pairs [Mironov2017, Def. 4, for single
inputs]: order 1 is the largest Kullback-Leibler divergence, order infinity local differential privacy. The profile is
delta(eps) = max over pairs of sum_y (Q(y|x) - e^eps Q(y|x'))^+, exact; at eps = 0 total variation.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.channels.measures.alpha_leakage import checked_order
from sfumato.channels.measures.discrete import ChannelLike, ldp, matrix_of


def renyi_ldp(channel: ChannelLike, order: float) -> float:
    """The largest Rényi divergence of an order above 0 between two rows, in nats."""
    alpha = checked_order(order)
    q = _used(channel)
    if alpha == math.inf:
        return ldp(q)
    if alpha >= 1 and np.any(q == 0):
        return math.inf  # an output some input gives and another cannot
    if alpha == 1:
        logs = np.log(q)
        own = (q * logs).sum(axis=1)
        return max(0.0, float((own[:, None] - q @ logs.T).max()))
    return max(0.0, float((log_power_sums(q, alpha) / (alpha - 1)).max()))


def log_power_sums(q: FloatArray, power: float) -> FloatArray:
    """ln sum_y Q(y|x)^power Q(y|x')^(1-power) for every pair [x, x']; near 0 it keeps its digits (log1p, expm1)."""
    n = q.shape[0]
    with np.errstate(divide="ignore"):
        logs = np.log(q)
    out = np.empty((n, n))
    for x in range(n):
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            ratio = np.where(q[x] > 0, logs[x] - logs, -np.inf)  # ln Q(y|x) / Q(y|x'), rows x'
            small = np.abs(ratio).max(axis=1) * abs(power - 1) < 0.5
            direct = np.where(q[x] > 0, power * logs[x] + (1 - power) * logs, -np.inf)
            top = direct.max(axis=1, keepdims=True)
            apart = np.isneginf(top[:, 0])  # no common output
            out[x] = np.where(apart, -np.inf, np.log(np.exp(direct - top).sum(axis=1)) + top[:, 0])
            if small.any():  # sum Q(y|x) (e^((power-1) ln ratio) - 1)
                out[x, small] = np.log1p((q[x] * np.expm1((power - 1) * ratio[small])).sum(axis=1))
    return out


def ldp_delta(channel: ChannelLike, epsilon: float) -> float:
    """The smallest delta of (epsilon, delta)-LDP, exact: max over pairs of sum_y (Q(y|x) - e^eps Q(y|x'))^+."""
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon is {epsilon}.", "It must be a finite number of at least 0.")
    q = _used(channel)
    if epsilon > 700:
        return float(max(np.where(q == 0, row, 0.0).sum(axis=1).max() for row in q))
    factor = math.exp(epsilon)
    return min(1.0, float(max(np.maximum(row - factor * q, 0.0).sum(axis=1).max() for row in q)))


def ldp_epsilon(channel: ChannelLike, delta: float) -> float:
    """The smallest epsilon with (epsilon, delta)-LDP: the profile inverted, rounded up (0 when delta covers all)."""
    checked_delta(delta)
    q = _used(channel)
    if delta == 0:
        return ldp(q)
    if ldp_delta(q, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while ldp_delta(q, high) > delta:
        low, high = high, 2 * high
        if high > 1400:
            return math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if ldp_delta(q, middle) > delta else (low, middle)
    return high


def checked_delta(delta: float) -> float:
    """A probability that is given up: in [0, 1)."""
    if not 0 <= delta < 1:
        raise InputError(f"delta is {delta}.", "It is a probability of at least 0 and below 1.")
    return float(delta)


def total_variation(channel: ChannelLike) -> float:
    """The largest total variation between two rows: the advantage of telling two inputs apart."""
    return ldp_delta(channel, 0.0)


def _used(channel: ChannelLike) -> FloatArray:
    q = matrix_of(channel)
    return q[:, q.max(axis=0) > 0]
