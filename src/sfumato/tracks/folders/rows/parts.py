"""A bucket's rows protected and written as one Parquet file; what is counted and said of all of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.companions import WorstGroup
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.rows.dataset import ROW, Dataset
from sfumato.tracks.folders.statement import FORMAT, FolderStatement
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.engine import ProtectedRows
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import FAULTS, Faults, fault_words
from sfumato.tracks.times_released import Times

Parts = Sequence[tuple[str, str, int]]  # name, hash and points of each, in the order of names
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
        if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(table.schema.field(name).type):
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


@dataclass(slots=True)
class JobTally:
    """What a job has done so far, over all its runs."""

    rows: int = 0
    released: int = 0
    people: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    points_of_people: Counter[int] = field(default_factory=Counter)
    notes: list[Json] = field(default_factory=list)

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

    document: Json
    rows: int
    released: int
    people: int
    skipped: dict[str, int]
    parts: int
    companions: WorstGroup | None = None  # private; None where nobody looked for them

    @classmethod
    def of(cls, document: Json, manifest: str) -> DatasetResult:
        """What the manifest of a release says; one of hidden places does not say what was left out."""
        said = json.loads(manifest)
        released, rejected = said["rows_released"], said.get("rows_rejected", {})
        counts = (said.get("rows_read", released), released, said["people"], rejected, len(said["parts"]))
        return cls(document, *counts)


def statement_of(
    parts: Parts, layout: Layout, times: Times, people: Document, *, noise: Document | None, simulation: bool = False
) -> FolderStatement:
    """What the certificate of a dataset is made from; where no noise is stated, places were withheld."""
    shown = set(layout.released)
    roles = {role: name for role, name in sorted(layout.roles.by_role.items()) if name in shown}
    files = [{"name": name, "sha256": digest, "points": points} for name, digest, points in parts]
    simulation = simulation or (noise is not None and bool(noise["simulation"]))
    kept = sorted(shown - set(roles.values()))
    return FolderStatement(files, times, kept, noise, noise is None, simulation, roles, people)


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
