"""Protect one trace of a million points, Parquet to Parquet, against drawing as many normals as that consumes.

Prints the ratio (required: at most 10) and the peak memory of the protecting process (required: under 1 GB), for fresh
and for continuing noise. Run alone: ``python benchmarks/bench_protect.py [--quick]``.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MOST_RATIO, MOST_BYTES = 10.0, 1_000_000_000


def _make(path: str, points: int) -> None:
    from sfumato.base.things.traces import Trace
    from sfumato.tracks.io import write_trace

    rng = np.random.default_rng(0)
    steps = rng.normal(size=(points, 2)).cumsum(axis=0) * 1e-6
    write_trace(
        Trace(48.5 + 0.1 * np.sin(steps[:, 0]), 2.5 + 0.1 * np.sin(steps[:, 1]), 1.7e9 + np.arange(points)), path
    )


def _protect(source: str, target: str, continuing: bool, queue: multiprocessing.Queue) -> None:
    """The whole journey in a process of its own, so that its peak memory is its own."""
    from sfumato.base.things.traces import Trace
    from sfumato.tracks.certificates.state import NoiseState
    from sfumato.tracks.io import read_trace, write_trace
    from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
    from sfumato.tracks.people.door import protect

    state = NoiseState.fresh(709.08, shipped_ladder().to_dict()) if continuing else None
    options = {"noise_m": 709.08, "state": state}
    tiny = Trace([48.5, 48.5], [2.5, 2.5], [1.7e9, 1.7e9 + 1.5])
    with tempfile.TemporaryDirectory() as folder:  # compiled and imported outside the clock
        write_trace(protect(tiny, **options).release, Path(folder) / "tiny.parquet")
        read_trace(Path(folder) / "tiny.parquet")
    start = time.perf_counter()
    done = protect(read_trace(source), **options)
    write_trace(done.release, target)
    seconds = time.perf_counter() - start
    queue.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, done.certificate["points"]))


def _draw(points: int, queue: multiprocessing.Queue) -> None:
    """As many normals, from the same generator, in chunks."""
    from sfumato.base.randomness import randomness
    from sfumato.tracks.noise.multiscale.ladder import normals_per_time, shipped_ladder

    draw, width = randomness(), normals_per_time(shipped_ladder())
    draw.normals(1000)
    start = time.perf_counter()
    for first in range(0, points, 16384):
        draw.normals((min(16384, points - first), width))
    queue.put(time.perf_counter() - start)


def _in_process(function: object, *arguments: object) -> object:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=function, args=(*arguments, queue))  # type: ignore[arg-type]
    process.start()
    value = queue.get()
    process.join()
    return value


def main() -> int:
    points = 100_000 if "--quick" in sys.argv else 1_000_000
    results: dict[str, object] = {"points": points}
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "in.parquet")
        _make(source, points)
        normals = min(_in_process(_draw, points) for _ in range(2))  # type: ignore[type-var]
        results["seconds_drawing_normals"] = normals
        for name, continuing in (("fresh", False), ("continuing", True)):
            runs = [_in_process(_protect, source, str(Path(folder) / "out.parquet"), continuing) for _ in range(2)]
            seconds, peak, released = min(runs)  # type: ignore[type-var,misc]
            ratio = seconds / normals  # type: ignore[operator]
            good = ratio <= MOST_RATIO and peak < MOST_BYTES and released == points
            ok &= good
            results[name] = {"seconds": seconds, "ratio": ratio, "peak_bytes": peak, "ok": good}
            print(
                f"{name:<11} {points} points Parquet to Parquet: {seconds:.2f} s, {ratio:.2f} x drawing the normals "
                f"({normals:.2f} s; at most {MOST_RATIO:g}), peak {peak / 1e6:.0f} MB (under 1000): "
                f"{'ok' if good else 'MISSED'}"
            )
    print(json.dumps(results))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
