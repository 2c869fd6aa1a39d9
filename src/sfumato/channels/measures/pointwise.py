"""Pointwise maximal leakage: what one particular report y gives away, and what several reports give away together.

l(X -> y) = ln max_x P(y | x) / P(y), x over the support [Saeidian2023, Thm 1]: the most that report can multiply the
chance of guessing *any* function of x. Its maximum over y is the upper side of LIP, its mean after e^(.) is maximal
leakage. Reports compose by the chain rule l(y1, y2) <= l(y1) + l(y2 | y1), the second measured from the belief the
first left [Saeidian2023, Thm 4]; adding leakages both measured from the *first* belief is not a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, from_zero
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.discrete import ChannelLike, matrix_of, pointwise_maximal_leakage, product_matrix


def tail(channel: ChannelLike, prior: npt.ArrayLike, epsilon: float) -> float:
    """P(l(X -> Y) > epsilon): the probability of a report that gives away more (the delta of (epsilon, delta)-PML)."""
    if math.isnan(epsilon):
        raise InputError("epsilon is not a number.", "Give a number of nats.")
    leakage, m = _with_weights(channel, prior)
    return float(min(1.0, m[leakage > epsilon].sum()))


def quantile(channel: ChannelLike, prior: npt.ArrayLike, delta: float) -> float:
    """The least epsilon with P(l(X -> Y) > epsilon) <= delta; delta 0 gives the maximum."""
    if not 0 <= delta < 1:
        raise InputError(f"delta is {delta}.", "It lies in [0, 1).")
    leakage, m = _with_weights(channel, prior)
    order = np.argsort(-leakage, kind="stable")
    above = np.cumsum(m[order])  # the mass at this leakage or more
    kept = int(np.searchsorted(above, delta, side="right"))
    return float(max(0.0, leakage[order[min(kept, order.size - 1)]]))


@dataclass(frozen=True, slots=True)
class Chained:
    """Two reports, one after the other: the exact leakage of the pair and the chain rule's bound on it."""

    together: float
    first: float
    second_given_first: float

    @property
    def bound(self) -> float:
        """l(y1) + l(y2 | y1)."""
        return self.first + self.second_given_first


def chained(first: ChannelLike, second: ChannelLike, prior: npt.ArrayLike, outputs: tuple[int, int]) -> Chained:
    """The reports ``outputs`` = (y1, y2) about the same x, independent given x; refused where both cannot occur."""
    a, b = matrix_of(first), matrix_of(second)
    p = checked_probabilities(prior, a.shape[0])
    if b.shape[0] != a.shape[0]:
        raise InputError("The channels have different inputs.", "They must be about the same symbol.")
    if len(outputs) != 2:
        raise InputError(f"{len(outputs)} reports were given.", "Give one output of each channel.")
    y1, y2 = outputs
    if int(y1) != y1 or int(y2) != y2 or not (0 <= y1 < a.shape[1] and 0 <= y2 < b.shape[1]):
        raise InputError(f"There are no outputs {y1} and {y2}.", "Give indexes of outputs.")
    one, two = a[:, y1], b[:, y2]
    if float(p @ (one * two)) <= 0:
        raise InputError(f"The reports {y1} and {y2} cannot both occur.", "Only possible reports leak.")
    belief = p * one / float(p @ one)
    return Chained(_leak(one * two, p), _leak(one, p), _leak(two, belief))


def composed(channels: Sequence[ChannelLike], prior: npt.ArrayLike) -> float:
    """The largest pointwise leakage of the reports together, exact: that of the product channel."""
    return float(np.nanmax(pointwise_maximal_leakage(product_matrix(channels), prior)))


def posterior_composed(leakages: Sequence[float]) -> float:
    """The sum, which holds when each report's channel has that leakage *at the belief so far* (posterior-adaptive)."""
    values = [from_zero(value, "A leakage") for value in leakages]
    return math.inf if math.isinf(sum(values)) else math.fsum(values)


def cap(prior: npt.ArrayLike) -> float:
    """-ln p_min: nothing can leak more about this prior, however many reports."""
    p = checked_probabilities(prior)
    return max(0.0, -math.log(float(p[p > 0].min())))


def _leak(column: FloatArray, p: FloatArray) -> float:
    return max(0.0, math.log(float(column[p > 0].max())) - math.log(float(p @ column)))


def _with_weights(channel: ChannelLike, prior: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    leakage, m = pointwise_maximal_leakage(q, p), p @ q
    possible = ~np.isnan(leakage)
    return leakage[possible], m[possible]
