"""People with a known home and their rides, for the evidence about places: GeoLife, cabs, and a made-up town.

A person is (name, home latitude and longitude, everything within 5 km of home as one trace, the ride of each point).
GeoLife and the cabs are read in place from ../shared/data and
never copied; the town needs no data but the counts of venues per cell of Paris that ship with the package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import Around, distances_m

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
END_WITHIN_M, LEAST_LEGS, NEAR_M = 100.0, 8, 5000.0


def _home_of(traces: list[Trace]) -> tuple[float, float, int]:
    """The place where most legs start or end within 100 m, and how many do."""
    lat = np.array([trace.lat_deg[k] for trace in traces for k in (0, -1)])
    lon = np.array([trace.lon_deg[k] for trace in traces for k in (0, -1)])
    near = np.array([distances_m(lat, lon, a, b) < END_WITHIN_M for a, b in zip(lat, lon, strict=True)])
    densest = near[int(near.sum(axis=1).argmax())]
    home = float(np.mean(lat[densest])), float(np.mean(lon[densest]))
    at_home = (distances_m(lat, lon, *home) < END_WITHIN_M).reshape(-1, 2).any(axis=1)
    return *home, int(at_home.sum())


def _person(name: str, traces: list[Trace]):
    """The person with what of the rides lies within 5 km of home, or None with fewer than eight legs."""
    if len(traces) < LEAST_LEGS:
        return None
    lat, lon, legs = _home_of(traces)
    if legs < LEAST_LEGS:
        return None
    return name, lat, lon, *_near(traces, lat, lon)


def _near(traces: list[Trace], lat: float, lon: float) -> tuple[Trace, np.ndarray]:
    """All rides within 5 km as one trace, a segment for each stretch, and the number of the ride of each point."""
    ride = np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
    columns = [np.concatenate([getattr(trace, name) for trace in traces]) for name in ("lat_deg", "lon_deg", "times_s")]
    near = np.flatnonzero(distances_m(columns[0], columns[1], lat, lon) < NEAR_M)
    segment = np.cumsum((np.diff(near, prepend=near[0] - 1) > 1) | (np.diff(ride[near], prepend=0) > 0))
    return Trace(*(values[near] for values in columns), segment), ride[near]


def _split(group, lat, lon, times, gap_s: float = np.inf) -> dict[str, list[Trace]]:
    """Traces by the text before the slash of their group; also broken where recording paused longer than ``gap_s``."""
    order = np.lexsort((times, group))
    group, lat, lon, times = (values[order] for values in (group, lat, lon, times))
    ok = np.abs(lat) <= 90
    group, lat, lon, times = group[ok], lat[ok], lon[ok], times[ok]
    new = np.flatnonzero((group[1:] != group[:-1]) | (np.diff(times) > gap_s)) + 1
    out: dict[str, list[Trace]] = {}
    for a, b in zip(np.r_[0, new], np.r_[new, len(group)], strict=True):
        if b - a > 1:
            out.setdefault(str(group[a]).split("/")[0], []).append(Trace(lat[a:b], lon[a:b], times[a:b]))
    return out


def geolife():
    """GeoLife's people with eight or more legs at one place, and whether they are development people."""
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / "geolife" / "geolife_traces.parquet")
    columns = [table.column(name).to_pandas().astype(str).to_numpy() for name in ("user_id", "trajectory_id")]
    group = np.char.add(np.char.add(columns[0].astype(str), "/"), columns[1].astype(str))
    degrees = [table.column(name).to_numpy() / 1e6 for name in ("lat_e6", "lon_e6")]
    people = _split(group, *degrees, table.column("time").cast("int64").to_numpy() / 1e3)
    return [person for name, traces in sorted(people.items()) if (person := _person(name, traces))]


def cabs():
    """San Francisco's cabs: legs are shifts (broken by two hours' pause), the home is where most begin or end."""
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / "cabspotting" / "cabspotting.parquet")
    group = table.column("cab_id").to_pandas().astype(str).to_numpy().astype(str)
    degrees = [table.column(name).to_numpy() / 1e6 for name in ("lat_e6", "lon_e6")]
    people = _split(group, *degrees, table.column("time").cast("int64").to_numpy() / 1e3, 7200.0)
    return [person for name, traces in sorted(people.items()) if (person := _person(name, traces))]


def town(people: int = 60, rides: int = 24, seed: int = 7):
    """Made-up people of a town with streets on a turned grid: homes uniform, goals like Paris's venues.

    Streets are 120 m apart, each person's quarter turned at random. A ride starts 20 m from home, takes the first
    street along, one corner (sometimes two), and a fix every 2 s with 4 m of error.
    """
    from sfumato.collect.cities import city

    rng = np.random.default_rng(seed)
    paris = city("paris")
    weight = np.asarray(paris.counts, dtype=float)
    rows, columns = np.divmod(np.arange(len(weight)), paris.plain_grid.columns)
    out = []
    for number in range(people):
        home = rng.uniform(-2500, 2500, 2)
        angle = rng.uniform(0, np.pi / 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        usual = rng.choice(len(weight), 6, p=weight / weight.sum())
        traces = []
        for leg in range(rides):
            cell = usual[min(int(rng.exponential(1.5)), 5)]
            goal = np.array([columns[cell] - columns.mean(), rows[cell] - rows.mean()]) * 900.0
            goal = goal + rng.uniform(-450, 450, 2)
            path = _streets(home, goal, turn, rng)
            path = path[:: -1 if leg % 2 else 1] + rng.normal(0, 4, path.shape)
            lat, lon = Around(48.8566, 2.3522).to_degrees(path)
            traces.append(Trace(lat, lon, 1.7e9 + 86400.0 * leg + 2.0 * np.arange(len(path))))
        lat, lon = Around(48.8566, 2.3522).to_degrees(home)
        at = float(lat[0]), float(lon[0])
        out.append((f"made-up {number}", *at, *_near(traces, *at)))
    return out


def _streets(home, goal, turn, rng):
    start, end = turn.T @ home, turn.T @ goal
    start[1] = np.round(start[1] / 120) * 120  # the door is on the nearest street
    corner = np.round(rng.uniform(0.2, 0.8) * end[0] / 120) * 120 if rng.uniform() < 0.5 else end[0]
    corners = np.array([start, [corner, start[1]], [corner, end[1]], end])
    length = np.hypot(*np.diff(corners, axis=0).T)
    along = np.arange(0, length.sum(), 10.0)
    at = np.concatenate([[0], np.cumsum(length)])
    return np.column_stack([np.interp(along, at, corners[:, k]) for k in (0, 1)]) @ turn.T
