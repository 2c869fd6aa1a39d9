"""A folder of Parquet files as one table: read in units, released in parts; what is counted and said of all of them.

A unit is a run of row groups of one file, about half a million rows; one larger row group is a unit of its own. It is
read a batch at a time. Rows are numbered through all files, so that a row can be named without showing what is in it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.companions import WorstGroup
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import CertifiedFile, Crowd, FolderDocument
from sfumato.tracks.folders.staging import FORMAT, WITHHELD, FolderStatement
from sfumato.tracks.io.formats import visible_files
from sfumato.tracks.people.engine import ProtectedRows
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import FAULTS, Faults, fault_words
from sfumato.tracks.plan import Times

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


Parts = Sequence[tuple[str, str, int]]  # name, hash and points of each, in the order of names
Moments = tuple[str, bool, list[int]]  # whose (a hash), whether these are all, milliseconds from the first
Pieces = Iterable[tuple[pa.Table, ProtectedRows]]
REJECTS = pa.schema([("file", pa.string()), ("row", pa.int64()), ("reason", pa.string())])
_ROW_GROUP = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The numbers of rows that were left out, and why."""

    rows: IntArray
    faults: Faults

    @classmethod
    def of(cls, parts: Iterable[tuple[IntArray, Faults]]) -> LeftOut:
        """Those of several parts, one after the other."""
        rows, faults = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
        for some, why in parts:
            rows.append(some)
            faults.append(why)
        return cls(np.concatenate(rows), np.concatenate(faults))


@dataclass(frozen=True, slots=True, eq=False)
class WrittenPart:
    """What was written: rows, how many people have how many points, and the rows left out."""

    rows: int
    points_of_people: Mapping[int, int]
    left_out: LeftOut

    @property
    def people(self) -> int:
        """Who has a row that was released."""
        return sum(self.points_of_people.values())


def part_name(bucket: int) -> str:
    """The file of a bucket's rows."""
    return f"part-{bucket:05d}.parquet"


def write_pieces(pieces: Pieces, dataset: Dataset, layout: Layout, path: Path) -> WrittenPart:
    """A bucket's rows as they were given and are released, piece after piece, in one file; none if nothing is left."""
    rows, points_of_people, left_out = 0, Counter[int](), list[tuple[IntArray, Faults]]()
    writer: pq.ParquetWriter | None = None
    try:
        for given, done in pieces:
            bad = np.flatnonzero(done.faults)
            left_out.append((given.column(ROW).take(pa.array(bad)).to_numpy(), done.faults[bad]))
            points_of_people.update(np.diff(done.starts).tolist())
            if done.table.num_rows:
                released = _typed(done.table, dataset.schema)
                writer = writer or _writer(path, released.schema, dataset, layout)
                writer.write_table(released, row_group_size=_ROW_GROUP)
                rows += released.num_rows
        if writer is not None:
            writer.close()
    except (pa.ArrowException, OSError):
        raise InputError("A part of the release cannot be written.", "Check the free space and the folder.") from None
    return WrittenPart(rows, dict(points_of_people), LeftOut.of(left_out))


def _writer(path: Path, schema: pa.Schema, dataset: Dataset, layout: Layout) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression=dataset.codec.lower() if dataset.codec != "UNCOMPRESSED" else "none",
        use_dictionary=_repeated(schema, layout),
        column_encoding=_by_steps(schema, layout),
        write_page_index=False,
    )


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Dictionaries as they were."""
    for place, name in enumerate(table.column_names):
        kind = schema.field(name).type
        if pa.types.is_dictionary(kind) and table.schema.field(name).type == kind.value_type:
            table = table.set_column(place, schema.field(name), table.column(place).dictionary_encode().cast(kind))
    return table


def _repeated(schema: pa.Schema, layout: Layout) -> list[str]:
    """Columns worth a dictionary in the file: ids and texts, not coordinates and times."""
    moving = {layout.roles.by_role.get(role) for role in ("lat", "lon", "time", "geometry")}
    return [name for name in schema.names if name not in moving]


def _by_steps(schema: pa.Schema, layout: Layout) -> dict[str, str] | None:
    """A person's times as steps from one to the next: a third of the bytes, in less time than compressing them."""
    name = layout.roles.by_role["time"]
    kind = schema.field(name).type if name in schema.names else None
    counted = kind is not None and (pa.types.is_timestamp(kind) or pa.types.is_integer(kind))
    return {name: "DELTA_BINARY_PACKED"} if counted else None


