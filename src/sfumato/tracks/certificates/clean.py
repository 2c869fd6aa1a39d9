"""Does a released file hold what the certificate names, and nothing else? Written again by our own writer, it is equal.

Whatever a reader skips (comments, attributes, processing instructions, foreign members, metadata, a second table) can
carry true positions. No list of hiding places is kept here: the positions, times and kept fields that were read are
written anew in the same format, and the bytes must be those of the file. Two formats depend on the library that wrote
them: Parquet of another Arrow version is compared by schema, metadata, values, statistics and by every byte belonging
to a column; a GeoPackage of another SQLite version by its dump, its size and its empty free list.

*Parquet or CSV that a library of frames wrote* from ``.frame`` is clean where that library (pandas, GeoPandas, polars,
DuckDB or Arrow; of CSV pandas, polars or Arrow) makes the same bytes of the certified columns alone, at the precision
of a release: seven decimals, whole milliseconds, points of two numbers, categories in order. An index, attributes,
unused categories, metadata or bytes between pages are not handed on, so a file that holds any of them does not come
back the same. The price: the same version of that library must be here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import SfumatoError
from sfumato.base.things.frames import DEGREE_DECIMALS
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.formats import format_named, format_of
from sfumato.tracks.io.tables.columns import Roles, column_names, find_roles, positions_of, roles_of
from sfumato.tracks.io.tables.point_table import write_fleet
from sfumato.tracks.io.xml.gpx import write_as_0_2

Writer = Callable[[str], object]
Columns = Mapping[str, str] | None
_MS_OF = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}
_SQLITE_OWN = ((24, 28), (92, 100))  # change counter, and the version that wrote last


def more_than_certified(
    path: Path, *, people: int, kept: Sequence[str], format: str | None = None, columns: Columns = None
) -> str | None:
    """Why the file is not exactly what the certificate's columns would be written as; None where it is."""
    try:
        found = format_named(format) if format else format_of(path)
    except SfumatoError as error:
        return f"It cannot be written again to compare: {error.what}"
    names = {"parquet": ("parquet", "geoparquet"), "json": ("geojson",)}.get(found.name, (found.name,))
    try:
        traces = _read(path, people, kept, format, columns)
        with TemporaryDirectory() as folder:
            reasons = [_differs(path, _written(traces, Path(folder) / name, people, name), name) for name in names]
            if found.name == "gpx" and reasons[0] is not None and kept:  # 0.2.0 had other names for what was kept
                write_as_0_2(traces[0][1], Path(folder) / "0.2")
                reasons.append(_differs(path, Path(folder) / "0.2", "gpx"))
    except SfumatoError as error:
        reasons = [f"It cannot be written again to compare: {error.what}"]
    if None in reasons:
        return None
    tables = found.name in ("parquet", "csv")
    by_library = written_otherwise(path, people=people, kept=kept, columns=columns) if tables else ""
    return by_library if by_library is None else next((text for text in (by_library, *reasons) if text), None)


def _read(
    path: Path, people: int, kept: Sequence[str], format: str | None, columns: Columns
) -> list[tuple[str, Trace]]:
    if people == 1:
        found = [("", read_trace(path, format=format, keep=kept, keep_if_there=True, one_person=True))]
    else:
        found = read_traces(path, format=format, keep=kept, columns=columns)
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


def written_otherwise(path: Path, *, people: int, kept: Sequence[str], columns: Columns = None) -> str | None:
    """Why a Parquet or CSV file is not what its library makes of the certified columns; None where it is."""
    name: str | None = "a library of frames"
    try:
        original = path.read_bytes()
        metadata = pq.read_metadata(path) if original.startswith(b"PAR1") else None
        if metadata is None:
            table = _text_table(path, people, kept, columns)
        else:
            table = pq.read_table(path, use_threads=False)
            name = _library(table.schema, metadata.created_by or "")
        trips = roles_of(table.schema, Reading.of(None, columns, (), one_person=people == 1)).by_role.get("segment")
        others = [name for name in kept if name != trips]  # trips that were kept are read as trips
        roles = roles_of(table.schema, Reading.of(None, columns, others, one_person=people == 1))
        if name is None or roles.dropped or sorted(roles.needed) != sorted(table.column_names):
            return "It holds columns or metadata that no library of frames writes for the certificate's columns."
        if not _as_precise_as_released(table, roles):
            return "Its positions or times have digits that no release has."
        if trips is not None and trips not in kept and not _counted(table.column(trips)):
            return "Its trips have names of their own, which the certificate does not name: number them from 0 or 1."
        if metadata is None:
            writers = list(_text_writers(table, roles.by_role["time"]))
        else:
            writers = _WRITERS[name](import_module(name), table, roles, _codec(metadata))
        if any(_bytes_of(write) == original for write in writers):
            return None
    except ImportError:
        return f"It was written by {name}, which is not installed here, so it cannot be written again to compare."
    except (pa.ArrowException, SfumatoError, OSError, ValueError, TypeError, KeyError) as error:
        return f"It cannot be written again to compare ({type(error).__name__})."
    return (
        f"Written again by {name} from the certificate's columns it is another file: it holds something beside them "
        f"(an index, attributes, other metadata), or another version of {name} wrote it."
    )


def _text_table(path: Path, people: int, kept: Sequence[str], columns: Columns) -> pa.Table:
    """A CSV file's columns by type; ids, and trips with names of their own, as the texts that they are."""
    found = find_roles(column_names(path), Reading.of(None, columns, (), one_person=people == 1)).by_role
    texts = {name: pa.string() for role, name in found.items() if role == "id" or (role == "segment" and name in kept)}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=texts))


