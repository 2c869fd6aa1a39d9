"""How much a job needs, from what was measured here on a core: a dataset, a Spark job, or a collector.

    python scripts/sizing.py --points 1e9 --cores 16                      a dataset on one machine
    python scripts/sizing.py --points 1e10 --cores 200 --engine spark     on Spark
    python scripts/sizing.py --devices 1e8 --cells 1e6 --cycles 30        a collector, one cycle a day

The figures per core are in ``benchmarks/sizing.json``, measured by ``python benchmarks/bench_sizing.py --write``, which
says at three sizes how far this lies off. It is a simulation of the steps as they are scheduled, not a formula: units
and buckets on cores one after the other; reports through the hours of a day into a queue. A machine twice as fast
halves the times; nothing here knows yours.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from collections.abc import Iterable
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "benchmarks" / "sizing.json"
PART_ROWS = 1 << 19  # as in datasets/job.py
MOST_CELLS, MOST_CELLS_WITH_INTERVALS = 65_536, 2_500
# Shares of a day's reports by hour: an app that asks when people move, twice as busy at eight and at five.
DAY = [1, 1, 1, 1, 1, 2, 4, 7, 8, 6, 5, 5, 6, 5, 5, 6, 7, 8, 7, 5, 4, 3, 2, 1]
Needs = dict[str, float]
Figures = dict[str, dict[str, float]]


def figures() -> Figures:
    """What was measured."""
    found: Figures = json.loads(FIGURES.read_text())["figures"]
    return found


def end_of(tasks_s: Iterable[float], cores: int) -> float:
    """When the last of these tasks is done, each begun on the core that is free first."""
    free = [0.0] * cores
    for task_s in tasks_s:
        heapq.heappush(free, heapq.heappop(free) + task_s)
    return max(free)


def dataset(points: float, cores: int, known: Figures, *, largest_person: float = 0) -> Needs:
    """A dataset on one machine: two passes over units and buckets of half a million rows."""
    one = known["dataset"]
    units = max(1, math.ceil(points / PART_ROWS))
    rows = points / units
    deal_s = rows * one["read_s_per_point"] + units * one["s_per_block"]  # a block for every bucket, in every unit
    part_s = rows * one["protect_s_per_point"] + units * one["s_per_block"]
    cpu_s = one["start_s"] + units * (deal_s + part_s)
    wall_s = one["start_s"] + end_of([deal_s] * units, cores) + end_of([part_s] * units, cores)
    held = min(cores, units) * rows + max(0.0, largest_person - rows)
    return {
        "core_s": cpu_s,
        "wall_s": wall_s,
        "memory_bytes": one["base_bytes"] + held * one["bytes_per_held_row"],
        "disk_bytes": points * (one["spill_bytes_per_point"] + one["out_bytes_per_point"]),
        "share_of_blocks": 2 * units * units * one["s_per_block"] / cpu_s,
    }


def spark(points: float, cores: int, known: Figures, *, largest_person: float = 0) -> Needs:
    """A Spark job: what it costs to begin, tasks of half a million rows, and the task that has the largest person."""
    one = known["spark"]
    tasks = max(1, math.ceil(points / PART_ROWS))
    rows = points / tasks
    task_s = rows * one["s_per_point"]
    longest_s = max(0.0, largest_person - rows) * one["s_per_point"]
    wall_s = one["start_s"] + end_of([longest_s + task_s, *[task_s] * (tasks - 1)], cores)
    return {
        "core_s": one["start_s"] + points * one["s_per_point"],
        "wall_s": wall_s,
        "worker_memory_bytes": 200.0 * (rows + largest_person),
    }


def collector(devices: float, cells: float, known: Figures, *, cycles: int = 30, cores: int = 1, store: str) -> Needs:
    """A collector for one cycle a day: the hours of a day into a queue, the channel to everybody, and the closing."""
    one = known[f"collector on {store}"]
    campaigns = math.ceil(cells / MOST_CELLS)
    each = cells / campaigns
    capacity_per_s = cores / one["s_per_report"]
    waiting, most_waiting, worst_s = 0.0, 0.0, 0.0
    for share in DAY:
        for _ in range(60):  # minutes
            waiting = max(0.0, waiting + devices * share / sum(DAY) / 60 - 60 * capacity_per_s)
            most_waiting = max(most_waiting, waiting)
            worst_s = max(worst_s, waiting / capacity_per_s)
    peak_per_s = devices * max(DAY) / sum(DAY) / 3600
    channel_bytes = each * one["channel_bytes_per_cell"]
    closing_s = campaigns * closing(each, known)
    return {
        "campaigns": campaigns,
        "peak_reports_per_s": peak_per_s,
        "cores_at_peak": peak_per_s * one["s_per_report"],
        "waiting_at_worst": most_waiting,
        "waiting_at_worst_s": worst_s,
        "core_s_a_day": devices * one["s_per_report"] + closing_s,
        "closing_core_s": closing_s,
        "disk_bytes": devices * one["disk_bytes_per_report"] + cycles * cells * one["kept_bytes_per_cell"],
        "reports_bandwidth_bytes_per_s": peak_per_s * one["wire_bytes_per_report"],
        "channel_bytes": channel_bytes,
        "channels_bandwidth_bytes_per_s": peak_per_s * channel_bytes,
    }


def closing(cells: float, known: Figures) -> float:
    """Core seconds to close a cycle: a map alone above 2,500 cells; with intervals, the most that was seen."""
    one = known["closing"]
    if cells <= MOST_CELLS_WITH_INTERVALS:
        return one["most_s_with_intervals"]
    return one["start_s"] + cells * one["s_per_cell"]


def spoken(name: str, value: float) -> str:
    """A number with its unit, in three digits."""
    if name.endswith("bytes_per_s"):
        return f"{value / 1e6:.3g} MB/s"
    if "bytes" in name:
        return f"{value / 1e9:.3g} GB"
    if (name.endswith("_s") and "per_s" not in name) or name.endswith("core_s_a_day"):
        return (
            f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} min" if value < 36_000 else f"{value / 3600:.3g} h"
        )
    return f"{value:.3g}"


def advice(needs: Needs, asked: argparse.Namespace) -> list[str]:
    """Where it stops scaling, and what to do then."""
    out = []
    if needs.get("share_of_blocks", 0) > 0.3:
        out.append(f"{needs['share_of_blocks']:.0%} goes into small blocks: split the dataset by person, or use Spark.")
    if needs.get("memory_bytes", 0) > 1.6e10:
        out.append("More memory than 16 GB: use fewer cores, or Spark where one person is that large.")
    if needs.get("worker_memory_bytes", 0) > 2e9:
        out.append("One person does not fit into a worker of 2 GB: raise spark.executor.pyspark.memory.")
    if needs.get("campaigns", 1) > 1:
        out.append(f"Devices accept at most {MOST_CELLS} cells: {needs['campaigns']:g} campaigns, each its own region.")
    if asked.devices and asked.cells / needs["campaigns"] > MOST_CELLS_WITH_INTERVALS:
        out.append(f"Above {MOST_CELLS_WITH_INTERVALS} cells no intervals are published.")
    if needs.get("cores_at_peak", 0) > 0.7 * asked.cores:
        out.append(
            f"{asked.cores} core(s) are too few at the peak: {math.ceil(needs['cores_at_peak'] / 0.7)} serving "
            "processes on PostgreSQL, or reports spread over the day."
        )
    if needs.get("channels_bandwidth_bytes_per_s", 0) > 1e8:
        out.append("The channel weighs more than the reports: it is signed and public, so a cache (CDN) may serve it.")
    if needs.get("disk_bytes", 0) > 1e11:
        out.append("More than 100 GB on disk.")
    return out


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=float, help="Rows of a dataset.")
    parser.add_argument("--largest-person", type=float, default=0, help="Rows of the person who has most.")
    parser.add_argument("--engine", choices=["local", "spark"], default="local")
    parser.add_argument("--devices", type=float, help="Devices that report once a day.")
    parser.add_argument("--cells", type=float, default=2500)
    parser.add_argument("--cycles", type=int, default=30)
    parser.add_argument("--store", choices=["SQLite", "PostgreSQL"], default="PostgreSQL")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if (asked.points is None) == (asked.devices is None):
        parser.error("give --points or --devices")
    if min(asked.points or 1, asked.devices or 1, asked.cells, asked.cores) < 1:
        parser.error("sizes are at least 1")
    known = figures()
    if asked.points is not None:
        job = dataset if asked.engine == "local" else spark
        needs = job(asked.points, asked.cores, known, largest_person=asked.largest_person)
    else:
        needs = collector(asked.devices, asked.cells, known, cycles=asked.cycles, cores=asked.cores, store=asked.store)
    if asked.json:
        print(json.dumps({"needs": needs, "advice": advice(needs, asked)}))
        return 0
    for name, value in needs.items():
        print(f"{name.replace('_', ' '):<32} {spoken(name, value)}")
    for line in advice(needs, asked):
        print(f"! {line}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
