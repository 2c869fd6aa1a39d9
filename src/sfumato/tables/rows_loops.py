"""Rows by person and time, compiled: a counting sort by person, and each person's rows in the order of time."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray, IntArray
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
def by_time(times_ms: IntArray, starts: IntArray) -> IntArray:
    """The order that puts every person's rows in order of time, ties as they were; empty where they are in it."""
    order = np.empty(0, np.int64)
    for p in range(starts.size - 1):
        first, end = starts[p], starts[p + 1]
        for row in range(first + 1, end):
            if times_ms[row] < times_ms[row - 1]:
                if order.size == 0:
                    order = np.arange(times_ms.size)
                order[first:end] = first + np.argsort(times_ms[first:end], kind="mergesort")
                break
    return order


@compiled(nogil=True)
def second_at_a_time(times_ms: IntArray, starts: IntArray) -> IntArray:
    """Rows, in order of time, whose person had one at the same millisecond before."""
    count = 0
    for p in range(starts.size - 1):
        for row in range(starts[p] + 1, starts[p + 1]):
            count += times_ms[row] == times_ms[row - 1]
    again = np.empty(count, np.int64)
    if count:
        count = 0
        for p in range(starts.size - 1):
            for row in range(starts[p] + 1, starts[p + 1]):
                if times_ms[row] == times_ms[row - 1]:
                    again[count] = row
                    count += 1
    return again


@compiled(nogil=True)
def largest_of_each(pairs: FloatArray, starts: IntArray) -> FloatArray:
    """The largest of each person's numbers, without their signs."""
    largest = np.zeros(starts.size - 1)
    for p in range(starts.size - 1):
        for row in range(starts[p], starts[p + 1]):
            largest[p] = max(largest[p], abs(pairs[row, 0]), abs(pairs[row, 1]))
    return largest


@compiled(nogil=True)
def in_first_order(codes: IntArray, labels: int) -> IntArray:
    """For each label the place at which it comes first among the labels (-1: never); a code below 0 is none."""
    place = np.full(labels, -1)
    seen = 0
    for code in codes:
        if code >= 0 and place[code] < 0:
            place[code] = seen
            seen += 1
    return place


@compiled(nogil=True)
def all_usable(
    lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray, codes: IntArray, earliest_s: float, latest_s: float
) -> bool:
    """Whether every row has a position on the globe, a time within these, and a person."""
    usable = True
    for i in range(lat_deg.size):
        usable &= (abs(lat_deg[i]) <= 90.0) & (abs(lon_deg[i]) <= 360.0) & (codes[i] >= 0)
        usable &= (times_s[i] >= earliest_s) & (times_s[i] <= latest_s)
    return usable
