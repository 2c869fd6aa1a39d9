"""What every frequency oracle answers: reports, which symbols they support, and an epsilon certified by its coins.

A coin has an exact probability t / 2^64, rounded toward privacy: what is drawn is what was certified.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import BoolArray, FloatArray, IntArray, positive
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.things.channel import Channel

MOST_SYMBOLS = 1_000_000
CHUNK_WORDS = 1 << 21
"""How many words are drawn or compared at a time."""
WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Coin:
    """True with probability ``threshold`` / 2^64, exactly."""

    threshold: int

    @property
    def probability(self) -> Fraction:
        """The exact probability of True."""
        return Fraction(self.threshold, WORD)

    def flips(self, count: int, rng: Randomness) -> BoolArray:
        """Independent flips."""
        out: BoolArray = rng.words(count) < np.uint64(self.threshold)
        return out


def coin_at_most(probability: Fraction) -> Coin:
    """The likeliest coin whose probability is at most this one."""
    return Coin(min(max(math.floor(probability * WORD), 0), WORD - 1))


def coin_at_least(probability: Fraction) -> Coin:
    """The least likely coin whose probability is at least this one."""
    return Coin(min(max(math.ceil(probability * WORD), 0), WORD - 1))


def odds_within(epsilon: float) -> Fraction:
    """A fraction below e^epsilon by a few units in the last place: more than expm1 and log_above may round."""
    eps = positive(epsilon, "epsilon", at_most=700.0)
    return 1 + Fraction(math.expm1(eps)) * (1 - Fraction(math.ceil(eps), 1 << 48))


def log_above(ratio: Fraction) -> float:
    """ln of a ratio of at least 1, rounded up; a ratio below 1 counts as its inverse."""
    odds = max(ratio, 1 / ratio)
    if odds == 1:
        return 0.0
    if odds < 2:
        value = math.log1p(float(odds - 1))
    elif odds < 10**300:
        value = math.log(float(odds))
    else:
        value = math.log(odds.numerator) - math.log(odds.denominator) + 1e-12
    return math.nextafter(value * (1 + 2.0**-50), math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyOracle(ABC):
    """What every oracle answers. ``epsilon`` is what was asked for, ``certified_epsilon`` what its coins give."""

    symbols: int
    epsilon: float
    coin: Coin = field(init=False)
    name: ClassVar[str]
    words: ClassVar[str]

    def __post_init__(self) -> None:
        if isinstance(self.symbols, bool) or int(self.symbols) != self.symbols or not 2 <= self.symbols <= MOST_SYMBOLS:
            raise InputError(f"There are {self.symbols} symbols.", f"Give a whole number from 2 to {MOST_SYMBOLS}.")
        object.__setattr__(self, "coin", self._coin(odds_within(self.epsilon)))
        if self.certified_epsilon > self.epsilon:
            raise NotCertified(
                f"{self.name} has epsilon {self.certified_epsilon:.17g}; {self.epsilon:.17g} was asked for.",
                "Ask for an epsilon of at least 1e-12.",
            )

    @property
    def certified_epsilon(self) -> float:
        """ln of the exact largest likelihood ratio between two symbols, rounded up."""
        return log_above(self.likelihood_ratio)

    @property
    @abstractmethod
    def likelihood_ratio(self) -> Fraction:
        """max P(report | x) / P(report | x'), exact."""

    @property
    def own(self) -> Fraction:
        """The probability that a report supports the true symbol: its coin's, unless the oracle says otherwise."""
        return self.coin.probability

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """The probability that a report supports another given symbol."""

    @abstractmethod
    def _coin(self, odds: Fraction) -> Coin: ...

    @abstractmethod
    def _reports(self, x: IntArray, rng: Randomness) -> IntArray: ...

    @abstractmethod
    def supports(self, reports: IntArray) -> BoolArray:
        """(reports, symbols): which symbols each report supports."""

    def release(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report (a row of whole numbers) for every true symbol in ``x``; OS entropy unless ``rng`` is given."""
        symbols = np.atleast_1d(np.asarray(x))
        if symbols.ndim != 1 or (symbols.size and not np.issubdtype(symbols.dtype, np.integer)):
            raise InputError("The symbols are not a list of whole numbers.", "Give indexes of symbols.")
        flat = symbols.astype(np.int64)
        if flat.size and (flat.min() < 0 or flat.max() >= self.symbols):
            raise InputError(f"A symbol lies outside 0 .. {self.symbols - 1}.", "Give indexes of symbols.")
        source, rows = randomness(rng), max(1, CHUNK_WORDS // self.symbols)
        parts = [self._reports(flat[at : at + rows], source) for at in range(0, flat.size, rows)]
        return np.concatenate(parts) if parts else self._reports(flat, source)

    def support_counts(self, reports: IntArray) -> IntArray:
        """How many reports support each symbol."""
        rows = max(1, CHUNK_WORDS // self.symbols)
        total = np.zeros(self.symbols, dtype=np.int64)
        for at in range(0, len(reports), rows):
            total += self.supports(reports[at : at + rows]).sum(axis=0)
        return total

    def channel(self) -> Channel:
        """The oracle as a matrix of the nearest doubles, where its reports are few; ``release`` draws without it.

        A matrix to draw from, certified itself, comes from the registry's design.
        """
        return Channel(self._matrix())

    def _matrix(self) -> FloatArray:
        raise InputError(
            f"{self.name} has too many reports over {self.symbols} symbols for a matrix.",
            "Use release, support_counts and certified_epsilon, which need none.",
        )

    def variance(self, people: int, frequency: float = 0.0) -> float:
        """Of the unbiased estimate of one frequency [Wang2017, Thm 2]."""
        p, q = float(self.own), float(self.other)
        noise = q * (1 - q) / (people * (p - q) ** 2)
        return noise + frequency * (1 - p - q) / (people * (p - q))

    def guarantee(self) -> Guarantee:
        """Local differential privacy of one report, with the certified epsilon."""
        return Guarantee(
            notion="local differential privacy",
            parameters={"epsilon_nats": self.epsilon, "certified_nats": self.certified_epsilon},
            assumes=("the reports are made on the device, from the operating system's entropy",),
            covers=("one report about one symbol, whatever the adversary knows",),
            not_covered=(
                "several reports about the same person: their epsilons add",
                "graded protection by distance: near and far places are protected alike",
            ),
            numerics="coins are exact multiples of 2^-64, rounded toward privacy; the ratio is an exact fraction",
        )
