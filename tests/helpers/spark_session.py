"""Spark as the tests start it, rows to give it, and real kills of its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tracks.plan import Plan

PLAN, KEY = Plan(noise_m=100.0), bytes(range(32))
SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def session(master: str) -> Any:
    pytest.importorskip("pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError)
    if shutil.which("java") is None:
        pytest.skip("there is no Java: Spark was not tried")
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault(
        "SPARK_HOME", str(Path(pyspark.__file__).parent)
    )  # local-cluster starts its workers from there
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


def processes() -> list[tuple[int, int, str]]:
    """Process, parent and command line of all that run."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=False).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [(int(line[0]), int(line[1]), line[2]) for line in lines if len(line) == 3]


def below(root: int, found: list[tuple[int, int, str]]) -> set[int]:
    """All processes that descend from one."""
    inside = {root}
    while more := {pid for pid, parent, _ in found if parent in inside} - inside:
        inside |= more
    return inside


def python_workers() -> list[int]:
    """This very process's Spark workers in Python (children of its daemons)."""
    found = processes()
    mine = below(os.getpid(), found)
    daemons = {pid for pid, _, text in found if pid in mine and "pyspark.daemon" in text}
    return [pid for pid, parent, text in found if parent in daemons and "pyspark.daemon" in text]


def executors() -> list[int]:
    """This very process's executors of a local cluster."""
    found = processes()
    mine = below(os.getpid(), found)
    running = {pid: parent for pid, parent, text in found if pid in mine and "CoarseGrainedExecutorBackend" in text}
    return [pid for pid, parent in running.items() if parent not in running]  # not what one is about to start


def kill_one(which: Callable[[], list[int]], after: Callable[[], bool], seconds: float = 300.0) -> int:
    """Kill one such process once ``after`` says that work has begun; its number."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if after() and (found := which()):
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself: the next one
                os.kill(found[0], signal.SIGKILL)
                return found[0]
        time.sleep(0.1)
    raise AssertionError("nothing was there to be killed")
