"""Rows by person and time, compiled: a counting sort by person, and each person's rows in the order of time."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import BoolArray, IntArray
from sfumato.compiled import compiled


@compiled(nogil=True)
def by_person(codes: IntArray, people: int) -> tuple[IntArray, IntArray]:
    """The rows of each person one after the other, in their order in the table, and where each person begins."""
    starts = np.zeros(people + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for p in range(people):
        starts[p + 1] += starts[p]
    at = starts[:-1].copy()
    order = np.empty(codes.size, np.int64)
    for row in range(codes.size):
        code = codes[row]
        order[at[code]] = row
        at[code] += 1
    return order, starts


@compiled(nogil=True)
def by_time(times_ms: IntArray, starts: IntArray) -> tuple[bool, IntArray]:
    """Whether every person's rows are in order of time, and the order that puts them so, ties as they were."""
    sorted_already = True
    order = np.arange(times_ms.size)
    for p in range(starts.size - 1):
        first, end = starts[p], starts[p + 1]
        for row in range(first + 1, end):
            if times_ms[row] < times_ms[row - 1]:
                sorted_already = False
                order[first:end] = first + np.argsort(times_ms[first:end], kind="mergesort")
                break
    return sorted_already, order


@compiled(nogil=True)
def second_at_a_time(times_ms: IntArray, starts: IntArray) -> BoolArray:
    """Rows, in order of time, whose person had one at the same millisecond before."""
    again = np.zeros(times_ms.size, np.bool_)
    for p in range(starts.size - 1):
        for row in range(starts[p] + 1, starts[p + 1]):
            again[row] = times_ms[row] == times_ms[row - 1]
    return again
