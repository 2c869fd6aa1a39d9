"""A table as arrays: where, when and whose each row is, and which rows cannot be used, with the reason.

Rows by person and time are compiled: a counting sort by person, and each person's rows in the order of time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray, wrap_longitude
from sfumato.base.compiled import compile_loop
from sfumato.base.errors import InputError
from sfumato.base.pool import pooled_floats, pooled_ints
from sfumato.base.things.traces import EARLIEST_S, LATEST_S, Trace
from sfumato.tracks.io.draft import BAD_TIME, KNOWN, NO_NUMBER, NO_POSITION, NO_TIME, OFF_GLOBE, point_faults
from sfumato.tracks.io.tables.columns import empties_of, positions_of, times_of
from sfumato.tracks.io.telltale import refuse_positions, refuse_undeclared_people
from sfumato.tracks.people.layout import Layout

AnyNumbers = FloatArray | IntArray


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
def _repeat(values: IntArray, counts: IntArray, out: IntArray) -> None:
    row = 0
    for place in range(counts.size):
        for _ in range(counts[place]):
            out[row] = values[place]
            row += 1


def repeat_each(values: IntArray, counts: IntArray) -> IntArray:
    """``np.repeat``, into memory that was used before."""
    out = pooled_ints(int(counts.sum()))
    _repeat(values, counts, out)
    return out


@compile_loop(nogil=True)
def by_time(times_ms: IntArray, starts: IntArray) -> IntArray:
    """The order that puts every person's rows in order of time, ties as they were; empty where they are in it."""
    order = np.empty(0, np.int64)
    for p in range(starts.size - 1):
        first, end = starts[p], starts[p + 1]
        for row in range(first + 1, end):
            if times_ms[row] < times_ms[row - 1]:
                if order.size == 0:
                    order = np.arange(times_ms.size)
                place = first  # one by one: an assignment of slices takes numba two seconds more to compile
                for after in np.argsort(times_ms[first:end], kind="mergesort"):
                    order[place] = first + after
                    place += 1
                break
    return order


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
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


@compile_loop(nogil=True)
def _to_ms(times_s: FloatArray, out: IntArray) -> None:
    for row in range(times_s.size):
        ms = np.rint(times_s[row] * 1000.0)
        out[row] = np.int64(ms) if abs(ms) < 9e18 else 0


def whole_ms(times_s: FloatArray) -> IntArray:
    """The nearest milliseconds; 0 where there is no time."""
    out = pooled_ints(times_s.size)
    _to_ms(times_s, out)
    return out


@compile_loop(nogil=True)
def all_usable(
    lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray, codes: IntArray, earliest_s: float, latest_s: float
) -> bool:
    """Whether every row has a position on the globe, a time within these, and a person."""
    usable = True
    for i in range(lat_deg.size):
        usable &= (abs(lat_deg[i]) <= 90.0) & (abs(lon_deg[i]) <= 360.0) & (codes[i] >= 0)
        usable &= (times_s[i] >= earliest_s) & (times_s[i] <= latest_s)
    return usable


NO_PERSON = "points without a person"
SAME_TIME = "second points of one person at one time"
# 0 is a row that can be used.
FAULTS = ("", NO_PERSON, NO_POSITION, NO_NUMBER, OFF_GLOBE, NO_TIME, BAD_TIME, SAME_TIME)
Faults = npt.NDArray[np.uint8]
_LOOKED_AT = 20_000  # rows of each table whose kept columns are compared with the position


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One entry for each row of a table; ``codes`` counts into ``labels``, -1 where nobody is named.

    ``ids`` are the labels as they stand in the column of people; None where all rows are one person's. ``starts`` is
    given where the rows lie person after person: where each label's begin, and their number.
    """

    lat_deg: FloatArray
    lon_deg: FloatArray
    times_ms: IntArray
    codes: IntArray
    labels: tuple[str, ...]
    faults: Faults
    ids: pa.Array | None = None
    starts: IntArray | None = None

    @property
    def good(self) -> IntArray:
        """The places of rows that can be used."""
        return np.flatnonzero(self.faults == 0)

    def traces(self) -> list[Trace]:
        """Everybody's trace, in order of time, for mechanisms that are fitted to them."""
        good = self.good
        order, starts = by_person(self.codes[good], len(self.labels))
        out = []
        for first, end in pairwise(starts.tolist()):
            at = good[order[first:end]]
            at = at[np.argsort(self.times_ms[at], kind="stable")]
            if at.size:
                out.append(Trace(self.lat_deg[at], self.lon_deg[at], self.times_ms[at] / 1000.0))
        return out


