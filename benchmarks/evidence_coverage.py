"""Do 90 % intervals hold the truth nine times out of ten? Fleets drawn from made-up cities whose answers are known.

python benchmarks/evidence_coverage.py                  every table; heat maps 10 fleets a row, others 200
python benchmarks/evidence_coverage.py --runs 4 --what heatmap

*Heat maps*: of the people drawn, over all areas shown, over the busiest 20, and over those that are empty (``low`` must
be 0 there); of the city, by the wider interval. *Width* is the median over areas with people in them; *best known* that
of the narrowest of two intervals that the truth has made hold nine times in ten: around the answer and around counting,
as wide as a multiple of the root of the share. *Worse* counts runs in which the areas, and the picture, are farther
from the people than counting without saying that they count. A row outside its limits ends in what is missed, and in
how many runs the answer's own notes said so (too wide an interval is not to be known without the truth).
Tuned on: people of other seeds in clustered, uniform, commuter and corridor, and made-up drivers. None of these four
worlds is unseen; the ring road is held out, with another seed.

*Flows*: the truth is the world's own (people like these); a pair of cells counts where it is at least one in 200. For
squared displacements it is the share of runs, and z is (mean of the error) / (its standard error) over all runs.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np

from answer_worlds import BOUNDS, CORRIDOR, HELD_OUT, POINTS, STAYS, STEP_S, WORLDS, World, degrees, released
from sfumato.base.arrays import FloatArray
from sfumato.base.things.estimated_map import EstimatedMap, GridAreas, MapCells
from sfumato.base.things.grid import Grid
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.maps.simulated import FEW_DRAWN, NO_SURER, TOO_FINE
from sfumato.tracks.answers.ways.displacement import estimate_displacements

NOISE_M, BUSIEST, LEAST_HELD, WIDEST = 400.0, 20, 86.0, 1.5
TRIP_NOISE_M, TRIP_CELL_M, TRIP_STAYS = 500.0, 2000.0, 7


@dataclass(frozen=True)
class Seen:
    """One fleet: the answer, the truth of its people on the areas shown, and both errors on the cells asked for."""

    found: EstimatedMap
    truth: FloatArray
    off: float
    counting_off: float


def one_map(world: World, people: int, stays: int, noise_m: float, cell_m: float, rng: np.random.Generator) -> Seen:
    """People drawn, released and asked about."""
    places = world.places(people, stays, rng)
    found = estimate_heatmap([released(places, noise_m, rng)], cell_m=cell_m, bounds=BOUNDS)
    lat, lon = degrees(np.repeat(places, POINTS, axis=1).reshape(-1, 2))

    def shares(cells: MapCells) -> FloatArray:
        assert isinstance(cells, Grid | GridAreas)
        at = cells.locate(lat, lon)
        return np.bincount(at[at >= 0], minlength=cells.cells) / max(np.count_nonzero(at >= 0), 1)

    apart = [0.5 * float(np.abs(one - shares(found.asked)).sum()) for one in (found.picture, found.counted)]
    return Seen(found, shares(found.cells), *apart)


def heatmap(world: World, people: int, stays: int, noise_m: float, cell_m: float, runs: int) -> str:
    """One row: how often intervals hold, their width beside the best known, and what is farther off than counting."""
    rng = np.random.default_rng(world.seed)
    seen = [one_map(world, people, stays, noise_m, cell_m, rng) for _ in range(runs)]
    city, held, busiest, empty, alike, worse = world.shares(cell_m), [], [], [], [], np.zeros(2, dtype=int)
    for one in seen:
        found, truth = one.found, one.truth
        inside = (found.low <= truth + 1e-12) & (truth <= found.high + 1e-12)
        held.append(inside.mean())
        busiest.append(inside[np.argsort(-truth)[:BUSIEST]].mean())
        empty += list(found.low[truth <= 0] == 0)
        of_city = found.cells.sums(city) if isinstance(found.cells, GridAreas) else city
        alike.append(np.mean((found.low_alike <= of_city) & (of_city <= found.high_alike)))
        areas_off, areas_counting = (np.abs(one - truth).sum() for one in (found.share, found.naive))
        worse += [areas_off > areas_counting + 1e-9, one.off > one.counting_off + 1e-9]
    width = float(np.median(np.concatenate([(one.found.high - one.found.low)[one.truth > 0] for one in seen])))
    best = min(_best_width(seen, "share"), _best_width(seen, "naive"))
    off, counting = np.mean([(one.off, one.counting_off) for one in seen], axis=0)
    at_all, at_top, at_empty, at_city = (
        100 * float(np.mean(one)) if len(one) else math.nan for one in (held, busiest, empty, alike)
    )
    missed = [
        *([_said(seen, "held", (FEW_DRAWN,))] if min(at_all, at_top) < LEAST_HELD else []),
        *([_said(seen, "width", (TOO_FINE,))] if width > WIDEST * best else []),
        *([_said(seen, "worse", (NO_SURER, FEW_DRAWN))] if worse.max() > runs / 10 else []),
    ]
    counted = sum(not one.found.corrected for one in seen)
    return (
        f"| {world.name} | {people} | {people * stays * POINTS} | {noise_m / cell_m:.2g} | {seen[0].found.cells.cells} "
        f"| {at_all:.0f} % | {at_top:.0f} % | {at_empty:.0f} % | {at_city:.0f} % | {width:.4f} | {best:.4f} "
        f"| {off:.3f} | {counting:.3f} | {counted} | {worse[0]}, {worse[1]} of {runs} | {' '.join(missed)} |"
    )


def _said(seen: list[Seen], miss: str, notes: tuple[str, ...]) -> str:
    """What a row misses, and in how many answers a note said so."""
    begins = tuple(note.split("{")[0] for note in notes)
    said = sum(any(note.startswith(begins) for note in one.found.notes) for one in seen)
    return f"{miss} (said by {said})"


def _best_width(seen: list[Seen], around: str) -> float:
    """The median width, where people are, of intervals that hold nine times in ten because the truth says how wide."""
    off, scale = [], []
    for one in seen:
        there, found = one.truth > 0, one.found
        off.append(np.abs(getattr(found, around) - one.truth)[there])
        scale.append(np.sqrt((found.share + found.naive)[there] / 2 + 1 / found.points))
    times = np.quantile(np.concatenate(off) / np.concatenate(scale), 0.9)
    return float(2 * times * np.median(np.concatenate(scale)))


def flows(world: World, people: int, runs: int) -> str:
    """Coverage of pairs of cells."""
    rng, truth = np.random.default_rng(2), world.pairs(TRIP_CELL_M)
    shown, held, off = truth > 0.005, [], []
    for _ in range(runs):
        places = world.places(people, TRIP_STAYS, rng)
        found = estimate_flows([released(places, TRIP_NOISE_M, rng, trips=True)], cell_m=TRIP_CELL_M, bounds=BOUNDS)
        held.append(float(np.mean(((found.low <= truth) & (truth <= found.high))[shown])))
        off.append([0.5 * float(np.abs(one - truth).sum()) for one in (found.share, found.naive)])
    ours, naive = np.mean(off, axis=0)
    return f"{100 * np.mean(held):.1f} % | {ours:.3f} | {naive:.3f} |"


def displacement(world: World, people: int, runs: int) -> str:
    """Coverage of the mean squared displacement in one stay's time, and its bias in standard errors."""
    rng = np.random.default_rng(3)
    lag = 5 * STEP_S
    many = world.places(400_000, 2, rng)
    moved = float(np.mean(np.sum((many[:, 1] - many[:, 0]) ** 2, axis=1)))
    held, errors = [], []
    for _ in range(runs):
        received = released(world.places(people, STAYS, rng), NOISE_M, rng)
        found = estimate_displacements([received], lags_s=(lag,)).squared_m2[0]
        truth = moved + 2 * 2 * 20.0**2  # the places' own scatter of 20 m
        held.append(found.low <= truth <= found.high)
        errors.append(found.value - truth)
    z = float(np.mean(errors)) / (float(np.std(errors, ddof=1)) / math.sqrt(runs))
    return f"{100 * np.mean(held):.1f} % | z = {z:.2f} |  |"


