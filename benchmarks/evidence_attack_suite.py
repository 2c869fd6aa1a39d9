"""The attack suite on real people: the matrix of docs/evidence/attacks.md, and the numbers it must show.

    python benchmarks/evidence_attack_suite.py [--world geolife|cabs] [--people 100] [--only numbers|matrix] [--write]
                                               [--attackers roads,stops] [--mechanisms "multiscale;H3"]

Reads ../shared/data. Every mechanism at 50, 150, 500 and 709 m RMS (zones by radius; those that promise odds also at
5 : 1), every attacker, everybody's first 5,000 points, a workplace known to those who ask; two processes. Fields that
were kept and the learned path (PyTorch) are attacked at 150 m RMS alone, of five mechanisms: the data have no speed and
course, so they are those of the original's steps, and no altitude, so the land is made up (hills of 60 m, 3 m of
error). ``--write`` renews docs/evidence/attack_matrix.csv, from which the pages of attackers are made; with
``--attackers`` their rows in the cells that were run, and no others. Rows are kept beside it as they come, so what is
interrupted goes on where it was. Exits non-zero when a number that is asked for is missed, or an attacker reaches more
than a certificate allows.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import math
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.releases.moments.kept_altitude import ELEVATION
from sfumato.tracks.adversary.releases.moments.kept_fields import COURSE, SPEED
from sfumato.tracks.adversary.releases.regular import zone_inversion
from sfumato.tracks.adversary.releases.seen import Knowledge
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.attacks.compare import CompareAsked, cells_to_compare, held_at, mechanism_row
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import Finding, attackers_named
from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases
from sfumato.tracks.attacks.truths import KEPT, ReleasedDigest
from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import centred_zone

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MATRIX = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "attack_matrix.csv"
MOST_POINTS, MATRIX_POINTS, FEWEST_POINTS = 20_000, 5_000, 300
DAY_S = 86400.0
WORLDS = ("geolife", "cabs")
Cell = tuple[str, str, str, float]
ONE_PRIOR = "prior-shaped"  # promises for people who move exactly like its prior: told on the page, not a fault
DRAWN = ("multiscale", "independent Gaussian", "planar Laplace", "donut", "hide and blur")
AT_150_M = ("kept fields", "kept altitude", "learned path")
HEADS = (
    "world",
    "people",
    "mechanism",
    "at",
    "attacker",
    "goal",
    "found",
    "low",
    "high",
    "luck",
    "allowed",
    "of",
    "spread",
)
ASKED = CompareAsked(
    mechanisms=(),
    attackers=[name for name in attackers_named("all") if name not in AT_150_M],
    maps=MapsAsked((1000.0,), (3000.0,)),
    knows=Knows(place="work"),
    kept=KEPT,
)


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


def with_fields(trace: Trace) -> Trace:
    """With the speed and course of the step to each point, and an altitude on hills that are made up."""
    around = Around(float(np.median(trace.lat_deg)), float(trace.lon_deg[0]))
    way = np.diff(around.to_metres(trace.lat_deg, trace.lon_deg), axis=0) / np.diff(trace.times_s)[:, None]
    step = np.vstack([way[:1], way])
    across, along = trace.lon_deg * 111e3 * math.cos(math.radians(around.lat_deg)), trace.lat_deg * 111e3
    hills = sum(np.sin(across / size + turn) * np.cos(along / size) for size, turn in ((300.0, 0.0), (170.0, 2.0)))
    up = 60.0 * hills + np.random.default_rng(len(trace)).normal(0, 3.0, len(trace))
    fields = {SPEED: np.hypot(*step.T), COURSE: np.degrees(np.arctan2(*step.T)) % 360.0, ELEVATION: up}
    return Trace(trace.lat_deg, trace.lon_deg, trace.times_s, trace.segment, fields)


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


def inversion(people: list[tuple[str, Trace]], labels: Sequence[str]) -> float:
    """Places with 20 rides that begin or end within 100 m, the 400 m around cut out of these rides: within 200 m."""
    off_m = []
    for _, trace in people:
        for place in find_places(trace):
            around = Around(place.lat_deg, place.lon_deg)
            rides = _rides_at(trace, around) if place.label in labels else None
            if rides is not None:
                cut = withhold(rides, [centred_zone(place.lat_deg, place.lon_deg, radius_m=400.0)]).trace
                seen = ReleasedDigest.of(cut)
                guess = zone_inversion.guess(seen.seen, Knowledge())
                away = np.inf if guess is None else np.hypot(*around.to_metres(*seen.around.to_degrees(guess)).T).min()
                off_m.append(float(away))
    found = Finding.of([float(off <= 200.0) for off in off_m])
    words = f"{100 * found.share:.0f} in 100 ({100 * found.low:.0f} to {100 * found.high:.0f})"
    print(
        f"Zone inversion, 20 rides of {len(off_m)} places ({', '.join(labels)}): {words}, {np.median(off_m):.0f} m away"
    )
    return found.share


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
    parser.add_argument("--world", choices=WORLDS, action="append", help="one of them; both if not given")
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="renew the matrix of the docs")
    parser.add_argument("--mechanisms", default="", help="some of them, separated by semicolons")
    parser.add_argument("--attackers", default="", help="some of them, separated by commas")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("numbers", "matrix"), default=None)
    asked = parser.parse_args(arguments)
    if not SHARED.exists():
        print("../shared/data is not there: nothing to attack.")
        return 0
    started, failed = time.time(), list[str]()
    if asked.only != "matrix":
        failed += numbers()
    if asked.only != "numbers":
        names = asked.mechanisms.split(";") if asked.mechanisms else list(MECHANISMS_COMPARED)
        some = attackers_named(asked.attackers) if asked.attackers else []
        failed += matrix(asked.world or WORLDS, asked.people, names, some, asked.workers, asked.write)
    mine, theirs = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    most = max(mine.ru_maxrss, theirs.ru_maxrss) / 1e6
    print(f"{time.time() - started:.0f} s, {sum(os.times()[:4]):.0f} s of processor time, {most:.2f} GB at most")
    for words in failed:
        print(f"MISSED {words}")
    return int(bool(failed))


def numbers() -> list[str]:
    """What is asked for of GeoLife's people; in words what is missed."""
    every = people_of("geolife", 1000)
    whole = people_of("geolife", 1000, 200_000)
    found = (
        ("averaging", averaging(every), 0.9),
        ("zone inversion of homes", inversion(whole, ["home"]), 0.8),
        ("zone inversion of places it was not made for", inversion(whole, ["work", "place"]), 0.8),
    )
    inversion(people_of("cabs", 1000, 200_000), ["home"])  # a point a minute: told, not asked for
    failed = [f"{name}: {value:.2f} < {least}" for name, value, least in found if value < least]
    if (left := laplace_smoothed(every)) > 60.0:
        failed.append(f"planar Laplace smoothed to {left:.0f} m > 60 m")
    return failed


