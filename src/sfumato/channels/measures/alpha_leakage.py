"""Leakage of every order between the average and the worst case: Sibson's and Arimoto's information, alpha-leakage.

Sibson [Sibson1969; Verdu2015]: I_alpha = alpha/(alpha-1) ln sum_y (sum_x p(x) Q(y|x)^alpha)^(1/alpha). It grows with
alpha from mutual information (alpha = 1) to ln sum_y max_x Q (alpha = infinity, maximal leakage). Arimoto's is
Sibson's at the tilted prior p^alpha / sum p^alpha; it is alpha-leakage [Liao2019], and at infinity min-entropy
leakage. Near order 1 both are differences of numbers close to 1: they are summed with expm1 and log1p, not
subtracted.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.discrete import (
    ChannelLike,
    matrix_and_prior,
    min_entropy_leakage,
    mutual_information,
)


def checked_order(order: float, *, at_least: float = 0.0) -> float:
    """An order above 0 (or at least ``at_least``), infinity included."""
    alpha = float(order)
    if not alpha > 0 or alpha < at_least:
        limit = f"at least {at_least:g}" if at_least else "greater than 0"
        raise InputError(f"The order is {order}.", f"It must be a number {limit}; infinity is allowed.")
    return alpha


def sibson_information(channel: ChannelLike, prior: npt.ArrayLike, order: float) -> float:
    """Sibson's mutual information of an order in (0, infinity], in nats."""
    alpha = checked_order(order)
    q, p = matrix_and_prior(channel, prior)
    q, p = q[p > 0], p[p > 0]
    q = q[:, q.max(axis=0) > 0]
    if alpha == 1:
        return mutual_information(q, p)
    if alpha == math.inf:
        return max(0.0, math.log(float(q.max(axis=0).sum())))
    m = p @ q
    with np.errstate(divide="ignore"):
        log_lift = np.log(q) - np.log(m)
        log_p = np.log(p)
    finite_lifts = log_lift[np.isfinite(log_lift)]
    spread = float(np.abs(finite_lifts).max(initial=0.0))
    if abs(alpha - 1) * spread < 0.5:
        posterior = p[:, None] * q / m
        with np.errstate(invalid="ignore"):
            moved = np.where(posterior > 0, posterior * np.expm1((alpha - 1) * log_lift), 0.0).sum(axis=0)
        total = float(m @ np.expm1(np.log1p(moved) / alpha))  # sum_y (...)^(1/alpha) - 1
        return max(0.0, alpha / (alpha - 1) * math.log1p(total))
    inner = log_sum_exp(log_p[:, None] + alpha * log_lift, axis=0) / alpha + np.log(m)
    return max(0.0, alpha / (alpha - 1) * float(log_sum_exp(inner[:, None], axis=0)[0]))


def arimoto_information(channel: ChannelLike, prior: npt.ArrayLike, order: float) -> float:
    """Arimoto's mutual information H_alpha(X) - H_alpha(X | Y) in nats: Sibson's at the tilted prior."""
    alpha = checked_order(order)
    q, p = matrix_and_prior(channel, prior)
    if alpha == math.inf:
        return min_entropy_leakage(q, p)
    q, p = q[p > 0], p[p > 0]
    if alpha * float(np.ptp(np.log(p))) < 30:
        return sibson_information(q, tilt(p, alpha), alpha)
    with np.errstate(divide="ignore"):  # the tilted prior would underflow: the same in logarithms
        logs = alpha * (np.log(p)[:, None] + np.log(q[:, q.max(axis=0) > 0]))
    after = float(log_sum_exp(log_sum_exp(logs, axis=0)[:, None] / alpha, axis=0)[0])
    before = float(log_sum_exp(alpha * np.log(p)[:, None], axis=0)[0]) / alpha
    return max(0.0, alpha / (alpha - 1) * (after - before))


def alpha_leakage(channel: ChannelLike, prior: npt.ArrayLike, order: float) -> float:
    """alpha-leakage of [Liao2019] for an order of at least 1: Arimoto's mutual information."""
    return arimoto_information(channel, prior, checked_order(order, at_least=1.0))


def renyi_entropy(prior: npt.ArrayLike, order: float) -> float:
    """H_alpha = ln(sum p^alpha) / (1 - alpha) in nats; Shannon's at 1, -ln max p at infinity."""
    alpha = checked_order(order)
    p = checked_probabilities(prior)
    p = p[p > 0]
    if alpha == math.inf:
        return max(0.0, -math.log(float(p.max())))
    if alpha == 1:
        return max(0.0, float(-(p * np.log(p)).sum()))
    if abs(alpha - 1) * float(np.abs(np.log(p)).max()) < 0.5:
        return max(0.0, math.log1p(float((p * np.expm1((alpha - 1) * np.log(p))).sum())) / (1 - alpha))
    return max(0.0, float(log_sum_exp(alpha * np.log(p)[:, None], axis=0)[0]) / (1 - alpha))


def tilt(prior: npt.ArrayLike, order: float) -> FloatArray:
    """p^alpha / sum p^alpha."""
    p = checked_probabilities(prior)
    if math.isinf(checked_order(order)):
        raise InputError("There is no prior tilted by an infinite order.", "Use a finite order.")
    with np.errstate(divide="ignore", under="ignore"):
        logs = order * (np.log(p) - math.log(float(p.max())))
        weight = np.exp(logs)
    out: FloatArray = weight / weight.sum()
    return out


def log_sum_exp(values: FloatArray, axis: int) -> FloatArray:
    """ln of the sum of e^values along an axis, where e^values is no number too."""
    top = values.max(axis=axis, keepdims=True)
    with np.errstate(under="ignore"):
        total = np.exp(values - top).sum(axis=axis)
    out: FloatArray = np.log(total) + np.squeeze(top, axis=axis)
    return out
