"""Run every benchmark in this folder, one after the other, and end with a table of what was met, missed and left out.

    python benchmarks/run.py [--quick] [NAME ...]      all, or bench_NAME only; --quick: small sizes, for a weekly look

A benchmark ends with 0 where its ratios were met, 1 where one was missed and 77 where something that it needs is not
there (:mod:`needs` names it). Anything else is a failure of the benchmark itself. Exit status 1 unless all were met.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from needs import LEFT_OUT

WORDS = {0: "met", 1: "MISSED", LEFT_OUT: "left out"}
BROKEN = -1


@dataclass(frozen=True, slots=True)
class Ran:
    """One benchmark: its name, how it ended, how long it took, and the lines that say what was missed or left out."""

    name: str
    status: int
    seconds: float
    said: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing was missed."""
        return self.status in (0, LEFT_OUT)

    def line(self) -> str:
        """A row of the summary."""
        result = WORDS.get(self.status, "FAILED")
        rows = [f"{self.name:<22} {result:<12} {self.seconds:>8.0f} s", *(f"    {line}" for line in self.said)]
        return "\n".join(rows)


def run(path: Path, arguments: list[str]) -> Ran:
    """Run one benchmark, its output shown as it comes."""
    began, lines = time.perf_counter(), list[str]()
    command = [sys.executable, "-u", str(path), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
    fell = process.returncode == 1 and any(line.startswith("Traceback") for line in lines)
    status = BROKEN if fell else process.returncode
    telling = [line for line in lines if "MISSED" in line or "left out" in line or line.startswith("missed: ")]
    said = telling if status in WORDS and (telling or not status) else lines[-1:]
    return Ran(path.stem, status, time.perf_counter() - began, tuple(said[:6]))


def main(folder: Path, arguments: list[str]) -> int:
    """Run ``bench_*.py`` and print the table."""
    names = [name.removeprefix("bench_") for name in arguments if not name.startswith("-")]
    options = [one for one in arguments if one.startswith("-")]
    paths = [path for path in sorted(folder.glob("bench_*.py")) if not names or path.stem[6:] in names]
    done = []
    for path in paths:
        print(f"\n=== {path.stem}", flush=True)
        done.append(run(path, options))
    print("\n=== summary")
    for one in done:
        print(one.line())
    bad = [one.name for one in done if not one.good]
    verdict = f"not met: {', '.join(bad)}" if bad else "every one met its ratio"
    print(f"{len(done)} benchmarks in {sum(one.seconds for one in done):.0f} s: {verdict}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(__file__).parent, sys.argv[1:]))
