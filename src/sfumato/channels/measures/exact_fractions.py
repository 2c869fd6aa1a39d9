"""Channels of exact fractions for small cases: every measure that is a ratio comes out as a fraction, nothing rounded.

Leakages in nats are logarithms of these: LIP is ln of ``largest_lift`` and -ln of ``smallest_lift``, LDP ln of
``largest_ratio``, maximal leakage ln of ``column_maxima``, min-entropy leakage ln of the ratio of vulnerabilities. One
channel is refined by another if a linear program in fractions has a solution; if not, its multipliers prove it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.base.errors import InputError, NotCertified

Number = Fraction | int | str | float
MOST_ENTRIES = 10_000
Row = list[Fraction]
MOST_TABLEAU = 40_000


@dataclass(frozen=True, slots=True)
class ExactChannel:
    """P(y | x) as fractions; rows must sum to exactly 1."""

    rows: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Number]]) -> ExactChannel:
        """From fractions, whole numbers, or text such as "1/3" or "0.1" (a tenth, not the double next to it)."""
        return cls(tuple(tuple(_fraction(value) for value in row) for row in rows))

    def __post_init__(self) -> None:
        plain = isinstance(self.rows, tuple) and all(isinstance(row, tuple) for row in self.rows)
        if not plain or not all(isinstance(value, Fraction) for row in self.rows for value in row):
            raise InputError("The rows are not tuples of fractions.", "Use ExactChannel.of.")
        if not self.rows or not self.rows[0]:
            raise InputError("The channel is empty.", "It needs at least one input and one output.")
        if len(self.rows) * len(self.rows[0]) > MOST_ENTRIES:
            raise InputError("The channel is too large for fractions.", f"At most {MOST_ENTRIES} entries.")
        for x, row in enumerate(self.rows):
            if len(row) != len(self.rows[0]) or min(row) < 0:
                raise InputError(f"Row {x} has a negative entry or another length.", "Give one fraction per output.")
            if sum(row) != 1:
                raise InputError(f"Row {x} sums to {sum(row)}, not to 1.", "Fractions are not rounded for you.")

    @property
    def shape(self) -> tuple[int, int]:
        """(inputs, outputs)."""
        return len(self.rows), len(self.rows[0])

    def push_forward(self, prior: Sequence[Number]) -> tuple[Fraction, ...]:
        """The distribution of the report."""
        p = exact_prior(prior, self.shape[0])
        return tuple(sum((p[x] * row[y] for x, row in enumerate(self.rows)), Fraction(0)) for y in range(self.shape[1]))

    def lifts(self, prior: Sequence[Number]) -> tuple[Fraction, Fraction]:
        """(largest, smallest) P(x | y) / P(x) over the support and the possible outputs."""
        p, m = exact_prior(prior, self.shape[0]), self.push_forward(prior)
        found = [row[y] / m[y] for x, row in enumerate(self.rows) if p[x] > 0 for y in range(self.shape[1]) if m[y] > 0]
        return max(found), min(found)

    def largest_ratio(self) -> Fraction | None:
        """max Q(y | x') / Q(y | x): e^epsilon of local differential privacy; None when it is infinite."""
        worst = Fraction(1)
        for column in zip(*self.rows, strict=True):
            if max(column) > 0:
                if min(column) == 0:
                    return None
                worst = max(worst, max(column) / min(column))
        return worst

    def column_maxima(self) -> Fraction:
        """sum_y max_x Q(y | x): e^(maximal leakage) over all inputs."""
        return sum((max(column) for column in zip(*self.rows, strict=True)), Fraction(0))

    def g_vulnerability(self, prior: Sequence[Number], gain: Sequence[Sequence[Number]]) -> tuple[Fraction, Fraction]:
        """(before, after): the best expected gain without and with a report; ``gain`` is guesses by symbols."""
        p = exact_prior(prior, self.shape[0])
        g = [[_fraction(v) for v in row] for row in gain]
        if not g or any(len(row) != self.shape[0] for row in g):
            raise InputError("The gain function does not fit.", "Give one row per guess, one column per symbol.")
        before = max(sum((v * q for v, q in zip(row, p, strict=True)), Fraction(0)) for row in g)
        after = Fraction(0)
        for column in zip(*self.rows, strict=True):
            joint = [q * c for q, c in zip(p, column, strict=True)]
            after += max(sum((v * j for v, j in zip(row, joint, strict=True)), Fraction(0)) for row in g)
        return before, after

    def bayes_vulnerability(self, prior: Sequence[Number]) -> tuple[Fraction, Fraction]:
        """(max p, sum_y max_x p(x) Q(y | x))."""
        symbols = range(self.shape[0])
        return self.g_vulnerability(prior, [[int(x == w) for x in symbols] for w in symbols])

    def then(self, after: ExactChannel) -> ExactChannel:
        """X -> Y -> Z."""
        if after.shape[0] != self.shape[1]:
            raise InputError("The outputs of one are not the inputs of the other.", "They must match.")
        return ExactChannel(
            tuple(
                tuple(
                    sum((row[k] * after.rows[k][z] for k in range(len(row))), Fraction(0))
                    for z in range(after.shape[1])
                )
                for row in self.rows
            )
        )


def exact_refined_by(
    first: ExactChannel, second: ExactChannel
) -> tuple[ExactChannel | None, list[list[Fraction]] | None]:
    """(R, None) with second = first R exactly, or (None, gain) with V_g(uniform, second) > V_g(uniform, first).

    Exactly one of the two exists, and the one returned has been multiplied out in fractions.
    """
    if first.shape[0] != second.shape[0]:
        raise InputError("The channels have different inputs.", "They must be about the same symbols.")
    (n, outs), targets = first.shape, second.shape[1]
    zero, one = Fraction(0), Fraction(1)
    equations, right = [], []
    for x in range(n):
        for y in range(targets):
            row = [zero] * (outs * targets)
            for z in range(outs):
                row[z * targets + y] = first.rows[x][z]
            equations.append(row)
            right.append(second.rows[x][y])
    for z in range(outs):
        equations.append([one if k // targets == z else zero for k in range(outs * targets)])
        right.append(one)
    found = feasible(equations, right)
    if found.point is not None:
        r = ExactChannel(tuple(tuple(found.point[z * targets : (z + 1) * targets]) for z in range(outs)))
        if first.then(r) != second:
            raise NotCertified("The post-processing does not multiply out.", "Report this.")
        return r, None
    assert found.multipliers is not None
    gain = [[found.multipliers[x * targets + y] for x in range(n)] for y in range(targets)]
    least = min(min(row) for row in gain)
    gain = [[value - least for value in row] for row in gain]
    uniform = [Fraction(1, n)] * n
    if not second.g_vulnerability(uniform, gain)[1] > first.g_vulnerability(uniform, gain)[1]:
        raise NotCertified("The gain function does not separate the channels.", "Report this.")
    return None, gain


def exact_prior(prior: Sequence[Number], count: int) -> tuple[Fraction, ...]:
    """A prior as fractions that sum to exactly 1."""
    p = tuple(_fraction(v) for v in prior)
    if len(p) != count or min(p, default=Fraction(-1)) < 0 or sum(p) != 1:
        raise InputError(
            f"The prior has {len(p)} entries for {count} inputs, a negative one, or does not sum to exactly 1.",
            'Write fractions, for example "1/3".',
        )
    return p


def nats(ratio: Fraction | None) -> float:
    """ln of a fraction, also where it does not fit into a double; None is infinite."""
    if ratio is None:
        return math.inf
    if ratio <= 0:
        return -math.inf
    if abs(ratio - 1) < Fraction(1, 2):
        return math.log1p(float(ratio - 1))
    if Fraction(1, 10**300) < ratio < 10**300:
        return math.log(float(ratio))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _fraction(value: Number) -> Fraction:
    try:
        return Fraction(value) if not isinstance(value, str) else Fraction(value.strip().replace(" ", ""))
    except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
        raise InputError(f"'{value}' is not a fraction.", "Write 1/3, 0.25 or 1.") from error


@dataclass(frozen=True, slots=True)
class Feasibility:
    """``point`` >= 0 with A point = b, or ``multipliers`` y with y A <= 0 and y b > 0 (Farkas); never both."""

    point: tuple[Fraction, ...] | None
    multipliers: tuple[Fraction, ...] | None


def feasible(a: list[Row], b: Row) -> Feasibility:
    """Solve A x = b, x >= 0 by the first phase of the simplex method with Bland's rule (it cannot cycle)."""
    rows, columns = len(a), len(a[0]) if a else 0
    if rows * (columns + rows) > MOST_TABLEAU:
        raise InputError(f"{rows} equations in {columns} unknowns are too many for fractions.", "Use doubles.")
    signs = [Fraction(-1) if value < 0 else Fraction(1) for value in b]
    one, zero = Fraction(1), Fraction(0)
    table = [
        [sign * value for value in row] + [one if k == i else zero for k in range(rows)] + [sign * right]
        for i, (row, right, sign) in enumerate(zip(a, b, signs, strict=True))
    ]
    basis = [columns + i for i in range(rows)]
    # reduced costs of: minimise the sum of the artificial unknowns
    cost = [-sum((row[j] for row in table), zero) for j in range(columns)] + [zero] * rows
    cost.append(-sum((row[-1] for row in table), zero))
    while True:
        entering = next((j for j in range(columns) if cost[j] < 0), None)
        if entering is None:
            break
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        _, _, leaving = min(ratios)
        _pivot(table, cost, leaving, entering)
        basis[leaving] = entering
    if cost[-1] == 0:
        point = [zero] * columns
        for i, j in enumerate(basis):
            if j < columns:
                point[j] = table[i][-1]
        return Feasibility(tuple(point), None)
    duals = [sign * (one - cost[columns + i]) for i, sign in enumerate(signs)]
    return Feasibility(None, tuple(duals))


def _pivot(table: list[Row], cost: Row, leaving: int, entering: int) -> None:
    pivot = table[leaving][entering]
    table[leaving] = [value / pivot for value in table[leaving]]
    chosen = table[leaving]
    for i, row in enumerate(table):
        if i != leaving and row[entering] != 0:
            factor = row[entering]
            table[i] = [value - factor * c for value, c in zip(row, chosen, strict=True)]
    if cost[entering] != 0:
        factor = cost[entering]
        cost[:] = [value - factor * c for value, c in zip(cost, chosen, strict=True)]
