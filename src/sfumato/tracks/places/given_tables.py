"""Tables of tracks in and out: pandas, GeoPandas, polars or whatever speaks Arrow, each given back as it came.

Columns keep the names they had for latitude, longitude, time and trip; everything else is left out unless it was asked
for, because it may tell of what is withheld. A GeoDataFrame comes back with points in WGS84.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

import numpy as np
import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_traces
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.tables.columns import find_roles

_SCALED = ("e6", "e7")


class _GeoTable(Protocol):
    def to_arrow(self) -> object:
        """As Arrow."""


def is_table(value: object) -> bool:
    """Whether this is a table that speaks Arrow."""
    return hasattr(value, "__arrow_c_stream__")


def traces_of_table(table: object, *, keep: Sequence[str] = ()) -> list[tuple[str, Trace]]:
    """The trips of a table of one person, told apart by an id column where there is one."""
    spoken = cast(_GeoTable, table).to_arrow() if _kind(table) == "geopandas" else table
    return [(name or "", trace) for name, trace in read_traces(spoken, keep=keep)]


def like(given: object, traces: Sequence[tuple[str, Trace]]) -> object:
    """The traces as a table of the kind and with the column names of ``given``."""
    names = _names(given)
    tables = []
    for trip, trace in traces:
        table = trace.to_table()
        if "id" in names:
            table = table.append_column("id", pa.array([trip] * len(trace)))
        tables.append(table)
    joined = pa.concat_tables(tables) if tables else _empty("id" in names)
    joined = joined.rename_columns([names.get(name, name) for name in joined.column_names])
    kind = _kind(given)
    if kind in ("pandas", "geopandas"):
        return joined.to_pandas() if kind == "pandas" else _with_points(joined, names)
    frame: Callable[..., object] = type(given)
    return frame(joined) if kind == "polars" else joined


def _kind(table: object) -> str:
    return type(table).__module__.split(".")[0]


def _names(given: object) -> dict[str, str]:
    """What the given table calls its lat, lon, time and id; ours where it packs them otherwise."""
    columns = [str(name) for name in getattr(given, "columns", getattr(given, "column_names", ()))]
    if _kind(given) == "pyarrow":
        columns = list(getattr(given, "schema", pa.schema([])).names)
    try:
        found = find_roles(columns, Reading.of(None, None, (), True, True)).by_role
    except InputError:
        return {}
    roles = {role: found[role] for role in ("lat", "lon", "time", "id", "segment") if role in found}
    return {role: name for role, name in roles.items() if not name.lower().endswith(_SCALED)}


def _empty(with_id: bool) -> pa.Table:
    schema = Trace(*np.zeros((3, 1))).to_table().schema
    return pa.Table.from_batches([], schema=schema.append(pa.field("id", pa.string())) if with_id else schema)


def _with_points(joined: pa.Table, names: dict[str, str]) -> object:
    """A GeoDataFrame; latitude and longitude stay where the given one had them."""
    frame, geopandas = joined.to_pandas(), import_module("geopandas")
    lat, lon = (frame[names.get(role, role)] for role in ("lat", "lon"))
    made = geopandas.GeoDataFrame(frame, geometry=geopandas.points_from_xy(lon, lat), crs="EPSG:4326")
    return made if "lat" in names else made.drop(columns=["lat", "lon"])
