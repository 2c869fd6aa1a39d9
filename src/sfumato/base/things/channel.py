"""A channel is P(report y | true x): a row-stochastic matrix. It knows no geography.

Rows must sum to one within 1e-6 and are divided by their sum unless it is one within 2e-14, so that rounding in a file
is forgiven, an error is not, and a channel that was written and read is the same doubles. Sampling is exact for the
stored doubles: outcome y has probability Q[x, y] / sum(Q[x, :]) as a ratio of the binary fractions the doubles are,
because a 64-bit word is compared with exactly rounded cumulative thresholds and, when it falls on one, more bits are
drawn until the comparison is decided. No outcome of positive probability is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, doubles, finite, read_only, without_gaps
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.shown import Shown

ROW_TOLERANCE = 1e-6
ROUNDING = 2e-14
LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Channel(Shown):
    """A checked matrix Q[x, y] = P(y | x) with labels, and the distortion it was designed for if there is one.

    ``distortion`` is (inputs, outputs); ``positions_m`` is (inputs, 2), the inputs' places in metres where they have
    any. Both travel with the channel into files and back.
    """

    matrix: FloatArray
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    distortion: FloatArray | None = None
    distortion_name: str | None = None
    positions_m: FloatArray | None = None
    _thresholds: dict[int, _ExactRow] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = checked_rows(self.matrix)
        object.__setattr__(self, "matrix", matrix)
        rows, columns = matrix.shape
        object.__setattr__(self, "inputs", checked_labels(self.inputs, rows, "input"))
        object.__setattr__(self, "outputs", checked_labels(self.outputs, columns, "output"))
        if self.distortion is not None:
            distortion = finite(self.distortion, "The distortion", dimensions=2)
            if distortion.shape != matrix.shape:
                raise InputError(
                    f"The distortion has shape {distortion.shape} and the channel ({rows}, {columns}).",
                    "They must match: one distortion per input and output.",
                )
            if distortion.min(initial=0.0) < 0:
                raise InputError("The distortion has negative entries.", "Distortions are at least 0.")
            object.__setattr__(self, "distortion", distortion)
        if self.positions_m is not None:
            positions = finite(self.positions_m, "The positions", dimensions=2)
            if positions.shape != (rows, 2):
                raise InputError(
                    f"There are {positions.shape} positions for {rows} inputs.", "Give x_m, y_m per input."
                )
            object.__setattr__(self, "positions_m", positions)

    @property
    def shape(self) -> tuple[int, int]:
        """(inputs, outputs)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def row(self, x: int) -> FloatArray:
        """P(y | x) for every y."""
        row: FloatArray = self.matrix[_index(x, self.shape[0])]
        return row

    def sample(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report for every true symbol in ``x`` (an index or many), exactly; OS entropy unless ``rng`` is given."""
        return _sample_rows(x, self.shape[0], self._exact_row, randomness(rng))

    def _exact_row(self, x: int) -> _ExactRow:
        if x not in self._thresholds:
            self._thresholds[x] = _ExactRow.of(self.matrix[x])
        return self._thresholds[x]

    def compose(self, after: Channel) -> Channel:
        """X -> Y -> Z: the outputs of this channel are the inputs of ``after``."""
        if after.shape[0] != self.shape[1]:
            raise InputError(
                f"The first channel has {self.shape[1]} outputs and the second {after.shape[0]} inputs.",
                "They must match.",
            )
        return Channel(
            self.matrix @ after.matrix, inputs=self.inputs, outputs=after.outputs, positions_m=self.positions_m
        )

    def post_process(self, relabel: npt.ArrayLike, *, outputs: Sequence[str] = ()) -> Channel:
        """Replace output y by ``relabel[y]`` (whole numbers from 0): what a receiver may always do."""
        target, size = _relabelling(relabel, self.shape[1], len(outputs))
        matrix = np.zeros((self.shape[0], size))
        np.add.at(matrix.T, target, self.matrix.T)
        return Channel(matrix, inputs=self.inputs, outputs=tuple(outputs), positions_m=self.positions_m)

    def only_inputs(self, inputs: npt.ArrayLike) -> Channel:
        """The channel of some of its inputs only, in the order given; every output stays."""
        kept = np.asarray(inputs, dtype=np.int64)
        if kept.size == 0 or kept.min() < 0 or kept.max() >= self.shape[0]:
            raise InputError("The inputs to keep are none, or not all inputs of the channel.", "Give indexes.")
        return Channel(
            self.matrix[kept],
            inputs=tuple(self.inputs[x] for x in kept),
            outputs=self.outputs,
            distortion=None if self.distortion is None else self.distortion[kept],
            distortion_name=self.distortion_name,
            positions_m=None if self.positions_m is None else self.positions_m[kept],
        )

    def push_forward(self, prior: npt.ArrayLike) -> FloatArray:
        """The distribution of the report: m = p Q."""
        out: FloatArray = checked_probabilities(prior, self.shape[0]) @ self.matrix
        return out

    def posterior(self, prior: npt.ArrayLike, y: int) -> FloatArray:
        """P(x | y), by Bayes' rule; refused for a report of probability 0."""
        return _bayes(checked_probabilities(prior, self.shape[0]), self.matrix[:, _index(y, self.shape[1])], y)


@dataclass(frozen=True, slots=True, eq=False)
class _ExactRow:
    """A row as exact integers: cumulative numerators over ``total``, and floor(2^64 cumulative / total) as words."""

    outcomes: IntArray
    words: npt.NDArray[np.uint64]
    cumulative: tuple[int, ...]
    total: int

    @classmethod
    def of(cls, row: FloatArray) -> _ExactRow:
        outcomes = np.flatnonzero(row > 0)
        ratios = [float(value).as_integer_ratio() for value in row[outcomes]]
        common = max(denominator for _, denominator in ratios)
        running, cumulative = 0, []
        for numerator, denominator in ratios:
            running += numerator * (common // denominator)
            cumulative.append(running)
        words = np.array([(c << 64) // running for c in cumulative[:-1]], dtype=np.uint64)
        return cls(outcomes.astype(np.int64), words, tuple(cumulative), running)

    def draw(self, count: int, rng: Randomness) -> IntArray:
        drawn = rng.words(count)
        place = np.searchsorted(self.words, drawn, side="right")
        if self.words.size:
            last = self.words[np.maximum(place - 1, 0)]
            for index in np.flatnonzero((place > 0) & (last == drawn)):
                place[index] = self._decide(int(drawn[index]), rng)
        return self.outcomes[place]

    def _decide(self, word: int, rng: Randomness) -> int:
        # u lies in [word, word + 1) / 2^bits; add bits until no threshold lies strictly inside that interval.
        bits = 64
        while True:
            low, high = word * self.total, (word + 1) * self.total
            scaled = [c << bits for c in self.cumulative]
            if not any(low < c < high for c in scaled):
                return sum(c <= low for c in scaled)
            word = (word << 64) | int(rng.words(1)[0])
            bits += 64


def _sample_rows(
    x: int | npt.ArrayLike, inputs: int, exact_row: Callable[[int], _ExactRow], rng: Randomness
) -> IntArray:
    symbols = np.asarray(x)
    if symbols.size and not np.issubdtype(symbols.dtype, np.integer):
        raise InputError("The symbols to report are not whole numbers.", "Give indexes of inputs.")
    flat = symbols.ravel().astype(np.int64)
    if flat.size and (flat.min() < 0 or flat.max() >= inputs):
        raise InputError(f"A symbol lies outside 0 .. {inputs - 1}.", "Give indexes of inputs.")
    out = np.empty(flat.size, dtype=np.int64)
    order = np.argsort(flat, kind="stable")
    starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], flat.size], strict=True):
        chosen = order[start:stop]
        out[chosen] = exact_row(int(flat[chosen[0]])).draw(chosen.size, rng)
    return out.reshape(symbols.shape)


def checked_rows(matrix: npt.ArrayLike) -> FloatArray:
    """A row-stochastic matrix, each row divided by its sum; refused with the first bad row otherwise."""
    values = doubles(matrix, "The channel matrix", dimensions=2)
    if 0 in values.shape:
        raise InputError("The channel matrix is empty.", "It needs at least one input and one output.")
    least = float(np.minimum.reduce(values, axis=None))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduce(values, axis=1)
        off = np.abs(sums - 1)
    most = float(np.maximum.reduce(off))
    if least >= 0 and most <= ROUNDING:
        return values
    without_gaps(values, "The channel matrix")
    if least < 0:
        row = int(np.argmax(values.min(axis=1) < 0))
        raise InputError(f"Row {row} of the channel has a negative entry.", "Probabilities are at least 0.")
    if not most <= ROW_TOLERANCE:
        row = int(np.argmax(off))
        raise InputError(
            f"Row {row} of the channel sums to {sums[row]:.9g}, not 1.",
            "Each row is P(y | x) over all y; check that rows are inputs and columns outputs.",
        )
    return read_only(np.where(off[:, None] > ROUNDING, values / sums[:, None], values))  # type: ignore[no-any-return]


def checked_probabilities(prior: npt.ArrayLike, count: int | None = None) -> FloatArray:
    """A probability vector (of ``count`` symbols), divided by its sum if that is one within 1e-6."""
    values = doubles(getattr(prior, "probabilities", prior), "The prior", dimensions=1)
    least = float(np.minimum.reduce(values)) if values.size else -1.0
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.add.reduce(values))
    if least >= LEAST_PROBABILITY and abs(total - 1) <= ROUNDING and (count is None or values.size == count):
        return values
    without_gaps(values, "The prior")
    if least < 0:
        raise InputError(
            "The prior is empty or has a negative entry.", "Give one probability of at least 0 per symbol."
        )
    if count is not None and values.size != count:
        raise InputError(
            f"The prior has {values.size} symbols and the channel {count} inputs.",
            "They must match, in the same order.",
        )
    if least < LEAST_PROBABILITY and np.any((values > 0) & (values < LEAST_PROBABILITY)):
        raise InputError(
            f"The prior has a probability below {LEAST_PROBABILITY:g}.",
            "No double can be divided by it: use 0, or more.",
        )
    if not abs(total - 1) <= ROW_TOLERANCE:
        raise InputError(f"The prior sums to {total:.9g}, not 1.", "For counts, use CellPrior.from_counts.")
    return read_only(values / total) if abs(total - 1) > ROUNDING else values


