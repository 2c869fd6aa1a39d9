"""Protect a dataset, against copying it with pyarrow (the same files, the same codec) in the same process.

Prints processor seconds of both, their ratio (asked: at most 3, there or on the clock, where a busy machine counts
twice; --quick is too small to say), points per second of one core (asked: 1 M, 2 M on two) and the peak memory of the
job alone, asked to be flat; the verdict on the release, against reading its rows as tracks (asked: at most 2 at 1e7
points, else it exits 1; testing a few people's noise costs the same at any size); and, with ``--before CHECKOUT``,
``protect_table`` of 1e6 points here and there (asked: 4 times as fast). Rows are those of the cabs where ../shared has
them: as many fleets as it takes, dirt and repeated times included, one time after the other as a collector writes them,
so that everybody's rows lie in every file. Else, and with ``--made-up``, about one a minute of each person. Run alone::

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
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
CABS = HERE.parent.parent / "shared" / "data" / "cabspotting" / "cabspotting.parquet"
FILE_POINTS = 2_000_000
COPIES = 3.0
VERIFIED, ASKED_POINTS = 2.0, 9e6  # the verdict on 1e7 rows, in readings of them

TABLE = """
import time, numpy as np, pyarrow as pa
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.plan import Plan
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


def make(folder: Path, points: int, *, cabs: bool = False) -> None:
    """Files of two million rows each, people interleaved as a collector would write them."""
    folder.mkdir(parents=True)
    rows = from_cabs(points) if cabs else made_up(points)
    for number, table in enumerate(rows):
        pq.write_table(table, folder / f"{number:05d}.parquet", compression="snappy")


