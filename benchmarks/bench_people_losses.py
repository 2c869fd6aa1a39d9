"""What the distribution of people's losses costs of a dataset job: processor time of its steps, beside the whole job's.

    python benchmarks/bench_people_losses.py                      1e6 and 1e7 points of the cabs
    python benchmarks/bench_people_losses.py --people 2e5         1e6 points of so many people
    python benchmarks/bench_people_losses.py --quick              2e5 points

Asked: at most a twentieth. Rows are those of bench_dataset.py; run alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bench_dataset
from sfumato.tracks.folders.rows import dataset_job, people_notes
from sfumato.tracks.folders.rows.people_notes import Sample
from sfumato.tracks.plan import Plan

MOST = 0.05


def many(folder: Path, people: int, points: int) -> None:
    """Few points of each of many people."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    who = pa.array([f"user-{k:08d}" for k in range(people)]).take(pa.array(rng.integers(0, people, points)))
    where = 37.7 + 0.05 * rng.random(points), -122.4 + 0.05 * rng.random(points)
    pq.write_table(bench_dataset.as_table(who, 1_700_000_000 + np.arange(points), *where), folder / "a.parquet")


def measure(folder: Path) -> tuple[float, float, float]:
    """Seconds of the whole job (processor), of the steps in its threads (processor), and at its end (on the clock)."""
    spent = {"steps": 0.0, "end": 0.0}

    def timed(work: Callable, name: str, clock: Callable[[], float]) -> Callable:
        def wrapped(*given: object, **named: object) -> object:
            begun = clock()
            try:
                return work(*given, **named)
            finally:
                spent[name] += clock() - begun

        return wrapped

    with ExitStack() as patched:
        for kind, name in ((Sample, "add"), (Sample, "proposal")):
            patched.enter_context(patch.object(kind, name, timed(getattr(kind, name), "steps", time.thread_time)))
        end = timed(people_notes.losses_over_people, "end", time.process_time)
        patched.enter_context(patch.object(people_notes, "losses_over_people", end))
        begun, clock = time.process_time(), time.perf_counter()
        dataset_job.protect_dataset(folder, folder.with_name("out"), Plan(noise_m=500.0))
        whole, wall = time.process_time() - begun, time.perf_counter() - clock
    return whole, spent["steps"] + spent["end"], spent["end"] / wall


def main() -> int:
    """One size after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--people", type=float, default=None)
    asked = parser.parse_args()
    most = 0.0
    with tempfile.TemporaryDirectory() as name:
        bench_dataset.make(Path(name) / "tiny", 1000)
        dataset_job.protect_dataset(Path(name) / "tiny", Path(name) / "tiny.out", Plan(noise_m=500.0))
    for points in [2e5] if asked.quick else [1e6] if asked.people else [1e6, 1e7]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "in"
            if asked.people:
                many(folder, int(asked.people), int(points))
            else:
                bench_dataset.make(folder, int(points), cabs=bench_dataset.CABS.exists())
            whole, part, wall = measure(folder)
        most = max(most, part / whole)
        print(
            f"dataset of {points:.0e} points: {whole:.2f} s of processor time, {part:.3f} s of it for what people lose "
            f"at their own times: {part / whole:.1%}; the end of it {wall:.1%} of the time on the clock"
        )
    return 0 if most <= MOST or asked.quick else 1


if __name__ == "__main__":
    raise SystemExit(main())
