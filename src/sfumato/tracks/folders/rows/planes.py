"""Rows as planes of 4-byte words, and who has how many of them as bytes: exactly what they are, in as few as they take.

Degrees of at most seven decimals are whole numbers of 1e-7 that fit into one word: rounding d·1e7 gives the number, and
the number over 1e7, correctly rounded, is d again. Whether it is, is looked at for every value; where one is not, all
of a round's positions are kept as the two words they are. Moments within 24 days of the first are one word, others two.
The number of a row in its round is the last plane. A round's rows lie in blocks, one for each bucket: a block of n rows
is n words for each plane, one plane after the other.

Of people there are, for each bucket, the counts, the lengths of the ids, and the ids one after the other: texts, bytes,
or of a type whose values are all equally long (numbers, moments). No others can be told apart in a column. A serialised
Arrow batch for each of the many small groups took most of the time that a bucket has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.base.pool import pooled_floats, pooled_ints, pooled_words
from sfumato.tracks.people.rows import Faults, Rows

Words = npt.NDArray[np.int32]
MOST_PLANES = 7
_PER_DEGREE = 1e7
_FAR_MS = (1 << 31) - 1
_NEVER_MS = 1 << 62


class Planes(NamedTuple):
    """How a round's rows are kept: whether positions and moments take two words; moments count from the first one."""

    fine: bool
    long: bool
    first_ms: int
    last_ms: int

    @classmethod
    def of(cls, read: Rows) -> Planes:
        """As few as the usable rows take."""
        whole, first_ms, last_ms = _looked_at(read.lat_deg, read.lon_deg, read.times_ms, read.faults)
        return cls(not whole, last_ms - first_ms > _FAR_MS, first_ms, last_ms)

    @property
    def words(self) -> int:
        """How many words a row takes."""
        return planes_of(self.fine, self.long)

    def hold(self, other: Planes) -> bool:
        """Whether rows that ask for others fit into these."""
        near = all(abs(at_ms - self.first_ms) <= _FAR_MS for at_ms in other[2:])
        return self[:2] == other[:2] and (self.long or near)

    def fill(self, read: Rows, at: int, planes: Words) -> None:
        """The rows from place ``at`` on; what is there of rows that cannot be used says nothing."""
        values = read.lat_deg, read.lon_deg, read.times_ms
        lat, lon, ms = halves(values)
        _fill_planes(*values, lat, lon, ms, read.faults, self.fine, self.long, self.first_ms, at, planes)


NO_PLANES = Planes(fine=False, long=False, first_ms=0, last_ms=0)


def halves(values: tuple[FloatArray, FloatArray, IntArray]) -> tuple[Words, Words, Words]:
    """The same memory, as twice as many words."""
    lat, lon, ms = (np.ascontiguousarray(column).view(np.int32) for column in values)
    return lat, lon, ms


@overload
def planes_of(fine: bool, long: bool) -> int: ...
@overload
def planes_of(fine: IntArray, long: IntArray) -> IntArray: ...
def planes_of(fine: bool | IntArray, long: bool | IntArray) -> int | IntArray:
    """How many words a row takes: latitudes, longitudes, moments, numbers."""
    return 4 + 2 * fine + long


@compile_loop(nogil=True)
def _looked_at(lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray, faults: Faults) -> tuple[bool, int, int]:
    """Whether all usable positions are whole numbers of 1e-7 degrees; the first and the last moment."""
    whole, first, last = True, _NEVER_MS, -_NEVER_MS
    for row in range(lat_deg.size):
        usable = faults[row] == 0
        for degrees in (lat_deg[row], lon_deg[row]):
            same = np.rint(degrees * _PER_DEGREE) / _PER_DEGREE == degrees
            same &= (degrees != 0.0) | (math.copysign(1.0, degrees) > 0.0)  # -0.0 is none
            same &= abs(degrees) <= 180.0  # more may not fit; readers wrap longitudes before
            whole &= same | (not usable)
        first = min(first, times_ms[row] if usable else _NEVER_MS)
        last = max(last, times_ms[row] if usable else -_NEVER_MS)
    return whole, min(first, last), last


