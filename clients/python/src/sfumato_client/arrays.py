"""Rows of numbers without NumPy: tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FloatArray = Sequence[float]
IntArray = Sequence[int]


def read_only(values: Iterable[float]) -> tuple[float, ...]:
    """The values as a tuple, which nobody can write to."""
    return tuple(map(float, values))
