"""Why metric privacy exists: frequency oracles beside metric channels on two cities, by earth mover's distance.

    python benchmarks/evidence_frequency.py [--quick] [--rounds 5] [--city paris --city sf] [--json FILE]

Every person reports once. Oracles promise epsilon between *any* two cells. Metric channels are shown twice: with the
same promise between any two cells (their rate lowered until their exact LDP is epsilon), and with that promise
between places one kilometre apart, more for farther ones. Distances are in kilometres. ``projected``: unbiased, then
the nearest distribution. ``likelihood``: the iterative Bayesian update, for everything that has a matrix, stopped
where the likelihood of held-out reports is best; never by looking at the truth. Amplification by shuffling is printed
apart, and assumes a shuffler. Exits with 1 when an oracle's certified epsilon exceeds what was asked for, or a metric
channel's measured one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import Channel
from sfumato.channels.conversions.bounds import shuffled_epsilon
from sfumato.channels.designs.exponential import exponential_matrix
from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.designs.limits import largest_rate
from sfumato.channels.frequency.estimate import projected_frequencies
from sfumato.channels.frequency.frequency_oracles import ORACLES, frequency_oracle
from sfumato.channels.measures.discrete import geo_epsilon, ldp
from sfumato.collect.cities import city
from sfumato.collect.estimation import earth_movers_distance, ibu

STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
NEAR_KM = 1.0


def distances_km(grid):
    centres = grid.centres()
    step = centres[:, None] - centres[None]
    return np.hypot(step[..., 0], step[..., 1]) / 1000.0


def metric_channels(grid, d):
    """Kernels by their rate per km; Blahut-Arimoto for a uniform prior, since the map is what is asked for."""
    uniform = np.full(len(d), 1.0 / len(d))

    def arimoto(rate):
        found = blahut_arimoto_matrix(uniform, d, beta=rate, steps=300, tolerance=1e-7).value.matrix
        return Channel(found / found.sum(axis=1, keepdims=True))

    def laplace(rate):
        matrix = planar_laplace_matrix(grid, rate / 1000.0)
        return Channel(matrix / matrix.sum(axis=1, keepdims=True))

    return {
        "exponential": lambda rate: Channel(exponential_matrix(d, rate)),
        "blahut-arimoto": arimoto,
        "planar-laplace": laplace,
    }


def tuned(build, measure, epsilon, top, steps):
    rate = largest_rate(
        lambda r: measure(build(r)), epsilon, low=0.2 * epsilon / top, high=2 * epsilon / top, steps=steps
    )
    return build(rate)


def likeliest(channel, counts, seed):
    """The iterative Bayesian update, with as many steps as predict a held-out third of the reports best."""
    rng = np.random.default_rng(1000 + seed)
    held = rng.binomial(counts, 1 / 3)
    theta, done, best = None, 0, (-math.inf, STEPS[0])
    for steps in STEPS:
        theta = ibu(channel, counts - held, steps=steps - done, start=theta).probabilities
        done = steps
        reported = theta @ channel.matrix
        best = max(best, (float(np.sum(held[held > 0] * np.log(reported[held > 0]))), steps))
    return ibu(channel, counts, steps=best[1]).probabilities


def emd_km(estimate, truth, grid):
    return earth_movers_distance(estimate, truth, grid) / 1000.0


def summarised(column):
    """Mean and standard error; nothing where the estimator does not apply."""
    if np.isnan(column).any():
        return ""
    return f"{column.mean():.3f} ± {column.std(ddof=1) / math.sqrt(len(column)):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--city", action="append", choices=["paris", "sf"], help="only this one; repeat")
    parser.add_argument("--quick", action="store_true", help="Paris at epsilon 1, two rounds: a smoke test")
    parser.add_argument("--json", help="write every number here")
    chosen = parser.parse_args()
    rounds = 2 if chosen.quick else chosen.rounds
    everything, ok = [], True
    for name in ("paris",) if chosen.quick else tuple(chosen.city or ("paris", "sf")):
        place = city(name)
        grid, truth = place.grid, place.probabilities
        people = np.repeat(np.arange(grid.cells), place.people)
        d = distances_km(grid)
        alike = emd_km(np.full(len(d), 1 / len(d)), truth, grid)
        print(f"\n{name}: {grid.cells} cells, {people.size} people, one report each; the farthest cells are "
              f"{d.max():.1f} km apart; a map that is everywhere alike is {alike:.3f} km off", flush=True)  # fmt: skip
        print(f"{'epsilon':>7}  {'mechanism':<22} {'promise':<26} {'exact':>9}  {'projected':>16}  {'likelihood':>16}")
        for epsilon in (1.0,) if chosen.quick else (0.5, 1.0, 2.0, 4.0):
            rows = []
            for kind in ORACLES:
                oracle = frequency_oracle(kind, grid.cells, epsilon)
                ok &= oracle.certified_epsilon <= epsilon
                both = []
                for seed in range(rounds):
                    reports = oracle.release(people, rng=seed)
                    likely = math.nan
                    if reports.shape[1] == 1:  # one number: there is a matrix
                        matrix = oracle.channel()
                        counts = np.bincount(reports[:, 0], minlength=matrix.shape[1])
                        likely = emd_km(likeliest(matrix, counts, seed), truth, grid)
                    both.append((emd_km(projected_frequencies(oracle, reports), truth, grid), likely))
                rows.append((kind, "any two cells", oracle.certified_epsilon, np.array(both)))
            for kind, build in metric_channels(grid, d).items():
                steps = 10 if kind == "planar-laplace" else 16
                for words, measure in (
                    ("any two cells", ldp),
                    ("places 1 km apart", lambda q, d=d: geo_epsilon(q, d) * NEAR_KM),
                ):
                    top = d.max() if words == "any two cells" else NEAR_KM
                    channel = tuned(build, measure, epsilon, top, steps)
                    exact = measure(channel)
                    ok &= exact <= epsilon * (1 + 1e-9)
                    found = []
                    for seed in range(rounds):
                        counts = np.bincount(channel.sample(people, rng=seed), minlength=channel.shape[1])
                        found.append((math.nan, emd_km(likeliest(channel, counts, seed), truth, grid)))
                    rows.append((kind, words, exact, np.array(found)))
            for kind, words, exact, found in rows:
                shown = [summarised(column) for column in found.T]
                print(
                    f"{epsilon:>7g}  {kind:<22} {words:<26} {exact:>9.6f}  {shown[0]:>16}  {shown[1]:>16}", flush=True
                )
                known = np.where(np.isnan(found), None, found).tolist()
                everything.append({"city": name, "epsilon": epsilon, "mechanism": kind, "promise": words,
                                   "exact_epsilon": exact, "emd_km": known})  # fmt: skip
        for epsilon in (1.0,) if chosen.quick else (1.0, 4.0):
            began = time.process_time()
            amplified = shuffled_epsilon(epsilon, people.size, 1e-6)
            print(f"if a trusted shuffler mixed all {people.size} reports of epsilon {epsilon:g}: "
                  f"({amplified:.4f}, 1e-6)-DP of the collection ({time.process_time() - began:.1f} s)")  # fmt: skip
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(everything, file)
    print(
        "every certified epsilon is within what was asked for" if ok else "MISSED: an epsilon above what was asked for"
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
