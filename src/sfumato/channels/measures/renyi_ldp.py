"""Rényi local differential privacy, the (epsilon, delta) profile, and maximal (alpha, beta)-leakage.

D_a(Q_x || Q_x') = ln(sum_y Q(y|x)^a Q(y|x')^(1-a)) / (a - 1) at its worst over pairs [Mironov2017, Def. 4, for single
inputs]: order 1 is the largest Kullback-Leibler divergence, order infinity local differential privacy. The profile is
delta(eps) = max over pairs of sum_y (Q(y|x) - e^eps Q(y|x'))^+, exact; at eps = 0 total variation.

Maximal (alpha, beta)-leakage is one family from maximal leakage over Rényi to local differential privacy [Gilani2024]:
max_x' sup_P alpha / ((alpha-1) beta) ln sum_y Q(y|x')^(1-beta) (sum_x P(x) Q(y|x)^alpha)^(beta/alpha). beta = 1 is
maximal alpha-leakage, alpha = beta local Rényi differential privacy, alpha = infinity and beta = 1 maximal leakage,
both infinite local differential privacy. It is defined for alpha > 1 and beta >= 1, grows with beta, and adds over
independent reports. For beta >= alpha the supremum is at a single symbol (convex in P); below, it is a concave
programme solved with a certified gap. At order alpha = 1 the paper takes limits; here that is refused.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import pdist

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import least_that_holds
from sfumato.channels.measures.alpha_leakage import checked_order, log_sum_exp
from sfumato.channels.measures.capacity import largest_on_simplex, sums_of_powers
from sfumato.channels.measures.discrete import ChannelLike, ldp, matrix_of, used_outputs


def renyi_ldp(channel: ChannelLike, order: float) -> float:
    """The largest Rényi divergence of an order above 0 between two rows, in nats."""
    alpha = checked_order(order)
    q = used_outputs(channel)
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
    q = used_outputs(channel)
    if epsilon > 700:
        return float(max(np.where(q == 0, row, 0.0).sum(axis=1).max() for row in q))
    factor = math.exp(epsilon)
    return min(1.0, float(max(np.maximum(row - factor * q, 0.0).sum(axis=1).max() for row in q)))


def ldp_epsilon(channel: ChannelLike, delta: float) -> float:
    """The smallest epsilon with (epsilon, delta)-LDP: the profile inverted, rounded up (0 when delta covers all)."""
    checked_delta(delta)
    q = used_outputs(channel)
    if delta == 0:
        return ldp(q)
    if ldp_delta(q, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while ldp_delta(q, high) > delta:
        low, high = high, 2 * high
        if high > 1400:
            return math.inf
    return least_that_holds(lambda epsilon: ldp_delta(q, epsilon) <= delta, low, high)


def checked_delta(delta: float) -> float:
    """A probability that is given up: in [0, 1)."""
    if not 0 <= delta < 1:
        raise InputError(f"delta is {delta}.", "It is a probability of at least 0 and below 1.")
    return float(delta)


def total_variation(channel: ChannelLike) -> float:
    """The largest total variation between two rows: the advantage of telling two inputs apart.

    1 - it is Bayes security [Chatzikokolakis2023]: the least ratio of Bayes risk after and before, over every prior.
    """
    return min(1.0, 0.5 * float(pdist(matrix_of(channel), "cityblock").max(initial=0.0)))


def alpha_beta_leakage(channel: ChannelLike, alpha: float, beta: float) -> float:
    """Maximal (alpha, beta)-leakage in nats; infinite when some report rules a symbol out and beta > 1."""
    a, b = checked_order(alpha, at_least=1.0), checked_order(beta, at_least=1.0)
    if a == 1:
        raise InputError("alpha is 1.", "Maximal (alpha, beta)-leakage is defined for alpha > 1: take 1.0001, say.")
    q = used_outputs(channel)
    if b == math.inf:
        if a < math.inf:  # the limit: alpha / (alpha - 1) times the largest log ratio
            return math.inf if np.any(q == 0) else ldp(q) * a / (a - 1)
        return ldp(q)
    if b > 1 and np.any(q == 0):
        return math.inf
    if a == math.inf:
        powered = np.zeros_like(q) if b == 1 else (1 - b) * np.log(q)
        return max(0.0, float(log_sum_exp(b * np.log(q.max(axis=0)) + powered, axis=1).max()) / b)
    if b >= a:
        # sum_y Q(y|x')^(1-b) Q(y|x)^b at the best pair: (b-1) times a Rényi divergence of order b
        return max(0.0, a / ((a - 1) * b) * float(log_power_sums(q, b).max()))
    return max(_concave(q, a, b, x) for x in range(q.shape[0])) if b > 1 else _concave(q, a, b, 0)


def _concave(q: FloatArray, a: float, b: float, x: int) -> float:
    top = q.max(axis=0)
    with np.errstate(divide="ignore", under="ignore"):
        powered = np.exp(a * (np.log(q) - np.log(top)))
        logs = b * np.log(top) + ((1 - b) * np.log(q[x]) if b > 1 else 0.0)
    shift = float(logs.max())
    pieces = sums_of_powers(powered, np.exp(logs - shift), b / a)
    found = largest_on_simplex(pieces, powered, gap=1e-13)
    return max(0.0, a / ((a - 1) * b) * (math.log(found.value) + shift))
