"""What readers of the dashboard cost those who report: p99 of reports with 10 connections of readers and without.

    python benchmarks/bench_readers.py [--quick]

One collector on SQLite, a campaign of 2,450 cells with a closed cycle. wrk sends prepared reports over 16 connections,
by itself and while a second wrk reads ``dashboard.json``, the dashboard and a page of the map as fast as 10 connections
can. Rounds alternate; the median of nine ratios counts, and must not pass 2.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "helpers")]

import httpx  # noqa: E402
import numpy as np  # noqa: E402
from collector_harness import CollectorProcess, close, create, fill  # noqa: E402

from bench_service import verdict, write_bodies, wrk  # noqa: E402
from needs import need  # noqa: E402

ALLOWED = 2.0
READERS, REPORTERS, ROUNDS, CYCLES = 10, 16, 9, 1
GRID = {"south": 48.8, "west": 2.2, "north": 48.8 + 48.5 * 500 / 111_194, "east": 2.2 + 49.5 * 500 / 73_200}
LUA = """
local addresses = {"/campaigns/bench/dashboard.json", "/campaigns/bench/dashboard", "/campaigns/bench/maps/1/1.json"}
local count = 0
request = function()
  count = count + 1
  return wrk.format("GET", addresses[count % 3 + 1], {["Accept-Encoding"] = "gzip"})
end
"""


def main() -> int:
    """Run, print, and return 1 if readers cost too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Shorter rounds.")
    seconds = 2 if parser.parse_args().quick else 4
    need("wrk")
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/bench.db"
        with CollectorProcess(database, requests_per_minute_per_address=0, late_reports_s=0) as collector:
            return readers_cost(collector, database, Path(folder), seconds)


def readers_cost(collector: CollectorProcess, database: str, folder: Path, seconds: int) -> int:
    """The rounds and their verdict."""
    collector.visitor.timeout = httpx.Timeout(300)
    create(collector.visitor, "bench", grid={**GRID, "cell_size_m": 500.0}, minimum_tickets=1, promise="epsilon")
    rng = np.random.default_rng(0)
    for cycle in range(1, CYCLES + 1):
        fill(database, rng.integers(0, 2_400, 2_000), "bench", cycle=cycle)
        close(collector.visitor, "bench")
    script = folder / "readers.lua"
    script.write_text(LUA)
    alone, watched, looks = [], [], []
    for number in range(ROUNDS):
        for with_readers in (False, True) if number % 2 == 0 else (True, False):
            write_bodies(folder / "bodies", collector, count=9_000 * seconds, cycle=CYCLES + 1)
            reading = start_readers(collector, script, seconds + 2) if with_readers else None
            result = wrk(
                collector, "/api/v1/campaigns/bench/reports", folder / "bodies", seconds, connections=REPORTERS
            )
            assert result["failed"] == 0, result
            (watched if with_readers else alone).append(result["p99_ms"])
            if reading is not None:
                looks.append(looks_per_s(reading))
    ratios = [after / before for after, before in zip(watched, alone, strict=True)]
    ratio = statistics.median(ratios)
    print(
        f"p99 of a report: {statistics.median(alone):.1f} ms alone, {statistics.median(watched):.1f} ms with {READERS} "
        f"connections of readers ({statistics.median(looks):.0f} looks/s); ratio {ratio:.2f} "
        f"({', '.join(f'{one:.2f}' for one in sorted(ratios))}), allowed {ALLOWED:.0f}: {verdict(ratio <= ALLOWED)}"
    )
    return 0 if ratio <= ALLOWED else 1


def start_readers(collector: CollectorProcess, script: Path, seconds: int) -> subprocess.Popen[str]:
    """Ten connections that read as fast as they can."""
    command = ["wrk", "-t", "1", "-c", str(READERS), "-d", f"{seconds}s", "--timeout", "10s", "-s", str(script)]
    return subprocess.Popen([*command, collector.url], stdout=subprocess.PIPE, text=True)


def looks_per_s(reading: subprocess.Popen[str]) -> float:
    """How many answers a second the readers got; every one of them good."""
    text = reading.communicate()[0]
    assert "Non-2xx" not in text, text
    line = next(line for line in text.splitlines() if line.startswith("Requests/sec"))
    return float(line.split()[1])


if __name__ == "__main__":
    raise SystemExit(main())
