"""Long runs behind docs/reproductions.md: tables, joint estimation on seeds 0 to 19, cohorts, coverage of intervals.

    python benchmarks/evidence_collection.py [joint|once|tables|coverage ...] [--processes 2] [--quick] [--json FILE]

Not part of ``benchmarks/run.py``: it takes half an hour on two cores. Exits with 1 when a required number is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

JOINT = {("paris", 1.0): 0.112, ("paris", 0.5): 0.295, ("sf", 1.0): 0.060, ("sf", 0.5): 0.205}
ONCE = {("paris", 1.0): 0.31, ("sf", 1.0): 0.13}


def last_distance(name, beta, reporting, seed):
    """The last cycle's distances of the published and the joint estimator on the same reports."""
    from sfumato.collect.cities import city
    from sfumato.collect.estimation import earth_movers_distance, joint, log_smooth
    from sfumato.collect.loop.simulation import simulate_round
    from sfumato.papers.privic.privic_tables import published_protocol

    place = city(name)
    cycles = list(
        simulate_round(place.people, place.plain_grid, published_protocol(name, beta, reporting=reporting), seed=seed)
    )
    began = time.process_time()
    tallies = [cycle.tally for cycle in cycles[1:]]
    found = joint(tallies)
    seconds = time.process_time() - began
    smooth = log_smooth(tallies).probabilities
    estimates = {"joint": found.probabilities, "smooth": smooth, "blended": 0.5 * (found.probabilities + smooth)}
    distances = {
        key: earth_movers_distance(estimate, place.probabilities, place.plain_grid)
        for key, estimate in estimates.items()
    }
    return {"published": cycles[-1].emd, **distances, "steps": found.iterations, "seconds": seconds}


def multinomial_width(share, people):
    """The width of a 95 % interval if everyone's true cell were known for a sample of ``people``."""
    return 2 * 1.96 * np.sqrt(share * (1 - share) / people)


def covered(name, beta, reporting, seed):
    """Coverage and relative width of 95 % intervals for cells with data and for 200 random discs."""
    from sfumato.collect.cities import city
    from sfumato.collect.estimation import intervals
    from sfumato.collect.estimation.uncertainty import interval_ends
    from sfumato.collect.loop.simulation import simulate_round
    from sfumato.papers.privic.privic_tables import published_protocol

    place = city(name)
    grid, truth, people = place.plain_grid, place.probabilities, int(place.people.sum())
    protocol = published_protocol(name, beta, reporting=reporting)
    tallies = [c.tally for c in simulate_round(place.people, grid, protocol, seed=500 + seed) if c.tally]
    found = intervals(tallies, reporting=reporting)
    seen = truth > 0
    rng = np.random.default_rng(seed)
    rows, columns = np.divmod(np.arange(grid.cells), grid.columns)
    inside, wide = [], []
    for _ in range(200):
        centre = rng.integers(grid.rows), rng.integers(grid.columns)
        cells = np.flatnonzero(np.hypot(rows - centre[0], columns - centre[1]) <= rng.uniform(1, 5))
        share = float(truth[cells].sum())
        if share > 0:
            chosen = np.zeros((1, grid.cells))
            chosen[0, cells] = 1.0
            low, high = (float(end[0]) for end in interval_ends(found.linear.sums(chosen, found.target), found.level))
            inside.append(low <= share <= high)
            wide.append((high - low) / float(multinomial_width(share, people)))
    cells_wide = (found.upper - found.lower)[seen] / multinomial_width(truth[seen], people)
    return {
        "cells": float(((found.lower <= truth) & (truth <= found.upper))[seen].mean()),
        "regions": float(np.mean(inside)),
        "cells_width": float(np.median(cells_wide)),
        "regions_width": float(np.median(wide)),
    }


def table_round(name, beta, seed):
    """One round of the published loop: its distances."""
    from sfumato.collect.cities import city
    from sfumato.collect.loop.simulation import simulate_round
    from sfumato.papers.privic.privic_tables import published_protocol

    place = city(name)
    cycles = simulate_round(place.people, place.plain_grid, published_protocol(name, beta), seed=seed)
    return [cycle.emd for cycle in cycles]


def summarised(values):
    """Mean and standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=["tables", "joint", "once", "coverage"])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="two seeds each: a smoke test")
    parser.add_argument("--json", help="write everything here")
    chosen = parser.parse_args()
    rounds = 2 if chosen.quick else 20
    ok, everything = True, {}
    with ProcessPoolExecutor(chosen.processes) as pool:
        for section, limits, reporting in (("joint", JOINT, "every-cycle"), ("once", ONCE, "once")):
            if section not in chosen.sections:
                continue
            jobs = {
                key: [pool.submit(last_distance, *key, reporting, seed) for seed in range(rounds)] for key in limits
            }
            for key, futures in jobs.items():
                found = [future.result() for future in futures]
                mean, error = summarised([one["joint"] for one in found])
                others = ", ".join(
                    f"{kind} {value:.4f} ± {spread:.4f}"
                    for kind in ("published", "smooth", "blended")
                    for value, spread in [summarised([one[kind] for one in found])]
                )
                steps = sorted(one["steps"] for one in found)
                good = mean <= limits[key] or chosen.quick
                ok &= good
                print(
                    f"{section:6s} {key[0]:6s} beta {key[1]:g}: joint {mean:.4f} ± {error:.4f} (limit {limits[key]}), "
                    f"{others}, steps {steps[0]}..{steps[-1]}, "
                    f"{np.mean([one['seconds'] for one in found]):.1f} s each  {'ok' if good else 'MISSED'}",
                    flush=True,
                )
                everything[f"{section} {key[0]} {key[1]}"] = found
        if "tables" in chosen.sections:
            from sfumato.papers.privic.privic_tables import PAPER, ROUNDS, TOLERANCE

            jobs = {
                key: [pool.submit(table_round, *key, seed) for seed in range(2 if chosen.quick else ROUNDS[key[0]])]
                for key in PAPER
            }
            for key, futures in jobs.items():
                mean = np.mean([future.result() for future in futures], axis=0)
                worst = float(np.max(np.abs(mean[1:] / np.array(PAPER[key]) - 1)))
                good = worst <= TOLERANCE[key[0]] or chosen.quick
                ok &= good
                verdict = "ok" if good else "MISSED"
                print(f"table  {key[0]:6s} beta {key[1]:g}: worst entry {100 * worst:.2f} %  {verdict}", flush=True)
                everything[f"table {key[0]} {key[1]}"] = mean.tolist()
        if "coverage" in chosen.sections:
            cases = [
                (name, beta, reporting)
                for name in ("paris", "sf")
                for beta in (1.0, 0.5)
                for reporting in ("every-cycle", "once")
            ]
            jobs = {case: [pool.submit(covered, *case, seed) for seed in range(rounds)] for case in cases}
            for case, futures in jobs.items():
                found = [future.result() for future in futures]
                mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
                good = (mean["cells"] >= 0.88 and mean["regions"] >= 0.90) or chosen.quick
                ok &= good
                print(
                    f"cover  {case[0]:6s} beta {case[1]:g} {case[2]:11s}: cells {mean['cells']:.3f}, "
                    f"regions {mean['regions']:.3f}; median width, multinomial = 1: cells {mean['cells_width']:.2f}, "
                    f"regions {mean['regions_width']:.2f}  {'ok' if good else 'MISSED'}",
                    flush=True,
                )
                everything[f"coverage {' '.join(map(str, case))}"] = found
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(everything, file)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
