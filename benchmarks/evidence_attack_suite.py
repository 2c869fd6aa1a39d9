"""The attack suite on real people: the matrix of docs/evidence/attacks.md, and the numbers it must show.

    python benchmarks/evidence_attack_suite.py [--world geolife|cabs] [--people 100] [--quick] [--write]

Reads ../shared/data. Mechanism × attacker at 50, 150, 500 and 709 m RMS (``--quick``: 150 and 709 m, 30 people), two
processes, a workplace known to those who ask. ``--write`` renews docs/evidence/attack_matrix.csv, from which the pages
of attackers are made. Exits non-zero when a number that is asked for is missed, or a verdict no longer holds.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.things.traces import Trace
from sfumato.cli.tracks.attacks.compare_mechanisms import lines_of
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.attacks.compare import CompareAsked, ComparedMechanism, compare_mechanisms, on_frontier
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import attackers_named
from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases
from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.globe import Around

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MATRIX = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "attack_matrix.csv"
MOST_POINTS, MATRIX_POINTS, FEWEST_POINTS = 20_000, 5_000, 300
DAY_S = 86400.0


def people_of(world: str, most: int, points: int = MOST_POINTS) -> list[tuple[str, Trace]]:
    """People with at least 300 points, their first so many; a cab's rides are its days."""
    name, who = ("geolife/geolife_traces", "user_id") if world == "geolife" else ("cabspotting/cabspotting", "cab_id")
    table = pq.read_table(SHARED / f"{name}.parquet").to_pandas()
    who = who if who in table else table.columns[0]
    out = []
    for person, rows in table.groupby(who):
        rows = rows[(rows.lat_e6.abs() < 89e6) & (rows.lon_e6.abs() < 180e6)]
        rows = rows.sort_values("time", kind="stable").drop_duplicates("time").iloc[:points]
        if len(rows) < FEWEST_POINTS:
            continue
        times = rows.time.dt.tz_localize(None).to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000.0
        out.append((str(person), Trace(rows.lat_e6.to_numpy() / 1e6, rows.lon_e6.to_numpy() / 1e6, times)))
    return out[:most]


def averaging(people: list[tuple[str, Trace]]) -> float:
    """Homes found within 200 m from 50 visits, each with independent noise of 500 m drawn anew."""
    rng, pairs = np.random.default_rng(0), []
    for name, trace in people:
        homes = [one for one in find_places(trace) if one.label == "home"]
        if not homes:
            continue
        around = Around(homes[0].lat_deg, homes[0].lon_deg)
        # 50 nights at home, one look a night at 2 by the sun
        times = 1.7e9 - 1.7e9 % DAY_S + (2.0 - homes[0].lon_deg / 15.0) * 3600.0 + DAY_S * np.arange(50)
        nights = [around.to_degrees(rng.normal(0, sd, (50, 2))) for sd in (5.0, 500.0)]
        pairs.append((name, Trace(*nights[0], times), Trace(*nights[1], times)))
    [found] = attack_releases(pairs, SuiteAsked(["nights averaged"], before=False)).outcomes[:1]
    print(f"Averaging: {found.sentence()}")
    return found.after.share if found.after else 0.0


def laplace_smoothed(people: list[tuple[str, Trace]]) -> float:
    """Planar Laplace at 5 : 1 per point (200 m), smoothed: the median over people of the RMS error per coordinate."""
    size = math.sqrt(3.0) / (math.log(5.0) / 200.0)
    dense = [(name, trace) for name, trace in people if np.median(np.diff(trace.times_s[:1500])) <= 5.0]
    rng = np.random.default_rng(0)
    releases = MECHANISMS_COMPARED["planar Laplace"].practice([trace for _, trace in dense], size, rng)
    pairs = [(name, trace, release) for (name, trace), release in zip(dense, releases, strict=True)]
    found = attack_releases(pairs, SuiteAsked(["as released", "fitted smoothing", "stops"], before=False)).outcomes
    print(f"Planar Laplace, 5 : 1 per point ({size:.0f} m per coordinate), {len(dense)} people with a point every 5 s")
    for one in found:
        print(f"  {one.sentence()}")
    return min(one.after.median_error_m for one in found if one.after is not None)


def inversion(people: list[tuple[str, Trace]]) -> float:
    """Homes with at least 20 rides that begin or end there, centred zones of 400 m cut out, from 20 of the rides."""
    pairs = []
    for name, trace in people:
        homes = [one for one in find_places(trace) if one.label == "home"]
        if not homes:
            continue
        rides = _rides_at(trace, Around(homes[0].lat_deg, homes[0].lon_deg))
        if rides is not None:
            [cut] = MECHANISMS_COMPARED["centred zones"].practice([rides], 400.0, np.random.default_rng(0))
            pairs.append((name, rides, cut))
    if not pairs:
        return math.nan
    [found] = attack_releases(pairs, SuiteAsked(["zone inversion"], before=False)).outcomes[:1]
    print(f"Zone inversion, {len(pairs)} people with 20 rides: {found.sentence()}")
    return found.after.share if found.after else 0.0


