"""All rows of a person into one place, in bounded memory: the dataset dealt out into buckets by a hash of the person.

Each unit becomes one private file that holds, round by round, a block of rows for each bucket: judged and as numbers
(:mod:`sfumato.tracks.folders.rows.planes`), person after person, each person's in their order. A round is as many
batches as are dealt out together. Behind its blocks lie, for each bucket, who they are and how many rows each has, and
what else is carried; at the end of the file, where all of that is. A bucket is gathered from its blocks of all units:
read, not mapped, since pages of a mapped file count as this process's memory, and a bucket touches most pages of every
file. Rows that cannot be used stay behind with their number and the reason.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.files import write_whole
from sfumato.base.pool import pooled_words
from sfumato.tracks.certificates.person_ids import merging_id
from sfumato.tracks.folders.rows.dataset import ROW, Dataset, LeftOut, RowGroups
from sfumato.tracks.folders.rows.planes import (
    MOST_PLANES,
    NO_PLANES,
    Planes,
    Words,
    blocks_of,
    people_bytes,
    people_from,
    planes_of,
    rows_of_each,
    rows_of_runs,
)
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import Faults, Rows, label_of, read_rows, repeat_each

SPILL_FORMAT = 4  # a job that another version began is not taken up
_BLOCK = "rows_at rows people_at people people_bytes more_at more_bytes fine long first_ms first_row"
BLOCK = np.dtype([(name, "<i8") for name in _BLOCK.split()])  # of one bucket in one round: where in the file, and how
Blocks = npt.NDArray[np.void]
HELD_ROWS = 1 << 18  # dealt out together
_HELD_BYTES = 1 << 25  # of what is carried with them
WHO = "_sfumato_who"
_REMEMBERED = 1 << 15  # people whose bucket is not worked out again
_WRITTEN = 1 << 20  # bytes at once: Linux looks for large pages for more, which takes five times as long
_WORD = 8
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
    carried = layout.carried_columns(dataset.schema)

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


class _Runs(NamedTuple):
    """Rows of one person that lie together, by person: where in the words, how far planes are apart, how many."""

    at: IntArray
    step: IntArray
    rows: IntArray
    kinds: IntArray  # of planes
    row: IntArray  # the number of the first, block after block
    starts: IntArray  # of each person's runs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bucket:
    """People in the order in which they come first; ``sizes`` are their rows."""

    labels: tuple[str, ...]
    sizes: IntArray
    _ids: pa.Array | None
    _words: Words
    _runs: _Runs
    _carried: pa.Table | None

    @property
    def rows(self) -> int:
        """Of everybody."""
        return int(self.sizes.sum())

    def pieces(self, most_rows: int) -> Iterator[tuple[pa.Table, Rows]]:
        """Whole people, at most so many rows at once unless one person has more; all of them usable.

        The table holds the rows' numbers and what else is carried.
        """
        ends, first = np.cumsum(self.sizes), 0
        while first < len(self.labels):
            before = int(ends[first] - self.sizes[first])
            last = max(first + 1, int(np.searchsorted(ends, before + most_rows, side="right")))
            yield self._piece(first, last)
            first = last

    def whole(self) -> tuple[pa.Table, Rows]:
        """Everybody at once."""
        return self._piece(0, len(self.labels))

    def _piece(self, first: int, last: int) -> tuple[pa.Table, Rows]:
        mine = slice(int(self._runs.starts[first]), int(self._runs.starts[last]))
        at, step, count, kinds, row = (values[mine] for values in self._runs[:5])
        lat, lon, ms, numbers = rows_of_runs(self._words, at, step, count, kinds)
        table = pa.table({ROW: numbers})
        if self._carried is not None:
            table = _beside(table, self._carried.take(pa.array(_from_each(row, count))))
        sizes = self.sizes[first:last]
        starts: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        codes = repeat_each(np.arange(last - first), sizes)
        ids = None if self._ids is None else self._ids.slice(first, last - first)
        return table, Rows(lat, lon, ms, codes, self.labels[first:last], np.zeros(len(lat), np.uint8), ids, starts)


def gather_bucket(folder: Path, units: Iterable[RowGroups], bucket: int, buckets: int) -> Bucket | None:
    """All rows of one bucket, in the order of the dataset; None where there is none."""
    paths = [folder / spill_name(unit) for unit in units]
    found = [_blocks(path, bucket, buckets) for path in paths]
    every = np.concatenate(found)
    if not every.size:
        return None
    schema = _schema(next(path for path, blocks in zip(paths, found, strict=True) if blocks.size), buckets)
    kind = schema.field(WHO).type if WHO in schema.names else None
    more_schema = pa.schema([field for field in schema if field.name != WHO])
    ends = np.cumsum(every["rows"] * planes_of(every["fine"], every["long"]))
    words, first = pooled_words(int(ends[-1])), 0
    people, carried = list[tuple[int, memoryview]](), list[pa.RecordBatch]()
    for path, blocks in zip(paths, found, strict=True):
        end_words = ends[len(people) : len(people) + blocks.size].tolist()
        with path.open("rb", buffering=0) as file:
            for block, end in zip(blocks.tolist(), end_words, strict=True):
                rows_at, _, who_at, runs, who_bytes, more_at, more_bytes = block[:7]
                _read(file, rows_at, words[first:end].data.cast("B"))
                people.append((runs, _read(file, who_at, memoryview(bytearray(who_bytes)))))
                if more_bytes:
                    more = _read(file, more_at, memoryview(bytearray(more_bytes)))
                    carried.append(pa.ipc.read_record_batch(pa.py_buffer(more), more_schema))
                first = end
    count, given = people_from(people, kind)
    whose, ids = _whose(given, count.size)
    labels = ("",) if ids is None else tuple(label_of(value) for value in ids.to_pylist())
    order = np.argsort(whose, kind="stable")
    block_of: IntArray = np.repeat(np.arange(every.size), every["people"])[order]
    row = np.cumsum(count) - count
    begins = np.cumsum(every["rows"]) - every["rows"]
    at = (ends - every["rows"] * planes_of(every["fine"], every["long"]) - begins)[block_of] + row[order]
    kinds = np.column_stack([every[name] for name in ("fine", "long", "first_ms", "first_row")])[block_of]
    starts = np.searchsorted(whose[order], np.arange(len(labels) + 1))
    runs_by_person = _Runs(at, every["rows"][block_of], count[order], kinds, row[order], starts)
    sizes = np.add.reduceat(count[order], starts[:-1])
    return Bucket(labels, sizes, ids, words, runs_by_person, pa.Table.from_batches(carried) if carried else None)


def _blocks(path: Path, bucket: int, buckets: int) -> Blocks:
    """Where the bucket's blocks of a unit lie, round by round; those without rows are none."""
    with path.open("rb", buffering=0) as file:
        end = file.seek(-2 * _WORD, os.SEEK_END)
        _, rounds = np.frombuffer(file.read(2 * _WORD), "<i8").tolist()
        size = BLOCK.itemsize * rounds
        blocks = np.frombuffer(_read(file, end - (buckets - bucket) * size, memoryview(bytearray(size))), BLOCK)
    return blocks[blocks["rows"] > 0]