def _text_writers(table: pa.Table, time: str) -> Iterator[Writer]:
    """How pandas, polars and Arrow write a table as CSV, those that are here, with moments in units of theirs."""
    place, kind = table.column_names.index(time), table.schema.field(time).type
    if find_spec("pandas"):
        frame = table.to_pandas()
        yield from (partial(frame.to_csv, index=False, lineterminator=end) for end in ("\n", "\r\n"))
    for unit in _MS_OF if pa.types.is_timestamp(kind) else (None,):
        column = table.column(time)
        shown = column if unit is None else column.cast(pa.timestamp(unit, kind.tz), safe=False)
        timed = table.set_column(place, time, shown)
        yield partial(csv.write_csv, timed)
        if find_spec("polars") and unit != "s":  # polars has no whole seconds
            yield import_module("polars").from_arrow(timed).write_csv


def _library(schema: pa.Schema, created_by: str) -> str | None:
    notes = set(schema.metadata or {})
    for name in ("polars", "duckdb"):
        if created_by.lower().startswith(name):
            return None if notes else name
    if notes <= {b"pandas", b"geo"} and created_by.startswith("parquet-cpp-arrow"):
        return "geopandas" if b"geo" in notes else "pandas" if b"pandas" in notes else "pyarrow.parquet"
    return None


def _as_precise_as_released(table: pa.Table, roles: Roles) -> bool:
    """Whether no digit of positions and times lies below what a release is rounded to."""
    lat, lon, _ = positions_of(table, roles)
    if not all(np.array_equal(np.round(values, DEGREE_DECIMALS), values) for values in (lat, lon)):
        return False
    times = table.column(roles.by_role["time"])
    if pa.types.is_timestamp(times.type):
        whole = _MS_OF[times.type.unit]
        ticks = times.cast(pa.int64())
        return not pc.any(pc.not_equal(pc.multiply(pc.divide(ticks, whole), whole), ticks)).as_py()
    return bool(pa.types.is_integer(times.type)) and "date" not in roles.by_role


def _counted(trips: pa.ChunkedArray) -> bool:
    """Whether trips are numbered from 0 or 1 on, so that their numbers say nothing else."""
    if not pa.types.is_integer(trips.type) or trips.null_count:
        return False
    numbers = np.unique(trips.to_numpy())
    return any(np.array_equal(numbers, np.arange(first, first + len(numbers))) for first in (0, 1))


def _codec(metadata: pq.FileMetaData) -> str:
    """How the first column is compressed, as writers are told."""
    named = str(metadata.row_group(0).column(0).compression).lower()
    return {"uncompressed": "none", "lz4_raw": "lz4"}.get(named, named)


def _bytes_of(write: Writer) -> bytes:
    with TemporaryDirectory() as folder:
        again = Path(folder) / "again.parquet"
        write(str(again))
        return again.read_bytes()


def _plain(table: pa.Table) -> pa.Table:
    """The columns alone, in arrays of their own."""
    fresh = {name: table.column(name).combine_chunks() for name in table.column_names}
    whole = {name: pc.take(column, pa.array(np.arange(len(column)))) for name, column in fresh.items()}
    return pa.table(whole)


def _by_arrow(library: ModuleType, table: pa.Table, roles: Roles, codec: str) -> list[Writer]:
    return [lambda out: library.write_table(_plain(table), out, compression=codec)]


def _by_polars(library: ModuleType, table: pa.Table, roles: Roles, codec: str) -> list[Writer]:
    named = "uncompressed" if codec == "none" else codec
    return [lambda out: library.from_arrow(_plain(table)).write_parquet(out, compression=named)]


def _by_duckdb(library: ModuleType, table: pa.Table, roles: Roles, codec: str) -> list[Writer]:
    return [lambda out: library.from_arrow(_plain(table)).write_parquet(out)]


def _by_pandas(library: ModuleType, table: pa.Table, roles: Roles, codec: str) -> list[Writer]:
    """With row numbers from 0 as the index, or with a certified column, such as the times; or without an index."""
    read = table.to_pandas()
    columns = {name: _column(read[name]) for name in read.columns}
    return _with_and_without_index(library.DataFrame(columns, index=_index(read, roles)), codec)


def _by_geopandas(library: ModuleType, table: pa.Table, roles: Roles, codec: str) -> list[Writer]:
    """As :func:`_by_pandas`, with the geometry made anew from latitudes and longitudes."""
    name = roles.by_role["geometry"]
    lat, lon, _ = positions_of(table, roles)
    read = table.to_pandas()
    columns = {
        column: library.points_from_xy(lon, lat) if column == name else _column(read[column]) for column in read.columns
    }
    index = _index(read, roles)
    frames = [library.GeoDataFrame(columns, geometry=name, crs=crs, index=index) for crs in ("EPSG:4326", "OGC:CRS84")]
    return [write for frame in frames for write in _with_and_without_index(frame, codec)]


def _with_and_without_index(frame: Any, codec: str) -> list[Writer]:
    named = None if codec == "none" else codec
    return [partial(frame.to_parquet, compression=named, index=index) for index in (None, False)]


def _index(read: Any, roles: Roles) -> object:
    """The index where it is one of the certified columns, and nothing else of it; None for row numbers from 0."""
    name = read.index.name
    return type(read.index)(read.index.array, name=name) if name in roles.needed else None


def _column(values: Any) -> object:
    """The values alone; of categories those that occur, in order."""
    if hasattr(values, "cat"):
        return values.astype(values.cat.categories.dtype).astype("category").array
    return values.array.copy()


_WRITERS = {
    "pandas": _by_pandas,
    "geopandas": _by_geopandas,
    "polars": _by_polars,
    "duckdb": _by_duckdb,
    "pyarrow.parquet": _by_arrow,
}