def checked_distortion(distortion: npt.ArrayLike, name: str = "The distortion") -> FloatArray:
    """A non-empty matrix of costs or distances, each 0 or between 1e-100 and 1e100: larger ones overflow in a sum."""
    values = finite(distortion, name, dimensions=2)
    if values.size == 0:
        raise InputError(f"{name} is empty.", "Give one row per symbol and one column per output.")
    if values.min() < 0:
        raise InputError(f"{name} has negative entries.", "Give numbers of at least 0.")
    if values.max() > 1e100 or np.any((values > 0) & (values < 1e-100)):
        raise InputError(f"{name} has entries beyond 1e100 or within 1e-100 of 0.", "Use another unit.")
    return values


def checked_labels(labels: Sequence[str], count: int, kind: str) -> tuple[str, ...]:
    """One different label per symbol; "0", "1", ... when none are given."""
    if len(labels) == 0:
        return _numbers(count)
    names = tuple(str(label) for label in labels)
    if len(names) != count:
        raise InputError(f"There are {len(names)} {kind} labels for {count} {kind}s.", "Give one per symbol.")
    if len(set(names)) != count:
        raise InputError(f"Some {kind} labels are the same.", "Make them different.")
    return names


@lru_cache(maxsize=8)
def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(index) for index in range(count))


