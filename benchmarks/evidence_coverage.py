"""Do 90 % intervals hold the truth nine times out of ten? Fleets drawn from made-up cities whose answers are known.

python benchmarks/evidence_coverage.py                  three worlds, 20, 50 and 200 people, 200 fleets each
python benchmarks/evidence_coverage.py --runs 20 --what heatmap

The truth is the world's own (people like these), not that of the people drawn. A cell counts where its share is at
least 0.3 of an even share, a pair of cells where it is at least one in 200; the column is the mean over cells and runs.
For squared displacements it is the share of runs, and z is (mean of the error) / (its standard error) over all runs.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from answer_worlds import BOUNDS, STAYS, STEP_S, UNSEEN, WORLDS, World, released
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.ways.displacement import estimate_displacements

NOISE_M, CELL_M = 400.0, 1000.0
TRIP_NOISE_M, TRIP_CELL_M, TRIP_STAYS = 500.0, 2000.0, 7


def heatmap(world: World, people: int, runs: int, noise_m: float = NOISE_M, cell_m: float = CELL_M) -> str:
    """Coverage of cells, and how far the map is off."""
    rng, truth = np.random.default_rng(1), world.shares(cell_m)
    shown, held, off = truth > 0.3 / len(truth), [], []
    for _ in range(runs):
        found = estimate_heatmap(
            [released(world.places(people, STAYS, rng), noise_m, rng)], cell_m=cell_m, bounds=BOUNDS
        )
        held.append(float(np.mean(((found.low <= truth) & (truth <= found.high))[shown])))
        off.append([0.5 * float(np.abs(one - truth).sum()) for one in (found.share, found.naive)])
    ours, naive = np.mean(off, axis=0)
    return f"{100 * np.mean(held):.1f} % | {ours:.3f} | {naive:.3f} |"


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


ASKED = {"heatmap": heatmap, "flows": flows, "displacement": displacement}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--what", choices=[*ASKED, "all"], default="all")
    parser.add_argument("--unseen", action="store_true", help="a world, noises and cells that nothing was tried on")
    asked = parser.parse_args()
    print("| answer | world | people | truth within 90 % | off by (total variation) | counting | CPU s a fleet |")
    print("|---|---|---|---|---|---|---|")
    if asked.unseen:
        for noise_m, cell_m in ((250.0, 800.0), (650.0, 1600.0)):
            for people in (30, 120):
                row = heatmap(UNSEEN, people, asked.runs, noise_m, cell_m)
                print(
                    f"| heatmap, {noise_m:.0f} m, cells of {cell_m:.0f} m | corridor | {people} | {row}  |", flush=True
                )
        return 0
    for name, ask in ASKED.items():
        if asked.what not in (name, "all"):
            continue
        for world in WORLDS:
            for people in (20, 50, 200):
                began = time.process_time()
                row = ask(world, people, asked.runs)
                took = (time.process_time() - began) / asked.runs
                print(f"| {name} | {world.name} | {people} | {row} {took:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
