"""Does a released file hold what the certificate names, and nothing else? Written again by our own writer, it is equal.

Whatever a reader skips (comments, attributes, processing instructions, foreign members, metadata, a second table) can
carry true positions. No list of hiding places is kept here: the positions, times and kept fields that were read are
written anew in the same format, and the bytes must be those of the file. Two formats depend on the library that wrote
them: Parquet of another Arrow version is compared by schema, metadata, values, statistics and by every byte belonging
to a column; a GeoPackage of another SQLite version by its dump, its size and its empty free list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.clean_frames import written_otherwise
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.io.formats import format_named, format_of
from sfumato.tracks.io.tables.fleet_file import write_fleet

_SQLITE_OWN = ((24, 28), (92, 100))  # change counter, and the version that wrote last


def more_than_certified(path: Path, *, people: int, kept: Sequence[str], format: str | None = None) -> str | None:
    """Why the file is not exactly what the certificate's columns would be written as; None where it is."""
    try:
        found = format_named(format) if format else format_of(path)
    except SfumatoError as error:
        return f"It cannot be written again to compare: {error.what}"
    names = {"parquet": ("parquet", "geoparquet"), "json": ("geojson",)}.get(found.name, (found.name,))
    try:
        traces = _read(path, people, kept, format)
        with TemporaryDirectory() as folder:
            reasons = [_differs(path, _written(traces, Path(folder) / name, people, name), name) for name in names]
    except SfumatoError as error:
        reasons = [f"It cannot be written again to compare: {error.what}"]
    if None in reasons:
        return None
    by_library = written_otherwise(path, people=people, kept=kept) if found.name == "parquet" else ""
    return by_library if by_library is None else next((text for text in (by_library, *reasons) if text), None)


def _read(path: Path, people: int, kept: Sequence[str], format: str | None) -> list[tuple[str, Trace]]:
    if people == 1:
        found = [("", read_trace(path, format=format, keep=kept, one_person=True))]
    else:
        found = read_traces(path, format=format, keep=kept)
    return [(person, replace(trace, columns=_ordered(trace.columns, kept))) for person, trace in found]


def _ordered(columns: Mapping[str, FloatArray], kept: Sequence[str]) -> dict[str, FloatArray]:
    """Columns in the certificate's order: a file whose first point lacks one would give another."""
    return {name: columns[name] for name in (*kept, *columns) if name in columns}


def _written(traces: list[tuple[str, Trace]], path: Path, people: int, format: str) -> Path:
    if people == 1:
        write_trace(traces[0][1], path, format=format)
    elif format == "geoparquet":
        return path  # fleets are never written so
    else:
        write_fleet(traces, path, format=format)
    return path


def _differs(path: Path, again: Path, format: str) -> str | None:
    if not again.exists():
        return "It holds more than the certificate names."
    old, new = path.read_bytes(), again.read_bytes()
    if old == new:
        return None
    if format == "gpkg":
        return _geopackage_differs(path, again, old, new)
    if format in ("parquet", "geoparquet"):
        return _parquet_differs(path, again)
    place = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return (
        "It holds something beside the columns of the certificate: written again from them it differs from byte "
        f"{place + 1} on ({len(old)} bytes, {len(new)} written again)."
    )


def _geopackage_differs(path: Path, again: Path, old: bytes, new: bytes) -> str | None:
    if _masked(old) == _masked(new):
        return None
    if old[96:100] == new[96:100]:
        return "The GeoPackage holds something beside the columns of the certificate."
    dumps = []
    for file in (path, again):
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            free = database.execute("PRAGMA freelist_count").fetchone()[0]
            dumps.append(("\n".join(database.iterdump()), free, file.stat().st_size))
    return None if dumps[0] == dumps[1] else "The GeoPackage holds more than the table of the certificate's columns."


def _masked(data: bytes) -> bytes:
    header = bytearray(data[:100])
    for first, last in _SQLITE_OWN:
        header[first:last] = bytes(last - first)
    return bytes(header) + data[100:]


def _parquet_differs(path: Path, again: Path) -> str | None:
    try:
        with pq.ParquetFile(path) as one, pq.ParquetFile(again) as two:
            if one.metadata.created_by == two.metadata.created_by:
                return "The Parquet file holds something beside the columns of the certificate."
            if not one.schema_arrow.equals(two.schema_arrow, check_metadata=True):
                return "The Parquet file has other columns or metadata than the certificate names."
            if _own_notes(one.metadata) != _own_notes(two.metadata):
                return "The Parquet file has metadata of its own."
            if not one.read().equals(two.read()) or _facts(one.metadata) != _facts(two.metadata):
                return "The Parquet file's columns are not those of the certificate, written plainly."
            if not _all_accounted(one.metadata, path):
                return "The Parquet file has bytes that belong to no column."
    except (pa.ArrowException, OSError, ValueError):
        return "The Parquet file cannot be compared."
    return None


def _own_notes(metadata: pq.FileMetaData) -> dict[bytes, bytes]:
    return {key: value for key, value in (metadata.metadata or {}).items() if key != b"ARROW:schema"}


def _facts(metadata: pq.FileMetaData) -> list[object]:
    """Statistics and uncompressed sizes of every column: unused dictionary entries would add to them."""
    chunks = [
        metadata.row_group(g).column(c) for g in range(metadata.num_row_groups) for c in range(metadata.num_columns)
    ]
    return [
        (c.path_in_schema, c.num_values, c.total_uncompressed_size, c.statistics and c.statistics.to_dict())
        for c in chunks
    ]


def _all_accounted(metadata: pq.FileMetaData, path: Path) -> bool:
    """Whether magic, column chunks and footer are all there is, without a gap."""
    at = 4
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            if start != at:
                return False
            at += chunk.total_compressed_size
    return bool(at + metadata.serialized_size + 8 == path.stat().st_size)
