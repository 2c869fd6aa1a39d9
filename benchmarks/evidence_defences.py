"""What the defences of the loop are worth: Paris, beta = 1, promise of mutual information, ``collection.close_cycle``.

    python benchmarks/evidence_defences.py [--seeds 3] [--cycles 8]

For several caps on the change of log c: an honest campaign (how much of the gain in information plus beta times
distortion, from the first channel to the uncapped last one, is made), then forged reports of the remote cell 150 with
the defences and, in the first line, without any. "stays" is the probability with which the last channel makes somebody
in that cell report it: 0.17 under the first channel; "alarms" counts cycles with an alarm.
"""

from __future__ import annotations

import argparse

import numpy as np

from sfumato.base.randomness import randomness
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, earth_movers_distance
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, close_cycle, first_channel

PARIS = city("paris")
CELL = 150
CAPS = (1.0, 0.5, 0.3, 0.2, 0.1)


def campaign(rules: Rules, *, share: float, begin: int, cycles: int, seed: int) -> tuple[float, float, float, int]:
    """(stays, earth mover's distance of the map, information + beta distortion of the last channel, alarms)."""
    grid = PARIS.plain_grid
    everyone = np.repeat(np.arange(grid.cells), PARIS.people)
    shuffled = everyone[randomness(seed).permutation(everyone.size)]
    channel, tallies, alarms = first_channel(grid, rules), [], 0
    for cycle in range(cycles):
        present = shuffled[cycle::cycles] if rules.reporting == "once" else everyone
        counts = draw_tally(channel, np.bincount(present, minlength=grid.cells), rng=1000 * seed + cycle)
        if cycle >= begin:
            counts[CELL] += round(share / (1 - share) * present.size)
        tallies.append(Tally(channel, counts))
        closed = close_cycle(tallies, rules, with_intervals=False, with_influence=False)
        alarms += closed.verdict.alarm
        channel = closed.next_channel
    truth = PARIS.probabilities
    objective = channel.mutual_information(truth) + rules.beta * channel.distortion(truth)
    moved = earth_movers_distance(closed.estimate.probabilities, truth, grid)
    return float(channel.row(CELL)[CELL]), moved, objective, alarms


def mean(rules: Rules, options: argparse.Namespace, share: float, begin: int) -> tuple[float, float, float, str]:
    """The same averaged over seeds; alarms as a list."""
    found = [
        campaign(rules, share=share, begin=begin, cycles=options.cycles, seed=seed) for seed in range(options.seeds)
    ]
    stays, moved, objective, _ = np.mean(found, axis=0)
    return float(stays), float(moved), float(objective), " ".join(str(one[3]) for one in found)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=8)
    options = parser.parse_args()
    start = first_channel(PARIS.plain_grid, Rules(beta=1.0, promise="mutual-information"))
    first = start.mutual_information(PARIS.probabilities) + start.distortion(PARIS.probabilities)
    print(f"Paris, beta 1, {options.cycles} cycles, mean of seeds 0-{options.seeds - 1}; default cap", end=" ")
    print(Rules(beta=1.0).max_log_change)
    for reporting in ("once", "every-cycle"):
        print(f"\n{reporting}, honest")
        free = mean(
            Rules(beta=1.0, promise="mutual-information", max_log_change=None, reporting=reporting), options, 0.0, 0
        )
        print(f"  no cap   gain 100 %  EMD {free[1]:.3f}  alarms {free[3]}")
        for cap in CAPS:
            rules = Rules(beta=1.0, promise="mutual-information", max_log_change=cap, reporting=reporting)
            _, moved, objective, alarms = mean(rules, options, 0.0, 0)
            gain = (first - objective) / (first - free[2])
            print(f"  cap {cap:<4} gain {gain:4.0%}  EMD {moved:.3f}  alarms {alarms}")
        for share, begin in ((0.05, 0), (0.05, 3), (0.02, 0), (0.02, 3), (0.01, 0), (0.01, 3)):
            print(f"{reporting}, {share:.0%} forged from cycle {begin + 1}")
            bare = Rules(
                beta=1.0, promise="mutual-information", floor=0.0, max_log_change=None, alarm_p=0.0, reporting=reporting
            )
            stays, moved, _, _ = mean(bare, options, share, begin)
            print(f"  none     stays {stays:.3f}  EMD {moved:.3f}")
            for cap in CAPS:
                rules = Rules(beta=1.0, promise="mutual-information", max_log_change=cap, reporting=reporting)
                stays, moved, _, alarms = mean(rules, options, share, begin)
                print(f"  cap {cap:<4} stays {stays:.3f}  EMD {moved:.3f}  alarms {alarms}", flush=True)


if __name__ == "__main__":
    main()
