"""Forged reports: is the real damage within the forecast, what is seen, and does trimming help?

    python benchmarks/evidence_fakes.py [--city paris] [--seeds 4] [--first-seed 0] [--cycles 8] [--workers 1] [--quick]

Paris, San Francisco, or a city nothing was tuned on (austin, dallas, stockholm: from ../shared), cohorts of its people
(10,000 but for San Francisco, 123,000) over the cycles, the tight channel of epsilon 2 and 1 per cell and the capped
loop of beta 1; a share of forged reports in
*every* cycle, at a random cell and at the worst, piled on it, spread over 3 x 3 cells, or drawn as if from there.
Distances in cells. "damage" is between the estimates with and without the forgeries; the forecast was made from the
honest reports alone. Exits with 1 when the
mean damage, at random places or at the worst, leaves the printed range.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache

import numpy as np

import elsewhere
from sfumato.base.randomness import randomness
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, earth_movers_distance, joint
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, close_cycle, first_channel, judge_cycle
from sfumato.collect.loop.defences import WAYS, fake_report_influence, with_forged


@lru_cache
def place(name):
    """(grid, people per cell)."""
    if name in ("paris", "sf"):
        return city(name).plain_grid, city(name).people
    grid, share = elsewhere.untuned()[name]
    return grid, np.random.default_rng(0).multinomial(10_000, share)


def honest(name, rules, cycles, seed):
    """One tally per cohort; a channel that follows the map follows it."""
    grid, people = place(name)
    everyone = np.repeat(np.arange(grid.cells), people)
    channel, tallies = first_channel(grid, rules), []
    shuffled = everyone[randomness(seed).permutation(everyone.size)]
    for number in range(cycles):
        counts = draw_tally(
            channel, np.bincount(shuffled[number::cycles], minlength=grid.cells), rng=1000 * seed + number
        )
        tallies.append(Tally(channel, counts))
        if rules.promise == "mutual-information":
            channel = close_cycle(tallies, rules, with_intervals=False, with_influence=False).next_channel
    return tallies


KINDS = {
    "tight, epsilon 2": Rules(beta=1.0),
    "tight, epsilon 1": Rules(beta=0.5),
    "loop, beta 1": Rules(beta=1.0, promise="mutual-information"),
}


def forged(name, label, share, cycles, seed):
    """{way: forecast low and high, then damage, distances and cycles seen at a random place and at the worst}."""
    grid, people = place(name)
    truth = people / people.sum()
    tallies = honest(name, KINDS[label], cycles, seed)
    estimate = joint(tallies)
    forecast = {one.way: one for one in fake_report_influence(tallies, estimate, shares=(share,))}
    anywhere = int(np.random.default_rng(seed).integers(grid.cells))
    clean = earth_movers_distance(estimate.probabilities, truth, grid)
    rows = {}
    for way in WAYS:
        found = []
        for cell in (anywhere, forecast[way].cell):
            lied = [with_forged(tally, share, way, cell) for tally in tallies]
            after = joint(lied).probabilities
            found += [
                earth_movers_distance(estimate.probabilities, after, grid),
                earth_movers_distance(after, truth, grid),
                sum(judge_cycle([one], after, alarm_p=1e-4).alarm for one in lied),
            ]
        rows[way] = [forecast[way].least, forecast[way].moved, *found, clean]
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="paris", choices=["paris", "sf", *elsewhere.BOXES])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=0, help="other people than those of the page")
    parser.add_argument("--cycles", type=int, default=8)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    ok = True
    asked = [
        (label, share)
        for label in options.kinds[: 1 if options.quick else None]
        for share in (0.01, 0.05)[options.quick :]
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {
            key: [
                pool.submit(forged, options.city, *key, options.cycles, options.first_seed + seed)
                for seed in range(1 if options.quick else options.seeds)
            ]
            for key in asked
        }
        for (label, share), waiting in jobs.items():
            rows = [job.result() for job in waiting]
            for way in WAYS:
                values = np.mean([row[way] for row in rows], axis=0)
                low, high, damage, away, seen, worst, worst_away, worst_seen, clean = values
                good = low <= damage <= high and low <= worst <= high
                ok &= bool(good) or options.quick
                print(
                    f"{label:17s} {share:.0%} {way:9s} forecast {low:.3f} .. {high:.3f}: damage {damage:.3f} (random), "
                    f"{worst:.3f} (worst) {'ok' if good else 'OUT'}; to the truth {clean:.3f} honest, {away:.3f} "
                    f"forged, (worst place {worst_away:.3f}); seen {seen:.1f}, "
                    f"{worst_seen:.1f} of {options.cycles} cycles",
                    flush=True,
                )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
