"""A killed Python worker and a killed executor change nothing; on local[2] and on a cluster of two machines' kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from spark_session import SOURCE

pytestmark = pytest.mark.spark
HELPERS = str(Path(__file__).resolve().parents[2] / "helpers")

# One process for each cluster: a session's master cannot be changed. The rows go through the engine, then through a
# step that says that it has begun and takes its time, so that the kill hits tasks that are under way.
CODE = """
import sys, threading, time
from pathlib import Path
sys.path[:0] = [{source!r}, {helpers!r}]
import spark_session as s
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.folders.spark.frames_on_spark import protect
marks = Path({marks!r})
def slow(batches, marks=str(marks)):
    import os, time, pyarrow
    open(f"{{marks}}/{{os.getpid()}}", "w").close()
    for batch in batches:
        time.sleep(0.5)
        yield batch
running = s.session({master!r})
frame = running.createDataFrame(s.table(40_000, 40)).repartition(6)
expected = protect_table(s.table(40_000, 40), s.PLAN, key=s.KEY)[0]
done = protect(frame, s.PLAN, key=s.KEY, groups=6).frame
slowly = done.mapInArrow(slow, done.schema)
for kind in {kinds!r}:
    for mark in marks.iterdir(): mark.unlink()
    hit, before = [], set(s.executors())
    killer = threading.Thread(target=lambda: hit.append(s.kill_one(getattr(s, kind), lambda: any(marks.iterdir()))))
    killer.start()
    out = slowly.toArrow()
    killer.join()
    s.assert_same(out, expected)
    print(kind, len(hit), len(before), flush=True)
running.stop()
"""


def run(master: str, kinds: list[str], marks: Path) -> list[list[str]]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: Spark was not tried", exc_type=ImportError)
    code = CODE.format(source=SOURCE, helpers=HELPERS, master=master, kinds=kinds, marks=str(marks))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1200, check=False)
    if "there is no Java" in done.stderr:
        pytest.skip("there is no Java: Spark was not tried")
    assert done.returncode == 0, done.stderr[-3000:]
    return [line.split() for line in done.stdout.splitlines() if line]


def test_a_killed_python_worker_changes_nothing(tmp_path: Path) -> None:
    assert run("local[2,8]", ["python_workers"], tmp_path) == [["python_workers", "1", "0"]]


def test_on_a_cluster_neither_a_killed_executor_nor_a_killed_python_worker_changes_anything(tmp_path: Path) -> None:
    found = run("local-cluster[2,1,1024]", ["executors", "python_workers"], tmp_path)
    assert [line[:2] for line in found] == [["executors", "1"], ["python_workers", "1"]]
    assert found[0][2] == "2", "both executors were there"
