"""Maximal (alpha, beta)-leakage: one family from maximal leakage over Rényi to local differential privacy.

[Gilani2024]: max_x' sup_P alpha / ((alpha-1) beta) ln sum_y Q(y|x')^(1-beta) (sum_x P(x) Q(y|x)^alpha)^(beta/alpha).
beta = 1 is maximal alpha-leakage, alpha = beta local Rényi differential privacy, alpha = infinity and beta = 1 maximal
leakage, both infinite local differential privacy. It is defined for alpha > 1 and beta >= 1, grows with beta, and adds
over independent reports. For beta >= alpha the supremum is at a single symbol (convex in P); below, it is a concave
programme solved with a certified gap. At order alpha = 1 the paper takes limits; here that is refused.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.channels.measures.alpha_leakage import checked_order
from sfumato.channels.measures.discrete import ChannelLike, ldp, matrix_of
from sfumato.channels.measures.renyi_ldp import log_power_sums
from sfumato.channels.measures.simplex_maximum import largest_on_simplex


def alpha_beta_leakage(channel: ChannelLike, alpha: float, beta: float) -> float:
    """Maximal (alpha, beta)-leakage in nats; infinite when some report rules a symbol out and beta > 1."""
    a, b = checked_order(alpha, at_least=1.0), checked_order(beta, at_least=1.0)
    if a == 1:
        raise InputError("alpha is 1.", "Maximal (alpha, beta)-leakage is defined for alpha > 1: take 1.0001, say.")
    q = matrix_of(channel)
    q = q[:, q.max(axis=0) > 0]
    if b == math.inf:
        return math.inf if a < math.inf and np.any(q == 0) else _limit_beta(q, a)
    if b > 1 and np.any(q == 0):
        return math.inf
    if a == math.inf:
        return max(0.0, float(_log_sum(b * np.log(q.max(axis=0)) + _powered(1 - b, q)).max()) / b)
    if b >= a:
        # sum_y Q(y|x')^(1-b) Q(y|x)^b at the best pair: (b-1) times a Rényi divergence of order b
        return max(0.0, a / ((a - 1) * b) * float(log_power_sums(q, b).max()))
    return max(_concave(q, a, b, x) for x in range(q.shape[0])) if b > 1 else _concave(q, a, b, 0)


def _limit_beta(q: FloatArray, a: float) -> float:
    """beta to infinity: alpha / (alpha - 1) times the largest log ratio."""
    return ldp(q) * (1.0 if a == math.inf else a / (a - 1))


def _powered(power: float, q: FloatArray) -> FloatArray:
    return np.zeros_like(q) if power == 0 else np.asarray(power * np.log(q))


def _log_sum(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=1, keepdims=True)
    out: FloatArray = np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]
    return out


def _concave(q: FloatArray, a: float, b: float, x: int) -> float:
    top = q.max(axis=0)
    with np.errstate(divide="ignore", under="ignore"):
        powered = np.exp(a * (np.log(q) - np.log(top)))
        logs = b * np.log(top) + ((1 - b) * np.log(q[x]) if b > 1 else 0.0)
    shift = float(logs.max())
    weights, power = np.exp(logs - shift), b / a

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        inner = p @ powered
        outer = weights * inner**power
        slope = power * outer / inner
        return float(outer.sum()), powered @ slope, (power - 1) * slope / inner

    found = largest_on_simplex(pieces, powered, gap=1e-13)
    return max(0.0, a / ((a - 1) * b) * (math.log(found.value) + shift))
