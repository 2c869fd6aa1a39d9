"""Tables of other libraries, as Arrow and back: who gives a GeoDataFrame gets one, who asks DuckDB can ask on.

No library is imported here: whoever gives one of its tables has imported it. DuckDB relations and polars LazyFrames are
run (polars by its streaming engine) and come back lazy, and where they are larger than memory by way of a folder
(:mod:`sfumato.engines.streams`); pandas, GeoPandas, scikit-mobility, trackintel and MovingPandas come back as their own
class, with rows numbered anew.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from sfumato.errors import InputError

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
        if hasattr(table, "to_wkb"):  # a GeoDataFrame or one of its kin
            return pa.table(table.to_arrow(index=False))
        if library_of(table) in ("pandas", "skmob"):
            return pa.Table.from_pandas(table, preserve_index=False)
        return pa.table(table)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("That object is not a table of points.", "Give a table with one row per point.") from None


def like(given: Frame, table: pa.Table) -> Frame:
    """An Arrow table as the kind of table that was given."""
    kind = library_of(given)
    if kind == "duckdb":
        return sys.modules["duckdb"].from_arrow(table)
    if kind == "polars":
        frame = sys.modules["polars"].from_arrow(table)
        return frame.lazy() if hasattr(given, "collect") else frame
    if kind == "movingpandas":
        return _trajectories(given, table)
    if hasattr(given, "to_wkb"):
        return _points(given, table)
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
    return table.to_pandas() if kind == "pandas" else table


def _points(given: Frame, table: pa.Table) -> Frame:
    """A GeoDataFrame again, in the coordinates that it came in, of the class that was given."""
    geopandas = sys.modules["geopandas"]
    frame = geopandas.GeoDataFrame.from_arrow(table)
    if given.crs is not None and frame.crs is None:
        frame = frame.set_crs(given.crs)
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
        return type(given)(
            frame, first.get_traj_id_col() if hasattr(first, "get_traj_id_col") else first.traj_id_col, t=time
        )
    return type(given)(frame.set_index(time), first.id)
