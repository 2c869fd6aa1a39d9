"""A coin with an exact probability t / 2^64, rounded toward privacy: what is drawn is what was certified."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.base.arrays import BoolArray, positive
from sfumato.base.randomness import Randomness

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
