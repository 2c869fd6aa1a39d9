"""What Spark's workers do with a dataset: rows are dealt into blocks by person, blocks made into the released files.

Both steps are Spark's own Arrow paths. ``mapInArrow`` reads a stretch of rows, judges them, and gives one *block* for
each bucket of people: an Arrow batch as bytes, so that Spark shuffles some hundred values instead of millions of rows.
``applyInArrow`` then has all blocks of a bucket, puts them into the dataset's order whatever order they came in, draws,
and gives the bucket's files. A bucket is the local job's (:func:`sfumato.tracks.folders.rows.spill.bucket_of`) and
holds all rows of its people, about half a million rows, more only where one person has more: that is the most a task
holds at once. Noise is a function of (key, person, times), so a step that is done again comes out the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.errors import InputError, SfumatoError
from sfumato.tracks.folders.rows.dataset import (
    ROUND_ROWS,
    ROW,
    Dataset,
    LeftOut,
    part_name,
    write_pieces,
    write_rejects,
)
from sfumato.tracks.folders.rows.people_notes import Sample, reason_against
from sfumato.tracks.folders.rows.spill import bucket_of
from sfumato.tracks.people.engine import ProtectedRows, protect_rows
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import Noise
from sfumato.tracks.people.rows import Rows, by_person, floats_at, ints_at, label_of, read_rows, repeat_each

T = TypeVar("T")
BLOCKS = "bucket int, good boolean, block binary"
FILES = "kind string, content binary"
FILE, INDEX = "_sfumato_file", "_sfumato_index"
PARTS, REJECTED, SAID, IDS = "parts", "rejected", "said", "ids"
ENDS_WITH = b"PAR1"  # every Parquet file
ROW_BITS = 40
_LAT, _LON, _MS, _WHO, _FAULT = (f"_sfumato_{name}" for name in ("lat", "lon", "ms", "who", "fault"))
_BAD = pa.schema([(ROW, pa.int64()), (_FAULT, pa.uint8())])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DatasetWork:
    """What a worker needs to know; pickled with the key, whose text is never shown.

    ``dataset`` has names, types and codec, and no rows; ``files`` tells a file's number by the hash of its address.
    """

    dataset: Dataset
    layout: Layout
    noise: Noise
    buckets: int
    files: Mapping[int, int]

    def __repr__(self) -> str:
        return "<work on a dataset, the key not shown>"

    def deal(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The blocks of a task's rows, one for each bucket and half a million rows."""
        held, rows = [], 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= ROUND_ROWS:
                yield quietly(partial(self._blocks, held))
                held, rows = [], 0
        if rows:
            yield quietly(partial(self._blocks, held))

    def _blocks(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(batches).rename_columns([FILE, INDEX, *self.layout.needed])
        table = self._typed(self._numbered(table))
        rows = read_rows(table, self.layout)
        bad = np.flatnonzero(rows.faults)
        buckets, good, sink, ends = [], [], pa.BufferOutputStream(), [0]
        for bucket, batch in self._by_bucket(table, rows):
            buckets.append(bucket)
            good.append(True)
            ends.append(_written(batch, sink))
        if bad.size:
            numbers = table.column(ROW).to_numpy()[bad]
            buckets.append(zlib.crc32(numbers[:1].tobytes()) % self.buckets)
            good.append(False)
            ends.append(_written(pa.record_batch([numbers, rows.faults[bad]], schema=_BAD), sink))
        offsets = pa.py_buffer(np.array(ends))
        blocks = pa.Array.from_buffers(pa.large_binary(), len(buckets), [None, offsets, sink.getvalue()])
        columns = [pa.array(buckets, pa.int32()), pa.array(good, pa.bool_()), blocks]
        return pa.RecordBatch.from_arrays(columns, names=["bucket", "good", "block"])

    def _numbered(self, table: pa.Table) -> pa.Table:
        """Rows by the number of their file and their own there: the order in which the local engine reads them."""
        hashes, place = table.column(FILE).to_numpy(), table.column(INDEX).to_numpy()
        begins = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))
        of_run = np.array([self.files.get(one, -1) for one in hashes[begins].tolist()])
        if (of_run < 0).any():
            raise InputError("Spark reads a file that was not listed.", "The dataset changed meanwhile? Start again.")
        numbers = (repeat_each(of_run, np.diff(begins, append=hashes.size)) << ROW_BITS) | place
        table = table.drop_columns([FILE, INDEX]).append_column(ROW, pa.array(numbers))
        return table if (np.diff(numbers) > 0).all() else table.take(pa.array(np.argsort(numbers, kind="stable")))

    def _typed(self, table: pa.Table) -> pa.Table:
        """The types that the files say they hold, where Spark has others; dictionaries written out."""
        for place, name in enumerate(table.column_names):
            kind = table.schema.field(name).type if name == ROW else self.dataset.schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if table.schema.field(name).type != kind:
                try:
                    table = table.set_column(place, name, table.column(name).cast(kind))
                except pa.ArrowException:
                    raise InputError(
                        f"Column '{name}' holds other values in one file than in the others.", "Write it in one type."
                    ) from None
        return table

    def _by_bucket(self, table: pa.Table, rows: Rows) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The usable rows of each bucket as arrays, person after person, the person written once."""
        of_label = np.array([bucket_of(label, self.buckets) for label in rows.labels], dtype=np.int64)
        people = np.argsort(of_label, kind="stable")
        rank = np.argsort(people, kind="stable")
        good = rows.good
        at, starts = by_person(rank[rows.codes[good]], people.size)
        at, starts = ints_at(good, at), starts.astype(np.int32)
        others = self.layout.carried_columns(self.dataset.schema)
        taken = table.select([ROW, *others]).take(pa.array(at)).combine_chunks()
        columns = [column.combine_chunks() for column in taken.columns]
        columns += map(pa.array, (floats_at(rows.lat_deg, at), floats_at(rows.lon_deg, at), ints_at(rows.times_ms, at)))
        edges = np.searchsorted(of_label[people], np.arange(self.buckets + 1))
        for bucket in np.flatnonzero(starts[edges[1:]] > starts[edges[:-1]]).tolist():
            own = people[edges[bucket] : edges[bucket + 1]]
            counts = np.diff(starts[edges[bucket] : edges[bucket + 1] + 1])
            first, count = starts[edges[bucket]], int(counts.sum())
            arrays = [column.slice(first, count) for column in columns]
            if rows.ids is not None:
                ends, own = np.cumsum(counts)[counts > 0], own[counts > 0]
                who = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), rows.ids.take(pa.array(own)))
                arrays.append(who)
            names = [ROW, *others, _LAT, _LON, _MS, *([] if rows.ids is None else [_WHO])]
            yield bucket, pa.RecordBatch.from_arrays(arrays, names=names)

    def make_files(self, table: pa.Table) -> pa.Table:
        """The files of one bucket: its part, the rows left out, and what is to be said of both."""
        return quietly(partial(self._made, table))

    def _made(self, table: pa.Table) -> pa.Table:
        bucket = table.column("bucket")[0].as_py()
        blocks = {kept: table.filter(pa.array(table.column("good").to_numpy() == kept)) for kept in (True, False)}
        good, bad = ([_batch(one) for one in blocks[kept].column("block")] for kept in (True, False))
        left = [(one.column(ROW).to_numpy(), one.column(_FAULT).to_numpy()) for one in bad]
        files: list[tuple[str, bytes]] = []
        with TemporaryDirectory(prefix="sfumato", dir=_local_folder()) as name:
            path = Path(name) / part_name(bucket)
            if good:
                sample = Sample(reason_against(self.layout, self.dataset.schema, self.noise.plan.times))
                given, rows = _gathered(good)
                moved = self._moved(sample, given, rows)
                part = write_pieces([(given, moved)], self.dataset, self.layout, path)
                left.append((part.left_out.rows, part.left_out.faults))
                if part.rows:
                    files.append((PARTS, path.read_bytes()))
                    digest = hashlib.sha256(files[0][1]).hexdigest()
                    points, people = part.points_of_people.keys(), part.points_of_people.values()
                    said = pa.table({"points": pa.array(points), "people": pa.array(people)})
                    proposed = json.dumps(sample.proposal(self.noise.mechanism))
                    added = (("bucket", bucket), ("sha256", digest), ("proposed", proposed))
                    for place, (column, value) in enumerate(added):
                        said = said.add_column(place, column, pa.array([value] * said.num_rows))
                    pq.write_table(said, path)
                    files.append((SAID, path.read_bytes()))
                if moved.id_pairs:  # private: what leads new ids back
                    columns = map(pa.array, zip(*moved.id_pairs, strict=True))
                    pq.write_table(pa.table(dict(zip(("given", "released"), columns, strict=True))), path)
                    files.append((IDS, path.read_bytes()))
            if (out := LeftOut.of(left)).rows.size:
                order = np.argsort(out.rows, kind="stable")
                write_rejects(self.dataset, LeftOut(out.rows[order], out.faults[order]), path)
                files.append((REJECTED, path.read_bytes()))
        kinds, contents = zip(*files, strict=True) if files else ((), ())
        cut = [content.removesuffix(ENDS_WITH) for content in contents]
        return pa.table({"kind": pa.array(kinds, pa.large_string()), "content": pa.array(cut, pa.large_binary())})

    def _moved(self, sample: Sample, table: pa.Table, rows: Rows) -> ProtectedRows:
        schema = self.dataset.schema
        done = protect_rows(table, self.layout, self.noise, by_people=True, rows=rows, schema=schema)
        sample.add(done.labels, done.starts, done.times_ms)
        return done


def quietly(work: Callable[[], T]) -> T:
    """Spark writes a worker's errors to its logs: ours have no coordinates in them, others' might."""
    try:
        return work()
    except (SfumatoError, MemoryError):
        raise
    except Exception as error:
        raise RuntimeError(f"A group of people failed with {type(error).__name__}; its text is not shown.") from None


def _local_folder() -> str | None:
    """Where Spark itself keeps what a worker needs while it runs, and removes what a killed one leaves."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return first if first and Path(first).is_dir() else None


