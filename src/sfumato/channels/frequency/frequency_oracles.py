"""Frequency oracles: local randomizers made for counting, five of them, as [Wang2017] and their papers define them.

Each turns a symbol into a report that *supports* some symbols: the true one with probability ``own``, any other with
probability ``other``. Counts of support become unbiased frequencies (see :mod:`sfumato.channels.frequency.estimate`).
None of them knows that two places are near each other, which is what metric privacy is for. All coins are exact
multiples of 2^-64, rounded toward privacy, and epsilon is certified from their likelihood ratio, not from a matrix: the
reports of three of them are far too many for one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness
from sfumato.channels.frequency.randomizer import CHUNK_WORDS, Coin, FrequencyOracle, coin_at_least, coin_at_most

MOST_OUTPUTS = 5_000
FIELD = (1 << 31) - 1
"""The prime of the hash family of :class:`LocalHashing`."""


class RandomizedResponse(FrequencyOracle):
    """GRR: the truth with probability e^eps / (e^eps + k - 1), else any other symbol [Kairouz2016]."""

    __slots__ = ()
    name = "randomized-response"
    words = "the truth, or any other symbol at random (GRR)"

    def _coin(self, odds: Fraction) -> Coin:
        return coin_at_most(odds / (odds + self.symbols - 1))

    @property
    def other(self) -> Fraction:
        return (1 - self.own) / (self.symbols - 1)

    @property
    def likelihood_ratio(self) -> Fraction:
        return self.own / self.other

    def _reports(self, x: IntArray, rng: Randomness) -> IntArray:
        true = self.coin.flips(x.size, rng)
        wrong = rng.integers(self.symbols - 1, x.size)
        wrong += wrong >= x
        return np.where(true, x, wrong)[:, None]

    def supports(self, reports: IntArray) -> BoolArray:
        out: BoolArray = reports == np.arange(self.symbols)
        return out

    def _matrix(self) -> FloatArray:
        if self.symbols > MOST_OUTPUTS:
            return super()._matrix()
        matrix = np.full((self.symbols, self.symbols), float(self.other))
        np.fill_diagonal(matrix, float(self.own))
        return matrix


class UnaryEncoding(FrequencyOracle):
    """OUE: one bit per symbol; the true one is kept with probability 1/2, the others flip with 1 / (e^eps + 1)."""

    __slots__ = ()
    name = "unary-encoding"
    words = "one noisy bit per symbol (OUE)"

    def _coin(self, odds: Fraction) -> Coin:
        return coin_at_least(1 / (odds + 1))

    @property
    def own(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def other(self) -> Fraction:
        return self.coin.probability

    @property
    def likelihood_ratio(self) -> Fraction:
        return (1 - self.other) / self.other  # the true bit is fair: it cancels

    def _reports(self, x: IntArray, rng: Randomness) -> IntArray:
        bits = self.coin.flips(x.size * self.symbols, rng).reshape(x.size, self.symbols)
        bits[np.arange(x.size), x] = Coin(1 << 63).flips(x.size, rng)
        return bits.astype(np.int64)

    def supports(self, reports: IntArray) -> BoolArray:
        out: BoolArray = reports == 1
        return out

    def _matrix(self) -> FloatArray:
        if self.symbols > 12:
            return super()._matrix()
        bits = np.array(list(product((0, 1), repeat=self.symbols)))
        q = float(self.other)
        every = np.where(bits == 1, q, 1 - q)
        product_of_all = every.prod(axis=1)
        return np.asarray(0.5 * product_of_all[None, :] / every.T)


class SubsetSelection(FrequencyOracle):
    """SS: a set of w symbols, w near k / (e^eps + 1), that holds the truth with a larger probability [Ye2018]."""

    __slots__ = ()
    name = "subset-selection"
    words = "a set of symbols that probably holds the truth"

    @property
    def size(self) -> int:
        """w: how many symbols a report names."""
        return min(max(1, round(self.symbols / (math.exp(min(self.epsilon, 50.0)) + 1))), self.symbols - 1)

    def _coin(self, odds: Fraction) -> Coin:
        return coin_at_most(odds * self.size / (odds * self.size + self.symbols - self.size))

    @property
    def other(self) -> Fraction:
        return (self.size - self.own) / (self.symbols - 1)  # the other members, spread over the other symbols

    @property
    def likelihood_ratio(self) -> Fraction:
        return self.own / (1 - self.own) * (self.symbols - self.size) / self.size

    def _reports(self, x: IntArray, rng: Randomness) -> IntArray:
        true = self.coin.flips(x.size, rng)
        k, w = self.symbols, self.size
        keys = rng.words(x.size * k).reshape(x.size, k)
        again = _rows_with_ties(keys)
        while again.size:  # a random order needs distinct keys; equal ones (1 in 10^14) are drawn again
            keys[again] = rng.words(again.size * k).reshape(again.size, k)
            again = again[_rows_with_ties(keys[again])]
        order = np.argsort(keys, axis=1)
        others = order[order != x[:, None]].reshape(x.size, k - 1)
        chosen = others[:, :w].copy()
        chosen[true, w - 1] = x[true]
        return np.sort(chosen, axis=1)

    def supports(self, reports: IntArray) -> BoolArray:
        out = np.zeros((len(reports), self.symbols), dtype=np.bool_)
        np.put_along_axis(out, reports, True, axis=1)
        return out

    def _matrix(self) -> FloatArray:
        if math.comb(self.symbols, self.size) > MOST_OUTPUTS:
            return super()._matrix()
        held = self.supports(np.array(list(combinations(range(self.symbols), self.size)))).T
        inside = float(self.own / math.comb(self.symbols - 1, self.size - 1))
        outside = float((1 - self.own) / math.comb(self.symbols - 1, self.size))
        return np.where(held, inside, outside)


class HadamardResponse(FrequencyOracle):
    """HR: one of K > k indexes, from the half where the symbol's row of a Hadamard matrix is +1 [Acharya2019]."""

    __slots__ = ()
    name = "hadamard-response"
    words = "one index, from a half that the truth prefers"

    @property
    def outputs(self) -> int:
        """K: the least power of two above the number of symbols."""
        return 1 << self.symbols.bit_length()

    def _coin(self, odds: Fraction) -> Coin:
        return coin_at_most(odds / (odds + 1))

    @property
    def other(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def likelihood_ratio(self) -> Fraction:
        return self.own / (1 - self.own)

    def _reports(self, x: IntArray, rng: Randomness) -> IntArray:
        row = x + 1
        wanted = self.coin.flips(x.size, rng)  # True: from the half with +1, that is of even parity
        index = rng.integers(self.outputs, x.size)
        odd = _parity(index & row)
        return np.where(odd == wanted, index ^ (row & -row), index)[:, None]  # one bit of the row flips the parity

    def supports(self, reports: IntArray) -> BoolArray:
        return ~_parity(reports & np.arange(1, self.symbols + 1))

    def support_counts(self, reports: IntArray) -> IntArray:
        seen = np.bincount(reports[:, 0], minlength=self.outputs)
        rows = max(1, CHUNK_WORDS // self.symbols)
        total = np.zeros(self.symbols, dtype=np.int64)
        for at in range(0, self.outputs, rows):
            some = np.arange(at, min(at + rows, self.outputs))[:, None]
            total += seen[some[:, 0]] @ self.supports(some)
        return total

    def _matrix(self) -> FloatArray:
        if self.symbols > MOST_OUTPUTS:
            return super()._matrix()
        half = self.outputs // 2
        held = self.supports(np.arange(self.outputs)[:, None]).T
        return np.where(held, float(self.own) / half, float(1 - self.own) / half)


class LocalHashing(FrequencyOracle):
    """OLH: a random hash into g = round(e^eps) + 1 values and randomized response on the hash [Wang2017].

    The hash is ((a x + b) mod P) mod g with P = 2^31 - 1 and a, b uniform: two symbols have independent values before
    the last step, so that the probability of support is exact although the g residues are not quite equally likely.
    """

    __slots__ = ()
    name = "local-hashing"
    words = "randomized response on a random hash (OLH)"

    @property
    def buckets(self) -> int:
        """g: the values of the hash."""
        return min(max(2, round(math.exp(min(self.epsilon, 20.0))) + 1), 1 << 20)

    def _coin(self, odds: Fraction) -> Coin:
        return coin_at_most(odds / (odds + self.buckets - 1))

    @property
    def other(self) -> Fraction:
        wrong = (1 - self.own) / (self.buckets - 1)
        whole, more = divmod(FIELD, self.buckets)
        squares = Fraction(more * (whole + 1) ** 2 + (self.buckets - more) * whole**2, FIELD**2)
        return wrong + (self.own - wrong) * squares

    @property
    def likelihood_ratio(self) -> Fraction:
        return self.own * (self.buckets - 1) / (1 - self.own)

    def _reports(self, x: IntArray, rng: Randomness) -> IntArray:
        a, b = rng.integers(FIELD, x.size), rng.integers(FIELD, x.size)
        bucket = ((a * x + b) % FIELD) % self.buckets
        true = self.coin.flips(x.size, rng)
        wrong = rng.integers(self.buckets - 1, x.size)
        wrong += wrong >= bucket
        return np.stack([a, b, np.where(true, bucket, wrong)], axis=1)

    def supports(self, reports: IntArray) -> BoolArray:
        a, b, value = (reports[:, column, None] for column in range(3))
        out: BoolArray = ((a * np.arange(self.symbols) + b) % FIELD) % self.buckets == value
        return out


ORACLES: dict[str, type[FrequencyOracle]] = {
    kind.name: kind for kind in (RandomizedResponse, UnaryEncoding, LocalHashing, HadamardResponse, SubsetSelection)
}


def frequency_oracle(name: str, symbols: int, epsilon: float) -> FrequencyOracle:
    """The oracle of that name."""
    if name not in ORACLES:
        raise InputError(f"There is no frequency oracle '{name}'.", f"Use one of: {', '.join(ORACLES)}.")
    return ORACLES[name](symbols, epsilon)


def _rows_with_ties(keys: npt.NDArray[np.uint64]) -> IntArray:
    ordered = np.sort(keys, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _parity(values: IntArray) -> BoolArray:
    folded = values.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    out: BoolArray = (folded & 1).astype(np.bool_)
    return out