def made_up(points: int) -> Iterator[pa.Table]:
    """About one a minute of each person, coordinates of five decimals."""
    rng = np.random.default_rng(0)
    people = max(50, points // 20_000)
    for number in range(-(-points // FILE_POINTS)):
        count = min(FILE_POINTS, points - number * FILE_POINTS)
        row = number * FILE_POINTS + np.arange(count)
        times = 1_700_000_000 + row // people * 60 + rng.integers(0, 20, count)
        lat = np.round(37.7 + 0.05 * np.sin(row / 1e5) + 0.01 * rng.random(count), 5)
        lon = np.round(-122.4 + 0.05 * np.cos(row / 1e5) + 0.01 * rng.random(count), 5)
        names = pa.array([str(person) for person in range(people)])
        who = pa.DictionaryArray.from_arrays(pa.array(row % people), names).cast(pa.string())
        yield as_table(who, times, lat, lon)


def from_cabs(points: int) -> Iterator[pa.Table]:
    """The cabs' rows by time, of as many fleets as it takes: each file a stretch of time of all of them."""
    rows = pq.read_table(CABS, columns=["cab_id", "time", "lat_e6", "lon_e6"]).sort_by("time")
    fleets = max(1, round(points / rows.num_rows))
    files = max(1, round(fleets * rows.num_rows / FILE_POINTS))
    names = rows["cab_id"].combine_chunks().dictionary.to_pylist()
    everybody = pa.array([f"{name}-{fleet}" for fleet in range(fleets) for name in names])
    by_e6 = np.random.default_rng(0).integers(-10_000, 10_000, (fleets, 2))  # no two fleets drive the same positions
    edges = np.linspace(0, min(rows.num_rows, points), files + 1).astype(int)
    for first, end in pairwise(edges.tolist()):
        part = rows.slice(first, end - first)
        times_s = np.tile(part["time"].cast(pa.int64()).to_numpy() // 1000, fleets)
        order = np.argsort(times_s, kind="stable")
        cab = np.tile(part["cab_id"].combine_chunks().indices.to_numpy().astype(np.int64), fleets)[order]
        whose = cab + len(names) * np.repeat(np.arange(fleets), part.num_rows)[order]
        people = pa.DictionaryArray.from_arrays(pa.array(whose), everybody).cast(pa.string())
        fleet = np.repeat(np.arange(fleets), part.num_rows)
        lat, lon = (
            (np.tile(part[name].to_numpy(), fleets) + moved[fleet])[order] / 1e6
            for name, moved in (("lat_e6", by_e6[:, 0]), ("lon_e6", by_e6[:, 1]))
        )
        yield as_table(people, times_s[order], lat, lon)


def as_table(people: pa.Array, times_s: np.ndarray, lat_deg: np.ndarray, lon_deg: np.ndarray) -> pa.Table:
    """Columns as a collector has them."""
    times = pa.array(times_s).cast(pa.timestamp("s", "UTC"))
    return pa.table({"user_id": people, "time": times, "lat": lat_deg, "lon": lon_deg})


def copy(source: Path, target: Path) -> None:
    """What a person would write: every file read and written again with the same codec."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        pq.write_table(pq.read_table(path), target / path.name, compression="snappy")


def peak_bytes(*, forget: bool = False) -> int:
    """The most memory that this process has held, since it was last told to forget."""
    if forget and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if Path("/proc/self/status").exists():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(folder: Path) -> dict[str, float]:
    """Both in this process, the copy before and after; memory of the job alone."""
    from sfumato.tracks.folders.rows.dataset_job import protect_dataset
    from sfumato.tracks.plan import Plan

    points = sum(pq.read_metadata(path).num_rows for path in (folder / "in").iterdir())
    make(folder / "tiny", 1000)
    protect_dataset(folder / "tiny", folder / "tiny.out", Plan(noise_m=500.0))
    spent, held = [], []
    for work in (
        lambda: protect_dataset(folder / "in", folder / "out", Plan(noise_m=500.0)),
        lambda: copy(folder / "in", folder / "one"),
    ):
        before = peak_bytes(forget=True)
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        spent.append((time.perf_counter() - wall, time.process_time() - cpu))
        held.append((before, peak_bytes()))
    (wall, cpu), (copy_wall, copy_cpu) = spent
    return {
        "points": points,
        "copy_cpu_s": copy_cpu,
        "cpu_s": cpu,
        "ratio_cpu": cpu / copy_cpu,
        "ratio_wall": wall / copy_wall,
        "points_per_core_s": points / cpu,
        "points_per_s": points / wall,
        "before_bytes": held[0][0],
        "peak_bytes": held[0][1],
        "copy_peak_bytes": held[1][1],
        **verdict_s(folder / "out"),
    }


def verdict_s(release: Path) -> dict[str, float]:
    """Processor seconds of the verdict on a release, and of reading all its rows as tracks of people."""
    from sfumato.tracks.folders.verify_folder import judge_folder
    from sfumato.tracks.people.layout import Layout
    from sfumato.tracks.people.rows import read_rows

    begun = time.process_time()
    for path in sorted(release.glob("*.parquet")):
        table = pq.read_table(path)
        roles = {"id": "user_id", "time": "time", "lat": "lat", "lon": "lon"}
        list(read_rows(table, Layout.of(table.schema, columns=roles, zone="UTC", one_person=False)).traces())
    read_s, begun = time.process_time() - begun, time.process_time()
    found = judge_folder(release / "_certificate.json", release)
    if not found.unchanged:
        raise SystemExit("\n".join(found.lines()))
    return {"read_cpu_s": read_s, "verify_cpu_s": time.process_time() - begun}


def main() -> int:
    """One process for each size, so that its peak memory is its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--points", type=float, default=None)
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--made-up", action="store_true")
    parser.add_argument("--one", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=Path, default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make is not None:
        make(asked.make, int(asked.points), cabs=not asked.made_up and CABS.exists())
        return 0
    if asked.one is not None:
        print(json.dumps(measure(asked.one)))
        return 0
    sizes = [asked.points] if asked.points else [2e5, 1e6] if asked.quick else [1e6, 1e7]
    missed = False
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            again, flags = [sys.executable, __file__], ["--made-up"] if asked.made_up else []
            subprocess.run([*again, "--make", f"{name}/in", "--points", str(size), *flags], check=True)
            ran = subprocess.run([*again, "--one", name], stdout=subprocess.PIPE, text=True, check=True)
        got = json.loads(ran.stdout)
        print(
            f"dataset of {got['points']:.0e} points: {got['cpu_s']:.2f} s, copied in {got['copy_cpu_s']:.2f} s of "
            f"processor time: ratio {got['ratio_cpu']:.2f} (on the clock {got['ratio_wall']:.2f}); "
            f"{got['points_per_core_s'] / 1e6:.2f} M points/s of a core, {got['points_per_s'] / 1e6:.2f} M on the "
            f"clock; memory {got['before_bytes'] / 1e6:.0f} MB before, {got['peak_bytes'] / 1e6:.0f} MB at most "
            f"(the copy {got['copy_peak_bytes'] / 1e6:.0f} MB)"
        )
        missed |= min(got["ratio_cpu"], got["ratio_wall"]) > COPIES and not asked.quick
        ratio = got["verify_cpu_s"] / got["read_cpu_s"]
        print(
            f"verified in {got['verify_cpu_s']:.2f} s, read in {got['read_cpu_s']:.2f} s of processor time: ratio "
            f"{ratio:.2f} (asked at 1e7 points: at most {VERIFIED:g})"
        )
        missed |= ratio > VERIFIED and got["points"] >= ASKED_POINTS
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
    print("MISSED" if missed else "met")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
