"""All rows of a person into one place, in bounded memory: the dataset dealt out into buckets by a hash of the person.

Each unit becomes one private file that holds, round by round, one batch of rows for each bucket: judged and as numbers,
person after person, each person's in their order, with the person written once (run-end encoded), and behind them
where each ends. A bucket is gathered from the same places of all units, so every person's rows come together in the
order of the dataset. Rows that cannot be used stay behind with their number and the reason.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.arrays import IntArray
from sfumato.certificates.person_ids import merging_id
from sfumato.datasets.source import Dataset, RowGroups
from sfumato.files import write_whole
from sfumato.pool import pooled_floats, pooled_ints
from sfumato.tables.layout import Layout
from sfumato.tables.rows import Faults, Rows, label_of, read_rows
from sfumato.tables.rows_loops import by_person, floats_at, ints_at, repeated

_BUFFER = 1 << 20  # batches are small where there are many buckets
ROW, LAT, LON, MS, WHO = (f"_sfumato_{name}" for name in ("row", "lat", "lon", "ms", "who"))


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """What became of a unit: how many rows were dealt out, and which were not (number, reason)."""

    rows: int
    bad_rows: IntArray
    faults: Faults


def spill_name(unit: RowGroups) -> str:
    """The private file of a unit."""
    return f"unit-{unit.number:06d}.arrow"


def deal_out(dataset: Dataset, unit: RowGroups, layout: Layout, buckets: int, folder: Path) -> Dealt:
    """Write the unit's private file, whole or not at all."""
    rows, bad_rows, faults = 0, [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    carried = layout.carried(dataset.schema)

    def write(path: Path) -> None:
        nonlocal rows
        writer, ends = None, list[int]()
        with pa.output_stream(str(path), compression=None, buffer_size=_BUFFER) as sink:
            for first, table in dataset.rounds(unit, layout.needed, layout.person):
                read = read_rows(table, layout)
                bad = np.flatnonzero(read.faults)
                rows += table.num_rows - len(bad)
                table = table.select(carried)
                for batch in _batches(read, _plain(table), first, buckets):
                    writer = writer or pa.ipc.new_stream(sink, batch.schema)
                    writer.write_batch(batch)
                    ends.append(sink.tell())
                bad_rows.append(first + bad)
                faults.append(read.faults[bad])
            if writer is not None:
                writer.close()
                sink.write(np.array([*ends, len(ends)], dtype="<i8").tobytes())

    write_whole(folder / spill_name(unit), write, private=True)
    return Dealt(rows, np.concatenate(bad_rows), np.concatenate(faults))


def _batches(read: Rows, carried: pa.Table, first: int, buckets: int) -> Iterator[pa.RecordBatch]:
    """The usable rows of one round, one batch for each bucket: an empty one keeps its place."""
    of_label = np.array([bucket_of(label, buckets) for label in read.labels], dtype=np.int64)
    by_bucket = np.argsort(of_label, kind="stable")  # people of one bucket together, in the order they come first
    place = np.empty_like(by_bucket)
    place[by_bucket] = np.arange(by_bucket.size)
    good = read.good if read.faults.any() else None
    codes = ints_at(place, read.codes if good is None else ints_at(read.codes, good))
    at, starts = by_person(codes, by_bucket.size)
    at = at if good is None else ints_at(good, at)
    where = floats_at(read.lat_deg, at), floats_at(read.lon_deg, at), ints_at(read.times_ms, at)
    columns = dict(zip((ROW, LAT, LON, MS), (np.add(at, first, out=codes), *where), strict=True))
    arrays = [pa.array(values) for values in columns.values()]
    taken = carried.take(pa.array(at)).combine_chunks() if carried.num_columns else carried
    arrays += [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in taken.columns]
    names = [*columns, *taken.column_names, *([] if read.ids is None else [WHO])]
    edges = np.searchsorted(of_label[by_bucket], np.arange(buckets + 1))
    ids = None if read.ids is None else read.ids.take(pa.array(by_bucket))
    everybody = bool((np.diff(starts) > 0).all())
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = slice(int(starts[begin]), int(starts[end]))
        batch = [array.slice(rows.start, rows.stop - rows.start) for array in arrays]
        if ids is not None:
            ends, people = (starts[begin + 1 : end + 1] - rows.start).astype(np.int32), ids.slice(begin, end - begin)
            if not everybody:  # somebody's rows could not be used, none of them
                here = np.flatnonzero(np.diff(ends, prepend=0))
                ends, people = ends[here], people.take(pa.array(here))
            batch.append(pa.RunEndEncodedArray.from_arrays(pa.array(ends), people))
        yield pa.RecordBatch.from_arrays(batch, names=names)


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries written out: a file holds one for each column, and rounds have their own."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def bucket_of(person: str, buckets: int) -> int:
    """Which bucket a person's rows go to: a function of the id alone, ids that might be one person's together."""
    return 0 if not person.strip() else zlib.crc32(merging_id(person).encode()) % buckets


def gathered(folder: Path, units: Iterable[RowGroups], bucket: int, buckets: int) -> tuple[pa.Table, Rows] | None:
    """All rows of one bucket, in the order of the dataset; None where there is none.

    The table holds the rows' numbers and what else is carried; all are usable.
    """
    batches = [
        batch for unit in units for batch in _batches_of(folder / spill_name(unit), bucket, buckets) if batch.num_rows
    ]
    if not batches:
        return None
    codes, ids = _whose(batches)
    rows = sum(batch.num_rows for batch in batches)
    lat, lon, ms = pooled_floats(rows), pooled_floats(rows), pooled_ints(rows)
    for name, out in ((LAT, lat), (LON, lon), (MS, ms)):
        np.concatenate([batch.column(name).to_numpy() for batch in batches], out=out)
    labels = ("",) if ids is None else tuple(label_of(value) for value in ids.to_pylist())
    names = [name for name in batches[0].schema.names if name not in (LAT, LON, MS, WHO)]
    table = pa.Table.from_batches([batch.select(names) for batch in batches])
    return table, Rows(lat, lon, ms, codes, labels, np.zeros(len(lat), dtype=np.uint8), ids)


def _batches_of(path: Path, bucket: int, buckets: int) -> Iterator[pa.RecordBatch]:
    """A bucket's batches of one unit, found by where the batches before them end: nothing else of the file is read."""
    with pa.memory_map(str(path)) as source:
        size = source.size()
        if size == 0:
            return
        schema = pa.ipc.read_schema(source)
        first = source.tell()
        count = int(np.frombuffer(source.read_at(8, size - 8), dtype="<i8")[0])
        for place in range(bucket, count, buckets):
            at = size - 8 - 8 * (count - place + 1)
            begin = int(np.frombuffer(source.read_at(8, at), dtype="<i8")[0]) if place else first
            source.seek(begin)
            yield pa.ipc.read_record_batch(pa.ipc.read_message(source), schema)


def _whose(batches: Sequence[pa.RecordBatch]) -> tuple[IntArray, pa.Array | None]:
    """Codes of the rows, and the people in the order in which they come first."""
    if WHO not in batches[0].schema.names:
        return np.zeros(sum(batch.num_rows for batch in batches), dtype=np.int64), None
    runs = [batch.column(WHO) for batch in batches]
    encoded = pa.chunked_array([run.values for run in runs]).dictionary_encode().combine_chunks()
    lengths = np.concatenate([np.diff(run.run_ends.to_numpy(), prepend=0) for run in runs]).astype(np.int64)
    return repeated(encoded.indices.to_numpy().astype(np.int64), lengths), encoded.dictionary