@compile_loop(nogil=True)
def _fill_planes(
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    times_ms: IntArray,
    lat_halves: Words,
    lon_halves: Words,
    ms_halves: Words,
    faults: Faults,
    fine: bool,
    long: bool,
    first_ms: int,
    at: int,
    planes: Words,
) -> None:
    last = 3 + 2 * fine + long
    for row in range(lat_deg.size):
        to = at + row
        planes[last, to] = to
        if faults[row] != 0:
            continue
        if fine:
            planes[0, to], planes[1, to] = lat_halves[2 * row], lat_halves[2 * row + 1]
            planes[2, to], planes[3, to] = lon_halves[2 * row], lon_halves[2 * row + 1]
        else:
            planes[0, to] = np.int32(np.rint(lat_deg[row] * _PER_DEGREE))
            planes[1, to] = np.int32(np.rint(lon_deg[row] * _PER_DEGREE))
        if long:
            planes[last - 2, to], planes[last - 1, to] = ms_halves[2 * row], ms_halves[2 * row + 1]
        else:
            planes[last - 1, to] = np.int32(times_ms[row] - first_ms)


@compile_loop(nogil=True)
def _gather(
    words: Words,
    at: IntArray,
    step: IntArray,
    count: IntArray,
    kinds: IntArray,
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    times_ms: IntArray,
    numbers: IntArray,
    lat_halves: Words,
    lon_halves: Words,
    ms_halves: Words,
) -> None:
    row = 0
    for run in range(at.size):
        here, n, rows = at[run], step[run], count[run]
        if kinds[run, 0]:
            for place in range(rows):
                lat_halves[2 * (row + place)] = words[here + place]
                lat_halves[2 * (row + place) + 1] = words[here + n + place]
                lon_halves[2 * (row + place)] = words[here + 2 * n + place]
                lon_halves[2 * (row + place) + 1] = words[here + 3 * n + place]
            here += 4 * n
        else:
            for place in range(rows):
                lat_deg[row + place] = words[here + place] / _PER_DEGREE
            for place in range(rows):
                lon_deg[row + place] = words[here + n + place] / _PER_DEGREE
            here += 2 * n
        if kinds[run, 1]:
            for place in range(rows):
                ms_halves[2 * (row + place)] = words[here + place]
                ms_halves[2 * (row + place) + 1] = words[here + n + place]
            here += 2 * n
        else:
            for place in range(rows):
                times_ms[row + place] = kinds[run, 2] + words[here + place]
            here += n
        for place in range(rows):
            numbers[row + place] = kinds[run, 3] + words[here + place]
        row += rows


