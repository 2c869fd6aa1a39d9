"""All rows of a person into one place, in bounded memory: the dataset dealt out into buckets by a hash of the person.

Each unit becomes one private file that holds, round by round, a block of rows for each bucket: judged and as numbers
(:mod:`sfumato.tracks.folders.rows.planes`), person after person, each person's in their order. A round is as many
batches as are dealt out together. Behind its blocks lie, for each bucket, who they are and how many rows each has, and
what else is carried; at the end of the file, where all of that is. A bucket is gathered from its blocks of all units
(:mod:`sfumato.tracks.folders.rows.buckets`). Rows that cannot be used stay behind with their number and the reason.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.files import write_whole
from sfumato.base.pool import pooled_words
from sfumato.tracks.certificates.person_ids import merging_id
from sfumato.tracks.folders.rows.dataset import Dataset, RowGroups
from sfumato.tracks.folders.rows.parts import LeftOut
from sfumato.tracks.folders.rows.people_bytes import people_bytes
from sfumato.tracks.folders.rows.planes import MOST_PLANES, NO_PLANES, Planes, Words
from sfumato.tracks.folders.rows.spill_loops import blocks_of, rows_of_each
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import Faults, Rows, read_rows

SPILL_FORMAT = 4  # a job that another version began is not taken up
_BLOCK = "rows_at rows people_at people people_bytes more_at more_bytes fine long first_ms first_row"
BLOCK = np.dtype([(name, "<i8") for name in _BLOCK.split()])  # of one bucket in one round: where in the file, and how
Blocks = npt.NDArray[np.void]
HELD_ROWS = 1 << 18  # dealt out together
_HELD_BYTES = 1 << 25  # of what is carried with them
WHO = "_sfumato_who"
_REMEMBERED = 1 << 15  # people whose bucket is not worked out again
_WRITTEN = 1 << 20  # bytes at once: Linux looks for large pages for more, which takes five times as long
Buckets = Callable[[str], int]


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
) -> tuple[int, LeftOut]:
    """Write the unit's private file, whole or not at all; how many rows it holds, and which were left out."""
    rows, left_out = 0, list[tuple[IntArray, Faults]]()
    carried = layout.carried(dataset.schema)

    def write(path: Path) -> None:
        nonlocal rows
        index, schema = [], b""
        held = _Round.of(min(unit.rows, HELD_ROWS))
        with path.open("wb") as sink:
            for first, table in dataset.rounds(unit, layout.needed, layout.person):
                read = read_rows(table, layout)
                bad = np.flatnonzero(read.faults)
                rows += table.num_rows - len(bad)
                left_out.append((first + bad, read.faults[bad]))
                kept = _plain(table.select(carried))
                del table
                if not held.takes(read, kept):
                    index.append(_dealt(sink, held, bucket_of, buckets))
                    held.clear()
                held.add(read, kept, first)
                schema = schema or schema_of(read.ids, kept).serialize().to_pybytes()
            index.append(_dealt(sink, held, bucket_of, buckets))
            where = np.array(index, dtype="<i8").reshape(len(index), buckets, -1).transpose(1, 0, 2)
            sink.write(schema + where.tobytes())
            sink.write(np.array([len(schema), len(index)], dtype="<i8").tobytes())

    write_whole(folder / spill_name(unit), write, private=True)
    return rows, LeftOut.of(left_out)