def _relabelling(relabel: npt.ArrayLike, count: int, named: int) -> tuple[IntArray, int]:
    target = np.asarray(relabel)
    if target.shape != (count,) or not np.issubdtype(target.dtype, np.integer) or target.min() < 0:
        raise InputError(f"The relabelling is not {count} whole numbers from 0.", "Give one per output.")
    return target.astype(np.int64), max(int(target.max()) + 1, named)


def _bayes(prior: FloatArray, column: FloatArray, y: int) -> FloatArray:
    joint = prior * column
    total = joint.sum()
    if total <= 0:
        raise InputError(f"Output {y} has probability 0 under this prior.", "Only a possible report has a posterior.")
    out: FloatArray = joint / total
    return out


def _index(x: int, count: int) -> int:
    if not 0 <= int(x) < count:
        raise InputError(f"There is no symbol {x} among {count}.")
    return int(x)


def checked_floor(floor: float) -> float:
    """A floor in [0, 1)."""
    value = float(floor)
    if not 0.0 <= value < 1.0:
        raise InputError(f"The floor is {value:g}.", "It is a share of uniform mixed into the weights: 0 .. 1.")
    return value


def with_floor(c: FloatArray, floor: float) -> FloatArray:
    """(1 - floor) c + floor / m, summing to one."""
    c = c / c.sum()
    if floor:
        c = (1 - floor) * c + floor / c.size
        c = c / c.sum()
    return read_only(c)  # type: ignore[no-any-return]
