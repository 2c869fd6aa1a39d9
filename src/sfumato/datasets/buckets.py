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

from sfumato.arrays import FloatArray, IntArray
from sfumato.datasets.people_bytes import people_from
from sfumato.datasets.source import RowGroups
from sfumato.datasets.spill import ENTRY, ROW, WHO, spill_name
from sfumato.datasets.spill_loops import COLUMNS, rows_of_runs
from sfumato.pool import pooled_floats
from sfumato.tables.rows import Rows, label_of
from sfumato.tables.rows_loops import repeated

_WORD = 8


class _Runs(NamedTuple):
    """Rows of one person that lie together, by person: where in the values, how far columns are apart, how many."""

    at: IntArray
    step: IntArray
    rows: IntArray
    row: IntArray  # the number of the first, block after block
    starts: IntArray  # of each person's runs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bucket:
    """People in the order in which they come first; ``sizes`` are their rows."""

    labels: tuple[str, ...]
    sizes: IntArray
    _ids: pa.Array | None
    _values: FloatArray
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
        at, step, count, row = (values[mine] for values in self._runs[:4])
        lat, lon, ms, numbers = rows_of_runs(self._values, at, step, count)
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
    found = [(path, *_entries(path, bucket, buckets)) for path in (folder / spill_name(unit) for unit in units)]
    rows = sum(entry[1] for _, _, entries in found for entry in entries)
    if not rows:
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(next(schema for _, schema, entries in found if entries)))
    kind = schema.field(WHO).type if WHO in schema.names else None
    more_schema = pa.schema([field for field in schema if field.name != WHO])
    values, begin = pooled_floats(COLUMNS * rows), 0
    people, carried, blocks = list[tuple[int, bytes]](), list[pa.RecordBatch](), list[tuple[int, int]]()
    for path, _, entries in found:
        with path.open("rb", buffering=0) as file:
            for rows_at, n, who_at, runs, who, more_at, more in entries:
                if not n:
                    continue
                file.seek(rows_at)
                _read(file, values[COLUMNS * begin : COLUMNS * (begin + n)].data.cast("B"))
                file.seek(who_at)
                people.append((runs, file.read(who)))
                if more:
                    file.seek(more_at)
                    carried.append(pa.ipc.read_record_batch(pa.py_buffer(file.read(more)), more_schema))
                blocks.append((begin, n))
                begin += n
    count, given = people_from(people, kind)
    whose, ids = _whose(given, count.size)
    begins, steps = np.repeat(np.array(blocks), [runs for runs, _ in people], axis=0).T
    labels = ("",) if ids is None else tuple(label_of(value) for value in ids.to_pylist())
    order = np.argsort(whose, kind="stable")
    row = np.cumsum(count) - count
    at = row + (COLUMNS - 1) * begins
    starts = np.searchsorted(whose[order], np.arange(len(labels) + 1))
    runs_by_person = _Runs(at[order], steps[order], count[order], row[order], starts)
    sizes = np.add.reduceat(count[order], starts[:-1])
    return Bucket(labels, sizes, ids, values, runs_by_person, pa.Table.from_batches(carried) if carried else None)


def _entries(path: Path, bucket: int, buckets: int) -> tuple[bytes, list[list[int]]]:
    """What the people and the carried columns of a unit are, and where the bucket's blocks lie, round by round."""
    with path.open("rb") as file:
        end = file.seek(-2 * _WORD, os.SEEK_END)
        length, rounds = np.frombuffer(file.read(2 * _WORD), "<i8").tolist()
        size = _WORD * ENTRY * rounds
        file.seek(end - buckets * size - length)
        schema = file.read(length)
        file.seek(end - (buckets - bucket) * size)
        entries: list[list[int]] = np.frombuffer(file.read(size), "<i8").reshape(rounds, ENTRY).tolist()
    return schema, entries


def _from_each(row: IntArray, count: IntArray) -> IntArray:
    """So many rows from each of these on."""
    before: IntArray = np.cumsum(count) - count
    return repeated(row - before, count) + np.arange(int(count.sum()))


def _read(file: BinaryIO, into: memoryview) -> None:
    """All of it: one call may read less."""
    while into.nbytes:
        got = file.readinto(into)  # type: ignore[attr-defined]
        if not got:
            raise OSError("a private file of this job is cut off")
        into = into[got:]


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
