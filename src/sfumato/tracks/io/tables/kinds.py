"""Tables of other libraries, as Arrow and back: who gives a GeoDataFrame gets one, who asks DuckDB can ask on.

No library is imported here: whoever gives one of its tables has imported it. DuckDB relations and polars LazyFrames are
run (polars by its streaming engine) and come back lazy, and where they are larger than memory by way of a folder
(:mod:`sfumato.tracks.folders.streams`); pandas, GeoPandas, scikit-mobility, trackintel and MovingPandas come back as
their own class. pandas' types and row numbers are those that were given, and an index of moments is the time; an index
of texts is left behind, with a warning, for it would be released without being named.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError

Frame = Any


def library_of(table: object) -> str:
    """The package whose table this is, by its class or the first of its parents that is known."""
    known = ("pyarrow", "duckdb", "_duckdb", "polars", "skmob", "trackintel", "movingpandas", "geopandas", "pandas")
    homes = [parent.__module__.split(".")[0] for parent in type(table).__mro__]
    return next((home for home in homes if home in known), "").lstrip("_")


def as_arrow(table: Frame) -> pa.Table:
    """The table as Arrow; refused in words where it is none."""
    kind = library_of(table)
    try:
        if isinstance(table, pa.Table):
            return table
        if kind == "polars" and hasattr(table, "collect"):
            table = table.collect(engine="streaming")
        elif kind == "movingpandas":
            table = _rows_of_trajectories(table)
        table = _with_index(table)
        if hasattr(table, "to_wkb"):  # a GeoDataFrame or one of its kin
            if table.crs is not None and table.crs != "EPSG:4326":
                table = table.to_crs("EPSG:4326")
            return pa.table(table.to_arrow(index=False))
        if library_of(table) in ("pandas", "skmob"):
            return pa.Table.from_pandas(table, preserve_index=False)
        return pa.table(table)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("That object is not a table of points.", "Give a table with one row per point.") from None


def trips_of_library(table: object, person: str | None) -> str | None:
    """The column that tells trips apart where the library has one (MovingPandas), unless it is that of people."""
    first = next(iter(getattr(table, "trajectories", ())), None) if library_of(table) == "movingpandas" else None
    name = None if first is None else _trip_column(first)
    return None if name == person else name


def _trip_column(trajectory: object) -> str:
    named = getattr(trajectory, "get_traj_id_col", None)
    return str(named() if callable(named) else getattr(trajectory, "traj_id_col", ""))


def like(given: Frame, table: pa.Table, rows: IntArray) -> Frame:
    """An Arrow table as the kind of table that was given; ``rows`` are the places of its rows in that one."""
    kind = library_of(given)
    if kind == "duckdb":
        return sys.modules["duckdb"].from_arrow(table)
    if kind == "polars":
        frame = sys.modules["polars"].from_arrow(table)
        before = given.collect_schema()
        frame = frame.cast({name: before[name] for name in frame.columns if frame.schema[name] != before[name]})
        return frame.lazy() if hasattr(given, "collect") else frame
    if kind == "movingpandas":
        return _trajectories(given, table)
    if hasattr(given, "to_wkb"):
        return _as_before(given, _points(given, table), rows)
    if kind == "skmob":
        frame = table.to_pandas()
        names = {
            "latitude": "lat",
            "longitude": "lng",
            "datetime": "datetime",
            "user_id": "uid",
            "trajectory_id": "tid",
        }
        return type(given)(frame, **{role: name for role, name in names.items() if name in frame.columns})
    return _as_before(given, table.to_pandas(), rows) if kind == "pandas" else table


def _with_index(table: Frame) -> Frame:
    """pandas and its kin with the time as a column where it is their index."""
    name = _time_index(table)
    return table if name is None else table.rename_axis(name).reset_index()


def _time_index(table: Frame) -> str | None:
    """What the column of an index of moments is called; None where the index is none, or the time is a column."""
    if not hasattr(table, "index") or _dtype_kind(getattr(table.index, "dtype", None)) != "M":
        return None
    if any(_dtype_kind(one) == "M" for one in table.dtypes):
        return None
    return str(table.index.name or "time")


def _dtype_kind(dtype: object) -> str:
    return str(getattr(dtype, "kind", ""))


def _as_before(given: Frame, frame: Frame, rows: IntArray) -> Frame:
    """The names, types and index of the frame that was given, for the rows that are left of it."""
    time = _time_index(given)
    if time is not None and time in frame.columns:
        frame = frame.set_index(time).rename_axis(given.index.name)
        frame.index = frame.index.astype(given.index.dtype)
    elif _dtype_kind(given.index.dtype) in "iu":
        frame.index = given.index[rows]
    else:
        warnings.warn(
            "The frame's index is no row number and no time: it is left behind, and rows are numbered anew. To release "
            "it, make it a column (reset_index) and name it in keep.",
            stacklevel=4,
        )
    frame = frame.rename(columns={str(name): name for name in given.columns})
    changed = {name: given[name].dtype for name in frame.columns if frame[name].dtype != given[name].dtype}
    frame = frame.astype(changed) if changed else frame
    for name in frame.columns:  # a category's list may name people who are not in the release
        if hasattr(frame[name], "cat") and len(frame[name].cat.categories) > frame[name].nunique():
            frame[name] = frame[name].cat.remove_unused_categories()
    return frame


def _points(given: Frame, table: pa.Table) -> Frame:
    """A GeoDataFrame again, in the coordinates that it came in, of the class that was given."""
    geopandas = sys.modules["geopandas"]
    frame = geopandas.GeoDataFrame.from_arrow(table)
    if given.crs is not None:
        frame = frame.set_crs("EPSG:4326") if frame.crs is None else frame
        frame = frame if given.crs == "EPSG:4326" else frame.to_crs(given.crs)
    if frame.geometry.name != given.geometry.name:
        frame = frame.rename_geometry(given.geometry.name)
    return frame if type(given) is geopandas.GeoDataFrame else type(given)(frame)


def _rows_of_trajectories(given: Frame) -> Frame:
    """One GeoDataFrame of a trajectory or a collection, the time as a column."""
    parts = [one.df for one in getattr(given, "trajectories", [given])]
    frame = sys.modules["pandas"].concat(parts)
    return frame.rename_axis(frame.index.name or "t").reset_index()


def _trajectories(given: Frame, table: pa.Table) -> Frame:
    """Trajectories again, under their ids."""
    first = getattr(given, "trajectories", [given])[0]
    frame = _points(_rows_of_trajectories(first), table)
    time = first.df.index.name or "t"
    if hasattr(given, "trajectories"):
        return type(given)(frame, _trip_column(first), t=time)
    return type(given)(frame.set_index(time), first.id)
