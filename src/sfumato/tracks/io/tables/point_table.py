"""Rows of points as traces, one for every person; and several people in one table, written with a column ``id``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import KNOWN, Reading, plain, point_faults, unusable_points
from sfumato.tracks.io.formats import output_format
from sfumato.tracks.io.tables.columns import Roles, column_floats, empties_of, positions_of, roles_of, times_of
from sfumato.tracks.io.telltale import refuse_positions, refuse_undeclared_people

_KNOT_M_S = 1852.0 / 3600.0
SMALL_IDS = pa.dictionary(pa.int32(), pa.string())  # of a table that is held small


@dataclass(frozen=True, slots=True, eq=False)
class PointTable:
    """A file's rows as they were read, before anybody asks whose they are; ``skipped`` never came to be rows."""

    table: pa.Table
    reading: Reading
    roles: Roles
    skipped: Mapping[str, int] = field(default_factory=dict)

    def traces(self) -> list[tuple[str, Trace]]:
        """One trace, or one for every person."""
        return from_arrow(self.table, self.reading, roles=self.roles, skipped=self.skipped)

    def one_by_one(self) -> tuple[list[str], Iterator[tuple[str, Trace]]]:
        """Who is in it, and their traces, each made when it is asked for: all of them together fill three tables."""
        named = "id" in self.reading.columns
        whose, parts = _groups(self.table, self.roles, named=named, one_person=self.reading.one_person)
        return whose, iter(self.traces()) if len(whose) == 1 else self._each(whose, parts)

    def _each(self, whose: Sequence[str], parts: list[slice | IntArray]) -> Iterator[tuple[str, Trace]]:
        bare = self.table.drop_columns([self.roles.by_role["id"]])
        known = {role: name for role, name in self.roles.by_role.items() if role != "id"}
        columns = {role: name for role, name in self.reading.columns.items() if role != "id"}
        reading, roles = replace(self.reading, columns=columns, one_person=True), replace(self.roles, by_role=known)
        left_out, used = Counter(self.skipped), 0
        for person, rows in zip(whose, parts, strict=True):
            part = bare[rows] if isinstance(rows, slice) else bare.take(pa.array(rows))
            for _, trace in from_arrow(part, reading, roles=roles, skipped=left_out, whole=False):
                left_out, used = Counter(), used + len(trace)
                yield person, trace
                break
            else:
                left_out["points of people of whom none can be used"] += part.num_rows
        if 2 * used <= bare.num_rows:
            self.traces()  # refused there, with the reasons


def from_arrow(
    table: pa.Table,
    reading: Reading,
    *,
    roles: Roles | None = None,
    skipped: Mapping[str, int] | None = None,
    whole: bool = True,
) -> list[tuple[str, Trace]]:
    """The traces of a table of points: one, or one per value of its id column.

    Rows that cannot be used are left out and counted; ``skipped`` are those that never came to be rows. A table of
    which most cannot be used is refused where it is the ``whole``; else nobody may be left.
    """
    if roles is None:
        roles = roles_of(table.schema, reading)
    if reading.one_person and "id" in reading.columns:
        raise InputError("An id column and one person were asked for.", "Give one of the two.")
    if table.num_rows == 0:
        raise InputError("The table has no points.", "Give at least one row with a position and a time.")
    try:
        lat, lon, missing = positions_of(table, roles)
        times = times_of(table, roles, reading)
        faults = unusable_points if whole else point_faults
        unusable = faults(lat, lon, times, missing, empties_of(table.column(roles.by_role["time"])))
        keep = {word: column_floats(table.column(name), name) for word, name in roles.keep.items()}
        if plain(roles.by_role["time"]) == "fixtime" and "speed" in keep:
            keep["speed"] = keep["speed"] * _KNOT_M_S  # Traccar's
        usable = ~np.any([np.zeros(len(lat), dtype=bool), *unusable.values()], axis=0)
        if keep:
            kept = {word: values[usable] for word, values in keep.items()}
            refuse_positions(kept, lat[usable], lon[usable], times[usable], KNOWN)
        if roles.names_nobody(reading):
            others = [name for name in table.column_names if name not in roles.by_role.values()]
            good = table if usable.all() else table.filter(pa.array(usable))
            refuse_undeclared_people(good, others, lat[usable], lon[usable], times[usable])
        segment = _segments(table, roles)
        identities, places = _groups(table, roles, named="id" in reading.columns, one_person=reading.one_person)
    except (pa.ArrowException, TypeError, OverflowError):
        raise InputError("A column of the table cannot be read as numbers.", "Check its types.") from None
    traces: list[tuple[str, Trace]] = []
    left_out = Counter(skipped or {})
    for identity, everything in zip(identities, places, strict=True):
        left_out.update({why: n for why, mask in unusable.items() if (n := int(mask[everything].sum()))})
        rows = everything if usable[everything].all() else np.arange(len(lat))[everything][usable[everything]]
        if not len(lat[rows]):
            continue  # counted with whoever comes next
        moments = times[rows]
        if segment is None and moments[0] > moments[-1] and (np.diff(moments) <= 0).all():  # newest first
            rows = np.arange(len(lat))[rows][::-1]
        columns = {name: values[rows] for name, values in keep.items()}
        part = _renumbered(segment[rows]) if isinstance(segment, np.ndarray) else None
        try:
            trace = Trace(lat[rows], lon[rows], times[rows], part, columns, roles.dropped, {}, left_out)  # type: ignore[arg-type]
        except InputError as error:
            if len(identities) > 1:
                raise InputError(f"Trace number {len(traces) + 1}: {error.what}", error.advice) from None
            raise
        traces.append((identity, trace))
        left_out = Counter()
    if left_out and traces:  # of people who have nobody after them
        identity, trace = traces[-1]
        traces[-1] = (identity, replace(trace, skipped=left_out + Counter(trace.skipped)))
    return traces