def _schema(path: Path, buckets: int) -> pa.Schema:
    """What the people and the carried columns of a unit are."""
    with path.open("rb", buffering=0) as file:
        end = file.seek(-2 * _WORD, os.SEEK_END)
        length, rounds = np.frombuffer(file.read(2 * _WORD), "<i8").tolist()
        at = end - buckets * BLOCK.itemsize * rounds - length
        return pa.ipc.read_schema(pa.py_buffer(_read(file, at, memoryview(bytearray(length)))))


def _from_each(row: IntArray, count: IntArray) -> IntArray:
    """So many rows from each of these on."""
    before: IntArray = np.cumsum(count) - count
    return repeat_each(row - before, count) + np.arange(int(count.sum()))


def _read(file: BinaryIO, at: int, into: memoryview) -> memoryview:
    """All of it: one call may read less."""
    file.seek(at)
    left = into
    while left.nbytes:
        got = file.readinto(left)  # type: ignore[attr-defined]
        if not got:
            raise OSError("a private file of this job is cut off")
        left = left[got:]
    return into


def _whose(people: pa.Array | None, runs: int) -> tuple[IntArray, pa.Array | None]:
    """Codes of the runs, and the people in the order in which they come first."""
    if people is None:
        return np.zeros(runs, dtype=np.int64), None
    encoded = people.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def _beside(table: pa.Table, more: pa.Table) -> pa.Table:
    for name in more.column_names:
        table = table.append_column(more.schema.field(name), more.column(name))
    return table