def matrix(
    worlds: Sequence[str], most: int, names: list[str], attackers: Sequence[str], workers: int, write: bool
) -> list[str]:
    """Every cell that is not there yet, some at once, written as it comes; which attackers beat a certificate."""
    part = MATRIX.with_suffix(".part")
    lines = read_lines(part) if write else []
    done = {(one["world"], one["mechanism"], one["at"]) for one in lines}
    cells = [(world, name, kind, size) for world in worlds for name in names for kind, size in sizes_of(name)]
    failures = list[str]()
    todo = [cell for cell in cells if (cell[0], cell[1], held_at(*cell[2:])) not in done]
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(one_cell, cell, most, attackers): cell for cell in todo}
        for number, one in enumerate(as_completed(running), len(cells) - len(todo) + 1):
            cell = running[one]
            try:
                rows, cost_s = one.result()
            except Exception as error:  # the others go on
                print(f"FAILED {cell}: {error}", flush=True)
                failures.append(f"{cell[0]}, {cell[1]}, {held_at(*cell[2:])}: {error}")
                continue
            lines += rows
            if write:
                write_lines(part, lines)
            print(f"{number}/{len(cells)}: {cell[0]}, {cell[1]}, {held_at(*cell[2:])}, {cost_s:.0f} s", flush=True)
    if write:
        lines = in_order(renewed(read_lines(MATRIX), lines) if attackers else lines)
        write_lines(part, lines)
        part.replace(MATRIX)
    return failures + beaten(lines)


