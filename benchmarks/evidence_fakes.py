"""Forged reports: is the real damage within the forecast, what is seen, and does trimming help?

    python benchmarks/evidence_fakes.py [--seeds 4] [--cycles 8] [--quick]

Paris, cohorts of 10,078 people over the cycles, the tight channel of epsilon 2 and 1 per cell and the capped loop of
beta 1; a share of forged reports in *every* cycle, at a random cell and at the worst, piled on it, spread over 3 x 3
cells, or drawn as if from there. Distances in cells. "damage" is between the estimates with and without the forgeries;
the forecast was made from the honest reports alone. "trimmed" is the distance to the truth after cutting what no map
explains. Exits with 1 when the mean damage at random places leaves the printed range by more than a tenth.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from sfumato.collection import Rules, close_cycle, cohorts, first_channel, suspicious_cycles
from sfumato.collection.influence import WAYS, fake_report_influence, with_forged
from sfumato.estimation import Tally, earth_movers_distance, joint, trimmed
from sfumato.mechanisms.grids.sampling import draw_tally
from sfumato.priors.cities import city
from sfumato.randomness import randomness

PARIS = city("paris")
GRID, TRUTH = PARIS.plain_grid, PARIS.probabilities


def honest(rules, cycles, seed):
    """One tally per cohort; a channel that follows the map follows it."""
    everyone = np.repeat(np.arange(GRID.cells), PARIS.people)
    channel, tallies = first_channel(GRID, rules), []
    for number, group in enumerate(cohorts(everyone, cycles, randomness(seed).permutation(everyone.size))):
        counts = draw_tally(channel, np.bincount(group, minlength=GRID.cells), rng=1000 * seed + number)
        tallies.append(Tally(channel, counts))
        if rules.promise == "mutual-information":
            channel = close_cycle(tallies, rules, with_intervals=False, with_influence=False).next_channel
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--cycles", type=int, default=8)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    ok = True
    kinds = (("tight, epsilon 2", Rules(beta=1.0)), ("tight, epsilon 1", Rules(beta=0.5)),
             ("loop, beta 1", Rules(beta=1.0, promise="mutual-information")))  # fmt: skip
    for label, rules in kinds[:1] if options.quick else kinds:
        for share in (0.05,) if options.quick else (0.01, 0.05):
            rows = {way: [] for way in WAYS}
            for seed in range(1 if options.quick else options.seeds):
                tallies = honest(rules, options.cycles, seed)
                estimate = joint(tallies)
                forecast = {one.way: one for one in fake_report_influence(tallies, estimate, shares=(share,))}
                place = int(np.random.default_rng(seed).integers(GRID.cells))
                for way in WAYS:
                    found = []
                    for cell in (place, forecast[way].cell):
                        forged = [with_forged(tally, share, way, cell) for tally in tallies]
                        after = joint(forged).probabilities
                        cut = joint(trimmed(forged)[0]).probabilities
                        seen = len(suspicious_cycles(forged, alarm_p=1e-4))
                        found += [
                            earth_movers_distance(estimate.probabilities, after, GRID),
                            earth_movers_distance(after, TRUTH, GRID),
                            earth_movers_distance(cut, TRUTH, GRID),
                            seen,
                        ]
                    clean = earth_movers_distance(estimate.probabilities, TRUTH, GRID)
                    rows[way].append([forecast[way].least, forecast[way].moved, *found, clean])
            for way, values in rows.items():
                low, high, damage, away, cut, seen, worst, worst_away, worst_cut, worst_seen, clean = np.mean(values, 0)
                good = 0.9 * low <= damage <= 1.1 * high and worst <= 1.1 * high
                ok &= bool(good) or options.quick
                print(
                    f"{label:17s} {share:.0%} {way:9s} forecast {low:.3f} .. {high:.3f}: damage {damage:.3f} (random), "
                    f"{worst:.3f} (worst) {'ok' if good else 'OUT'}; to the truth {clean:.3f} honest, {away:.3f} "
                    f"forged, {cut:.3f} trimmed (worst place {worst_away:.3f}, {worst_cut:.3f}); seen {seen:.1f}, "
                    f"{worst_seen:.1f} of {options.cycles} cycles",
                    flush=True,
                )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
