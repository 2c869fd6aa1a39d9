"""What an adversary wants: a gain for each guess and each truth. Everything about g-leakage starts here.

A gain function g(w, x) says what guess w is worth when x is true [Alvim2020, ch. 3]. One try, k tries, "within 200 m",
"the right district" and "yes or no" are all gain functions; a loss is its negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError

MOST_SYMBOLS_IN_A_GAIN = 1_000_000


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


def partition_gain(classes: Sequence[object] | npt.NDArray[np.int64]) -> Gain:
    """1 if the *class* of the truth is guessed (its district, say): ``classes`` has one entry per symbol."""
    labels = list(classes)
    _symbols(len(labels))
    names = list(dict.fromkeys(labels))
    table = np.array([[label == name for label in labels] for name in names], dtype=np.float64)
    return matrix_gain(table, name="the class" if len(names) != 2 else "yes or no")


def predicate_gain(holds: npt.ArrayLike) -> Gain:
    """1 if it is guessed rightly whether a statement about x is true: ``holds`` has one truth value per symbol."""
    truth = np.asarray(holds)
    if truth.ndim != 1 or truth.size == 0 or truth.dtype != np.bool_:
        raise InputError("The predicate is not one truth value per symbol.", "Give True or False for each.")
    return matrix_gain(np.stack([truth, ~truth]).astype(np.float64), name="yes or no")


def _distances(distances: npt.ArrayLike) -> FloatArray:
    d = finite(distances, "The distances", dimensions=2)
    if 0 in d.shape or d.min() < 0:
        raise InputError("The distances are empty or negative.", "Give d(guess, symbol) of at least 0.")
    return d


def _symbols(count: int) -> int:
    if not 1 <= count <= MOST_SYMBOLS_IN_A_GAIN:
        raise InputError(f"A gain function over {count} symbols.", "It needs at least one.")
    return int(count)
