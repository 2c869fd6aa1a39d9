"""Columns of every type come back as they were; a dataset's page, and what its ledger says."""

from __future__ import annotations

import decimal
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from command import run
from people_rows import by_person, rows, written

from sfumato.base.errors import InputError
from sfumato.tracks.folders.rows import dataset, dataset_job
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.io.tables.wkb import encode_points, points_from_wkb
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

PLAN = Plan(ids="keep", noise_m=200.0)
GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"], "bbox": [2.4, 48.4, 2.6, 48.6]}},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many units and buckets for a few rows."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 500)


def protected(tmp_path: Path, table: pa.Table, plan: Plan = PLAN, zone: str | None = "UTC") -> pa.Table:
    out = tmp_path / "out"
    protect_dataset(written(tmp_path / "in", table), out, plan, reading=TableReading({"id": "user_id"}, zone), rng=3)
    assert verify_folder(out / "_certificate.json", out).checks
    return ds.dataset(out).to_table()


def test_geoparquet_points_come_back_as_geoparquet_without_the_true_box(tmp_path: Path) -> None:
    table = rows()
    blob = pa.py_buffer(encode_points(table.column("lat").to_numpy(), table.column("lon").to_numpy()))
    points = pa.Array.from_buffers(pa.binary(21), table.num_rows, [None, blob]).cast(pa.binary())
    spatial = table.select(["user_id", "time"]).append_column("geometry", points)
    out = protected(tmp_path, spatial.replace_schema_metadata({"geo": json.dumps(GEO)}))
    assert out.schema.types == spatial.schema.types
    part = pq.read_schema(next((tmp_path / "out").glob("part-*.parquet")))
    said = json.loads(part.metadata[b"geo"])
    assert said["primary_column"] == "geometry"
    assert "bbox" not in said["columns"]["geometry"]
    whole, _ = protect_table(table, PLAN, rng=3)
    expected = by_person(whole)
    for person, mine in by_person(out).items():
        lat, lon = points_from_wkb(mine.column("geometry"))
        assert lat.tolist() == expected[person].column("lat").to_pylist()
        assert lon.tolist() == expected[person].column("lon").to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Los_Angeles"])
def test_times_of_every_unit_and_zone_come_back(tmp_path: Path, unit: str, zone: str | None) -> None:
    table = rows(600, 5).drop_columns(["speed"])
    ms = table.column("time").cast(pa.int64()).to_numpy()
    per = {"s": 1e-3, "ms": 1, "us": 1000, "ns": 1_000_000}[unit]
    times = pa.array((ms * per).astype(np.int64)).view(pa.timestamp(unit, zone))
    out = protected(tmp_path, table.set_column(1, "time", times))
    assert out.schema.types == ds.dataset(tmp_path / "in").schema.types
    before = by_person(ds.dataset(tmp_path / "in").to_table())
    for person, mine in by_person(out).items():
        assert mine.column("time").equals(before[person].column("time"))


KEPT: dict[str, pa.Array] = {
    "flag": pa.array([True, None, False] * 200),
    "small": pa.array(np.arange(600) % 100, pa.int8()),
    "price": pa.array([decimal.Decimal("1.50")] * 600, pa.decimal128(9, 2)),
    "day": pa.array(np.arange(600), pa.int32()).cast(pa.date32()),
    "note": pa.array([f"n{k}" for k in range(600)], pa.large_string()),
    "kind": pa.array(["bus", "car", None] * 200).dictionary_encode(),
    "when": pa.array(np.arange(600)).view(pa.timestamp("us")),
}


def test_kept_columns_of_any_type_stay_with_their_rows(tmp_path: Path) -> None:
    table = rows(600, 5).drop_columns(["speed"])
    for name, column in KEPT.items():
        table = table.append_column(name, column)
    out = protected(tmp_path, table, Plan(ids="keep", noise_m=200.0, keep=tuple(KEPT)))
    before = by_person(ds.dataset(tmp_path / "in").to_table())
    assert out.schema.types == ds.dataset(tmp_path / "in").schema.types
    for person, mine in by_person(out).items():
        for name in KEPT:
            assert mine.column(name).to_pylist() == before[person].column(name).to_pylist()


