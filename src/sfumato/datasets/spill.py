"""All rows of a person into one place, in bounded memory: the dataset dealt out into buckets by a hash of the person.

Each unit becomes one private file that holds, round by round, a block of rows for each bucket: judged and as numbers,
person after person, each person's in their order. Behind a round's blocks lie, for each bucket, who they are and how
many rows each has, and what else is carried; at the end of the file, where all of that is. A bucket is gathered from
its blocks of all units (:mod:`sfumato.datasets.buckets`). Rows that cannot be used stay behind with their number and
the reason.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from sfumato.arrays import FloatArray, IntArray
from sfumato.certificates.person_ids import merging_id
from sfumato.datasets.people_bytes import people_bytes
from sfumato.datasets.source import Dataset, RowGroups
from sfumato.datasets.spill_loops import COLUMNS, blocks_of, rows_of_each
from sfumato.files import write_whole
from sfumato.tables.layout import Layout
from sfumato.tables.rows import Faults, Rows, read_rows

SPILL_FORMAT = 2  # a job that another version began is not taken up
ENTRY = 7  # numbers: rows (where, how many), people (where, how many, bytes), what is carried (where, bytes)
ROW, WHO = "_sfumato_row", "_sfumato_who"
_REMEMBERED = 1 << 15  # people whose bucket is not worked out again
_WRITTEN = 1 << 20  # bytes at once: Linux looks for large pages for more, which takes five times as long
Buckets = Callable[[str], int]


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """What became of a unit: how many rows were dealt out, and which were not (number, reason)."""

    rows: int
    bad_rows: IntArray
    faults: Faults


def spill_name(unit: RowGroups) -> str:
    """The private file of a unit."""
    return f"unit-{unit.number:06d}.rows"


def into_buckets(buckets: int) -> Buckets:
    """Which bucket a person's rows go to; those of some people are remembered."""

    return lru_cache(_REMEMBERED)(lambda person: bucket_of(person, buckets))


def bucket_of(person: str, buckets: int) -> int:
    """A function of the id alone; ids that might be one person's come together."""
    return 0 if not person.strip() else zlib.crc32(merging_id(person).encode()) % buckets


def deal_out(
    dataset: Dataset, unit: RowGroups, layout: Layout, buckets: int, bucket_of: Buckets, folder: Path
) -> Dealt:
    """Write the unit's private file, whole or not at all."""
    rows, bad_rows, faults = 0, [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    carried = layout.carried(dataset.schema)

    def write(path: Path) -> None:
        nonlocal rows
        index, schema = [], b""
        with path.open("wb") as sink:
            for first, table in dataset.rounds(unit, layout.needed, layout.person):
                read = read_rows(table, layout)
                bad = np.flatnonzero(read.faults)
                rows += table.num_rows - len(bad)
                bad_rows.append(first + bad)
                faults.append(read.faults[bad])
                kept = _plain(table.select(carried))
                del table
                index.append(_dealt(sink, read, kept, first, [bucket_of(label) for label in read.labels], buckets))
                schema = schema or schema_of(read.ids, kept).serialize().to_pybytes()
            where = np.array(index, dtype="<i8").reshape(len(index), buckets, ENTRY).transpose(1, 0, 2)
            sink.write(schema + where.tobytes())
            sink.write(np.array([len(schema), len(index)], dtype="<i8").tobytes())

    write_whole(folder / spill_name(unit), write, private=True)
    return Dealt(rows, np.concatenate(bad_rows), np.concatenate(faults))


def _dealt(sink: BinaryIO, read: Rows, carried: pa.Table, first: int, of_label: list[int], buckets: int) -> IntArray:
    """The usable rows of one round, written; where those of each bucket lie: ENTRY numbers each."""
    whose: IntArray = np.array(of_label, dtype=np.int64)
    by_bucket = np.argsort(whose, kind="stable")  # people of one bucket together, in the order they come first
    place = np.empty_like(by_bucket)
    place[by_bucket] = np.arange(by_bucket.size)
    starts = rows_of_each(read.codes, read.faults, place)
    begins = starts[np.searchsorted(whose[by_bucket], np.arange(buckets + 1))]
    values = blocks_of(read, place, whose, starts, begins, first)
    at, data = sink.tell(), values.data.cast("B")
    for begin in range(0, data.nbytes, _WRITTEN):
        sink.write(data[begin : begin + _WRITTEN])
    counts = np.diff(starts)
    here = np.flatnonzero(counts)  # of some people no row can be used
    edges = np.searchsorted(whose[by_bucket[here]], np.arange(buckets + 1))
    people, ends = people_bytes(
        counts[here], None if read.ids is None else read.ids.take(pa.array(by_bucket[here])), edges
    )
    sink.write(people.data)
    others = [memoryview(part) for part in _taken(carried, values, begins.tolist(), first)]
    more = np.array([part.nbytes for part in others], dtype=np.int64)
    for part in others:
        sink.write(part)
    people_at = at + data.nbytes
    more_at = people_at + people.nbytes + np.cumsum(more) - more
    where = (at + 8 * COLUMNS * begins[:-1], np.diff(begins), people_at + ends[:-1], np.diff(edges), np.diff(ends))
    return np.stack((*where, more_at, more), axis=1)


def _taken(carried: pa.Table, values: FloatArray, edges: list[int], first: int) -> Iterator[bytes | pa.Buffer]:
    """For each bucket, the carried columns of its rows."""
    numbers = values.view(np.int64)
    for begin, end in pairwise(edges):
        if not carried.num_columns or begin == end:
            yield b""
            continue
        rows = numbers[COLUMNS * end - (end - begin) : COLUMNS * end] - first
        batches = carried.take(pa.array(rows)).combine_chunks().to_batches()
        yield batches[0].serialize()


def schema_of(ids: pa.Array | None, carried: pa.Table) -> pa.Schema:
    """Of the people, where there are any, and what is carried."""
    people = [] if ids is None else [pa.field(WHO, ids.type)]
    return pa.schema([*people, *carried.schema])


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries written out: a file holds one for each column, and rounds have their own."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table
