"""One bucket's rows, gathered from the private files of all units: everybody's own together, in the dataset's order.

The rows are read, not mapped: pages of a mapped file count as this process's memory, and a bucket touches most pages
of every file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.pool import pooled_words
from sfumato.tracks.folders.rows.dataset import ROW, RowGroups
from sfumato.tracks.folders.rows.people_bytes import people_from
from sfumato.tracks.folders.rows.planes import Words, planes_of, rows_of_runs
from sfumato.tracks.folders.rows.spill import BLOCK, WHO, Blocks, spill_name
from sfumato.tracks.people.rows import Rows, label_of
from sfumato.tracks.people.rows_loops import repeated

_WORD = 8


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
        codes = repeated(np.arange(last - first), sizes)
        ids = None if self._ids is None else self._ids.slice(first, last - first)
        return table, Rows(lat, lon, ms, codes, self.labels[first:last], np.zeros(len(lat), np.uint8), ids, starts)


def gathered(folder: Path, units: Iterable[RowGroups], bucket: int, buckets: int) -> Bucket | None:
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
    return repeated(row - before, count) + np.arange(int(count.sum()))


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
