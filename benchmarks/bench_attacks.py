"""The default attacks on 100 people of 1e5 points, through the command: processor time, memory, progress.

    python benchmarks/bench_attacks.py [--quick] [--format parquet|csv] [--attacks all]

People live and work in a town, a point every 26 s of a month, rows person after person and by time (shuffled people);
the release is another tool's, independent noise of 300 m. Required: 600 s of processor time, 1 GB, and a bar.
``--quick``: 20 people, 120 s, .7 GB (importing alone takes .3).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

POINTS, EVERY_S, NOISE_M, CENTRE = 100_000, 26.0, 300.0, (48.2, 16.37)
COMMAND = [sys.executable, "-c", "from sfumato.cli import app; app()"]


def town(people: int, noise_m: float, *, by_time: bool) -> pa.Table:
    """Everybody's month in one table, with independent noise."""
    rng, times = np.random.default_rng(0), np.arange(POINTS) * EVERY_S
    hour = times / 3600.0 % 24.0
    share = np.interp(hour, [0, 7.5, 8.5, 17, 18, 24], [0, 0, 1, 1, 0, 0])[:, None]
    parts = []
    for number in range(people):
        home, work = rng.normal(0, 5000, (2, 2))
        where = home + (work - home) * share + rng.normal(0, np.hypot(5.0, noise_m), (POINTS, 2))
        lat = CENTRE[0] + where[:, 1] / 111_195.0
        lon = CENTRE[1] + where[:, 0] / (111_195.0 * np.cos(np.radians(CENTRE[0])))
        moments = pa.array(((1.7e9 + times) * 1e6).astype(np.int64)).cast(pa.timestamp("us", tz="UTC"))
        columns = {"id": pa.array([f"person{number}"] * POINTS), "lat": lat, "lon": lon, "time": moments}
        parts.append(pa.table(columns))
    table = pa.concat_tables(parts)
    return table.take(np.arange(table.num_rows).reshape(people, POINTS).T.ravel()) if by_time else table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--attacks", default="all")
    asked = parser.parse_args()
    people, most_s, most_gb = (20, 120.0, 0.7) if asked.quick else (100, 600.0, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.{asked.format}" for name in ("original", "release")]
        for path, noise_m in zip(paths, (0.0, NOISE_M), strict=True):
            made = os.fork()  # what making a table takes is not the command's
            if not made:
                table = town(people, noise_m, by_time=path is paths[1])
                pq.write_table(table, path) if asked.format == "parquet" else pc.write_csv(table, path)
                os._exit(0)
            os.waitpid(made, 0)
        began = time.perf_counter()
        command = [*COMMAND, "audit", *map(str, paths), "--attacks", asked.attacks]
        done = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = done.stdout.read() if done.stdout else ""
        _, status, used = os.wait4(done.pid, 0)
    seconds, memory_gb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    print(said.splitlines()[1] if status == 0 else said)
    print(
        f"{people} people of {POINTS} points, {asked.format}: {seconds:.0f} s of processor time ({most_s:.0f} "
        f"allowed), {time.perf_counter() - began:.0f} s in all, {memory_gb:.2f} GB ({most_gb} allowed)"
    )
    good = status == 0 and seconds <= most_s and memory_gb <= most_gb
    print("met" if good else "missed: time, memory or the command")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
