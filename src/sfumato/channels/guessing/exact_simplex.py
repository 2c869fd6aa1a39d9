"""A linear program in exact fractions: a feasible point, or a proof that there is none. For a few dozen unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.base.errors import InputError

Row = list[Fraction]
MOST_ENTRIES = 40_000


@dataclass(frozen=True, slots=True)
class Feasibility:
    """``point`` >= 0 with A point = b, or ``multipliers`` y with y A <= 0 and y b > 0 (Farkas); never both."""

    point: tuple[Fraction, ...] | None
    multipliers: tuple[Fraction, ...] | None


def feasible(a: list[Row], b: Row) -> Feasibility:
    """Solve A x = b, x >= 0 by the first phase of the simplex method with Bland's rule (it cannot cycle)."""
    rows, columns = len(a), len(a[0]) if a else 0
    if rows * (columns + rows) > MOST_ENTRIES:
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
