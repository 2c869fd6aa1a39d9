"""Whether intervals of named districts, and of how they change, hold: worlds that nothing was tuned on.

    python benchmarks/evidence_districts.py [--campaigns 200] [--people 300 3000 30000] [--jobs 1]

Four worlds of about 400 squares of 500 m: a ring road, two towns, a coast with nobody at sea, and an American grid of
streets, drawn a hundred times finer than the squares. Twelve districts of very different sizes (nearest of twelve
random centres), whose borders cut squares: the truth is who stood inside. People report once at 2 per km, in two
rounds; in the second, one person in five has moved to another district. Reported for each: how often the interval of a
district's share (of those who reported, over both rounds) and that of its change (of everybody) held the truth, in the
districts as such and in those told apart; and the median width beside that of the best linear estimate, which knows the
true map (and takes people for evenly spread in each square).
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
from sfumato.collect.estimation.uncertainty import UNEVEN, Linearised, Target, linearise
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop.districts import Districts, change, plain_shares, raw_shares, telling
from sfumato.collect.loop.loop import Rules, first_channel

LEVEL, DISTRICTS, FINER = 0.95, 12, 10
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
    middles = (np.arange(20 * FINER) + 0.5) / (10 * FINER) - 1
    x, y = np.meshgrid(middles, -middles)
    first = WORLDS[world](x, y).ravel()
    first /= first.sum()
    centres = rng.uniform(-1, 1, (2, DISTRICTS))
    nearest = np.hypot(x.ravel()[:, None] - centres[0], y.ravel()[:, None] - centres[1]).argmin(axis=1)
    there = np.unique(nearest, return_inverse=True)[1]
    inside = (there == np.arange(there.max() + 1)[:, None]).astype(np.float64)
    parts = in_squares(inside) / FINER**2
    fullest = parts.argmax(axis=0)
    fullest[parts.argmax(axis=1)] = np.arange(len(parts))
    districts = Districts(grid, tuple(map(str, range(len(parts)))), fullest, parts)
    moved = rng.dirichlet(np.full(len(districts.names), 0.5))[there] * first
    second = 0.8 * first + 0.2 * moved / moved.sum()
    channel = first_channel(grid, Rules(beta=0.001, promise="epsilon", max_log_change=None))
    places = [rng.multinomial(people // 2, map_) for map_ in (first, second)]
    tallies = [Tally(channel, draw_tally(channel, in_squares(one), rng=int(rng.integers(2**62)))) for one in places]
    smooth = log_smooth(tallies).probabilities
    chosen = districts.chosen
    groups = telling(districts, tallies, "once").groups(people)
    rows, within = (np.stack([one[list(group)].sum(axis=0) for group in groups]) for one in (chosen, inside))
    together = linearise(tallies, smooth, "once")
    best = linearise(tallies, np.maximum(in_squares(first + second) / 2, 1e-7), "once")
    true = sum(places) / sum(one.sum() for one in places)
    rounds = [linearise([one], log_smooth([one]).probabilities, "once") for one in tallies]
    known_rounds = [
        linearise([tally], np.maximum(in_squares(map_), 1e-7), "once")
        for tally, map_ in zip(tallies, (first, second), strict=True)
    ]
    found: Counted = {}
    for name, which, real in (("district", chosen, inside), ("shown", rows, within)):
        known = raw_shares(which, together, "reporters", LEVEL)
        found[name] = _held(known.low, known.high, real @ true)
        ideal = 2 * ndtri(0.5 + LEVEL / 2) * np.sqrt(_of_even_squares(best, which, "reporters"))
        found[f"{name} width"] = ((known.high - known.low) / ideal).tolist()
        gone = change(*(plain_shares(which, one, "population", LEVEL) for one in rounds))
        found[f"change of {name}"] = _held(gone.low, gone.high, real @ (second - first))
        each = sum(_of_even_squares(one, which, "population") for one in known_rounds)
        ideal = 2 * ndtri(0.5 + LEVEL / 2) * np.sqrt(each)
        found[f"change of {name} width"] = ((gone.high - gone.low) / ideal).tolist()
    return found


def in_squares(fine: np.ndarray) -> np.ndarray:
    """Sums of fine places in the squares, (..., cells)."""
    shape = (*fine.shape[:-1], 20, FINER, 20, FINER)
    return fine.reshape(shape).sum(axis=(-3, -1)).reshape(*fine.shape[:-1], 400)


def _of_even_squares(linear: Linearised, which: FloatArray, target: Target) -> FloatArray:
    """The variance of sums without that of people who are not evenly spread in a square."""
    inside = which * linear.theta
    return linear.sums(which, target).variance - UNEVEN * (inside * linear.theta * (1 - which)).sum(axis=1)


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
