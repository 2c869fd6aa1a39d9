"""A folder of Parquet in, a folder of Parquet out: the same rows, names, types and order, whatever the layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from command import run
from people_rows import by_person, rows, written

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.tracks.folders.rows import dataset, dataset_job
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

PLAN = Plan(ids="keep", noise_m=200.0)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many units and buckets for a few rows."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 500)


def test_a_dataset_is_the_table_protected_in_one_go(tmp_path: Path) -> None:
    table = rows()
    done = protect_dataset(written(tmp_path / "in", table), tmp_path / "out", PLAN, rng=3, cores=2)
    whole, _ = protect_table(table, PLAN, rng=3)
    released = ds.dataset(tmp_path / "out")
    assert released.schema == whole.schema
    assert (done.rows, done.released, done.people, done.skipped) == (3000, 3000, 17, {})
    assert done.parts > 3
    found, expected = by_person(released.to_table()), by_person(whole)
    assert found.keys() == expected.keys()
    assert all(found[person].equals(expected[person]) for person in expected)


@pytest.mark.parametrize("cores", [1, 4])
def test_files_parts_and_cores_change_no_byte_of_anybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    table = rows()
    protect_dataset(written(tmp_path / "one", table, 1), tmp_path / "a", PLAN, rng=3, cores=1)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 1300)
    protect_dataset(written(tmp_path / "many", table, 11), tmp_path / "b", PLAN, rng=3, cores=cores)
    one, other = (by_person(ds.dataset(tmp_path / name).to_table()) for name in "ab")
    assert all(one[person].equals(other[person]) for person in one)


def test_the_folder_holds_a_certificate_that_verifies_and_nothing_private(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", rows())
    done = protect_dataset(folder, tmp_path / "out", PLAN)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
    names = {path.name for path in (tmp_path / "out").iterdir() if path.name.startswith("_")}
    assert names == {"_certificate.json", "_manifest.json"}
    assert verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks
    assert done.document["people"]["people"] == 17
    assert done.document["people"]["points_per_person"]["1.00"] >= 3000 / 17
    assert done.document["noise"]["worst_loss"] == done.document["people"]["worst_loss"]
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text())["rows_released"] == 3000


@pytest.mark.parametrize("harm", ["row", "file", "column", "rejects", "people"])
def test_a_dataset_that_was_changed_does_not_verify(tmp_path: Path, harm: str) -> None:
    out = tmp_path / "out"
    protect_dataset(written(tmp_path / "in", rows()), out, PLAN)
    part = out / "part-00000.parquet"
    if harm == "row":
        pq.write_table(pq.read_table(part).slice(1), part)
    elif harm == "file":
        pq.write_table(rows(3), out / "more.parquet")
    elif harm == "column":
        (out / "_truth.parquet").write_bytes(part.read_bytes())
    elif harm == "rejects":
        (out / "_rejects").mkdir()
        pq.write_table(rows(3), out / "_rejects" / "unit.parquet")
    else:
        part.unlink()
    with pytest.raises(VerificationFailed):
        verify_folder(out / "_certificate.json", out)


def test_bad_rows_go_to_rejects_by_file_row_and_reason(tmp_path: Path) -> None:
    table = rows()
    lat, who = table.column("lat").to_numpy().copy(), table.column("user_id").to_pylist()
    lat[700], lat[5], who[9] = np.nan, 400.0, None
    bad = table.set_column(2, "lat", pa.array(lat)).set_column(0, "user_id", pa.array(who))
    bad = pa.concat_tables([bad, table.slice(100, 1)])
    folder = written(tmp_path / "in", bad)
    done = protect_dataset(folder, tmp_path / "out", PLAN)
    assert done.skipped == {
        "points off the globe": 1,
        "points without a person": 1,
        "points whose position is not a number": 1,
        "second points of one person at one time": 1,
    }
    assert done.released == done.rows - 4 == 2997
    rejects = (
        ds.dataset(tmp_path / "out" / "_rejects").to_table().sort_by([("file", "ascending"), ("row", "ascending")])
    )
    assert rejects.column_names == ["file", "row", "reason"]
    assert list(zip(rejects["file"].to_pylist(), rejects["row"].to_pylist(), strict=True)) == [
        ("f00.parquet", 5),
        ("f00.parquet", 9),
        ("f01.parquet", 100),
        ("f04.parquet", 600),
    ]
    assert ds.dataset(tmp_path / "out").count_rows() == 2997
    assert verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks
    with pytest.raises(InputError, match="3 of 3001 rows"):
        protect_dataset(folder, tmp_path / "strict", PLAN, strict=True)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_hive_folders_empty_files_and_kept_columns(tmp_path: Path) -> None:
    table = rows()
    city = pa.array(np.where(np.arange(3000) % 2, "sf", "paris"))
    pq.write_to_dataset(table.append_column("city", city), tmp_path / "in", partition_cols=["city"])
    pq.write_table(table.slice(0, 0), tmp_path / "in" / "empty.parquet")
    plan = Plan(ids="keep", noise_m=200.0, keep=("speed", "city"))
    done = protect_dataset(tmp_path / "in", tmp_path / "out", plan, rng=3)
    out = ds.dataset(tmp_path / "out").to_table()
    assert set(out.column_names) == {"user_id", "time", "lat", "lon", "speed", "city"}
    assert done.released == 3000
    whole, _ = protect_table(table, PLAN, rng=3)
    together = out.sort_by("time")
    assert together.column("lat").equals(whole.column("lat"))
    assert together.column("speed").equals(table.column("speed"))
    assert together.column("city").to_pylist() == city.to_pylist()
    assert verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks


def millionths(table: pa.Table, kind: pa.DataType, *, scale: float, ending: str = "") -> pa.Table:
    for place, name in ((2, "lat"), (3, "lon")):
        whole = pc.round(pc.multiply(table.column(name), scale), 0 if scale > 1.0 else 6).cast(kind)
        table = table.set_column(place, f"{name}{ending}", whole)
    return table


KINDS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "dictionary ids": lambda t: t.set_column(0, "user_id", t.column(0).dictionary_encode()),
    "large ids": lambda t: t.set_column(0, "user_id", t.column(0).cast(pa.large_string())),
    "whole ids": lambda t: t.set_column(0, "user_id", pc.utf8_slice_codeunits(t.column(0), 1).cast(pa.int64())),
    "seconds": lambda t: t.set_column(1, "time", t.column(1).cast(pa.timestamp("s", "UTC"))),
    "nanoseconds": lambda t: t.set_column(1, "time", t.column(1).cast(pa.timestamp("ns", "UTC"))),
    "no zone": lambda t: t.set_column(1, "time", t.column(1).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))),
    "float32": lambda t: t.set_column(2, "lat", t.column(2).cast(pa.float32())),
    "millionths": lambda t: millionths(t, pa.int32(), scale=1e6, ending="_e6"),
    "decimals": lambda t: millionths(t, pa.decimal128(9, 6), scale=1.0),
    "unsorted": lambda t: t.take(pa.array(np.random.default_rng(1).permutation(t.num_rows))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_types_come_back_as_they_were(tmp_path: Path, kind: str) -> None:
    table = KINDS[kind](rows()).drop_columns(["speed"])
    reading = TableReading({"id": "user_id"}, "UTC")
    protect_dataset(written(tmp_path / "in", table), tmp_path / "out", PLAN, reading=reading, rng=3)
    out = ds.dataset(tmp_path / "out").to_table()
    assert out.schema.types == ds.dataset(tmp_path / "in").schema.types
    found, given = by_person(out), by_person(table)
    for person, mine in given.items():
        assert found[person].column("time").to_pylist() == mine.column("time").to_pylist()
    assert verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks


@pytest.mark.parametrize("times", ["shift", "relative", "coarse:60min", "drop"])
def test_times_are_released_as_asked(tmp_path: Path, times: str) -> None:
    plan = Plan(ids="keep", noise_m=200.0, times=times)
    protect_dataset(written(tmp_path / "in", rows()), tmp_path / "out", plan, rng=3)
    out = ds.dataset(tmp_path / "out").to_table()
    assert ("time" in out.column_names) == (times != "drop")
    if times != "drop":
        before = by_person(rows())
        for person, mine in by_person(out).items():
            shown = mine.column("time").cast(pa.int64()).to_numpy()
            read = before[person].column("time").cast(pa.int64()).to_numpy()
            if times == "coarse:60min":
                assert (shown == read // 3_600_000 * 3_600_000).all()
            else:
                assert (np.diff(shown) == np.diff(read)).all()
                assert (shown[0] == 0) == (times == "relative")
                assert (shown != read).all()
    assert verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks


def test_what_cannot_be_told_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    table = rows().rename_columns(["whose", "time", "lat", "lon", "speed"])
    folder = written(tmp_path / "in", table)
    with pytest.raises(InputError, match="whose each row is"):
        protect_dataset(folder, tmp_path / "out", PLAN)
    protect_dataset(folder, tmp_path / "named", PLAN, reading=TableReading({"id": "whose"}))
    (folder / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"broken\.parquet is no Parquet file"):
        protect_dataset(folder, tmp_path / "out", PLAN, reading=TableReading({"id": "whose"}))
    disguised = written(tmp_path / "d", rows().set_column(4, "speed", rows().column("lat")))
    with pytest.raises(InputError, match="true position"):
        protect_dataset(disguised, tmp_path / "out", Plan(ids="keep", noise_m=200.0, keep=("speed",)))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.private").exists()
    protect_dataset(written(tmp_path / "good", rows()), tmp_path / "out", PLAN)
    with pytest.raises(InputError, match="finished release"):
        protect_dataset(tmp_path / "good", tmp_path / "out", PLAN)


def test_the_command_protects_verifies_and_counts(tmp_path: Path) -> None:
    folder, out = written(tmp_path / "in", rows()), tmp_path / "out"
    asked = ("protect", folder, "-o", out, "--user-column", "user_id", "--noise", "500m")
    assert json.loads(run(*asked, "--json")[1])["released"] == 3000
    code, told, _ = run("verify", out)
    assert code == 1  # positions drawn anew for every row: rougher than any noise, so an original could look the same
    assert "Plausible?         cannot be told" in told
    assert "Unchanged?         yes" in told
    assert "every byte" in told
    code, _, told = run(*asked)
    assert code == 2
    assert "finished release" in told


def test_a_state_goes_on_from_dataset_to_dataset(tmp_path: Path) -> None:
    table, state = rows(300, 3), tmp_path / "noise.state"
    for name, part in (("one", table), ("two", table.slice(100))):
        folder = written(tmp_path / name, part)
        options = ("--user-column", "user_id", "--noise", "200m", "--state", str(state))
        run("protect", str(folder), "-o", str(tmp_path / f"{name}.out"), *options)
    one, two = (ds.dataset(tmp_path / f"{name}.out").to_table().sort_by("time") for name in ("one", "two"))
    assert two.column("lat").equals(one.slice(100).column("lat"))
