"""How much a report helps an adversary who wants something: vulnerability before and after, for any gain function.

V_g(p) = max_w sum_x g(w, x) p(x) before, V_g(p, Q) = sum_y max_w sum_x g(w, x) p(x) Q(y | x) after, on average over
reports, and max_y of the same of the posterior for the worst report [Alvim2020, ch. 3 to 5]. Leakage is their ratio (in
nats, ln) or difference. With one guess it is min-entropy leakage [Smith2009]; no gain function of non-negative values
leaks more than ln sum_y max_x Q(y | x) (the "miracle" theorem [Alvim2012]), and one guess from a uniform prior does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist

from sfumato.base.arrays import looked_at
from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.channels.guessing.gain_functions import Gain
from sfumato.channels.guessing.often import compiled, plain_prior
from sfumato.channels.measures.discrete import ChannelLike, matrix_of

_AT_ONCE = 1 << 15
_FEW = 100
"""Up to this many symbols to compare all pairs is quicker than to sort."""


@dataclass(frozen=True, slots=True)
class GLeakage:
    """The adversary's gain before and after a report, on average and for the worst report.

    ``nats`` = ln(average / before) and ``worst_nats`` = ln(worst / before) are infinite when a report makes a gain of 0
    positive, and NaN where gains are negative (a ratio then means nothing: use :attr:`added`).
    """

    before: float
    average: float
    worst: float
    worst_output: int
    gain: str

    @property
    def nats(self) -> float:
        """ln of the average factor by which a report multiplies the gain."""
        return _log_ratio(self.average, self.before)

    @property
    def worst_nats(self) -> float:
        """ln of the largest factor by which a single report multiplies the gain."""
        return _log_ratio(self.worst, self.before)

    @property
    def added(self) -> float:
        """What a report adds to the gain on average."""
        return max(0.0, self.average - self.before)


def g_leakage(channel: ChannelLike, prior: npt.ArrayLike, gain: Gain | npt.ArrayLike) -> GLeakage:
    """Vulnerability before and after for a gain function (or a table of gains, guesses by symbols)."""
    wanted = gain if isinstance(gain, Gain) else _table(gain)
    loops = compiled()
    if loops is not None and wanted.values is not None:
        known = plain_prior(prior, channel)
        if known is not None and wanted.symbols == known.size:
            assert isinstance(channel, Channel)
            good, before, average, most, output = loops.best_of_table(wanted.values, channel.matrix, known)
            if good:
                return GLeakage(before, average, most, output, wanted.name)
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    m = p @ q
    before = float(wanted.best(p[:, None])[0])
    best = np.empty_like(m)
    some = max(16, _AT_ONCE // p.size)  # few outputs at a time: the joint table is never held whole
    for at in range(0, m.size, some):
        best[at : at + some] = wanted.best(p[:, None] * q[:, at : at + some])
    possible = np.flatnonzero(m > 0)
    posterior = best[possible] / m[possible]  # the gain of a posterior is that of the joint column over its mass
    worst = int(np.argmax(posterior))
    return GLeakage(before, float(best.sum()), float(posterior[worst]), int(possible[worst]), wanted.name)


def g_vulnerability(prior: npt.ArrayLike, gain: Gain | npt.ArrayLike) -> float:
    """V_g(p): the best expected gain without a report."""
    p = checked_probabilities(prior)
    wanted = gain if isinstance(gain, Gain) else _table(gain)
    return float(wanted.best(p[:, None])[0])


def bayes_vulnerability(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """sum_y max_x p(x) Q(y | x): how often the best guess is right; 1 minus it is the Bayes risk."""
    return _one_guess(channel, prior)[0]


def min_entropy_leakage(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """ln(V(p, Q) / max p): the factor by which one report helps one guess [Smith2009]; Sibson's order infinity at the
    uniform prior.
    """
    after, before = _one_guess(channel, prior)
    return max(0.0, math.log(after) - math.log(before))


def min_entropy_capacity(channel: ChannelLike) -> float:
    """ln sum_y max_x Q(y | x): the most any prior and any non-negative gain function can leak; maximal leakage."""
    q = matrix_of(channel)
    loops = compiled()
    most = loops.largest_of_columns(q) if loops is not None else float(np.add.reduce(np.maximum.reduce(q)))
    return max(0.0, math.log(most))


def guessing_entropy(prior: npt.ArrayLike) -> float:
    """sum_i i p_(i), likeliest first: how many guesses "is it x?" it takes on average [Massey1994]."""
    p = np.sort(checked_probabilities(prior))[::-1]
    return float(p @ np.arange(1, p.size + 1))


def posterior_guessing_entropy(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """The same after a report, on average over reports."""
    loops = compiled()
    if loops is not None:
        known = plain_prior(prior, channel)
        if known is not None and known.size <= _FEW:
            assert isinstance(channel, Channel)
            good, asked = loops.guesses_needed(channel.matrix, known)
            if good:
                return float(asked)
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    joint = np.multiply(q.T, p, order="C")  # a row per output: sorted in place, in one piece of memory
    joint.sort(axis=1)
    return float(np.arange(p.size, 0, -1.0) @ np.add.reduce(joint))


def prediction_risk(channel: ChannelLike, prior: npt.ArrayLike, holds: npt.ArrayLike) -> tuple[float, float]:
    """(before, after): how often the best guess of a yes-or-no statement about x is wrong.

    ``sum_y min(P(holds, y), P(not holds, y))``; summed as the smaller side, so that small risks keep their digits.
    """
    truth = np.asarray(holds, dtype=np.bool_)
    loops = compiled()
    if loops is not None:
        known = plain_prior(prior, channel)
        if known is not None and truth.shape == known.shape and truth.flags.c_contiguous:
            assert isinstance(channel, Channel)
            good, before, after = loops.smaller_sides(channel.matrix, known, truth)
            if good:
                return before, after
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    if truth.shape != p.shape:
        raise InputError(f"The statement has {truth.size} truth values for {p.size} symbols.", "Give one per symbol.")
    yes, no = np.where(truth, p, 0.0), np.where(truth, 0.0, p)
    return min(float(yes.sum()), float(no.sum())), float(np.minimum(yes @ q, no @ q).sum())


@dataclass(frozen=True, slots=True)
class Singled:
    """The symbol about which "was it x?" is helped most by a report: its risk before and after."""

    symbol: int
    before: float
    after: float

    @property
    def nats(self) -> float:
        """ln(before / after)."""
        return _log_ratio(self.before, self.after)


def singling_out(channel: ChannelLike, prior: npt.ArrayLike) -> Singled:
    """The prediction risk of every statement "it is x", at its worst: the largest factor by which it falls."""
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    joint = p[:, None] * q
    m = joint.sum(axis=0)
    others = np.maximum(m[None, :] - joint, 0.0)
    after = np.minimum(joint, others).sum(axis=1)
    before = np.minimum(p, 1.0 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(before > 0, before / after, 1.0)
    worst = int(np.argmax(factor))
    return Singled(worst, float(before[worst]), float(min(after[worst], before[worst])))


def bayes_security(channel: ChannelLike) -> float:
    """1 - max over pairs of inputs of the total variation between their rows [Chatzikokolakis2023].

    The least ratio of Bayes risk after and before, over every prior (attained by two symbols, half and half); -ln of
    it is the Bayes risk capacity.
    """
    apart = pdist(matrix_of(channel), "cityblock")  # twice the total variation
    return max(0.0, 1.0 - 0.5 * float(apart.max(initial=0.0)))


def _one_guess(channel: ChannelLike, prior: npt.ArrayLike) -> tuple[float, float]:
    """The vulnerability after a report and before."""
    loops = compiled()
    if loops is not None:
        known = plain_prior(prior, channel)
        if known is not None:
            assert isinstance(channel, Channel)
            good, after, before = loops.one_guess(channel.matrix, known)
            if good:
                return after, before
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    return float(np.add.reduce(np.maximum.reduce(p[:, None] * q))), float(np.maximum.reduce(p))


def _table(gain: npt.ArrayLike) -> Gain:
    values = looked_at(gain, "The gain function", dimensions=2)
    if 0 in values.shape:
        raise InputError("The gain function is empty.", "Give one row per guess and one column per symbol.")
    return Gain(values.shape[1], "a table of gains", values=values)


def _log_ratio(high: float, low: float) -> float:
    if high < 0 or low < 0:
        return math.nan
    if low == 0:
        return 0.0 if high == 0 else math.inf
    return math.inf if high == math.inf else (-math.inf if high == 0 else math.log(high) - math.log(low))