def test_a_column_that_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    table = rows(600, 5).append_column("both", pa.array([{"x": 2.5, "y": 48.5}] * 600))
    with pytest.raises(InputError, match="cannot be looked into"):
        protected(tmp_path, table, Plan(ids="keep", noise_m=200.0, keep=("both",)))
    assert not (tmp_path / "out").exists()


def test_people_may_be_folders_and_dictionaries_may_repeat_themselves(tmp_path: Path) -> None:
    table, plan = rows(600, 5).drop_columns(["speed"]), PLAN
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["user_id"])
    protect_dataset(tmp_path / "hive", tmp_path / "a", plan, reading=TableReading({"id": "user_id"}), rng=3)
    twice = pa.DictionaryArray.from_arrays(
        pa.array([int(name[1:]) + 6 * (row % 2) for row, name in enumerate(table.column("user_id").to_pylist())]),
        pa.array([f"u{k % 6}" for k in range(12)]),
    )
    protect_dataset(
        written(tmp_path / "in", table.set_column(0, "user_id", twice)), tmp_path / "b", plan,
        reading=TableReading({"id": "user_id"}), rng=3,
    )  # fmt: skip
    expected = by_person(protect_table(table, plan, rng=3)[0])
    for name in "ab":
        found = ds.dataset(tmp_path / name).to_table()
        found = found.set_column(
            found.schema.get_field_index("user_id"), "user_id", found.column("user_id").cast(pa.string())
        )
        for person, mine in by_person(found).items():
            assert mine.sort_by("time").column("lat").equals(expected[person].column("lat"))


def test_the_public_page_and_the_distribution_over_people(tmp_path: Path) -> None:
    folder, out, page = written(tmp_path / "in", rows(600, 30)), tmp_path / "out", tmp_path / "page.html"
    asked = ("protect", folder, "-o", out, "--user-column", "user_id", "--noise", "200m")
    code, told, _ = run(*asked, "--public-report", page)
    assert code == 0
    assert "Points of one person" in told
    assert "At people's own times: a tenth at most" in told
    assert "computed for everybody" in told
    assert "of 30 people" in page.read_text()
    assert "What people lose at their own times" in page.read_text()
    assert not any(f'"u{k}"' in (out / "_certificate.json").read_text() for k in range(30))
    assert "://" not in page.read_text().replace("http://www.w3.org", "")


def test_a_date_beside_the_time_of_day_stays_with_it_and_is_not_kept_beside_times_that_hide_it(tmp_path: Path) -> None:
    table = rows(300, 3).drop_columns(["speed"])
    stamps = table.column("time")
    table = table.set_column(1, "time", pc.strftime(stamps, "%H:%M:%S").cast(pa.string()))
    table = table.append_column("date", pc.strftime(stamps, "%Y-%m-%d"))
    folder = written(tmp_path / "in", table)
    for times in ("keep", "shift"):
        out = tmp_path / times
        protect_dataset(
            folder, out, Plan(ids="keep", noise_m=200.0, times=times), reading=TableReading({"id": "user_id"}, "UTC")
        )
        assert ("date" in ds.dataset(out).schema.names) == (times == "keep")
        assert verify_folder(out / "_certificate.json", out).checks
    plan = Plan(ids="keep", noise_m=200.0, times="shift", keep=("date",))
    with pytest.raises(InputError, match="tells what --times shift hides"):
        protect_dataset(folder, tmp_path / "told", plan, reading=TableReading({"id": "user_id"}, "UTC"))
    with pytest.raises(InputError, match="tells what --times shift hides"):
        protect_table(table, plan, zone="UTC")


def test_a_ledger_is_one_persons(tmp_path: Path) -> None:
    folder, ledger = written(tmp_path / "in", rows(600, 5)), tmp_path / "ledger.json"
    asked = ("protect", folder, "-o", tmp_path / "out", "--noise", "200m", "--ledger", ledger)
    code, _, told = run(*asked, "--user-column", "user_id")
    assert code == 2
    assert "--state" in told
    one = written(tmp_path / "one", rows(600, 1).drop_columns(["user_id"]))
    asked = ("protect", one, "-o", tmp_path / "out", "--noise", "200m", "--ledger", ledger)
    assert run(*asked, "--one-person", "--ledger-person", "ann", "--cap", "0.01")[0] == 0
    assert "ann" in ledger.read_text()
