"""Protect a dataset, against copying it with pyarrow (the same files, the same codec) in the same process.

Prints processor seconds of both, their ratio (asked: at most 3), points per second of one core (asked: 1 M, 2 M on two)
and the peak memory at two sizes; and, with ``--before CHECKOUT``, ``protect_table`` of 1e6 points here and there
(asked: 4 times as fast). Rows are made up: about one a minute of each person, people interleaved as a collector writes
them, coordinates of five decimals as the cabs have them. Run alone::

    python benchmarks/bench_dataset.py                      1e6 and 1e7 points
    python benchmarks/bench_dataset.py --points 1e8         once, 10 GB of disk
    git worktree add ../before f1cbff0; python benchmarks/bench_dataset.py --quick --before ../before
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
FILE_POINTS = 2_000_000

TABLE = """
import time, numpy as np, pyarrow as pa
from sfumato.engines.local import protect_table
from sfumato.plan import Plan
def made(points):
    rng = np.random.default_rng(0)
    step = 60 * np.arange(points // 100)
    return pa.table({"user_id": np.repeat(np.arange(100), points // 100).astype(str),
        "time": pa.array(1_700_000_000 + np.tile(step, 100)).cast(pa.timestamp("s", "UTC")),
        "lat": 37.7 + 0.05 * rng.random(points), "lon": -122.4 + 0.05 * rng.random(points)})
protect_table(made(1000), Plan(noise_m=500.0))
table, best = made(1_000_000), 1e9
for _ in range(3):
    begun = time.process_time()
    protect_table(table, Plan(noise_m=500.0))
    best = min(best, time.process_time() - begun)
print(best)
"""


def make(folder: Path, points: int) -> None:
    """Files of two million rows each, people interleaved as a collector would write them."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    people = max(50, points // 20_000)
    for number in range(-(-points // FILE_POINTS)):
        count = min(FILE_POINTS, points - number * FILE_POINTS)
        row = number * FILE_POINTS + np.arange(count)
        table = pa.table(
            {
                "user_id": pa.array((row % people).astype(str)),
                "time": pa.array(1_700_000_000 + row // people * 60 + rng.integers(0, 20, count)).cast(
                    pa.timestamp("s", "UTC")
                ),
                "lat": np.round(37.7 + 0.05 * np.sin(row / 1e5) + 0.01 * rng.random(count), 5),
                "lon": np.round(-122.4 + 0.05 * np.cos(row / 1e5) + 0.01 * rng.random(count), 5),
            }
        )
        pq.write_table(table, folder / f"{number:05d}.parquet", compression="snappy")


def copy(source: Path, target: Path) -> None:
    """What a person would write: every file read and written again with the same codec."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        pq.write_table(pq.read_table(path), target / path.name, compression="snappy")


def measure(points: int) -> dict[str, float]:
    """Both in this process, the copy before and after."""
    from sfumato.datasets.protecting import protect_dataset
    from sfumato.plan import Plan

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "tiny", 1000)
        make(folder / "in", points)
        protect_dataset(folder / "tiny", folder / "tiny.out", Plan(noise_m=500.0))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        spent = []
        for work in (
            lambda: copy(folder / "in", folder / "one"),
            lambda: protect_dataset(folder / "in", folder / "out", Plan(noise_m=500.0)),
            lambda: copy(folder / "in", folder / "two"),
        ):
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            spent.append((time.perf_counter() - wall, time.process_time() - cpu))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (first_wall, first), (wall, cpu), (last_wall, last) = spent
    return {
        "points": points,
        "copy_cpu_s": (first + last) / 2,
        "cpu_s": cpu,
        "ratio_cpu": 2 * cpu / (first + last),
        "ratio_wall": 2 * wall / (first_wall + last_wall),
        "points_per_core_s": points / cpu,
        "points_per_s": points / wall,
        "peak_bytes": peak,
        "grown_bytes": peak - before,
    }


def main() -> int:
    """One process for each size, so that its peak memory is its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--points", type=float, default=None)
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--one", type=float, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one is not None:
        print(json.dumps(measure(int(asked.one))))
        return 0
    sizes = [asked.points] if asked.points else [2e5, 1e6] if asked.quick else [1e6, 1e7]
    for size in sizes:
        ran = subprocess.run(
            [sys.executable, __file__, "--one", str(size)], stdout=subprocess.PIPE, text=True, check=True
        )
        got = json.loads(ran.stdout)
        print(
            f"dataset of {got['points']:.0e} points: {got['cpu_s']:.2f} s, copied in {got['copy_cpu_s']:.2f} s of "
            f"processor time: ratio {got['ratio_cpu']:.2f} (on the clock {got['ratio_wall']:.2f}); "
            f"{got['points_per_core_s'] / 1e6:.2f} M points/s of a core, "
            f"{got['points_per_s'] / 1e6:.2f} M on the clock, peak {got['peak_bytes'] / 1e6:.0f} MB"
        )
    if asked.before is not None:
        spent = []
        for root in (HERE.parent, asked.before.resolve()):
            environment = {**os.environ, "PYTHONPATH": str(root / "src")}
            ran = subprocess.run(
                [sys.executable, "-c", TABLE], env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            spent.append(float(ran.stdout))
        print(
            f"protect_table of 1e6 points: {spent[0]:.2f} s, before {spent[1]:.2f} s: {spent[1] / spent[0]:.1f} times"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
