"""Is Parquet that a library of frames wrote from ``.frame`` clean? Written again from the columns alone, it is equal.

As in :mod:`.clean` no list of hiding places is kept. The certified columns are taken out at the precision of a release
(seven decimals, whole milliseconds, points of two numbers, categories in order) and handed to the library that wrote
the file: pandas, GeoPandas, polars, DuckDB or Arrow. What else such a file can carry (an index, attributes, names of
indexes, unused categories, metadata, bytes between pages) is not handed on, so a file that holds any of it does not
come back the same. The price: the same version of that library must be here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.base.errors import SfumatoError
from sfumato.base.things.frames import DEGREE_DECIMALS
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.tables.tables import Roles, positions_of, roles_of

Writer = Callable[[str], object]
_MS_OF = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}


def written_otherwise(path: Path, *, people: int, kept: Sequence[str]) -> str | None:
    """Why a Parquet file is not what its library makes of the certified columns; None where it is."""
    try:
        table = pq.read_table(path, use_threads=False)
        roles = roles_of(table.schema, Reading.asked(None, None, kept, one_person=people == 1))
        metadata = pq.read_metadata(path)
        name = _library(table.schema, metadata.created_by or "")
        if name is None or roles.dropped or sorted(roles.needed) != sorted(table.column_names):
            return "It holds columns or metadata that no library of frames writes for the certificate's columns."
        if not _as_precise_as_released(table, roles):
            return "Its positions or times have digits that no release has."
        if "segment" in roles.by_role and not _counted(table.column(roles.by_role["segment"])):
            return "Its trips have names of their own, which the certificate does not name: number them from 0 or 1."
        library = import_module(name)
        writers = _WRITERS[name](library, table, roles, _codec(metadata))
        original = path.read_bytes()
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
