"""Archives beside reading and writing the same files: hide at most 3 times as long, protect at most 2, flat memory.

Times are of the processor, so that a busy machine changes little; all in one process, one after another.

python benchmarks/bench_archives.py            1,000 rides of 5,000 points; 10,000 files of 50 points
python benchmarks/bench_archives.py --quick    a tenth of both
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.places_file import Places, place_at
from sfumato.tracks.plan import Plan

HOME = (48.8566, 2.3522)


def rides(folder: Path, count: int, points: int) -> list[Path]:
    """Loops that start and end at home, a fix a second."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for number in range(count):
        turn = np.cumsum(rng.normal(0, 0.02, points)) + rng.uniform(0, 7)
        path = np.cumsum(np.column_stack([np.cos(turn), np.sin(turn)]) * 6.0, axis=0)
        lat, lon = Around(*HOME).to_degrees(path)
        write_trace(Trace(lat, lon, 1.7e9 + 86400.0 * number + np.arange(points)), folder / f"{number:05}.gpx")
    return sorted(folder.iterdir())


def plain(files: list[Path], out: Path) -> None:
    """Read and write every file, and nothing else."""
    out.mkdir()
    for file in files:
        write_trace(read_trace(file), out / file.name)


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def peak_mib() -> float:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    share = 10 if "--quick" in sys.argv else 1
    places = Places.none().add(place_at("home", *HOME))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = rides(folder / "long", 1000 // share, 5000)
        few = folder / "few"
        few.mkdir()
        for file in long[: len(long) // 10]:
            shutil.copy(file, few)
        hide_archive([few], folder / "warm", places, blur=Plan(noise_m=30.0, prior_class="year"))
        before = peak_mib()
        base = seconds(lambda: plain(long, folder / "plain"))
        hidden = seconds(lambda: hide_archive([folder / "long"], folder / "hidden", places))
        grown = peak_mib() - before
        print(f"hide, {len(long)} rides of 5000 points: {hidden:.1f} s, {hidden / base:.2f} times reading and writing")
        print(f"  memory beyond that of {len(long) // 10} rides: {grown:.0f} MiB")
        blurred = seconds(
            lambda: hide_archive(
                [folder / "long"], folder / "blurred", places, blur=Plan(noise_m=30.0, prior_class="year")
            )
        )
        grown = peak_mib() - before
        print(f"hide --blur 30m, the same rides: {blurred:.1f} s, {blurred / base:.2f} times")
        print(f"  memory beyond that of {len(long) // 10} rides: {grown:.0f} MiB")
        for name in ("long", "hidden", "blurred", "plain", "warm"):
            shutil.rmtree(folder / name)
        short = rides(folder / "short", 10_000 // share, 50)
        met = hidden <= 3 * base and grown < 100
        base = seconds(lambda: plain(short, folder / "plain2"))
        noisy = seconds(lambda: protect_archive([folder / "short"], folder / "noisy", Plan(noise_m=30.0)))
        print(f"protect --noise, {len(short)} files of 50 points: {noisy:.1f} s, {noisy / base:.2f} times the same")
    return 0 if met and noisy <= 2 * base else 1


if __name__ == "__main__":
    sys.exit(main())
