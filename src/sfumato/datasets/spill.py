"""All rows of a person into one place, in bounded memory: the dataset dealt out into buckets by a hash of the person.

Each unit becomes one private file that holds, round by round, one batch of rows for each bucket, in their order; a
bucket is gathered from the same places of all units, so every person's rows come together in the order of the dataset.
Rows that cannot be used stay behind with their number and the reason.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.arrays import IntArray
from sfumato.certificates.person_ids import merging_id
from sfumato.datasets.source import Dataset, RowGroups
from sfumato.files import write_whole
from sfumato.tables.layout import Layout
from sfumato.tables.rows import Faults, read_rows
from sfumato.tables.rows_loops import by_person

ROW = "_sfumato_row"


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

    def write(path: Path) -> None:
        nonlocal rows
        writer = None
        with pa.OSFile(str(path), "wb") as sink:
            for first, table in dataset.rounds(unit, layout.needed):
                read = read_rows(table, layout)
                of_label = np.array([bucket_of(label, buckets) for label in read.labels], dtype=np.int64)
                good = read.good
                order, starts = by_person(of_label[read.codes[good]], buckets)
                numbered = table.append_column(ROW, pa.array(np.arange(first, first + table.num_rows)))
                dealt = _plain(numbered).take(pa.array(good[order])).combine_chunks()
                writer = writer or pa.ipc.new_file(sink, dealt.schema)
                for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                    _write_slice(writer, dealt, start, end)
                rows += len(good)
                bad = np.flatnonzero(read.faults)
                bad_rows.append(first + bad)
                faults.append(read.faults[bad])
            if writer is not None:
                writer.close()

    write_whole(folder / spill_name(unit), write, private=True)
    return Dealt(rows, np.concatenate(bad_rows), np.concatenate(faults))


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries written out: a file holds one for each column, and rounds have their own."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _write_slice(writer: pa.ipc.RecordBatchFileWriter, table: pa.Table, start: int, end: int) -> None:
    batches = table.slice(start, end - start).to_batches()
    if len(batches) == 1:
        writer.write_batch(batches[0])
    else:  # none: an empty bucket keeps its place
        empty = [pa.array([], field.type) for field in table.schema]
        writer.write_batch(pa.RecordBatch.from_arrays(empty, schema=table.schema))


def bucket_of(person: str, buckets: int) -> int:
    """Which bucket a person's rows go to: a function of the id alone, ids that might be one person's together."""
    return 0 if not person.strip() else zlib.crc32(merging_id(person).encode()) % buckets


def gathered(folder: Path, units: Iterable[RowGroups], bucket: int, buckets: int) -> pa.Table | None:
    """All rows of one bucket, in the order of the dataset; None where there is none."""
    batches = []
    for unit in units:
        with pa.OSFile(str(folder / spill_name(unit)), "rb") as source:
            if source.size() == 0:
                continue
            reader = pa.ipc.open_file(source)
            for place in range(bucket, reader.num_record_batches, buckets):
                batch = reader.get_batch(place)
                if batch.num_rows:
                    batches.append(batch)
    return pa.Table.from_batches(batches) if batches else None
