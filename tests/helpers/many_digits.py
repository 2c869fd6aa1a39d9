"""What a channel of doubles really leaks: every logarithm in 60 digits, from the exact values of the doubles."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np

DIGITS = 60


def ln(value: Fraction) -> Decimal:
    """The natural logarithm of a positive fraction."""
    with localcontext(prec=DIGITS + 40):
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def exact(values: Iterable[float]) -> list[Fraction]:
    """The doubles as fractions."""
    return [Fraction(float(value)) for value in values]


def rows_of(matrix: np.ndarray, *, normalised: bool) -> list[list[Fraction]]:
    """The stored rows, divided by their exact sums as they are drawn from, or as they are."""
    found = [exact(row) for row in matrix]
    return [[value / sum(row) for value in row] for row in found] if normalised else found


def lip_of(matrix: np.ndarray, prior: np.ndarray, *, normalised: bool = True) -> tuple[Decimal, Decimal]:
    """(up, low) of local information privacy."""
    p = exact(prior)
    total = sum(p)
    rows = rows_of(matrix, normalised=normalised)
    up, low = Decimal(0), Decimal(0)
    for y in range(matrix.shape[1]):
        m = sum(weight * row[y] for weight, row in zip(p, rows, strict=True)) / total
        largest, smallest = max(row[y] for row in rows), min(row[y] for row in rows)
        if m > 0:
            up, low = max(up, ln(largest / m)), max(low, ln(m / smallest) if smallest > 0 else Decimal("inf"))
    return up, low


def ldp_of(matrix: np.ndarray, *, normalised: bool = True) -> Decimal:
    """Local differential privacy."""
    rows = rows_of(matrix, normalised=normalised)
    columns = [[row[y] for row in rows] for y in range(matrix.shape[1])]
    return max(ln(max(column) / min(column)) for column in columns if max(column) > 0)


def geo_of(matrix: np.ndarray, distances: np.ndarray, *, normalised: bool = True) -> Decimal:
    """Geo-indistinguishability per unit of the distances."""
    rows = rows_of(matrix, normalised=normalised)
    getcontext().prec = DIGITS
    worst = Decimal(0)
    for x, first in enumerate(rows):
        for other in range(x):
            ratios = [a / b for a, b in zip(first, rows[other], strict=True) if b > 0]
            change = max(ln(max(ratios)), -ln(min(ratios)))
            worst = max(worst, change / Decimal(float(distances[x, other])))
    return worst