def _rides_at(trace: Trace, around: Around, count: int = 20) -> Trace | None:
    """Its first so many rides that begin or end within 100 m of a place."""
    where = around.to_metres(trace.lat_deg, trace.lon_deg)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(trace.times_s) > 1800.0) + 1, [len(trace)]])
    keep = []
    for a, b in pairwise(edges):
        ends = np.hypot(*where[[a, b - 1]].T)
        if b - a > 20 and ends.min() < 100.0 and np.hypot(*where[a:b].T).max() > 800.0:
            keep.append(np.arange(a, b))
    if len(keep) < count:
        return None
    at = np.concatenate(keep[:count])
    number = np.repeat(np.arange(count), [len(one) for one in keep[:count]])
    return Trace(trace.lat_deg[at], trace.lon_deg[at], trace.times_s[at], number)


def main(arguments: list[str]) -> int:
    """Print everything; 1 where a number is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", choices=("geolife", "cabs"), default="geolife")
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true", help="renew the matrix of the docs")
    parser.add_argument("--mechanisms", default="", help="some of them, separated by semicolons")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("numbers", "matrix"), default=None)
    asked = parser.parse_args(arguments)
    if not SHARED.exists():
        print("../shared/data is not there: nothing to attack.")
        return 0
    started, failed = time.time(), list[str]()
    people = people_of(asked.world, 30 if asked.quick else asked.people, MATRIX_POINTS)
    print(f"{asked.world}: {len(people)} people, {sum(len(trace) for _, trace in people)} points")
    if asked.only != "matrix" and asked.world == "geolife":
        every = people_of("geolife", 1000) if not asked.quick else people
        for name, value, least in (
            ("averaging", averaging(every), 0.9),
            ("zone inversion", inversion(people_of("geolife", 1000, 200_000)), 0.8),
        ):
            failed += [] if math.isnan(value) or value >= least else [f"{name}: {value:.2f} < {least}"]
        if (left := laplace_smoothed(every)) > 60.0:
            failed.append(f"planar Laplace smoothed to {left:.0f} m > 60 m")
    if asked.only != "numbers":
        sizes = (150.0, 709.0) if asked.quick else (50.0, 150.0, 500.0, 709.0)
        wanted = CompareAsked(
            mechanisms=asked.mechanisms.split(";") if asked.mechanisms else list(MECHANISMS_COMPARED),
            attackers=[name for name in attackers_named("all") if name not in ("kept fields", "learned path")],
            sizes_m=sizes,
            maps=MapsAsked((1000.0,), (3000.0,)),
            knows=Knows(place="work"),
        )
        keep = partial(write_matrix, asked.world, len(people)) if asked.write else None
        rows = matrix(people, wanted, asked.workers, keep)
        print("\n".join(lines_of(rows)))
        for row in rows:
            failed += [f"{row.mechanism} at {row.at}: {one.sentence()}" for one in row.attempts if one.beats]
    print(f"{time.time() - started:.0f} s", end=", ")
    print(f"{sum(os.times()[:4]):.0f} s of processor time")
    for words in failed:
        print(f"MISSED {words}")
    return int(bool(failed))


def matrix(people, wanted: CompareAsked, workers: int, keep=None) -> list[ComparedMechanism]:
    """Every mechanism, some at once; each is said, and kept, when it is done."""
    rows, one_each = [], [replace(wanted, mechanisms=[name]) for name in wanted.mechanisms]
    with ProcessPoolExecutor(workers) as pool:
        for asked, found in zip(one_each, pool.map(partial(compare_mechanisms, people), one_each), strict=True):
            print(f"  {asked.mechanisms[0]}", file=sys.stderr, flush=True)
            rows += found
            if keep is not None:
                keep(found)
    return list(on_frontier(rows))


def write_matrix(world: str, people: int, rows: tuple[ComparedMechanism, ...]) -> None:
    """One line per world, mechanism, attacker and goal; those of other worlds stay."""
    heads = ["world", "people", "mechanism", "at", "attacker", "goal", "found", "low", "high", "luck", "allowed"]
    old = list(csv.DictReader(MATRIX.open(encoding="utf-8"))) if MATRIX.exists() else []
    done = {row.mechanism for row in rows}
    lines = [one for one in old if one["world"] != world or one["mechanism"] not in done]
    for row in rows:
        for one in row.attempts:
            if one.after is not None:
                numbers = (one.after.share, one.after.low, one.after.high, one.by_luck, one.allowed)
                words = ["" if value is None else f"{value:.3f}" for value in numbers]
                cells = (world, people, row.mechanism, row.at, one.attacker, one.goal, *words)
                lines.append(dict(zip(heads, cells, strict=True)))
    with MATRIX.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
