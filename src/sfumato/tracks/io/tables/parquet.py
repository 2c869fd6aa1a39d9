"""Parquet and GeoParquet, columns only as needed; and any table that speaks Arrow."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.errors import InputError
from sfumato.base.things.frames import bounds_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.tables.columns import roles_of
from sfumato.tracks.io.tables.kinds import as_arrow
from sfumato.tracks.io.tables.point_table import PointTable, from_arrow, held_small
from sfumato.tracks.io.tables.wkb import encode_points

_ROWS_AT_ONCE, _BUFFER_BYTES = 1 << 17, 1 << 20


def read(path: Path, reading: Reading) -> list[tuple[str, Trace]]:
    """The traces of :func:`rows`."""
    return rows(path, reading).traces()


def rows(path: Path, reading: Reading) -> PointTable:
    """Points by row; only the columns that are used are read."""
    return _rows(path, reading, small=False)


def small_rows(path: Path, reading: Reading) -> PointTable:
    """The same, read piece by piece with ids of four bytes; a table that names nobody as it is."""
    return _rows(path, reading, small=True)


def _rows(path: Path, reading: Reading, *, small: bool) -> PointTable:
    try:
        # ParquetFile, not read_table: the latter would take key=value folder names for columns.
        with pq.ParquetFile(path, pre_buffer=not small, buffer_size=_BUFFER_BYTES if small else 0) as file:
            roles = roles_of(file.schema_arrow, reading)
            wanted = None if roles.names_nobody(reading) else roles.needed
            if small and wanted and "id" in roles.by_role and file.metadata.num_rows:
                pieces = file.iter_batches(_ROWS_AT_ONCE, columns=wanted, use_threads=False)
                table = held_small(pieces, roles)
            else:
                table = file.read(columns=wanted)
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, MemoryError):
        if small:  # times that are written in two ways, or a damaged file
            return rows(path, reading)
        raise InputError("The Parquet file cannot be read.", "It may be cut off or damaged; write it again.") from None
    return PointTable(table, reading, roles)


def read_object(source: object, reading: Reading) -> list[tuple[str, Trace]]:
    """A table of any library that :mod:`.kinds` knows, or of another that speaks Arrow."""
    table = as_arrow(source)
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    return from_arrow(table.select(names), reading)


def write(trace: Trace, path: Path, *, times: bool = True) -> None:
    """A plain table: lat, lon, time (UTC microseconds, or left out), segment and the kept columns."""
    _refuse_texts(trace)
    table = trace.to_table()
    _write(table if times else table.drop_columns(["time"]), path)


def write_geo(trace: Trace, path: Path) -> None:
    """GeoParquet 1.1: geometry (WKB points), time, segment and the kept columns."""
    _refuse_texts(trace)
    table = trace.to_table()
    blob = pa.py_buffer(encode_points(trace.lat_deg, trace.lon_deg))
    fixed = pa.Array.from_buffers(pa.binary(21), len(trace), [None, blob])
    geometry = fixed.cast(pa.binary())
    table = table.drop_columns(["lat", "lon"]).add_column(0, "geometry", geometry)
    south, west, north, east = (float(text) for text in bounds_texts(trace.lat_deg, trace.lon_deg))
    geo = {
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"], "bbox": [west, south, east, north]}},
    }
    _write(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)


def _write(table: object, path: Path) -> None:
    try:
        pq.write_table(table, path, compression="zstd", use_dictionary=["segment"])
    except pa.ArrowException:
        raise InputError("The Parquet file cannot be written.", "Check the free space and the folder.") from None


def _refuse_texts(trace: Trace) -> None:
    if trace.texts:
        raise InputError(f"Parquet cannot hold a {next(iter(trace.texts))} here.", "Write GPX, KML or GeoJSON.")
