"""A folder of Parquet files as one table: its files in the order of their names, its rows counted, read in units.

A unit is a run of row groups of one file, about half a million rows; one larger row group is a unit of its own. It is
read a batch at a time. Rows are numbered through all files, so that a row can be named without showing what is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError
from sfumato.tracks.io.formats import visible_files

ROUND_ROWS = 1 << 19
ROW = "_sfumato_row"  # the column of rows' numbers beside what is carried
_BATCH_ROWS = 1 << 17  # held at once
_BUFFER = 1 << 17
_CODES = pa.dictionary(pa.int32(), pa.string())
_LARGEST_FOOTER = 1 << 26


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Row groups of one file; ``first_row`` counts through the whole dataset."""

    number: int
    file: int
    row_groups: tuple[int, ...]
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """``names`` are the files below ``folder``, ``starts`` the number of each one's first row, and of all rows."""

    folder: Path
    names: tuple[str, ...]
    fragments: tuple[ds.ParquetFileFragment, ...]
    schema: pa.Schema
    starts: IntArray
    units: tuple[RowGroups, ...]
    codec: str
    fingerprint: str

    @property
    def rows(self) -> int:
        """In all files."""
        return int(self.starts[-1])

    def rounds(
        self, unit: RowGroups, columns: Sequence[str], people: str | None = None
    ) -> Iterator[tuple[int, pa.Table]]:
        """The unit's rows, a batch at a time, each with the number of the first.

        The column of ``people`` comes as codes and a dictionary where the file holds texts: they are never written out.
        """
        fragment = self.fragments[unit.file]
        constant = ds.get_partition_keys(fragment.partition_expression)
        text = people is not None and _is_text(self.schema.field(people).type) and people not in constant
        first, count, most = unit.first_row, 0, min(_BATCH_ROWS, ROUND_ROWS)
        held: list[pa.RecordBatch] = []
        try:
            # Batch by batch: Arrow's scanner holds whole row groups, however large they are.
            with pq.ParquetFile(
                fragment.path, read_dictionary=[people] if text else None, buffer_size=_BUFFER, pre_buffer=False
            ) as file:
                kinds = [_CODES if text and name == people else self.schema.field(name).type for name in columns]
                there = [name for name in columns if name in file.schema_arrow.names]
                for batch in file.iter_batches(most, unit.row_groups, there, use_threads=False):
                    if count and count + batch.num_rows > most:
                        yield first, _taken(held)
                        first, count = first + count, 0
                    held.append(_completed(batch, columns, kinds, constant))
                    count += batch.num_rows
                    del batch  # what is given away is not kept here
        except (pa.ArrowException, OSError, UnicodeError, OverflowError, ValueError):
            raise InputError(
                f"{self.names[unit.file]} cannot be read.", "It may be cut off or damaged, or hold other types."
            ) from None
        if count:
            yield first, _taken(held)

    def file_and_row(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Which file each row is in, and its number there, from 0."""
        file = np.searchsorted(self.starts, rows, side="right") - 1
        return file, rows - self.starts[file]


def open_dataset(folder: Path) -> Dataset:
    """The files' footers read and compared; refused where a file is none of Parquet, or types contradict each other."""
    files = visible_files(folder)
    if not files:
        raise InputError(f"{folder} holds no Parquet file.", "Give the folder of the dataset.")
    names = tuple(path.relative_to(folder).as_posix() for path in files)
    digest, schemas, codec = hashlib.sha256(b"sfumato dataset 1\0"), [], None
    for path, name in zip(files, names, strict=True):
        try:
            found = pq.read_metadata(path)
            schemas.append(pq.read_schema(path))
        except (pa.ArrowException, OSError, ValueError):
            raise InputError(
                f"{name} is no Parquet file that can be read.", "Repair it, or take it out of the folder."
            ) from None
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + _footer(path))
        if codec is None and found.num_row_groups and found.num_columns:
            codec = found.row_group(0).column(0).compression
    try:
        unified = pa.unify_schemas(schemas, promote_options="permissive").with_metadata(schemas[0].metadata)
        hive = ds.partitioning(flavor="hive")
        paths = [str(path) for path in files]
        found_by_name = ds.dataset(paths, format="parquet", partitioning=hive, partition_base_dir=str(folder)).schema
        for field in found_by_name:  # key=value folders
            if unified.get_field_index(field.name) < 0:
                unified = unified.append(field)
        whole = ds.dataset(paths, schema=unified, format="parquet", partitioning=hive, partition_base_dir=str(folder))
        by_path = {fragment.path: fragment for fragment in whole.get_fragments()}
        fragments = tuple(by_path[path] for path in paths)
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise InputError(
            f"The files do not make one table: {str(error).splitlines()[0]}.",
            "Write them with the same names and types of columns.",
        ) from None
    counts = [fragment.metadata.num_rows for fragment in fragments]
    starts: IntArray = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    units = tuple(_units(fragments, starts))
    return Dataset(folder, names, fragments, whole.schema, starts, units, codec or "ZSTD", digest.hexdigest())


def _taken(held: list[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(held)
    held.clear()
    return table


def _completed(
    batch: pa.RecordBatch, columns: Sequence[str], kinds: Sequence[pa.DataType], constant: Mapping[str, object]
) -> pa.RecordBatch:
    """The columns in the dataset's types; what the names of folders say; nothing where a file has no such column."""
    arrays = []
    for name, kind in zip(columns, kinds, strict=True):
        if name in batch.schema.names:
            array = batch.column(name)
            arrays.append(array if array.type == kind else array.cast(kind))
        else:
            arrays.append(pa.repeat(pa.scalar(constant.get(name), kind), batch.num_rows))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _units(fragments: Sequence[ds.ParquetFileFragment], starts: IntArray) -> Iterator[RowGroups]:
    number = 0
    for file, fragment in enumerate(fragments):
        first, rows = int(starts[file]), 0
        groups: list[int] = []
        for group in fragment.row_groups:
            if groups and rows + group.num_rows > ROUND_ROWS:
                yield RowGroups(number, file, tuple(groups), first, rows)
                number, first, groups, rows = number + 1, first + rows, [], 0
            groups.append(group.id)
            rows += group.num_rows
        if rows:
            yield RowGroups(number, file, tuple(groups), first, rows)
            number += 1


def _footer(path: Path) -> bytes:
    """The end of the file: names, types, sizes and statistics of everything in it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - 8 - min(length, _LARGEST_FOOTER)))
        return hashlib.sha256(file.read()).digest()
