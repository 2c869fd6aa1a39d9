"""One call for traces and for tables of any library: the same kind of table back, as it was laid out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.tracks.people.door import ProtectedFrame
from sfumato.tracks.people.noise import Protected

pd = pytest.importorskip("pandas", reason="pandas is not installed: no frame was tried")
ROWS = 80


def cabs() -> Any:
    """Two cabs by number, in no order of time, with an index of their own and types that Arrow has not."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "cab_id": np.repeat(np.array([7, 9], dtype="int32"), ROWS // 2),
            "lat": 48.85 + rng.normal(0, 1e-3, ROWS).cumsum(),
            "lon": 2.35 + rng.normal(0, 1e-3, ROWS).cumsum(),
            "picked_up": pd.date_range("2024-05-01", periods=ROWS, freq="30s", tz="Europe/Paris"),
            "fare": rng.uniform(5, 50, ROWS),
            "riders": pd.array([1, None] * (ROWS // 2), dtype="Int64"),
            "kind": pd.Categorical(["day", "night"] * (ROWS // 2)),
            "note": ["private"] * ROWS,
        },
        index=np.arange(ROWS) * 3 + 11,
    )
    return frame.sample(frac=1.0, random_state=2)


def moved_m(before: Any, after: Any) -> np.ndarray:
    return np.hypot(after["lat"] - before["lat"], after["lon"] - before["lon"]) * 111_000


def test_a_pandas_frame_comes_back_with_its_index_names_types_and_ids() -> None:
    given = cabs()
    done = sf.protect(given, person="cab_id", noise_m=150.0, keep=["fare", "riders", "kind"])
    out = done.frame
    assert isinstance(done, ProtectedFrame)
    assert list(out.columns) == ["cab_id", "lat", "lon", "picked_up", "fare", "riders", "kind"]
    assert done.dropped == ("note",)
    pd.testing.assert_index_equal(out.index, given.index)
    pd.testing.assert_series_equal(out.dtypes, given[out.columns].dtypes)
    same = ["cab_id", "picked_up", "fare", "riders", "kind"]
    pd.testing.assert_frame_equal(out[same], given[same])
    assert 20 < np.median(moved_m(given, out)) < 2000
    assert done.certificate["people"] == 2
    assert done.certificate["kept"] == ["fare", "riders", "kind"]
    assert sf.protect(given, person="cab_id").certificate["odds_99"] <= 5.0


def test_rows_that_cannot_be_used_are_counted_and_the_rest_keep_their_index() -> None:
    given = cabs()
    given.iloc[3, given.columns.get_loc("lat")] = np.nan
    with pytest.warns(UserWarning, match="1 of 80 rows"):
        done = sf.protect(given, person="cab_id", noise_m=150.0)
    assert sum(done.skipped.values()) == 1
    pd.testing.assert_index_equal(done.frame.index, given.index.delete(3))
    with pytest.raises(InputError, match="1 of 80 rows"):
        sf.protect(given, person="cab_id", noise_m=150.0, strict=True)


def test_categories_name_nobody_who_is_not_in_the_release() -> None:
    given = cabs()
    given["cab_id"] = pd.Categorical(given["cab_id"].astype(str), categories=["7", "9", "somebody else"])
    out = sf.protect(given, person="cab_id", noise_m=150.0).frame
    assert list(out["cab_id"].cat.categories) == ["7", "9"]
    assert list(out["cab_id"].astype(str)) == list(given["cab_id"].astype(str))


def test_an_index_of_moments_is_the_time_and_one_of_texts_stays_behind() -> None:
    given = cabs()[["cab_id", "lat", "lon", "picked_up"]].set_index("picked_up")
    out = sf.protect(given, person="cab_id", noise_m=150.0).frame
    pd.testing.assert_index_equal(out.index, given.index)
    named = cabs().set_index("note")
    with pytest.warns(UserWarning, match="index is no row number and no time"):
        out = sf.protect(named, person="cab_id", noise_m=150.0).frame
    assert "private" not in out.index
    assert list(out.index) == list(range(ROWS))


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_arrow_and_duckdb_come_back_as_such(lazy: bool) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    arrow = pa.Table.from_pandas(cabs(), preserve_index=False)
    given = polars.from_arrow(arrow)
    out = sf.protect(given.lazy() if lazy else given, person="cab_id", noise_m=150.0, keep=["kind"]).frame
    assert isinstance(out, polars.LazyFrame if lazy else polars.DataFrame)
    schema = out.collect_schema()
    assert schema.names() == ["cab_id", "lat", "lon", "picked_up", "kind"]
    assert all(schema[name] == given.schema[name] for name in schema.names())
    table = sf.protect(arrow, person="cab_id", noise_m=150.0).frame
    assert table.schema.names == ["cab_id", "lat", "lon", "picked_up"]
    assert table.schema.field("cab_id").type == pa.int32()
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        relation = sf.protect(connection.sql("select * from given"), person="cab_id", noise_m=150.0).frame
        assert relation.columns == ["cab_id", "lat", "lon", "picked_up"]
        assert relation.aggregate("count(*)").fetchall() == [(ROWS,)]


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2154"])
def test_a_geodataframe_comes_back_in_its_own_reference_system(crs: str) -> None:
    geopandas = pytest.importorskip("geopandas")
    plain = cabs()
    where = geopandas.points_from_xy(plain.pop("lon"), plain.pop("lat"), crs="EPSG:4326")
    given = geopandas.GeoDataFrame(plain[["cab_id", "picked_up"]], geometry=where).to_crs(crs)
    out = sf.protect(given, person="cab_id", noise_m=150.0).frame
    assert type(out) is geopandas.GeoDataFrame
    assert out.crs == given.crs
    pd.testing.assert_index_equal(out.index, given.index)
    apart = out.to_crs("EPSG:2154").distance(given.to_crs("EPSG:2154"), align=False)
    assert 20 < np.median(apart) < 1000


def test_audit_and_utility_of_a_frame_in_any_order() -> None:
    done = sf.protect(cabs(), person="cab_id", noise_m=300.0, rng=4)
    found = done.audit()
    assert [one.person for one in found.persons] == [name for name, _ in done.releases]
    assert found.worst.audit.rms_error_raw_m == pytest.approx(300, rel=0.9)
    assert done.utility().people == 2
    assert done.certificate["simulation"]
    for (_, one), (_, other) in zip(done.originals, done.releases, strict=True):
        np.testing.assert_array_equal(one.times_s, other.times_s)


def test_a_released_frame_is_verified_from_its_file(tmp_path: Path) -> None:
    given = cabs().sort_values("picked_up")
    done = sf.protect(given, person="cab_id", radius_m=200.0)
    done.frame.to_parquet(tmp_path / "shared.parquet", index=False)
    assert (
        "positions and times of the release" in sf.verify(done.certificate, release=tmp_path / "shared.parquet").checks
    )
    assert sf.verify(done.certificate, release=done.releases).checks


def test_a_state_goes_on_from_frame_to_frame(tmp_path: Path) -> None:
    given = cabs()
    first = sf.protect(given, person="cab_id", noise_m=150.0, state=tmp_path / "fleet.state")
    again = sf.protect(given, person="cab_id", noise_m=150.0, state=tmp_path / "fleet.state")
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert first.certificate["releases"]["mode"] == "continuing"


def test_a_trace_is_protected_as_before_and_advice_names_options_that_exist() -> None:
    trace = sf.Trace(48.8 + np.arange(30) * 1e-4, np.full(30, 2.3), 1.7e9 + np.arange(30) * 10.0)
    assert isinstance(sf.protect(trace, noise_m=100.0), Protected)
    with pytest.raises(InputError, match="for tables"):
        sf.protect(trace, zone="UTC")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="neither a trace nor a table"):
        sf.protect("ride.gpx")  # type: ignore[call-overload]
    naive = cabs()
    naive["picked_up"] = naive["picked_up"].dt.tz_localize(None)
    with pytest.raises(InputError, match="zone='UTC'"):
        sf.protect(naive, person="cab_id")
    assert sf.protect(naive, person="cab_id", zone="UTC").frame["picked_up"].dtype == naive["picked_up"].dtype
    driven = cabs().rename(columns={"cab_id": "driver_no"})
    with pytest.raises(InputError, match="person='driver_no'"):
        sf.protect(driven)
    assert sf.protect(driven, person="driver_no").certificate["people"] == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sf.protect(driven, one_person=True).certificate["people"] == 1
    with pytest.raises(InputError, match="named twice"):
        sf.protect(driven, person="driver_no", columns={"id": "driver_no"})
