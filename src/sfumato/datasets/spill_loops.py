"""Rows into blocks of a bucket and out of them again, compiled.

A block of n rows is COLUMNS times n numbers of 8 bytes: latitudes, longitudes, milliseconds, numbers of rows.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.compiled import compiled
from sfumato.pool import pooled_floats, pooled_ints
from sfumato.tables.rows import Faults, Rows

COLUMNS = 4


@compiled(nogil=True)
def rows_of_each(codes: IntArray, faults: Faults, place: IntArray) -> IntArray:
    """Where the usable rows of each person begin, people in the order of ``place`` (by code)."""
    starts = np.zeros(place.size + 1, np.int64)
    for row in range(codes.size):
        if faults[row] == 0:
            starts[place[codes[row]] + 1] += 1
    for person in range(place.size):
        starts[person + 1] += starts[person]
    return starts


@compiled(nogil=True)
def _fill(
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    times_ms: IntArray,
    codes: IntArray,
    faults: Faults,
    place: IntArray,
    bucket: IntArray,
    starts: IntArray,
    begins: IntArray,
    first: int,
    values: FloatArray,
    whole: IntArray,
) -> None:
    at, step = np.empty(place.size, np.int64), np.empty(place.size, np.int64)
    for code in range(place.size):
        begin = begins[bucket[code]]
        step[code] = begins[bucket[code] + 1] - begin
        at[code] = COLUMNS * begin + starts[place[code]] - begin
    for row in range(codes.size):
        if faults[row] == 0:
            code = codes[row]
            to, n = at[code], step[code]
            values[to] = lat_deg[row]
            values[to + n] = lon_deg[row]
            whole[to + 2 * n] = times_ms[row]
            whole[to + 3 * n] = first + row
            at[code] += 1


def blocks_of(
    read: Rows, place: IntArray, bucket: IntArray, starts: IntArray, begins: IntArray, first: int
) -> FloatArray:
    """The usable rows of a round, one block after the other.

    ``place`` and ``bucket`` are by code, ``starts`` by place, ``begins`` by bucket, in rows.
    """
    values = pooled_floats(COLUMNS * int(starts[-1]))
    where = read.lat_deg, read.lon_deg, read.times_ms, read.codes, read.faults
    _fill(*where, place, bucket, starts, begins, first, values, values.view(np.int64))
    return values


@compiled(nogil=True)
def _gather(
    values: FloatArray,
    whole: IntArray,
    at: IntArray,
    step: IntArray,
    count: IntArray,
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    times_ms: IntArray,
    numbers: IntArray,
) -> None:
    row = 0
    for run in range(at.size):
        here, n = at[run], step[run]
        for place in range(here, here + count[run]):
            lat_deg[row] = values[place]
            lon_deg[row] = values[place + n]
            times_ms[row] = whole[place + 2 * n]
            numbers[row] = whole[place + 3 * n]
            row += 1


def rows_of_runs(
    values: FloatArray, at: IntArray, step: IntArray, count: IntArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """The rows of runs: ``count`` rows each from ``at`` on, their block's columns ``step`` apart."""
    rows = int(count.sum())
    out = pooled_floats(rows), pooled_floats(rows), pooled_ints(rows), pooled_ints(rows)
    _gather(values, values.view(np.int64), at, step, count, *out)
    return out