def _segments(table: pa.Table, roles: Roles) -> IntArray | None:
    """Any labels to numbers that grow where the label changes."""
    if "segment" not in roles.by_role:
        return None
    codes = table.column(roles.by_role["segment"]).combine_chunks().dictionary_encode()
    return _codes(codes)


def _codes(encoded: pa.ChunkedArray | pa.DictionaryArray) -> IntArray:
    array = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes: IntArray = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # of four bytes
    return codes


def _small_codes(column: pa.ChunkedArray) -> tuple[IntArray, list[str]]:
    """A number for every row by first appearance (-1: no id), and what the numbers stand for."""
    numbers: dict[str, int] = {}
    parts = []
    for chunk in column.chunks:
        own = [numbers.setdefault(label, len(numbers)) for label in chunk.dictionary.to_pylist()]
        parts.append(np.array([*own, -1], dtype=np.int32)[chunk.indices.fill_null(-1).to_numpy()])
    return np.concatenate(parts), list(numbers)


def _renumbered(codes: IntArray) -> IntArray:
    numbers: IntArray = np.zeros(len(codes), dtype=np.int64)
    np.cumsum(codes[1:] != codes[:-1], out=numbers[1:])
    return numbers


def _groups(
    table: pa.Table, roles: Roles, *, named: bool, one_person: bool
) -> tuple[list[str], list[slice | IntArray]]:
    """The identities in order of appearance with the rows of each; one without a name ("") where nothing tells them."""
    rows = table.num_rows
    if "id" not in roles.by_role or one_person:
        return [""], [slice(None)]
    column = table.column(roles.by_role["id"])
    if column.type == SMALL_IDS:
        codes, labels = _small_codes(column)
    else:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.combine_chunks().dictionary_encode()
        codes = _codes(encoded)
        array = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        labels = [str(label) for label in array.dictionary.to_pylist()]
    if not named and plain(roles.by_role["id"]) in ("id", "uid", "tid") and len(labels) == rows > 1:
        return [""], [slice(None)]  # a number per row is no trace's name
    if len(labels) <= 1:
        return labels or [""], [slice(None)]
    if codes[0] == 0 and (codes[1:] >= codes[:-1]).all():  # person after person
        starts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1), rows]
        return labels, [slice(int(a), int(b)) for a, b in pairwise(starts)]
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    places = np.split(order, edges)
    return [labels[codes[part[0]]] if codes[part[0]] >= 0 else "none" for part in places], list(places)


def held_small(pieces: Iterable[pa.RecordBatch], roles: Roles) -> pa.Table:
    """A table read piece by piece: ids take four bytes each, moments that are written in full eight."""
    pa.default_memory_pool().release_unused()  # else it comes on top of a table before it
    person, when = roles.by_role["id"], roles.by_role["time"]
    parts, moments = list[pa.Table](), True
    for piece in pieces:
        ids, table = piece.column(person), pa.Table.from_batches([piece])
        ids = (ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids).dictionary_encode()
        names = pa.array([str(label) for label in ids.dictionary.to_pylist()], pa.string())
        small = pa.DictionaryArray.from_arrays(ids.indices.cast(pa.int32()), names)
        table = table.set_column(table.column_names.index(person), person, small)
        if moments and pa.types.is_string(table.column(when).type):
            try:
                read = table.column(when).cast(pa.timestamp("us", tz="UTC"))
                table = table.set_column(table.column_names.index(when), when, read)
            except pa.ArrowInvalid:
                if parts:
                    raise
                moments = False
        parts.append(table)
    return pa.concat_tables(parts)


def fleet_table(people: Sequence[tuple[str, Trace]]) -> pa.Table:
    """Several people's traces as one Arrow table with a column ``id``."""
    if not people:
        raise InputError("There is nobody in this fleet.", "Give at least one trace.")
    parts = []
    for person, trace in people:
        table = trace.to_table()
        parts.append(table.add_column(0, "id", pa.array([person] * len(trace), pa.string())))
    return pa.concat_tables(parts)


def write_fleet(people: Sequence[tuple[str, Trace]], path: str | Path, *, format: str | None = None) -> None:
    """Several people's traces as Parquet or CSV."""
    write_fleet_table(fleet_table(people), path, format=format)


def write_fleet_table(table: pa.Table, path: str | Path, *, format: str | None = None) -> None:
    """A table laid out like :func:`fleet_table`'s as Parquet or CSV."""
    chosen = output_format(path, format).name
    if chosen == "parquet":
        pq.write_table(table, path, compression="zstd", use_dictionary=["id", "segment"])
    elif chosen == "csv" and "time" not in table.column_names:
        pc_csv.write_csv(table, path)
    elif chosen == "csv":
        text = pc.strftime(table.column("time").cast(pa.timestamp("ms", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")
        index = table.column_names.index("time")
        pc_csv.write_csv(table.set_column(index, "time", text), path)
    else:
        raise InputError("A fleet cannot be written in this format.", "Use .parquet or .csv.")
