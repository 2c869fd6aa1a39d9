"""Tables of other libraries go in and come out of the same call as what they were, with the same noise as Arrow's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.plan import Plan

PLAN, KEY = Plan(noise_m=100.0), bytes(range(32))


def needs(library: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            library, reason=f"{library} is not installed: its tables were not tried", exc_type=ImportError
        )


def points() -> pa.Table:
    rows = 24
    return pa.table(
        {
            "user_id": [f"p{i % 2}" for i in range(rows)],
            "lat": 48.5 + np.arange(rows) * 1e-4,
            "lon": np.full(rows, 2.5),
            "time": pa.array(1_700_000_000_000 + np.arange(rows) * 10_000).cast(pa.timestamp("ms", tz="UTC")),
        }
    )


def expected() -> pa.Table:
    return protect_table(points(), PLAN, key=KEY)[0]


def same(lat: Any, lon: Any) -> None:
    np.testing.assert_array_equal(np.asarray(lat, dtype=float), expected().column("lat").to_numpy())
    np.testing.assert_array_equal(np.asarray(lon, dtype=float), expected().column("lon").to_numpy())


def test_a_duckdb_query_comes_back_as_one_that_can_be_asked_on() -> None:
    duckdb = needs("duckdb")
    duckdb.register("given", points())
    out, certificate = protect_table(duckdb.sql("select * from given"), PLAN, key=KEY)
    assert isinstance(out, duckdb.DuckDBPyRelation)
    assert certificate["people"] == 2
    assert out.aggregate("count(*)").fetchall() == [(24,)]
    same(*zip(*out.project("lat, lon").fetchall(), strict=True))


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_frames_come_back_lazy_or_not_as_they_came(lazy: bool) -> None:
    polars = needs("polars")
    frame = polars.from_arrow(points())
    out, _ = protect_table(frame.lazy() if lazy else frame, PLAN, key=KEY)
    assert isinstance(out, polars.LazyFrame if lazy else polars.DataFrame)
    done = out.collect() if lazy else out
    assert done.columns == ["user_id", "lat", "lon", "time"]
    same(done["lat"].to_numpy(), done["lon"].to_numpy())


def test_pandas_frames_come_back_with_their_types() -> None:
    needs("pandas")
    frame = points().to_pandas()
    out, _ = protect_table(frame, PLAN, key=KEY)
    assert out.dtypes.to_dict() == frame.dtypes.to_dict()
    same(out["lat"], out["lon"])


def geo_frame(geopandas: Any) -> Any:
    frame = points().to_pandas()
    where = geopandas.points_from_xy(frame.pop("lon"), frame.pop("lat"))
    return geopandas.GeoDataFrame(frame, geometry=where, crs="EPSG:4326")


def test_a_geodataframe_comes_back_with_points_and_its_reference_system() -> None:
    geopandas = needs("geopandas")
    out, _ = protect_table(geo_frame(geopandas), PLAN, key=KEY)
    assert type(out) is geopandas.GeoDataFrame
    assert out.crs == "EPSG:4326"
    same(out.geometry.y, out.geometry.x)


def test_scikit_mobility_trajectories_come_back_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = needs("shapely.ops")
    monkeypatch.setattr(ops, "cascaded_union", ops.unary_union, raising=False)  # gone since Shapely 2; skmob imports it
    skmob = needs("skmob")
    frame = points().to_pandas().rename(columns={"lon": "lng", "time": "datetime", "user_id": "uid"})
    frame["datetime"] = frame["datetime"].dt.tz_localize(None)
    given = skmob.TrajDataFrame(frame, latitude="lat", longitude="lng", datetime="datetime", user_id="uid")
    out, certificate = protect_table(given, PLAN, key=KEY, zone="UTC")
    assert isinstance(out, skmob.TrajDataFrame)
    assert certificate["people"] == 2
    by_row = out.sort_values("datetime")
    same(by_row["lat"], by_row["lng"])


def test_trackintel_positionfixes_come_back_as_such() -> None:
    trackintel, geopandas = needs("trackintel"), needs("geopandas")
    frame = geo_frame(geopandas).rename(columns={"time": "tracked_at"})
    frame["user_id"] = frame["user_id"].str[1:].astype(int)
    given = trackintel.Positionfixes(frame)
    out, _ = protect_table(given, PLAN, key=KEY)
    assert type(out) is type(given)
    assert list(out["user_id"]) == list(frame["user_id"])
    assert out.geometry.y.notna().all()
    assert float(np.abs(out.geometry.y.to_numpy() - given.geometry.y.to_numpy()).max()) > 1e-5


def test_movingpandas_collections_and_trajectories_come_back_as_such() -> None:
    movingpandas, geopandas = needs("movingpandas"), needs("geopandas")
    frame = geo_frame(geopandas)
    frame["time"] = frame["time"].dt.tz_localize(None)
    given = movingpandas.TrajectoryCollection(frame, "user_id", t="time")
    out, certificate = protect_table(given, PLAN, key=KEY, zone="UTC")
    assert isinstance(out, movingpandas.TrajectoryCollection)
    assert certificate["people"] == len(out.trajectories) == 2
    one, _ = protect_table(given.trajectories[0], PLAN, key=KEY, zone="UTC")
    assert isinstance(one, movingpandas.Trajectory)
    np.testing.assert_array_equal(one.df.geometry.y, out.trajectories[0].df.geometry.y)