ASKED = {"flows": flows, "displacement": displacement}
EVERY = (*WORLDS, CORRIDOR, HELD_OUT)
MAPS = (  # people, stays of five points each, noise, cell
    (30, 8, 100.0, 1000.0),
    (100, 8, 300.0, 1000.0),
    (300, 1, 400.0, 1000.0),
    (300, 8, 400.0, 500.0),
    (1000, 2, 400.0, 200.0),
    (5000, 1, 400.0, 500.0),
)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--what", choices=["heatmap", *ASKED, "all"], default="all")
    parser.add_argument("--rows", type=int, nargs="+", default=range(len(MAPS)), help="rows of heat maps, from 0")
    parser.add_argument("--worlds", nargs="+", default=[one.name for one in EVERY])
    asked = parser.parse_args()
    worlds = [one for one in EVERY if one.name in asked.worlds]
    if asked.what in ("heatmap", "all"):
        heads = (
            "city, people, points, noise / cell, areas, held, busiest 20, empty, city held, width, best known, off by"
        )
        columns = [*heads.split(", "), "counting", "counted", "worse", "missed"]
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for row in asked.rows:
            for world in worlds:
                print(heatmap(world, *MAPS[row], asked.runs or 10), flush=True)
    print("| answer | world | people | truth within 90 % | off by (total variation) | counting | CPU s a fleet |")
    print("|---|---|---|---|---|---|---|")
    for name, ask in ASKED.items():
        if asked.what not in (name, "all"):
            continue
        for world in worlds[:3]:
            for people in (20, 50, 200):
                began, runs = time.process_time(), asked.runs or 200
                row = ask(world, people, runs)
                took = (time.process_time() - began) / runs
                print(f"| {name} | {world.name} | {people} | {row} {took:.2f} |", flush=True)
    print(f"\n{time.process_time():.0f} s of processor time")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
