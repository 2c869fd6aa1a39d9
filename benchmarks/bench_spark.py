"""Protect a dataset on Spark, against the local engine on the same files in the same run.

Prints wall and processor seconds of both after start-up (the JVM, its Python workers and the compiled loops are warmed
by a small dataset first), their ratios (asked: at most 8 on the clock), and checks that both released the same rows of
everybody. Needs pyspark and Java 17; without them it says so. Processor seconds are those of the driver, the JVM and
all Python workers. Run alone::

    python benchmarks/bench_spark.py            1e7 points, local[2]
    python benchmarks/bench_spark.py --quick    1e6
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "helpers")]

from needs import need  # noqa: E402

NEEDED = 8.0


def cpu_s(*roots: int) -> float:
    """Processor seconds of these processes (this one) and all that descend from them, those that ended included."""
    parents, spent = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            spent[int(entry.name)] = sum(map(int, fields[11:15]))
    inside = set(roots or (os.getpid(),))
    while more := {pid for pid, parent in parents.items() if parent in inside} - inside:
        inside |= more
    return sum(spent[pid] for pid in inside) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of processors."""
    wall, cpu = time.perf_counter(), cpu_s()
    work()
    return time.perf_counter() - wall, cpu_s() - cpu


def digest(folder: Path) -> dict[str, int]:
    """A number for each column, alike where the same rows are in the folder in whatever order."""
    table = ds.dataset(folder, format="parquet").to_table()
    sums = {"rows": table.num_rows, "people": len(table.column("user_id").unique())}
    for name in ("lat", "lon"):
        tenths = pc.cast(pc.round(pc.multiply(table.column(name), 1e9)), "int64")
        sums[name] = pc.sum(pc.multiply(tenths, pc.cast(table.column("user_id"), "int64"))).as_py()
    return sums


def main() -> int:
    """Both engines in one process; 1 where the ratio is missed or rows differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--points", type=float, default=None)
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    need("pyspark", "java")
    from spark_session import session

    from bench_dataset import make
    from sfumato.tracks.folders.rows.dataset_job import protect_dataset
    from sfumato.tracks.folders.spark.spark_job import protect_dataset_on_spark
    from sfumato.tracks.plan import Plan

    points, plan = int(asked.points or (1e6 if asked.quick else 1e7)), Plan(noise_m=500.0)
    spark = session(asked.master)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "tiny", 1000)
        make(folder / "in", points)
        protect_dataset(folder / "tiny", folder / "tiny.local", plan)
        for number in range(2):
            protect_dataset_on_spark(spark, str(folder / "tiny"), str(folder / f"tiny.{number}"), plan)
        first = timed(lambda: protect_dataset(folder / "in", folder / "one", plan, rng=1))
        on_spark = timed(lambda: protect_dataset_on_spark(spark, str(folder / "in"), str(folder / "two"), plan, rng=1))
        last = timed(lambda: protect_dataset(folder / "in", folder / "three", plan, rng=1))
        same = digest(folder / "one") == digest(folder / "two")
    spark.stop()
    (wall, cpu), (ours, spent) = ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2), on_spark
    good = ours / wall <= NEEDED and same
    print(
        f"{points:.0e} points on {asked.master}: Spark {ours:.1f} s on the clock, {spent:.1f} s of processors; local "
        f"{wall:.1f} s and {cpu:.1f} s: ratio {ours / wall:.2f} on the clock (asked: {NEEDED:g}), {spent / cpu:.2f} of "
        f"processors; {points / spent / 1e6:.2f} M points/s of a core on Spark; the same rows: {same}; "
        f"{'ok' if good else 'MISSED'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
