"""Whether intervals of named districts, and of how they change, hold: worlds that nothing was tuned on.

    python benchmarks/evidence_districts.py [--campaigns 200] [--people 300 3000 30000] [--jobs 1]

Four worlds of about 400 squares of 500 m: a ring road, two towns, a coast with nobody at sea, and an American grid of
streets. Twelve districts of very different sizes (nearest of twelve random centres). People report once at 2 per km, in
two rounds; in the second, one person in five has moved to another district. Reported for each: how often the interval
of a district's share (of those who reported, over both rounds) and that of its change (of everybody) held the truth, in
the districts as such and in those told apart; and the median width beside that of the best linear estimate, which
knows the true map.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from scipy.special import ndtri

from sfumato.base.arrays import FloatArray
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.smooth_map import log_smooth
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.estimation.uncertainty import linearise
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop.districts import Districts, change, plain_shares, raw_shares, telling
from sfumato.collect.loop.loop import Rules, first_channel

LEVEL, DISTRICTS = 0.95, 12
Counted = dict[str, list[float]]


def _ring(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.exp(-(((np.hypot(x, y) - 0.6) / 0.08) ** 2)) + 0.05


def _two_towns(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.exp(-8 * ((x + 0.6) ** 2 + (y + 0.5) ** 2)) + 0.4 * np.exp(-20 * ((x - 0.6) ** 2 + (y - 0.5) ** 2)) + 0.01


def _coast(x: FloatArray, y: FloatArray) -> FloatArray:
    land = y > 0.3 * np.sin(3 * x) - 0.2
    return np.where(land, np.exp(-3 * (y + 0.2)), 0.0)


def _american(x: FloatArray, y: FloatArray) -> FloatArray:
    along = (np.round(20 * x) % 4 == 0) | (np.round(20 * y) % 5 == 0)
    return np.where(along, 1.0, 0.05)


WORLDS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "ring": _ring,
    "two towns": _two_towns,
    "coast": _coast,
    "American grid": _american,
}


def campaign(world: str, people: int, seed: int) -> Counted:
    """One campaign of two rounds with half of the people each."""
    rng = np.random.default_rng([seed, people, list(WORLDS).index(world)])
    grid = Grid(rows=20, columns=20, cell_height=500.0, cell_width=500.0, unit="m")
    x, y = np.meshgrid(np.linspace(-1, 1, 20), np.linspace(1, -1, 20))
    first = WORLDS[world](x, y).ravel()
    first /= first.sum()
    centres = rng.uniform(-1, 1, (2, DISTRICTS))
    nearest = np.hypot(x.ravel()[:, None] - centres[0], y.ravel()[:, None] - centres[1]).argmin(axis=1)
    there = np.unique(nearest, return_inverse=True)[1]
    districts = Districts(grid, tuple(map(str, range(int(there.max()) + 1))), there)
    moved = rng.dirichlet(np.full(len(districts.names), 0.5))[there] * first
    second = 0.8 * first + 0.2 * moved / moved.sum()
    channel = first_channel(grid, Rules(beta=0.001, promise="epsilon", max_log_change=None))
    places = [rng.multinomial(people // 2, map_) for map_ in (first, second)]
    tallies = [Tally(channel, draw_tally(channel, one, rng=int(rng.integers(2**62)))) for one in places]
    smooth = log_smooth(tallies).probabilities
    chosen = districts.chosen
    groups = telling(districts, tallies, "once").groups(people)
    rows = np.stack([chosen[list(group)].sum(axis=0) for group in groups])
    together = linearise(tallies, smooth, "once")
    best = linearise(tallies, np.maximum((first + second) / 2, 1e-7), "once")
    true = sum(places) / sum(one.sum() for one in places)
    rounds = [linearise([one], log_smooth([one]).probabilities, "once") for one in tallies]
    known_rounds = [
        linearise([tally], np.maximum(map_, 1e-7), "once") for tally, map_ in zip(tallies, (first, second), strict=True)
    ]
    found: Counted = {}
    for name, which in (("district", chosen), ("shown", rows)):
        known = raw_shares(which, together, "reporters", LEVEL)
        found[name] = _held(known.low, known.high, which @ true)
        ideal = 2 * ndtri(0.5 + LEVEL / 2) * np.sqrt(best.sums(which, "reporters").variance)
        found[f"{name} width"] = ((known.high - known.low) / ideal).tolist()
        gone = change(*(plain_shares(which, one, "population", LEVEL) for one in rounds))
        found[f"change of {name}"] = _held(gone.low, gone.high, which @ (second - first))
        ideal = (
            2 * ndtri(0.5 + LEVEL / 2) * np.sqrt(sum(one.sums(which, "population").variance for one in known_rounds))
        )
        found[f"change of {name} width"] = ((gone.high - gone.low) / ideal).tolist()
    return found


def _held(low: FloatArray, high: FloatArray, true: FloatArray) -> list[float]:
    return ((low <= true) & (true <= high)).astype(float).tolist()


def _each(asked: tuple[str, int, int]) -> tuple[str, int, Counted]:
    world, people, seed = asked
    return world, people, campaign(world, people, seed)


def main() -> None:
    """Print a line per world and number of people."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--people", type=int, nargs="+", default=[300, 3000, 30000])
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    work = list(product(WORLDS, asked.people, range(asked.campaigns)))
    found: dict[tuple[str, int], Counted] = {}
    with ProcessPoolExecutor(asked.jobs) as pool:
        results: Iterator[tuple[str, int, Counted]] = pool.map(_each, work, chunksize=4)
        for world, people, one in results:
            for name, values in one.items():
                found.setdefault((world, people), {}).setdefault(name, []).extend(values)
    print(f"{'world':14}{'people':>7}  share held / width   shown together   change held / width   shown together")
    for (world, people), one in found.items():
        line = f"{world:14}{people:7}"
        for name in ("district", "shown", "change of district", "change of shown"):
            held, width = 100 * np.mean(one[name]), np.median(one[f"{name} width"])
            line += f"   {held:5.1f} %  {width:4.2f}  "
        print(line)


if __name__ == "__main__":
    main()
