"""A person's trips go through every door: found or named, released under their own column, counted by flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.tracks.answers.received import receive
from sfumato.tracks.answers.usefulness.utility import as_people
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.people.door import unnamed_trips
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.plan import Plan

NOISE = {"noise_m": 100.0, "rng": 1}


def rides(name: str = "trip_id", *, people: int = 2) -> pa.Table:
    """Two people with three trips of eight points each, whose names tell whose they are."""
    rows = 24 * people
    whose, trip = np.arange(rows) // 24, np.arange(rows) // 8 % 3
    return pa.table(
        {
            "user_id": [f"p{k}" for k in whose],
            name: [f"p{k}-ride-{t}" for k, t in zip(whose, trip, strict=True)],
            "lat": 48.5 + np.arange(rows) * 1e-4,
            "lon": np.full(rows, 2.5),
            "time": pa.array(1_700_000_000 + np.arange(rows) * 60, pa.timestamp("s", tz="UTC")),
        }
    )


@pytest.mark.parametrize("name", ["trip_id", "ride_id", "trajectory_id", "session", "Journey ID", "trip"])
def test_a_column_of_trips_is_found_by_its_name_and_released_as_it_is(name: str) -> None:
    table = rides(name)
    for one in (table, table.to_pandas()):
        done = sf.protect(one, person="user_id", **NOISE)
        assert list(map(str, done.frame[name])) == list(map(str, one[name]))
        assert [trace.segments for _, trace in done.releases] == [3, 3]
        assert [trace.segments for _, trace in receive(done.frame, done.certificate).people] == [3, 3]
    assert [trace.segments for _, trace in as_people(table)] == [3, 3]


def test_a_column_of_trips_is_named_by_the_caller_and_never_dropped() -> None:
    table = rides("leg_of_tour")
    assert "leg_of_tour" not in sf.protect(table, person="user_id", **NOISE).frame.column_names
    for named in ({"trip": "leg_of_tour"}, {"columns": {"segment": "leg_of_tour"}}):
        done = sf.protect(table, person="user_id", **named, **NOISE)
        assert done.frame["leg_of_tour"].to_pylist() == table["leg_of_tour"].to_pylist()
        assert [trace.segments for _, trace in done.releases] == [3, 3]
    with pytest.raises(InputError, match="trips is named twice"):
        sf.protect(table, trip="leg_of_tour", columns={"segment": "user_id"}, **NOISE)
    with pytest.raises(InputError, match="no column 'nowhere'"):
        sf.protect(table, person="user_id", trip="nowhere", **NOISE)


def test_one_persons_trips_are_not_one_trip() -> None:
    done = sf.protect(rides(people=1).drop_columns(["user_id"]), one_person=True, **NOISE)
    assert done.frame["trip_id"].to_pylist() == rides(people=1)["trip_id"].to_pylist()
    assert receive(done.frame, done.certificate).people[0][1].segments == 3


def test_where_people_get_new_ids_their_trips_are_numbers() -> None:
    table = rides()
    done = sf.protect(table, person="user_id", ids="random", **NOISE)
    assert done.frame["trip_id"].to_pylist() == [str(k // 8 % 3) for k in range(48)]
    numbered = table.set_column(1, "trip_id", pa.array(1000 + np.arange(48) // 8))
    again = sf.protect(numbered, person="user_id", ids="random", **NOISE).frame["trip_id"]
    assert again.type == pa.int64()
    assert again.to_pylist() == [k // 8 % 3 for k in range(48)]


@pytest.mark.parametrize("ids", ["keep", "random"])
def test_a_dataset_carries_its_trips_and_is_verified_with_them(tmp_path: Path, ids: str) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(rides(people=30), tmp_path / "in" / "rows.parquet")
    done = protect_dataset(tmp_path / "in", tmp_path / "out", Plan(noise_m=100.0, ids=ids), rng=1)
    part = pq.read_table(next((tmp_path / "out").glob("part-*.parquet")))
    assert done.document["columns"]["segment"] == "trip_id"
    assert set(part["trip_id"].to_pylist()) <= (
        {"0", "1", "2"} if ids == "random" else set(rides(people=30)["trip_id"].to_pylist())
    )
    assert verify_folder(done.document, tmp_path / "out").checks
    layout = Layout.of(part.schema, columns=dict(done.document["columns"]))
    assert layout.roles.by_role["segment"] == "trip_id"


@pytest.mark.parametrize("library", ["polars", "duckdb", "geopandas"])
def test_frames_of_other_libraries_keep_their_trips(library: str) -> None:
    module: Any = pytest.importorskip(library)
    table = rides()
    if library == "duckdb":
        module.register("rides", table)
        done = sf.protect(module.sql("select * from rides"), person="user_id", **NOISE)
        assert [row[0] for row in done.frame.project("trip_id").fetchall()] == table["trip_id"].to_pylist()
        return
    frame = module.from_arrow(table) if library == "polars" else table.to_pandas()
    if library == "geopandas":
        where = module.points_from_xy(frame.pop("lon"), frame.pop("lat"))
        frame = module.GeoDataFrame(frame, geometry=where, crs="EPSG:4326")
    done = sf.protect(frame, person="user_id", **NOISE)
    assert list(done.frame["trip_id"]) == table["trip_id"].to_pylist()


def test_trajectories_of_movingpandas_need_no_keep() -> None:
    movingpandas = pytest.importorskip("movingpandas", exc_type=ImportError)
    geopandas = pytest.importorskip("geopandas")
    frame = rides("voyage").to_pandas()
    where = geopandas.points_from_xy(frame.pop("lon"), frame.pop("lat"))
    frame = geopandas.GeoDataFrame(frame, geometry=where, crs="EPSG:4326").set_index("time")
    given = movingpandas.TrajectoryCollection(frame, "voyage")
    out = sf.protect(given, person="user_id", zone="UTC", **NOISE).frame
    assert sorted(one.id for one in out.trajectories) == sorted(one.id for one in given.trajectories)
    assert [len(one.df) for one in out.trajectories] == [len(one.df) for one in given.trajectories]


def test_a_column_of_trips_that_nobody_knows_is_named_in_a_warning_and_only_that() -> None:
    table = rides("leg").append_column("hour", pa.array(np.arange(48) % 5))
    with pytest.warns(UserWarning, match="Everybody is one trip, and 'leg', left out, may tell trips apart"):
        sf.protect(table, **NOISE)
    named = sf.protect(table, trip="leg", **NOISE)
    assert "leg" in named.frame.column_names
    assert unnamed_trips(named) == []
