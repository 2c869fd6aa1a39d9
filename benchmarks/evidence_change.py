"""Change over time on real maps: false alarms, and whether a cycle shows itself.

    python benchmarks/evidence_change.py [--weeks 10] [--seeds 1] [--first-seed 0] [--classes] [--alarms] [--quick]

Weekday and weekend maps of Austin and Dallas (check-ins with UTC times from ../shared, local time), every person of a
day drawn anew from the day's map, one report each through the tight channel of epsilon 2 per cell and through the
capped loop of beta 1. Each cycle is closed over the 28 before it. "forged" are alarms, all of them false; "changed" are
notices, which are right (with ``--classes`` weekday and weekend are declared, and every notice is false: no day
differs from its class). Distances in cells: the cycle's own map as shown, with declared classes, the average over
all cycles, and the cycle's reports by themselves (left out with ``--alarms``). Exits with 1 when more than 1 in 100
honest cycles raises an alarm.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import elsewhere
from sfumato.collect.estimation import Tally, changed_map, earth_movers_distance, log_smooth
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, close_cycle, first_channel

POOLED = 28


def run(name, promise, options, seed):
    """(cycles, alarms, notices, distances of every fifth cycle: shown, class, average, alone)."""
    grid, weekday, weekend = elsewhere.weekly(name)
    rng = np.random.default_rng(seed)
    rules = Rules(beta=1.0, promise=promise)
    channel, tallies, labels = first_channel(grid, rules), [], []
    kinds, away = [], []
    for day in range(7 * options.weeks):
        truth = weekend if day % 7 >= 5 else weekday
        labels.append("weekend" if day % 7 >= 5 else "weekday")
        counts = draw_tally(channel, rng.multinomial(options.people, truth), rng=1000 * seed + day)
        tallies.append(Tally(channel, counts))
        pool, classes = tallies[-POOLED:], labels[-POOLED:]
        declared = classes if options.classes else None
        closed = close_cycle(pool, rules, classes=declared, with_intervals=False, with_influence=False)
        kinds.append(closed.verdict.kind)
        channel = closed.next_channel
        if day % 5 == 4 and day >= 7 and not options.alarms:
            alike = [tally for tally, label in zip(pool, classes, strict=True) if label == classes[-1]]
            by_class = changed_map(alike, log_smooth(pool))
            alone = log_smooth([tallies[-1]])
            maps = (closed.this_cycle, by_class, closed.estimate, alone)
            away.append([earth_movers_distance(one.probabilities, truth, grid) for one in maps])
    return len(kinds), kinds.count("forged"), kinds.count("changed"), away


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=int, default=10)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0, help="other days than those of the page")
    parser.add_argument("--alarms", action="store_true", help="count alarms alone, and measure no distance")
    parser.add_argument("--classes", action="store_true", help="declare weekday and weekend")
    parser.add_argument("--cities", nargs="*", default=["austin", "dallas"])
    parser.add_argument("--promises", nargs="*", default=["epsilon", "mutual-information"])
    parser.add_argument("--quick", action="store_true", help="two weeks: a smoke test")
    options = parser.parse_args()
    if options.quick:
        options.weeks = 2
    if not elsewhere.FILE.exists():
        print("the check-ins of ../shared are missing: nothing to measure")
        return 0
    cycles = alarms = 0
    for name in options.cities:
        for promise in options.promises:
            found = [
                run(name, promise, options, seed)
                for seed in range(options.first_seed, options.first_seed + options.seeds)
            ]
            total, forged, changed = (sum(one[k] for one in found) for k in range(3))
            cycles, alarms = cycles + total, alarms + forged
            if options.alarms:
                print(f"{name:7s} {promise:18s} {total} cycles: {forged} forged, {changed} changed", flush=True)
                continue
            away = np.concatenate([np.array(one[3]) for one in found])
            error = away.std(0, ddof=1) / len(away) ** 0.5
            words = ", ".join(
                f"{label} {mean:.3f} ± {one:.3f}"
                for label, mean, one in zip(
                    ("cycle shown", "by class", "average", "alone"), away.mean(0), error, strict=True
                )
            )
            print(
                f"{name:7s} {promise:18s} {total} cycles: {forged} forged, {changed} changed; EMD {words}", flush=True
            )
    print(f"{alarms} false alarms in {cycles} honest cycles")
    return 0 if alarms <= cycles / 100 else 1


if __name__ == "__main__":
    sys.exit(main())
