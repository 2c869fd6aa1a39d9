"""Rows by person and time, compiled: a counting sort by person, and each person's rows in the order of time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled
from sfumato.base.pool import pooled_floats, pooled_ints

AnyNumbers = FloatArray | IntArray


@compiled(nogil=True)
def _count_people(codes: IntArray, people: int, order: IntArray) -> IntArray:
    starts = np.zeros(people + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for p in range(people):
        starts[p + 1] += starts[p]
    at = starts[:-1].copy()
    for row in range(codes.size):
        code = codes[row]
        order[at[code]] = row
        at[code] += 1
    return starts


def by_person(codes: IntArray, people: int) -> tuple[IntArray, IntArray]:
    """The rows of each person one after the other, in their order in the table, and where each person begins."""
    order = pooled_ints(codes.size)
    return order, _count_people(codes, people, order)


@compiled(nogil=True)
def _pick(values: AnyNumbers, at: IntArray, out: AnyNumbers) -> None:
    for place in range(at.size):
        out[place] = values[at[place]]


def floats_at(values: FloatArray, at: IntArray) -> FloatArray:
    """``values[at]``, three times as fast for a million."""
    out = pooled_floats(at.size)
    _pick(values, at, out)
    return out


def ints_at(values: IntArray, at: IntArray) -> IntArray:
    """``values[at]``, three times as fast for a million."""
    out = pooled_ints(at.size)
    _pick(values, at, out)
    return out


@compiled(nogil=True)
def _repeat(values: IntArray, counts: IntArray, out: IntArray) -> None:
    row = 0
    for place in range(counts.size):
        for _ in range(counts[place]):
            out[row] = values[place]
            row += 1


def repeated(values: IntArray, counts: IntArray) -> IntArray:
    """``np.repeat``, into memory that was used before."""
    out = pooled_ints(int(counts.sum()))
    _repeat(values, counts, out)
    return out


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
def recode(indices: npt.NDArray[np.int32], label: IntArray, place: IntArray, seen: int, out: IntArray) -> int:
    """Codes by the order in which labels come first: ``place`` of each label (-1: not yet), ``seen`` of them so far.

    ``label`` of each index, -1 for nobody, as are indices below 0.
    """
    for row in range(indices.size):
        number = label[indices[row]] if indices[row] >= 0 else -1
        if number >= 0 and place[number] < 0:
            place[number] = seen
            seen += 1
        out[row] = place[number] if number >= 0 else -1
    return seen


@compiled(nogil=True)
def _to_ms(times_s: FloatArray, out: IntArray) -> None:
    for row in range(times_s.size):
        ms = np.rint(times_s[row] * 1000.0)
        out[row] = np.int64(ms) if abs(ms) < 9e18 else 0


def whole_ms(times_s: FloatArray) -> IntArray:
    """The nearest milliseconds; 0 where there is no time."""
    out = pooled_ints(times_s.size)
    _to_ms(times_s, out)
    return out


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
