"""A dataset protected on Spark is the local job's: rows, rejects, manifest; refused, killed or resumed as it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from spark_session import PLAN, SOURCE, executors, kill_one, session, table

from sfumato.base.errors import InputError
from sfumato.tracks.certificates.person_ids import list_beside, list_text
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.io.tables.wkb import encode_points
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.spark
HELPERS = str(Path(__file__).resolve().parents[2] / "helpers")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    running = session("local[2]")
    yield running
    running.stop()


def given(folder: Path, rows: int = 3_000, *, people: int = 17, bad: bool = True) -> Path:
    """Files whose sizes are not in the order of their names, one with a space in its name, people in all of them."""
    whole = table(rows, people)
    if bad:
        broken = whole.to_pylist()
        broken[3]["lat"], broken[9]["user_id"], broken[20]["lon"] = float("nan"), None, 400.0
        broken[30] = {**broken[29], "lat": 48.9}  # a second point of one person at one time
        whole = pa.Table.from_pylist(broken, schema=whole.schema)
    folder.mkdir(parents=True)
    for name, first, end in (("b 1", 0, rows // 9), ("a", rows // 9, rows // 3), ("c", rows // 3, rows)):
        pq.write_table(whole.slice(first, end - first), folder / f"{name}.parquet", row_group_size=100)
    pq.write_table(whole.slice(0, 0), folder / "empty.parquet")
    return folder


def on_spark(spark: Any, source: Path, out: Path, plan: Plan = PLAN, **options: Any) -> Any:
    from sfumato.tracks.folders.spark.spark_job import protect_dataset_on_spark

    return protect_dataset_on_spark(spark, f"file://{source}", f"file://{out}", plan, rng=5, **options)


def rows_of(folder: Path) -> dict[str, dict[str, list[Any]]]:
    """Everybody's rows, in their order, moments as whole microseconds and positions as bits."""
    found = ds.dataset(folder, format="parquet").to_table()
    out = {}
    for person in sorted(set(found.column("user_id").to_pylist())):
        own = found.filter(pc.equal(found.column("user_id"), person))
        columns = {name: own.column(name) for name in own.column_names}
        for name, column in columns.items():
            if pa.types.is_timestamp(column.type):
                columns[name] = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
            elif pa.types.is_floating(column.type):
                columns[name] = pa.array(column.to_numpy().astype(np.float64).view(np.int64))
        out[str(person)] = {name: column.to_pylist() for name, column in columns.items()}
    return out


def assert_alike(local: Path, spark: Path) -> None:
    """The same rows of everybody, the same rejects, the same counts, and a certificate that holds."""
    assert rows_of(local) == rows_of(spark)
    said, other = (json.loads((folder / "_manifest.json").read_text()) for folder in (local, spark))
    assert said == other, "even the files are the same, byte for byte"
    assert (local / "_certificate.json").read_bytes() == (spark / "_certificate.json").read_bytes()
    rejects = [
        sorted(map(str, ds.dataset(folder / "_rejects", format="parquet").to_table().to_pylist()))
        if any((folder / "_rejects").glob("*.parquet"))
        else []
        for folder in (local, spark)
    ]
    assert rejects[0] == rejects[1]
    verify_folder(spark / "_certificate.json", spark)
    listed = ds.dataset(spark.with_name(f"{spark.name}.ids"), format="parquet").to_table().to_pylist()
    assert list_beside(local).read_text() == list_text([(one["given"], one["released"]) for one in listed])
    assert spark.with_name(f"{spark.name}.ids").stat().st_mode & 0o77 == 0
    assert not spark.with_name(spark.name + ".private").exists()


def test_the_release_is_the_local_jobs_with_its_rejects_and_counts(spark: Any, tmp_path: Path) -> None:
    source, plan = given(tmp_path / "in", people=150), Plan(noise_m=100.0, keep=("speed",))
    protect_dataset(source, tmp_path / "local", plan, rng=5)
    done = on_spark(spark, source, tmp_path / "spark", plan)
    assert done.document["people"]["loss_at_times"]["people"] == 100
    assert (done.rows, done.released, sum(done.skipped.values())) == (3_000, 2_996, 4)
    assert_alike(tmp_path / "local", tmp_path / "spark")
    with pytest.raises(InputError, match="finished release"):
        on_spark(spark, source, tmp_path / "spark", plan)