@dataclass(slots=True)
class _Round:
    """Rows that are dealt out together, batch after batch: as planes, with a code for each, -1 where it is unusable.

    Codes count through the people of all batches, who may come again in the next.
    """

    words: Words
    codes: Words
    planes: Planes = NO_PLANES
    first: int = 0
    rows: int = 0
    labels: list[str] = field(default_factory=list)
    ids: list[pa.Array] = field(default_factory=list)
    carried: list[pa.Table] = field(default_factory=list)

    @classmethod
    def of(cls, most_rows: int) -> _Round:
        return cls(pooled_words(MOST_PLANES * most_rows).reshape(MOST_PLANES, -1), pooled_words(most_rows))

    def takes(self, read: Rows, carried: pa.Table) -> bool:
        """Whether there is room; a round that is empty takes anything."""
        bytes_after = sum(table.nbytes for table in self.carried) + carried.nbytes
        fits = self.rows + read.faults.size <= self.codes.size and bytes_after <= _HELD_BYTES
        return not self.rows or (fits and self.planes.hold(Planes.of(read)))

    def add(self, read: Rows, carried: pa.Table, first: int) -> None:
        rows = read.faults.size
        if not self.rows:
            self.planes, self.first = Planes.of(read), first
            if rows > self.codes.size:
                self.words, self.codes = pooled_words(MOST_PLANES * rows).reshape(MOST_PLANES, -1), pooled_words(rows)
        self.planes.fill(read, self.rows, self.words)
        codes = self.codes[self.rows : self.rows + rows]
        np.add(read.codes, len(self.labels), out=codes, casting="unsafe")
        codes[read.faults != 0] = -1
        self.labels += read.labels
        self.carried.append(carried)
        if read.ids is not None:
            self.ids.append(read.ids)
        self.rows += rows

    def clear(self) -> None:
        self.rows, self.labels, self.ids, self.carried = 0, [], [], []


def _dealt(sink: BinaryIO, held: _Round, bucket_of: Buckets, buckets: int) -> IntArray:
    """The usable rows of one round, written; where those of each bucket lie, as BLOCK."""
    ids = pa.concat_arrays(held.ids).dictionary_encode() if held.ids else None
    person: IntArray = np.zeros(len(held.labels), np.int64) if ids is None else ids.indices.to_numpy().astype(np.int64)
    entry = np.flatnonzero(np.diff(np.maximum.accumulate(person), prepend=-1))  # where each comes first
    whose: IntArray = np.array([bucket_of(held.labels[place]) for place in entry.tolist()], dtype=np.int64)
    by_bucket = np.argsort(whose, kind="stable")  # people of one bucket together, in the order they come first
    place = np.empty_like(by_bucket)
    place[by_bucket] = np.arange(by_bucket.size)
    place = place[person]
    planes, codes = held.words[: held.planes.words, : held.rows], held.codes[: held.rows]
    starts = rows_of_each(codes, place, whose.size)
    begins = starts[np.searchsorted(whose[by_bucket], np.arange(buckets + 1))]
    words = blocks_of(planes, codes, place, starts, begins)
    at, data = sink.tell(), words.data.cast("B")
    for begin in range(0, data.nbytes, _WRITTEN):
        sink.write(data[begin : begin + _WRITTEN])
    counts = np.diff(starts)
    here = np.flatnonzero(counts)  # of some people no row can be used
    edges = np.searchsorted(whose[by_bucket[here]], np.arange(buckets + 1))
    people, ends = people_bytes(
        counts[here], None if ids is None else ids.dictionary.take(pa.array(by_bucket[here])), edges
    )
    sink.write(people.data)
    others = [memoryview(part) for part in _taken(held, words, begins.tolist())]
    more = np.array([part.nbytes for part in others], dtype=np.int64)
    for part in others:
        sink.write(part)
    people_at = at + data.nbytes
    more_at = people_at + people.nbytes + np.cumsum(more) - more
    rows_at = at + words.itemsize * len(planes) * begins[:-1]
    where = (rows_at, np.diff(begins), people_at + ends[:-1], np.diff(edges), np.diff(ends), more_at, more)
    kind = np.array([held.planes.fine, held.planes.long, held.planes.first_ms, held.first], dtype=np.int64)
    return np.column_stack((*where, np.broadcast_to(kind, (buckets, kind.size))))


def _taken(held: _Round, words: Words, edges: list[int]) -> Iterator[bytes | pa.Buffer]:
    """For each bucket, the carried columns of its rows, whose numbers are the last plane."""
    carried = pa.concat_tables(held.carried)
    for begin, end in pairwise(edges):
        if not carried.num_columns or begin == end:
            yield b""
            continue
        last = held.planes.words * end
        rows = words[last - (end - begin) : last]
        batches = carried.take(pa.array(rows)).combine_chunks().to_batches()
        yield batches[0].serialize()


def schema_of(ids: pa.Array | None, carried: pa.Table) -> pa.Schema:
    """Of the people, where there are any, and what is carried."""
    people = [] if ids is None else [pa.field(WHO, ids.type)]
    return pa.schema([*people, *carried.schema])


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries written out: a file holds one for each column, and rounds have their own."""
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.value_type))
    return table
