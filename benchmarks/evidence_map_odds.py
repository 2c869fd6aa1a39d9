"""What a published map gives away: does the stated limit hold against simulated maps, and how near is it?

    python benchmarks/evidence_map_odds.py [--maps 100000] [--seed 0] [--quick]

A made-up town of 11 x 15 cells, Paris (11 x 15) and San Francisco (16 x 24), both promises at 2 per km, 50 to 30,000
people. Of all pairs of cells 1 km apart: the pair that a map tells apart best, one in the middle and one at random. One
person is at the first place, everybody else is drawn from the city; the odds of each simulated tally are exact.
"reached": what the best coarsening of these maps passes 1 time in 100 (one over the mean inverse odds of the hundredth
of the maps with the largest), "limit" what is stated, "formula" the Gaussian approximation, which is no limit. Exits
with 1 if a limit lies below "reached" by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.loop import Rules, first_channel
from sfumato.collect.loop.map_odds import SELDOM, WITHIN_M, map_odds, odds_of_pair, pairs_apart


def places():
    """Name, grid and shares of each."""
    town = Grid(rows=11, columns=15, cell_height=500.0, cell_width=500.0, unit="m")
    at = np.stack(np.divmod(np.arange(town.cells), town.columns), axis=1)
    shares = np.exp(-((at - [5, 6]) ** 2).sum(1) / 12) + 0.3 * np.exp(-((at - [2, 12]) ** 2).sum(1) / 3) + 1e-3
    yield "town", town, shares / shares.sum()
    for name in ("paris", "sf"):
        home = city(name)
        yield name, home.grid, home.probabilities


def reached(rows, reported, here, there, people, maps, rng):
    """(odds that the best coarsening passes 1 time in 100, their standard error), from simulated tallies."""
    ratios = []
    for part in np.array_split(np.arange(maps), max(1, maps // 10_000)):
        tally = rng.multinomial(people - 1, reported, size=part.size)
        tally[np.arange(part.size), rng.choice(reported.size, p=rows[here] / rows[here].sum(), size=part.size)] += 1
        ratios.append((tally @ (rows[here] / reported)) / (tally @ (rows[there] / reported)))
    inverse = 1 / np.sort(np.concatenate(ratios))[::-1][: round(SELDOM * maps)]
    odds = 1 / inverse.mean()
    # Of P_x'(S) at P_x(S) = 1/100: the inverse odds vary, and so does where the hundredth begins.
    spread = math.sqrt((inverse.var() + (inverse.max() - inverse.mean()) ** 2) / inverse.size)
    return odds, odds**2 * spread


def main():
    """Print the table; exit with 1 where a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--maps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="The town with 20,000 maps")
    chosen = parser.parse_args()
    maps, rng, broken = (20_000 if chosen.quick else chosen.maps), np.random.default_rng(chosen.seed), 0
    print(f"{maps:,} maps for each line; odds of two places 1 km apart, passed 1 time in 100")
    print(f"{'place':6} {'promise':20} {'people':>7} {'pair':8} {'reached':>9} {'± se':>6} {'limit':>7} {'formula':>8}")
    for name, grid, shares in places():
        if chosen.quick and name != "town":
            continue
        for promise in ("epsilon", "mutual-information"):
            channel = first_channel(grid, Rules(beta=0.001 / grid.ground_stretch, promise=promise))
            rows = channel.to_dense().matrix
            reported = shares @ rows
            here, there, _ = pairs_apart(channel.grid, WITHIN_M)
            people_there = shares[here] > 0
            here, there = here[people_there], there[people_there]
            information = ((rows[here] - rows[there]) ** 2 / reported).sum(axis=1)
            order = np.argsort(information)
            picked = {"worst": order[-1], "middle": order[order.size // 2], "random": rng.integers(order.size)}
            for people in (50, 300, 3_000, 30_000):
                stated = map_odds(channel, shares, people)
                for which, at in picked.items():
                    x, y = int(here[at]), int(there[at])
                    odds, error = reached(rows, reported, x, y, people, maps, rng)
                    limit = odds_of_pair(rows[x], rows[y], reported, people, local=stated.local)
                    mu = math.sqrt(information[at] / people)
                    formula = min(stated.local, SELDOM / float(ndtr(ndtri(SELDOM) - mu)))
                    bad = limit < odds - 3 * error
                    broken += bad
                    said = f"{odds:9.3f} {error:6.3f} {limit:7.3f} {formula:8.3f}{'  BROKEN' if bad else ''}"
                    print(f"{name:6} {promise:20} {people:7,} {which:8} {said}", flush=True)
                print(
                    f"{'':36} stated: average {stated.average:.3f}, worst {stated.worst:.3f}, local {stated.local:.3f}"
                )
    print(f"limits that do not hold: {broken}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
