"""How much a report helps an adversary who wants something: vulnerability before and after, for any gain function.

A gain function g(w, x) says what guess w is worth when x is true: one try, k tries, "within 200 m", "the right
district", "yes or no"; a loss is its negative [Alvim2020, ch. 3 to 5].

V_g(p) = max_w sum_x g(w, x) p(x) before, V_g(p, Q) = sum_y max_w sum_x g(w, x) p(x) Q(y | x) after, on average over
reports, and max_y of the same of the posterior for the worst report. Leakage is their ratio (in nats, ln) or
difference. With one guess it is min-entropy leakage [Smith2009]; no gain function of non-negative values leaks more
than ln sum_y max_x Q(y | x) (the "miracle" theorem [Alvim2012]), and one guess from a uniform prior does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.channels.measures.discrete import ChannelLike, by_loop, matrix_and_prior

MOST_SYMBOLS_IN_A_GAIN = 1_000_000
_AT_ONCE = 1 << 15
_FEW = 10_000
"""Up to this many entries all pairs of them are compared in less time than it takes to sort."""


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """g[w, x] for every guess and truth, or ``tries`` guesses of the symbol itself (no matrix is built for those)."""

    symbols: int
    name: str
    values: FloatArray | None = None
    tries: int = 1

    def best(self, weights: FloatArray) -> FloatArray:
        """max_w sum_x g(w, x) weights[x, y] for each column y of ``weights`` (symbols, columns)."""
        if weights.shape[0] != self.symbols:
            raise InputError(
                f"The gain function is about {self.symbols} symbols and there are {weights.shape[0]}.",
                "They must match, in the same order.",
            )
        if self.values is not None:
            out: FloatArray = (self.values @ weights).max(axis=0)
            return out
        if self.tries == 1:
            top: FloatArray = weights.max(axis=0)
            return top
        kept = np.partition(weights, self.symbols - self.tries, axis=0)[self.symbols - self.tries :]
        several: FloatArray = kept.sum(axis=0)
        return several

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest gain."""
        if self.values is None:
            return 0.0 if self.tries < self.symbols else 1.0, 1.0
        return float(self.values.min()), float(self.values.max())


def identity_gain(symbols: int) -> Gain:
    """1 for the right symbol, else 0: one guess. Its vulnerability is Bayes vulnerability."""
    return tries_gain(symbols, 1)


def tries_gain(symbols: int, tries: int) -> Gain:
    """1 if the truth is among ``tries`` guesses, else 0."""
    count = _symbols(symbols)
    if isinstance(tries, bool) or int(tries) != tries or not 1 <= tries <= count:
        raise InputError(f"{tries} guesses among {count} symbols.", "Give a whole number from 1 to the symbols.")
    return Gain(count, "one guess" if tries == 1 else f"{int(tries)} guesses", tries=int(tries))


def matrix_gain(values: npt.ArrayLike, *, name: str = "a table of gains") -> Gain:
    """Any gain function, as a table with one row per guess and one column per symbol."""
    table = finite(values, "The gain function", dimensions=2)
    if 0 in table.shape:
        raise InputError("The gain function is empty.", "Give one row per guess and one column per symbol.")
    return Gain(table.shape[1], name, values=table)


def distance_gain(distances: npt.ArrayLike, radius: float) -> Gain:
    """max(0, 1 - d(w, x) / radius): a guess is worth more the nearer it is, nothing from ``radius`` on."""
    d, r = _distances(distances), positive(radius, "radius")
    with np.errstate(over="ignore"):
        near = np.maximum(0.0, 1.0 - d / r)
    return matrix_gain(near, name=f"nearness within {r:g}")


def within_gain(distances: npt.ArrayLike, radius: float) -> Gain:
    """1 if the guess is within ``radius`` of the truth, else 0."""
    d = _distances(distances)
    r = float(radius)
    if not r >= 0:
        raise InputError(f"The radius is {radius}.", "It must be a number of at least 0.")
    return matrix_gain((d <= r).astype(np.float64), name=f"within {r:g}")


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
    wanted = gain if isinstance(gain, Gain) else matrix_gain(gain)
    table = wanted.values if isinstance(channel, Channel) and wanted.symbols == channel.matrix.shape[0] else None
    if table is not None and (found := by_loop("best_of_table", channel, prior, table)):
        return GLeakage(*found[1:], wanted.name)
    q, p = matrix_and_prior(channel, prior)
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


def guessing_entropy(prior: npt.ArrayLike) -> float:
    """sum_i i p_(i), likeliest first: how many guesses "is it x?" it takes on average [Massey1994]."""
    p = np.sort(checked_probabilities(prior))[::-1]
    return float(p @ np.arange(1, p.size + 1))


def posterior_guessing_entropy(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """The same after a report, on average over reports."""
    if asked := by_loop("guesses_needed", channel, prior, most=_FEW):
        return asked[1]
    q, p = matrix_and_prior(channel, prior)
    joint = np.multiply(q.T, p, order="C")  # a row per output: sorted in place, in one piece of memory
    joint.sort(axis=1)
    return float(np.arange(p.size, 0, -1.0) @ np.add.reduce(joint))


@dataclass(frozen=True, slots=True)
class Singled:
    """The symbol about which "was it x?" is helped most by a report: its risk before and after."""

    symbol: int
    before: float
    after: float


def singling_out(channel: ChannelLike, prior: npt.ArrayLike) -> Singled:
    """The prediction risk of every statement "it is x", at its worst: the largest factor by which it falls."""
    q, p = matrix_and_prior(channel, prior)
    joint = p[:, None] * q
    m = joint.sum(axis=0)
    others = np.maximum(m[None, :] - joint, 0.0)
    after = np.minimum(joint, others).sum(axis=1)
    before = np.minimum(p, 1.0 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(before > 0, before / after, 1.0)
    worst = int(np.argmax(factor))
    return Singled(worst, float(before[worst]), float(min(after[worst], before[worst])))


def _log_ratio(high: float, low: float) -> float:
    if high < 0 or low < 0:
        return math.nan
    if low == 0:
        return 0.0 if high == 0 else math.inf
    return math.inf if high == math.inf else (-math.inf if high == 0 else math.log(high) - math.log(low))


def _distances(distances: npt.ArrayLike) -> FloatArray:
    d = finite(distances, "The distances", dimensions=2)
    if 0 in d.shape or d.min() < 0:
        raise InputError("The distances are empty or negative.", "Give d(guess, symbol) of at least 0.")
    return d


def _symbols(count: int) -> int:
    if not 1 <= count <= MOST_SYMBOLS_IN_A_GAIN:
        raise InputError(f"A gain function over {count} symbols.", "It needs at least one.")
    return int(count)