def renewed(old: list[dict[str, str]], new: list[dict[str, str]]) -> list[dict[str, str]]:
    """The old matrix with the rows of attackers who were run again in place of theirs; answers stay."""
    run = [line for line in new if line["attacker"]]
    again = {tuple(line[name] for name in ("world", "mechanism", "at", "attacker")) for line in run}
    return [line for line in old if tuple(line[k] for k in ("world", "mechanism", "at", "attacker")) not in again] + run


def in_order(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """By world, mechanism, size and attacker; what answers lose last."""
    cells = [(world, name, held_at(*one)) for world in WORLDS for name in MECHANISMS_COMPARED for one in sizes_of(name)]
    whom = [*attackers_named("all"), ""]
    return sorted(
        lines,
        key=lambda line: (cells.index((line["world"], line["mechanism"], line["at"])), whom.index(line["attacker"])),
    )


def sizes_of(name: str) -> list[tuple[str, float]]:
    """What a mechanism is held equal at."""
    return [(kind, size) for _, kind, size in cells_to_compare(replace(ASKED, mechanisms=[name]))]


@lru_cache(maxsize=1)
def _people(world: str, most: int) -> list[tuple[str, Trace]]:
    return [(name, with_fields(trace)) for name, trace in people_of(world, most, MATRIX_POINTS)]


def one_cell(cell: Cell, most: int, attackers: Sequence[str]) -> tuple[list[dict[str, str]], float]:
    """The lines of one world, mechanism and size: what each attacker found, and how wrong answers are."""
    started, (world, name, kind, size) = time.process_time(), cell
    people, dear = _people(world, most), (kind, size) == ("rms", 150.0) and name in DRAWN
    chosen = [one for one in attackers or (*ASKED.attackers, *AT_150_M) if one not in AT_150_M or dear]
    if not chosen:
        return [], 0.0
    row = mechanism_row(people, MECHANISMS_COMPARED[name], kind, size, replace(ASKED, attackers=chosen))
    head = {"world": world, "people": len(people), "mechanism": name, "at": row.at}
    lines = []
    for one in row.attempts:
        if one.after is not None:
            values = (one.after.share, one.after.low, one.after.high, one.by_luck, one.allowed)
            spread = "" if one.after.spread is None else f"{one.after.spread:.5f}"
            counted = {"of": one.after.people, "spread": spread}
            lines.append(head | {"attacker": one.attacker, "goal": one.goal} | _shares(values) | counted)
    for answer, error in {"RMS error, m": row.rms_m, **row.useful}.items():
        lines.append(head | {"attacker": "", "goal": answer} | _shares((error,)))
    return lines, time.process_time() - started


def _shares(values: tuple[float | None, ...]) -> dict[str, str]:
    words = ["" if value is None else f"{value:.5f}" for value in values]
    return dict(zip(("found", "low", "high", "luck", "allowed"), words, strict=False))


def beaten(lines: list[dict[str, str]]) -> list[str]:
    """Who reaches more than allowed, which chance says of any of all of them once in twenty matrices."""
    tried = [line for line in lines if line["attacker"] and line["allowed"]]
    failed, elsewhere = list[str](), 0
    for line in tried:
        spread = float(line["spread"]) if line["spread"] else None
        reached = Finding(float(line["found"]), 0.0, 1.0, int(line["of"]), spread=spread)
        if reached.more_than(float(line["allowed"]), 0.05 / len(tried)):
            if line["mechanism"] == ONE_PRIOR:
                elsewhere += 1
            else:
                failed.append(", ".join(str(line[name]) for name in HEADS[:1] + HEADS[2:]))
    print(f"{len(tried)} attacks a certificate bounds; {len(failed)} reach more than it allows", end="")
    print(f", and {elsewhere} more of noise that is for people who move exactly like one prior")
    return failed


def read_lines(path: Path) -> list[dict[str, str]]:
    """The rows of a file that may be there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_lines(path: Path, lines: list[dict[str, str]]) -> None:
    """Beside the file, then in its place."""
    beside = path.with_suffix(".new")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    beside.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