def read_rows(table: pa.Table, layout: Layout) -> Rows:
    """The arrays of a table, each row judged; refused where a kept column is the position, or people are undeclared."""
    roles, reading = layout.roles, layout.reading
    try:
        lat, lon, missing = positions_of(table, roles)
        times_s = times_of(table, roles, reading)
        codes, labels, ids = _people(table, layout)
    except (pa.ArrowException, TypeError, OverflowError):
        raise InputError("A column of the table cannot be read as numbers.", "Check its types.") from None
    faults: Faults = np.zeros(len(lat), dtype=np.uint8)
    if not all_usable(lat, lon, times_s, codes, EARLIEST_S, LATEST_S):
        untimed = empties_of(table.column(roles.by_role["time"]))
        for reason, mask in point_faults(lat, lon, times_s, missing, untimed).items():
            faults[mask] = FAULTS.index(reason)
        faults[(codes < 0) & (faults == 0)] = FAULTS.index(NO_PERSON)
    _refuse(table, layout, faults, (lat, lon, times_s))
    return Rows(lat, wrap_longitude(lon), whole_ms(times_s), codes, labels, faults, ids)


def count_faults(faults: Faults) -> dict[str, int]:
    """How many rows could not be used, by reason."""
    found = Counter(faults[faults > 0].tolist())
    return {FAULTS[fault]: count for fault, count in sorted(found.items())}


def fault_words(counts: dict[str, int], rows: int) -> str:
    """In one sentence, without a coordinate."""
    words = ", ".join(f"{reason} ({count})" for reason, count in counts.items())
    return f"{sum(counts.values())} of {rows} rows cannot be used: {words}."


def _people(table: pa.Table, layout: Layout) -> tuple[IntArray, tuple[str, ...], pa.Array | None]:
    """Codes by row, and the people in the order in which they come first: as texts, and as they stand in the column."""
    name = layout.person
    if name is None:
        return np.zeros(table.num_rows, dtype=np.int64), ("",), None
    column = table.column(name)
    given = pa.types.is_dictionary(column.type)
    if given and pa.types.is_floating(column.type.value_type):
        column, given = column.cast(column.type.value_type), False
    if given:
        codes, ids = _as_they_come(column)
    else:
        array = column.dictionary_encode().combine_chunks()
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        ids = array.dictionary
    labels = [label_of(label) for label in ids.to_pylist()]
    empty = [place for place, label in enumerate(labels) if not label.strip()]
    if empty:
        codes[np.isin(codes, empty)] = -1
    return codes, tuple(labels), ids


def _as_they_come(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    """Codes of a column of dictionaries, each in an order of its own, which may hold more, and the same twice."""
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    once = pa.chunked_array(dictionaries, column.type.value_type).dictionary_encode().combine_chunks()
    label: IntArray = once.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    codes, place = pooled_ints(len(column)), np.full(len(once.dictionary), -1)
    seen, row, entry = 0, 0, 0
    for chunk, dictionary in zip(column.chunks, dictionaries, strict=True):
        indices = chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        mine = label[entry : entry + len(dictionary)]
        seen = recode(indices, mine, place, seen, codes[row : row + len(chunk)])
        row, entry = row + len(chunk), entry + len(dictionary)
    order: IntArray = np.argsort(place, kind="stable")[np.count_nonzero(place < 0) :]
    return codes, once.dictionary.take(pa.array(order))


def label_of(value: object) -> str:
    """An id as text; what is no number (NaN) and what is empty is nobody."""
    return "" if value is None or value != value else str(value)


def _refuse(table: pa.Table, layout: Layout, faults: Faults, where: tuple[FloatArray, FloatArray, FloatArray]) -> None:
    undeclared = layout.roles.names_nobody(layout.reading)
    places = np.flatnonzero(faults == 0)[:_LOOKED_AT] if layout.roles.keep or undeclared else ()
    if not len(places):
        return
    lat, lon, times_s = (values[places] for values in where)
    for word, name in layout.roles.keep.items():
        column = table.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
            values = column.take(pa.array(places)).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            refuse_positions({word: np.asarray(values, dtype=np.float64)}, lat, lon, times_s, KNOWN)
        elif pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise InputError(
                f"Column '{name}' holds neither numbers nor texts, and cannot be looked into for a position.",
                "Leave it out, or write it as columns of numbers or texts.",
            )
    if undeclared:
        others = [name for name in table.column_names if name not in layout.roles.by_role.values()]
        refuse_undeclared_people(table.select(others).take(pa.array(places)), others, lat, lon, times_s)