def _written(batch: pa.RecordBatch, sink: pa.BufferOutputStream) -> int:
    """Where the batch ends that is written to the end of all before it."""
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return int(sink.tell())


def _batch(block: pa.LargeBinaryScalar) -> pa.RecordBatch:
    return pa.ipc.open_stream(block.as_buffer()).read_next_batch()


def _gathered(batches: list[pa.RecordBatch]) -> tuple[pa.Table, Rows]:
    """All rows of a bucket, everybody's in the order of the dataset."""
    batches.sort(key=lambda batch: int(batch.column(ROW).to_numpy().min()))
    table = pa.Table.from_batches(batches)
    numbers = [batch.column(ROW).to_numpy() for batch in batches]
    lat, lon, ms = (table.column(name).to_numpy() for name in (_LAT, _LON, _MS))
    codes, ids = np.zeros(len(lat), dtype=np.int64), None
    if _WHO in table.column_names:
        runs = [batch.column(_WHO) for batch in batches]
        coded = pa.chunked_array([run.values for run in runs]).dictionary_encode().combine_chunks()
        lengths = np.concatenate([np.diff(run.run_ends.to_numpy(), prepend=0) for run in runs]).astype(np.int64)
        codes, ids = repeat_each(coded.indices.to_numpy().astype(np.int64), lengths), coded.dictionary
    table = table.select([name for name in table.column_names if name not in (_LAT, _LON, _MS, _WHO)])
    if any(one.max() > two.min() for one, two in pairwise(numbers)):  # stretches that overlap
        order = np.argsort(np.concatenate(numbers), kind="stable")
        table = table.take(pa.array(order))
        lat, lon, ms, codes = lat[order], lon[order], ms[order], codes[order]
    labels = ("",) if ids is None else tuple(label_of(value) for value in ids.to_pylist())
    return table, Rows(lat, lon, ms, codes, labels, np.zeros(len(lat), dtype=np.uint8), ids)
