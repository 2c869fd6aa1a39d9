"""The first minutes of GeoLife's trajectories, where that data is present: it may not be redistributed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

LONGEST_S, SHORTEST_S = 320.0, 240.0
FEWEST_POINTS, USUAL_POINTS, FEWEST_TRACES, MOST_TRACES = 10, 50, 10, 50
FirstMinutes = tuple[int, FloatArray, FloatArray]
Thinned = tuple[FloatArray, FloatArray, float]


class DataNotHere(InputError):
    """Real data that may not ship is needed and is not there."""


def shared_data(folder: str) -> Path:
    """Where the real data lies, or an error that says how to say so."""
    own = os.environ.get("SFUMATO_SHARED_DATA")
    places = [Path(own)] if own else []
    places += [Path.cwd().parent / "shared" / "data", Path(__file__).resolve().parents[4] / "shared" / "data"]
    for place in places:
        if (place / folder).is_dir():
            return place / folder
    raise DataNotHere(
        f"The data '{folder}' is not here (it may not be redistributed).",
        "Put it in ../shared/data, or name the folder in SFUMATO_SHARED_DATA.",
    )


def first_minutes() -> list[FirstMinutes]:
    """(user, times in s from 0, (n, 2) latitude and longitude) of the first 320 s of every trajectory."""
    path = shared_data("geolife") / "geolife_first320s.parquet"
    table = pq.read_table(path, columns=["user_id", "trajectory_id", "time", "lat_e6", "lon_e6"])
    user = np.asarray(_codes(table["user_id"]))
    trip = np.asarray(_codes(table["trajectory_id"]))
    times = table["time"].to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000.0
    lat, lon = (table[name].to_numpy() / 1e6 for name in ("lat_e6", "lon_e6"))
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(user) != 0) | (np.diff(trip) != 0))))
    found = []
    for start, stop in zip(starts, np.append(starts[1:], user.size), strict=True):
        t = times[start:stop] - times[start]
        inside = (t <= LONGEST_S) & (np.abs(lat[start:stop]) <= 90)
        if inside.any():
            xy = np.stack([lat[start:stop][inside], lon[start:stop][inside]], axis=1)
            found.append((int(user[start]), t[inside], xy))
    return found


def thinned(whole: list[FirstMinutes], most: int = MOST_TRACES) -> list[Thinned]:
    """(times, positions, median period) of what the published program keeps: about 50 points of 240 s or more.

    Users with at least 10 such traces, the first 50 of each. Degrees will do: each axis is scaled to unit variance.
    """
    kept: dict[int, list[Thinned]] = {}
    for user, t, xy in whole:
        if t.size < FEWEST_POINTS or t[-1] < SHORTEST_S:
            continue
        stride = max(t.size // USUAL_POINTS, 1)
        kept.setdefault(user, []).append((t[::stride], xy[::stride], float(np.median(np.diff(t[::stride])))))
    return [trace for traces in kept.values() if len(traces) >= FEWEST_TRACES for trace in traces[:most]]


def _codes(column: pa.ChunkedArray) -> FloatArray:
    array = column.combine_chunks()
    return np.asarray((array if hasattr(array, "indices") else array.dictionary_encode()).indices)