def write_rejects(dataset: Dataset, left: LeftOut, path: Path) -> None:
    """Which rows were left out and why, by file and number: never what is in them."""
    file, row = dataset.file_and_row(left.rows)
    said = ((file, dataset.names), (left.faults.astype(np.int8), FAULTS))
    names, reasons = (
        pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(words))).cast(pa.string())
        for codes, words in said
    )
    columns = [names, pa.array(row), reasons]
    pq.write_table(pa.table(columns, schema=REJECTS), path, compression="zstd")


class BucketNote(TypedDict, total=False):
    """What is to be said of the people of one bucket: whose losses may be computed, or what attackers find."""

    people: int
    moments: list[Moments]
    unseen: str | None
    leaks: list[dict[str, float | int | None]]
    ids: list[tuple[str, str]]


@dataclass(slots=True)
class JobTally:
    """What a job has done so far, over all its runs."""

    rows: int = 0
    released: int = 0
    people: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    points_of_people: Counter[int] = field(default_factory=Counter)
    notes: list[BucketNote] = field(default_factory=list)

    def require_rows(self) -> None:
        """Refuse a dataset of which nothing is left."""
        if not self.released:
            why = ", ".join(f"{reason} ({count})" for reason, count in self.skipped.items()) or "it has no rows"
            raise InputError(f"None of {self.rows} rows can be released: {why}.", "Nothing was written.")

    def refuse_faults(self) -> None:
        """Refuse a dataset with rows that cannot be used."""
        if self.skipped:
            raise InputError(fault_words(dict(self.skipped), self.rows), "Nothing was written, because of --strict.")


@dataclass(frozen=True, slots=True, eq=False)
class DatasetResult:
    """What happened: the certificate, and counts of rows read, released and left out by reason."""

    document: FolderDocument
    rows: int
    released: int
    people: int
    skipped: dict[str, int]
    parts: int
    companions: WorstGroup | None = None  # private; None where nobody looked for them

    @classmethod
    def of(cls, document: FolderDocument, manifest: str) -> DatasetResult:
        """What the manifest of a release says; one of hidden places does not say what was left out."""
        said = json.loads(manifest)
        released, rejected = said["rows_released"], said.get("rows_rejected", {})
        counts = (said.get("rows_read", released), released, said["people"], rejected, len(said["parts"]))
        return cls(document, *counts)


def statement_of(
    parts: Parts,
    layout: Layout,
    times: Times,
    people: Crowd,
    *,
    noise: Document | None,
    new_ids: bool,
    simulation: bool = False,
) -> FolderStatement:
    """What the certificate of a dataset is made from; where no noise is stated, places were withheld."""
    shown = set(layout.released)
    roles = {role: name for role, name in sorted(layout.roles.by_role.items()) if name in shown}
    files: list[CertifiedFile] = [{"name": name, "sha256": digest, "points": points} for name, digest, points in parts]
    simulation = simulation or (noise is not None and bool(noise["simulation"]))
    kept = sorted(shown - set(roles.values()))
    withheld, ids = WITHHELD if noise is None else (), layout.stated_ids(new=new_ids)
    return FolderStatement(files, times, kept, noise, withheld, simulation, roles, people, ids)


def manifest_text(parts: Parts, tally: JobTally, *, read: bool = True) -> str:
    """What is in the folder, for whoever looks: the parts, and rows released; with ``read`` those left out, too."""
    counts = {"rows_read": tally.rows, "rows_rejected": dict(tally.skipped)} if read else {}
    said = {
        "sfumato_dataset": FORMAT,
        "complete": True,
        "rows_released": tally.released,
        **counts,
        "people": tally.people,
        "parts": [{"name": name, "sha256": digest, "rows": points} for name, digest, points in parts],
    }
    return json.dumps(said, indent=1) + "\n"