def rows_of_runs(
    words: Words, at: IntArray, step: IntArray, count: IntArray, kinds: IntArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """The rows of runs: ``count`` each from ``at`` on, their block's planes ``step`` apart.

    ``kinds`` of each are whether positions and moments take two words, the moment and the row that they count from.
    """
    rows = int(count.sum())
    out = pooled_floats(rows), pooled_floats(rows), pooled_ints(rows), pooled_ints(rows)
    _gather(words, at, step, count, kinds, *out, *halves(out[:3]))
    return out


@compile_loop(nogil=True)
def rows_of_each(codes: Words, place: IntArray, people: int) -> IntArray:
    """Where the rows of each of so many people begin, in the order of ``place`` (by code; -1 is nobody's row)."""
    starts = np.zeros(people + 1, np.int64)
    for code in codes:
        if code >= 0:
            starts[place[code] + 1] += 1
    for person in range(people):
        starts[person + 1] += starts[person]
    return starts


@compile_loop(nogil=True)
def _deal(
    planes: Words, codes: Words, place: IntArray, starts: IntArray, begins: IntArray, order: Words, words: Words
) -> None:
    at = starts[:-1].copy()
    for row in range(codes.size):
        if codes[row] >= 0:
            person = place[codes[row]]
            order[at[person]] = row
            at[person] += 1
    for k in range(planes.shape[0]):  # one after the other: each fits into the processor's cache
        plane = planes[k]
        for bucket in range(begins.size - 1):
            first, rows = begins[bucket], begins[bucket + 1] - begins[bucket]
            to = planes.shape[0] * first + k * rows
            for i in range(rows):  # indices without a sign: nothing is counted from the end
                words[np.uint64(to + i)] = plane[np.uint32(order[np.uint64(first + i)])]


def blocks_of(planes: Words, codes: Words, place: IntArray, starts: IntArray, begins: IntArray) -> Words:
    """The usable rows of a round, one block after the other.

    ``place`` is by code, ``starts`` by place, ``begins`` by bucket, in rows.
    """
    rows = int(starts[-1])
    words = pooled_words(planes.shape[0] * rows)
    _deal(planes, codes, place, starts, begins, pooled_words(rows), words)
    return words


Bytes = npt.NDArray[np.uint8]
_WORD = 8


def people_bytes(counts: IntArray, ids: pa.Array | None, edges: IntArray) -> tuple[Bytes, IntArray]:
    """Of all buckets, and where each one's begin; bucket b has the people from ``edges[b]`` to the next."""
    if ids is None:
        return counts.astype("<i8").view(np.uint8), _WORD * edges
    at, data = _texts(ids)
    ends = 2 * _WORD * edges + at[edges] - at[0]
    out: Bytes = np.empty(int(ends[-1]), dtype=np.uint8)
    _fill_people(
        counts.astype("<i8").view(np.uint8), np.diff(at).astype("<i8").view(np.uint8), at, data, edges, ends, out
    )
    return out, ends


def people_from(
    parts: Sequence[tuple[int, bytes | memoryview]], kind: pa.DataType | None
) -> tuple[IntArray, pa.Array | None]:
    """Counts and ids of several buckets' bytes, each with its number of people, one after the other."""
    counts: IntArray = np.concatenate([np.frombuffer(part, "<i8", people) for people, part in parts]).astype(np.int64)
    if kind is None:
        return counts, None
    lengths = np.concatenate([np.frombuffer(part, "<i8", people, _WORD * people) for people, part in parts])
    data = pa.py_buffer(b"".join([memoryview(part)[2 * _WORD * people :] for people, part in parts]))
    if not _is_text(kind):
        stored = pa.uint8() if pa.types.is_boolean(kind) else kind
        return counts, pa.Array.from_buffers(stored, counts.size, [None, data]).cast(kind)
    wide = pa.large_string() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else pa.large_binary()
    at = pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return counts, pa.Array.from_buffers(wide, counts.size, [None, at, data]).cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )


def _texts(ids: pa.Array) -> tuple[IntArray, Bytes]:
    """Where each value begins in bytes, one entry more than there are; and the bytes."""
    ids = ids.cast(pa.uint8()) if pa.types.is_boolean(ids.type) else ids
    kind, buffers = ids.type, ids.buffers()
    data = np.frombuffer(buffers[-1] or b"", dtype=np.uint8)
    if not _is_text(kind):
        return (ids.offset + np.arange(len(ids) + 1)) * (kind.bit_width // 8), data
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    at = np.frombuffer(buffers[1], dtype=np.int64 if wide else np.int32)
    return at[ids.offset : ids.offset + len(ids) + 1].astype(np.int64), data


@compile_loop(nogil=True)
def _fill_people(
    counts: Bytes, lengths: Bytes, at: IntArray, data: Bytes, edges: IntArray, ends: IntArray, out: Bytes
) -> None:
    for bucket in range(edges.size - 1):
        first, last, to = edges[bucket], edges[bucket + 1], ends[bucket]
        for source in (counts, lengths):
            for place in range(_WORD * first, _WORD * last):
                out[to] = source[place]
                to += 1
        for place in range(at[first], at[last]):
            out[to] = data[place]
            to += 1
