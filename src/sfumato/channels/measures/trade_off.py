"""f-LDP: the trade-off between the two errors of an adversary who must tell one input from another by the report.

T(P, P')(a) is the least miss rate of a test of P against P' with false-alarm rate at most a; f-LDP holds iff every
pair of rows has T >= f [Dong2022, Def. 2.3, for single inputs]. For discrete rows T is exact: sort outputs by
likelihood ratio, join the corners. The curve of a channel is the pointwise least over ordered pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from sfumato.base.arrays import FloatArray, finite, from_zero
from sfumato.base.errors import InputError
from sfumato.channels.measures.discrete import ChannelLike, matrix_of

MOST_WORK = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """Corners (false alarm rising from 0 to 1, miss falling to 0) of a convex piecewise linear curve."""

    false_alarm: FloatArray
    miss: FloatArray

    def __call__(self, false_alarm: npt.ArrayLike) -> FloatArray:
        """The least miss rate at a false-alarm rate."""
        at = _rates(false_alarm)
        return np.asarray(np.interp(at, self.false_alarm, self.miss))


def _rates(false_alarm: npt.ArrayLike) -> FloatArray:
    at = finite(false_alarm, "The false-alarm rate")
    if at.size and (at.min() < 0 or at.max() > 1):
        raise InputError("A false-alarm rate lies outside 0 .. 1.", "It is a probability.")
    return at


def trade_off(null: npt.ArrayLike, alternative: npt.ArrayLike) -> TradeOff:
    """T(null, alternative), exact for two rows over the same outputs (Neyman-Pearson)."""
    p, q = finite(null, "The null row", dimensions=1), finite(alternative, "The alternative row", dimensions=1)
    if p.shape != q.shape or p.size == 0:
        raise InputError("The two rows have different outputs, or none.", "Give two rows of one channel.")
    most = max(p.max(), q.max())
    if min(p.min(), q.min()) < 0 or most > 2 or abs(p.sum() - 1) > 1e-6 or abs(q.sum() - 1) > 1e-6:
        raise InputError("A row is not a distribution.", "Its entries are at least 0 and sum to 1.")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(p > 0, q / np.where(p > 0, p, 1.0), np.where(q > 0, np.inf, -1.0))
    order = np.argsort(-ratio, kind="stable")
    alarm = np.concatenate([[0.0], np.cumsum(p[order])])
    miss = np.concatenate([[1.0], 1.0 - np.cumsum(q[order])])
    alarm, miss = np.clip(alarm, 0.0, 1.0), np.clip(miss, 0.0, 1.0)
    free = int(np.sum(alarm == 0.0)) - 1  # outputs the null never gives: reject there at no cost
    return TradeOff(np.append(alarm[free:], 1.0), np.append(miss[free:], 0.0))


def channel_trade_off(channel: ChannelLike, false_alarm: npt.ArrayLike) -> FloatArray:
    """The least T over all ordered pairs of inputs, at the rates asked for: the channel's f."""
    q = matrix_of(channel)
    at = np.atleast_1d(_rates(false_alarm))
    if q.shape[0] ** 2 * q.shape[1] > MOST_WORK:
        raise InputError(
            f"{q.shape[0]} inputs have too many pairs for every curve.", "Restrict the channel to some of its inputs."
        )
    worst: FloatArray = 1.0 - at
    for one, other in permutations(q, 2):
        worst = np.minimum(worst, trade_off(one, other)(at))
    return worst


def gaussian_mu(channel: ChannelLike) -> float:
    """The least mu such that the channel is mu-GDP per input: G_mu(a) = Phi(Phi^-1(1 - a) - mu) below every corner.

    A convex curve above G_mu at its corners is above it between them only if G_mu is; G_mu is convex, so a chord above
    two of its points is above it: corners suffice. Infinite when some report rules an input out.
    """
    q = matrix_of(channel)
    if q.shape[0] ** 2 * q.shape[1] > MOST_WORK:
        raise InputError(f"{q.shape[0]} inputs have too many pairs.", "Restrict the channel to some of its inputs.")
    worst = 0.0
    for one, other in permutations(q, 2):
        curve = trade_off(one, other)
        inside = (curve.false_alarm > 0) & (curve.false_alarm < 1) & (curve.miss > 0)
        if curve.miss[0] < 1 or np.any((curve.miss <= 1e-15) & (curve.false_alarm < 1 - 1e-12)):
            return math.inf
        if inside.any():
            # Phi^-1(1 - a) = -Phi^-1(a)
            worst = max(worst, float((-ndtri(curve.false_alarm[inside]) - ndtri(curve.miss[inside])).max()))
    return max(0.0, worst)


def gaussian_trade_off(mu: float, false_alarm: npt.ArrayLike) -> FloatArray:
    """G_mu(a) = Phi(Phi^-1(1 - a) - mu)."""
    at = _rates(false_alarm)
    if math.isinf(from_zero(mu, "mu")):
        return np.zeros_like(at)
    return np.asarray(ndtr(-ndtri(at) - mu))


def ldp_trade_off(epsilon: float, delta: float, false_alarm: npt.ArrayLike) -> FloatArray:
    """max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a)): the curve of (epsilon, delta)-LDP [Dong2022, Prop. 2.5]."""
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise InputError(f"epsilon is {epsilon}, delta {delta}.", "They need epsilon >= 0 and 0 <= delta <= 1.")
    at = _rates(false_alarm)
    steep = np.where(at > 0, 1 - delta - np.exp(min(epsilon, 700.0)) * at, 1 - delta)
    return np.asarray(np.maximum(0.0, np.maximum(steep, math.exp(-epsilon) * (1 - delta - at))))
