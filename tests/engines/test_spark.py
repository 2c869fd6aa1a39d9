"""Spark's release is the local engine's, byte for byte, and stays so when workers and executors are killed."""

from __future__ import annotations

import os
import shutil
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
import pyarrow.parquet as pq
import pytest

from sfumato.engines.local import protect_table
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import uniform_channel
from sfumato.plan import Plan

pytestmark = pytest.mark.spark
PLAN, KEY = Plan(noise_m=100.0), bytes(range(32))
SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def session(master: str) -> Any:
    pytest.importorskip("pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError)
    if shutil.which("java") is None:
        pytest.skip("there is no Java: Spark was not tried")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.executorEnv.PYTHONPATH": SOURCE,
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(master).appName("sfumato tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    running = session("local[2]")
    yield running
    running.stop()


def table(rows: int = 4_000, people: int = 23) -> pa.Table:
    rng = np.random.default_rng(15)
    return pa.table(
        {
            "user_id": [f"u{i}" for i in rng.integers(0, people, rows)],
            "lat": 48.5 + 0.1 * rng.random(rows),
            "lon": 2.3 + 0.1 * rng.random(rows),
            "time": pa.array(1_700_000_000_000_000 + np.arange(rows) * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
            "speed": rng.random(rows),
        }
    )


def by_person(released: pa.Table) -> pa.Table:
    return released.sort_by([("user_id", "ascending"), ("time", "ascending")])


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    a, b = by_person(found), by_person(expected)
    assert a.column_names == b.column_names == ["user_id", "lat", "lon", "time"]
    assert a.column("user_id").to_pylist() == b.column("user_id").to_pylist()
    for name in ("lat", "lon"):
        assert np.array_equal(a.column(name).to_numpy().view(np.int64), b.column(name).to_numpy().view(np.int64))


def test_the_release_is_the_local_engines_bit_for_bit_and_so_is_what_is_certified(spark: Any, tmp_path: Path) -> None:
    from sfumato.engines.spark import protect

    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=700)
    given = spark.read.parquet(str(tmp_path / "in.parquet"))
    done = protect(given, PLAN, key=KEY)
    local, certificate = protect_table(table(), PLAN, key=KEY)
    assert_same(done.frame.toArrow(), local)
    assert_same(protect(given.repartition(7), PLAN, key=KEY, groups=11).frame.toArrow(), local)
    said = done.certificate()
    assert (said["people"], said["points"]) == (certificate["people"], certificate["points"])
    assert said["worst_loss"] == certificate["worst_loss"]
    assert done.rejects.count() == 0
    assert KEY.hex() not in repr(done) + repr(done._group)


def test_bad_rows_are_in_the_rejects_with_their_reasons_and_two_spellings_are_refused(spark: Any) -> None:
    from sfumato.engines.spark import protect

    good = table(60, 3)
    rows = good.to_pylist()
    rows[3]["lat"], rows[9]["user_id"], rows[20]["lat"] = float("nan"), None, 400.0
    rows.append({**rows[0], "lat": 48.9})
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=good.schema)).coalesce(1)
    done = protect(frame, PLAN, key=KEY)
    kept, left = done.frame.count(), done.rejects.groupBy("reason").count().collect()
    assert kept == 57
    assert sum(row["count"] for row in left) == 4
    assert len(left) >= 3
    spelled = [{**rows[0], "user_id": "U1 "}, {**rows[5], "user_id": "u1"}]
    with pytest.raises(InputError, match="Two ids are the same"):
        protect(spark.createDataFrame(pa.Table.from_pylist(spelled, schema=good.schema)), PLAN)
    with pytest.raises(InputError, match="whose each row is"):
        protect(frame.withColumnRenamed("user_id", "colour"), PLAN)


def test_tallies_heat_maps_and_audits_are_sums_that_spark_makes(spark: Any) -> None:
    from sfumato.engines.spark import protect
    from sfumato.engines.spark_sums import heat_map, offsets, tally

    given = table()
    frame = spark.createDataFrame(given)
    grid = Grid.from_bounds(48.45, 2.25, 48.65, 2.45, shape=(9, 7))
    expected = np.bincount(
        grid.locate(given.column("lat").to_numpy(), given.column("lon").to_numpy()), minlength=grid.cells
    )
    np.testing.assert_array_equal(heat_map(frame, grid), expected)
    channel = uniform_channel(grid, 0.001)
    reports = np.random.default_rng(3).integers(0, grid.cells, 500)
    counted = tally(spark.createDataFrame(pa.table({"cell": reports})), channel)
    np.testing.assert_array_equal(counted.counts, np.bincount(reports, minlength=grid.cells))
    with pytest.raises(InputError):
        tally(spark.createDataFrame(pa.table({"cell": [0, grid.cells]})), channel)
    found = offsets(frame, protect(frame, PLAN, key=KEY).frame, person="user_id")
    assert (found.people, found.points) == (23, 4_000)
    assert 60 < found.rms_east_m < 140
    assert found.least_moved_m > 10


def killed_python_workers(stop: threading.Event, killed: list[int]) -> None:
    """Kill up to three Python workers of this very process's Spark, one at a time."""
    while not stop.is_set() and len(killed) < 3:
        listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=False).stdout
        lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
        daemons = {line[0] for line in lines if "pyspark.daemon" in line[2] and sys.executable in line[2]}
        for pid, parent, text in lines:
            if parent in daemons and "pyspark.daemon" in text and int(pid) not in killed:
                os.kill(int(pid), signal.SIGKILL)
                killed.append(int(pid))
                break
        time.sleep(0.3)


def test_killed_python_workers_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError)
    code = f"""
import sys, threading
sys.path[:0] = [{SOURCE!r}, {str(Path(__file__).parent)!r}]
import test_spark as t
from sfumato.engines.spark import protect
running = t.session("local[2,8]")
frame = running.createDataFrame(t.table(40_000, 40)).repartition(8)
done = protect(frame, t.PLAN, key=t.KEY, groups=12)
stop, killed = threading.Event(), []
thread = threading.Thread(target=t.killed_python_workers, args=(stop, killed)); thread.start()
out = done.frame.toArrow(); stop.set(); thread.join()
t.assert_same(out, t.protect_table(t.table(40_000, 40), t.PLAN, key=t.KEY)[0])
print("killed", len(killed)); running.stop()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout.split("killed")[1]) >= 1
