"""Capacities: the most a channel can tell about any prior, each with a certified gap.

Shannon's capacity max_p I(X; Y) [Shannon1948; Arimoto1972; Blahut1972] bounds what reports tell on average whatever the
prior; Sibson's of order alpha is maximal alpha-leakage [Liao2019]; order infinity is ln sum_y max_x Q(y | x), exact.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, positive
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.alpha_leakage import checked_order, sibson_information
from sfumato.channels.measures.discrete import ChannelLike, matrix_of, mutual_information
from sfumato.channels.measures.simplex_maximum import Pieces, largest_on_simplex


def shannon_capacity(channel: ChannelLike, *, gap: float = 1e-12, most_steps: int = 400) -> Solved[FloatArray]:
    """max_p I(X; Y) in nats, with the prior that attains it.

    ``objective`` is what that prior attains, ``lower_bound`` the same, and ``gap`` the certified *absolute* distance in
    nats to max_x D(Q_x || m), which no prior can exceed.
    """
    q = _used(channel)
    own = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0).sum(axis=1)

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        m = p @ q
        divergence = own - q @ np.log(m)
        return float(p @ divergence), divergence, -1.0 / m

    return _solved(pieces, q, positive(gap, "gap"), most_steps)


def sibson_capacity(
    channel: ChannelLike, order: float, *, gap: float = 1e-12, most_steps: int = 400
) -> Solved[FloatArray]:
    """max_p of Sibson's information of an order above 1: maximal alpha-leakage [Liao2019]; 1 is Shannon's capacity.

    exp((alpha - 1) / alpha * it) = max_p sum_y (sum_x p(x) Q(y | x)^alpha)^(1 / alpha), concave in p.
    """
    alpha = float(order)
    q = _used(channel)
    if alpha == math.inf:
        value = max(0.0, math.log(float(q.max(axis=0).sum())))
        return Solved(np.full(q.shape[0], 1.0 / q.shape[0]), "exact", 0, None, value, value)
    if alpha == 1:
        return shannon_capacity(q, gap=gap, most_steps=most_steps)
    positive(alpha - 1, "order - 1", at_most=1e9)
    find = _near_order_one if alpha <= 2 else _far_from_order_one
    return find(q, alpha, positive(gap, "gap"), most_steps)


def maximal_alpha_leakage(channel: ChannelLike, prior: npt.ArrayLike, order: float) -> float:
    """Maximal alpha-leakage [Liao2019, Thm 2]: what an adversary of that order gains about *any* function of x.

    Order 1 is mutual information (of this prior); above 1 it is Sibson's capacity over the support of the prior.
    """
    alpha = checked_order(order, at_least=1.0)
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    if alpha == 1:
        return mutual_information(q, p)
    solved = sibson_capacity(q[p > 0], alpha, gap=1e-11)
    assert solved.objective is not None
    return solved.objective


def _far_from_order_one(q: FloatArray, alpha: float, gap: float, most_steps: int) -> Solved[FloatArray]:
    top = q.max(axis=0)
    with np.errstate(divide="ignore", under="ignore"):
        powered = np.exp(alpha * (np.log(q) - np.log(top)))  # (Q / max_x Q)^alpha: at most 1, no overflow

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        inner = p @ powered
        outer = top * inner ** (1 / alpha)
        slope = outer / (alpha * inner)
        return float(outer.sum()), powered @ slope, (1 / alpha - 1) * slope / inner

    found = largest_on_simplex(pieces, powered, gap=0.5 * gap, most_steps=most_steps)
    low = sibson_information(q, found.prior, alpha)
    apart = alpha / (alpha - 1) * math.log1p(max(0.0, found.gap) / found.value)
    return Solved(found.prior, "converged", found.steps, apart, low, low)


def _near_order_one(q: FloatArray, alpha: float, gap: float, most_steps: int) -> Solved[FloatArray]:
    """The same programme as alpha / (alpha - 1) (F - 1), summed with expm1 so that nothing cancels as alpha -> 1.

    With r = Q / m and A_y = ln(sum_x p r^alpha) / alpha the gradient is sum_y Q expm1((alpha - 1)(ln r - A)) /
    (alpha - 1), up to a constant that does not matter on the simplex; at alpha = 1 it is D(Q_x || m).
    """
    away = alpha - 1
    with np.errstate(divide="ignore"):
        log_q = np.log(q)
    top = q.max(axis=0)
    with np.errstate(under="ignore"):
        powered = np.exp(alpha * (log_q - np.log(top)))

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        m = p @ q
        log_lift = log_q - np.log(m)
        inner = np.log1p((p[:, None] * q * np.expm1(away * log_lift)).sum(axis=0) / m) / alpha
        value = alpha / away * float(m @ np.expm1(inner))
        gradient = (q * np.expm1(away * (log_lift - inner))).sum(axis=1) / away
        scaled = np.exp(alpha * (np.log(m) + inner - np.log(top)))  # sum_x p (Q / top)^alpha
        return value, gradient, -top * scaled ** (1 / alpha - 2) / alpha

    found = largest_on_simplex(pieces, powered, gap=gap, most_steps=most_steps)
    low = alpha / away * math.log1p(max(0.0, found.value) * away / alpha)
    return Solved(found.prior, "converged", found.steps, max(0.0, found.gap), low, low)


def _solved(pieces: Pieces, q: FloatArray, gap: float, most_steps: int) -> Solved[FloatArray]:
    found = largest_on_simplex(pieces, q, gap=gap, most_steps=most_steps)
    value = max(0.0, found.value)
    return Solved(found.prior, "converged", found.steps, max(0.0, found.gap), value, value)


def _used(channel: ChannelLike) -> FloatArray:
    q = matrix_of(channel)
    return q[:, q.max(axis=0) > 0]