@pytest.mark.parametrize("times", ["relative", "coarse:5min", "drop"])
def test_times_are_released_as_the_local_job_does(spark: Any, tmp_path: Path, times: str) -> None:
    source, plan = given(tmp_path / "in", 300), Plan(noise_m=100.0, times=times)
    protect_dataset(source, tmp_path / "local", plan, rng=5)
    on_spark(spark, source, tmp_path / "spark", plan)
    assert_alike(tmp_path / "local", tmp_path / "spark")


def test_one_row_one_giant_person_and_folders_by_day_come_out_alike(spark: Any, tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.mkdir()
    pq.write_table(table(1, 1), one / "a.parquet")
    giant = table(2_000, 9)
    skewed = pc.if_else(np.arange(2_000) % 2 == 0, "giant", giant.column("user_id"))
    giant = giant.set_column(0, "user_id", skewed)
    (tmp_path / "skewed").mkdir()
    pq.write_table(giant, tmp_path / "skewed" / "a.parquet", row_group_size=50)
    for number in range(4):  # a person is in every partition, and one partition has no rows
        folder = tmp_path / "hive" / f"day={number}"
        folder.mkdir(parents=True)
        part = table(400, 6).filter(pa.array(np.arange(400) % 4 == number))
        pq.write_table(part if number != 2 else part.slice(0, 0), folder / "a.parquet")
    for name in ("one", "skewed", "hive"):
        protect_dataset(tmp_path / name, tmp_path / f"{name}.local", PLAN, rng=5)
        on_spark(spark, tmp_path / name, tmp_path / f"{name}.spark")
        assert_alike(tmp_path / f"{name}.local", tmp_path / f"{name}.spark")


def test_types_names_codecs_and_geoparquet_are_the_files_own(spark: Any, tmp_path: Path) -> None:
    rows = table(500, 4)
    points = encode_points(rows["lat"].to_numpy(), rows["lon"].to_numpy())
    where = pa.Array.from_buffers(pa.binary(21), 500, [None, pa.py_buffer(points)]).cast(pa.binary())
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", "bbox": [2.3, 48.5, 2.4, 48.6]}}}
    in_geo = rows.select(["user_id", "time"]).append_column("geometry", where)
    odd = rows.rename_columns(["user.id", "lat", "lon", "time", "speed"]).append_column(
        "mode", pa.array(["bus", None] * 250).dictionary_encode()
    )
    odd = odd.set_column(0, "user.id", odd["user.id"].dictionary_encode())
    odd = odd.set_column(3, "time", odd["time"].cast(pa.timestamp("ns", "Europe/Paris")))
    for name, files, codec in (
        ("geo", [in_geo.replace_schema_metadata({"geo": json.dumps(geo)})], "zstd"),
        ("odd", [odd.slice(0, 300), odd.slice(300).select(["time", "lon", "mode", "lat", "user.id"])], "snappy"),
    ):
        (tmp_path / name).mkdir()
        for number, rows in enumerate(files):
            pq.write_table(rows, tmp_path / name / f"{number}.parquet", compression=codec)
        plan = Plan(noise_m=100.0, keep=("mode",) if name == "odd" else ())
        reading = TableReading({"id": "user.id"} if name == "odd" else None)
        protect_dataset(tmp_path / name, tmp_path / f"{name}.local", plan, rng=5, reading=reading)
        on_spark(spark, tmp_path / name, tmp_path / f"{name}.spark", plan, reading=reading)
        local, other = (tmp_path / f"{name}.{engine}" for engine in ("local", "spark"))
        assert (local / "_manifest.json").read_text() == (other / "_manifest.json").read_text()
        assert (local / "part-00000.parquet").read_bytes() == (other / "part-00000.parquet").read_bytes()
        verify_folder(other / "_certificate.json", other)


def test_what_is_refused_leaves_nothing_behind(spark: Any, tmp_path: Path) -> None:
    source, out = given(tmp_path / "in", 300), tmp_path / "out"
    twice = table(4, 1).set_column(0, "user_id", pa.array(["U1 ", "u1", "u1", "u1"]))
    far = table(40, 2).append_column("where", table(40, 2).column("lat"))
    for name, rows in (("twice", twice), ("far", far), ("colour", table(40, 2).rename_columns(list("abcde")))):
        (tmp_path / name).mkdir()
        pq.write_table(rows, tmp_path / name / "a.parquet")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.parquet").write_text("no Parquet")
    for folder, plan, options, words in (
        (source, PLAN, {"strict": True}, "4 of 300 rows cannot be used"),
        (tmp_path / "twice", PLAN, {}, "have the same id"),
        (tmp_path / "far", Plan(noise_m=100.0, keep=("where",)), {}, "where"),
        (tmp_path / "colour", PLAN, {}, "column"),
        (tmp_path / "text", PLAN, {}, "Spark stopped"),
        (tmp_path / "missing", PLAN, {}, "Spark stopped"),
    ):
        with pytest.raises(InputError, match=words) as refused:
            on_spark(spark, folder, out, plan, **options)
        assert "48." not in str(refused.value)
        assert not out.exists()
        assert not out.with_name("out.private").exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        on_spark(spark, source, out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_release_that_was_complete_and_half_in_place_is_finished_and_not_drawn_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.tracks.folders.spark.hadoop import HadoopFolder

    source, out = given(tmp_path / "in", 600), tmp_path / "out"
    genuine = HadoopFolder.move_from

    def dies(self: Any, *names: Any) -> None:
        genuine(self, *names)
        raise KeyboardInterrupt

    monkeypatch.setattr(HadoopFolder, "move_from", dies)
    with pytest.raises(KeyboardInterrupt):
        on_spark(spark, source, out)
    assert not (out / "_manifest.json").exists()
    assert (out / "part-00000.parquet").exists()
    kept = (out / "part-00000.parquet").read_bytes()
    monkeypatch.undo()
    with pytest.raises(InputError, match="not yet in place"):
        on_spark(spark, source, out, Plan(noise_m=200.0))
    on_spark(spark, source, out)
    assert (out / "part-00000.parquet").read_bytes() == kept
    protect_dataset(source, tmp_path / "local", PLAN, rng=5)
    assert_alike(tmp_path / "local", out)


CLI = "import sys; sys.path[:0] = [{source!r}]; from sfumato.cli import main; main()"


def command(source: Path, out: Path, *more: str) -> list[str]:
    told = [f"file://{source}", "-o", f"file://{out}", "--user-column", "user_id", "--noise", "100m", "--json", *more]
    return [sys.executable, "-c", CLI.format(source=SOURCE), "protect", *told, "--engine", "spark"]


def test_a_killed_driver_leaves_a_private_folder_that_the_next_start_replaces(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError)
    source, out = given(tmp_path / "in"), tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    words = command(source, out, "--master", "local[2]", "--seed", "5")
    first = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    private, end = tmp_path / "out.private", time.monotonic() + 300
    while not (private / "made").exists() and first.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert private.exists()
    assert private.stat().st_mode & 0o777 == 0o700
    assert not out.exists()
    again = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert again.returncode == 0, again.stderr[-2000:]
    assert json.loads(again.stdout)["released"] == 2_996
    protect_dataset(source, tmp_path / "local", PLAN, rng=5, reading=TableReading({"id": "user_id"}))
    assert_alike(tmp_path / "local", out)


def test_spark_submit_on_a_cluster_that_loses_an_executor_writes_the_same(tmp_path: Path) -> None:
    pyspark = pytest.importorskip(
        "pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError
    )
    source, out = given(tmp_path / "in"), tmp_path / "out"
    import sfumato.cli.tracks.protect as job

    home = Path(pyspark.__file__).parent
    submit = [str(home / "bin" / "spark-submit"), "--master", "local-cluster[2,1,1024]"]
    submit += ["--conf", "spark.ui.enabled=false", "--conf", f"spark.executorEnv.PYTHONPATH={SOURCE}", job.__file__]
    told = [f"file://{source}", "-o", f"file://{out}", "--user-column", "user_id", "--noise", "100m", "--seed", "5"]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    running = subprocess.Popen(
        [*submit, *told, "--json"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    private, hit = tmp_path / "out.private", []
    killer = threading.Thread(target=lambda: hit.append(kill_one(executors, (private / "made").exists)))
    killer.start()
    stdout, stderr = running.communicate()
    killer.join()
    assert running.returncode == 0, stderr[-2000:]
    assert len(hit) == 1
    assert json.loads(stdout)["released"] == 2_996
    protect_dataset(source, tmp_path / "local", PLAN, rng=5, reading=TableReading({"id": "user_id"}))
    assert_alike(tmp_path / "local", out)
