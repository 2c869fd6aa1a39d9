"""Do the intervals cover? Every city, beta, number of people and way of reporting, by one command.

    python benchmarks/evidence_intervals.py [--workers 2] [--part 1/3] [--quick] [--output FILE] [--page FILE]

A campaign of 5 cycles as it runs (``collection.first_channel``, ``next_channel``): the tight channel of exact epsilon
2 beta (promise epsilon) and the capped loop (promise mutual-information). Nominal 80 / 90 / 95 % for the *reporters* of
those cycles, scored before clipping at 0: cells with people, 60 random discs, and apart the cells where nobody is.
Seeds are added until the standard error over seeds of every figure is at most 0.8 points (at most --most-seeds).
``--output`` keeps every row, and joins the rows of several parts; ``--page`` writes the tables of that file into the
page (alone, it measures nothing). ``--first-seed`` takes other worlds. Exits with 1 when a figure is off by more than
2.5 points plus two standard errors. ``--borrowed-channels``: the channels are those of another campaign of the same
city, so that they know nothing of these reports; what that changes is the price of a channel that follows the map.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import elsewhere

LEVELS = (0.80, 0.90, 0.95)
OPTIONS = {"borrowed": False}
CYCLES = 5
PARTS = (("hot", "uniform", "rows", "clusters"), ("twelve", "paris", "austin", "stockholm"), ("sf", "dallas"))
"""About as much work each: 16 cores take less than 8 minutes."""
BEGIN, END = "<!-- intervals: written by benchmarks/evidence_intervals.py -->", "<!-- end of intervals -->"


@lru_cache
def places():
    """Every city by name."""
    return {**elsewhere.made_up(), **elsewhere.tuned_on(), **elsewhere.untuned()}


def campaign(grid, share, people, beta, reporting, promise, seed):
    """(true shares of the reporters, tallies) of one campaign."""
    from sfumato.collect.estimation import Tally, log_smooth
    from sfumato.collect.grids.sampling import draw_tally
    from sfumato.collect.loop import Rules, first_channel, next_channel

    rng = np.random.default_rng(seed)
    present = rng.multinomial(people, share)
    everyone = np.repeat(np.arange(grid.cells), present)
    shuffled = everyone[rng.permutation(people)]
    groups = [shuffled[cycle::CYCLES] if reporting == "once" else everyone for cycle in range(CYCLES)]
    rules = Rules(beta=beta, promise=promise, reporting=reporting)
    channel, tallies = first_channel(grid, rules), []
    for cycle, group in enumerate(groups):
        counts = draw_tally(channel, np.bincount(group, minlength=grid.cells), rng=1000 * seed + cycle)
        tallies.append(Tally(channel, counts))
        if cycle + 1 < CYCLES and promise == "mutual-information":
            channel = next_channel(channel, log_smooth(tallies).probabilities, rules)
    if OPTIONS["borrowed"]:
        OPTIONS["borrowed"] = False
        _, others = campaign(grid, share, people, beta, reporting, promise, seed + 100_000)
        OPTIONS["borrowed"] = True
        tallies = [
            Tally(
                one.channel,
                draw_tally(one.channel, np.bincount(group, minlength=grid.cells), rng=10**9 + 1000 * seed + cycle),
            )
            for cycle, (one, group) in enumerate(zip(others, groups, strict=True))
        ]
    return present / people, tallies


def covered(case, seed):
    """[level][cells with people, regions, cells without]: the share covered."""
    from sfumato.collect.estimation import log_smooth
    from sfumato.collect.estimation.uncertainty import interval_ends, linearise

    name, beta, people, reporting, promise = case
    grid, share = places()[name]
    truth, tallies = campaign(grid, share, people, beta, reporting, promise, seed)
    smooth = log_smooth(tallies)
    rng = np.random.default_rng(seed + 77)
    rows, columns = np.divmod(np.arange(grid.cells), grid.columns)
    discs = []
    for _ in range(60):
        near = np.hypot(rows - rng.integers(grid.rows), columns - rng.integers(grid.columns)) <= rng.uniform(1, 5)
        if truth[near].sum() > 0 and not near.all():
            discs.append(np.flatnonzero(near))
    present = truth > 0
    linear = linearise(tallies, smooth.probabilities, reporting)
    chosen = np.zeros((len(discs), grid.cells))
    for row, disc in enumerate(discs):
        chosen[row, disc] = 1.0
    moments, sums = linear.cells("reporters"), linear.sums(chosen, "reporters")
    out = []
    for level in LEVELS:
        low, high = interval_ends(moments, level)
        inside = (low <= truth) & (truth <= high)
        low, high = interval_ends(sums, level)
        regions = (low <= chosen @ truth) & (chosen @ truth <= high)
        out.append([inside[present].mean(), regions.mean(), inside[~present].mean() if (~present).any() else np.nan])
    return out


def measured(cases, options):
    """Rows {case: mean, se, seeds}: every case at first, then more seeds for those that need them."""
    found = defaultdict(list)
    wanted = dict.fromkeys(cases, 4 if options.quick else options.seeds)
    with ProcessPoolExecutor(options.workers) as pool:
        while True:
            jobs = {
                (case, seed): pool.submit(covered, case, options.first_seed + seed)
                for case in cases
                for seed in range(len(found[case]), wanted[case])
            }
            if not jobs:
                break
            for (case, _), job in jobs.items():
                found[case].append(job.result())
            for case in cases:
                error = spread(found[case])[:, :2].max()
                if not options.quick and error > 0.8:
                    needed = int(np.ceil(len(found[case]) * (error / 0.78) ** 2))
                    wanted[case] = min(options.most_seeds, max(needed, len(found[case])))
    return {
        " ".join(map(str, case)): {
            "mean": np.nanmean(100 * np.array(values), axis=0).tolist(),
            "se": spread(values).tolist(),
            "seeds": len(values),
        }
        for case, values in found.items()
    }


def spread(values):
    """The standard error over seeds, in points."""
    return np.nanstd(100 * np.array(values), axis=0, ddof=1) / np.sqrt(len(values))


def off(row):
    """(the largest distance from nominal, whether it is certain to be more than 2.5 points)."""
    away = np.abs(np.array(row["mean"])[:, :2] - 100 * np.array(LEVELS)[:, None])
    return float(away.max()), bool((away > 2.5 + 2 * np.array(row["se"])[:, :2]).any())


def triple(row, kind):
    """80 / 90 / 95 of cells (0), regions (1) or cells without people (2)."""
    return " / ".join(f"{level[kind]:.1f}" for level in row["mean"])


def least_to_most(means, kind):
    """80 / 90 / 95 of cells (0) or regions (1), each from the city with the least to the one with the most."""
    return " / ".join(f"{level[kind].min():.1f} to {level[kind].max():.1f}" for level in np.moveaxis(means, 0, -1))


def tables(rows):
    """The page's tables: a line for every promise, over its cities, and every row that is off."""
    groups = defaultdict(lambda: defaultdict(list))
    for name, row in rows.items():
        groups[name.split()[4]][name.split()[0]].append(row)
    lines = [
        "| promise | cities, campaigns | cells 80 / 90 / 95 | regions 80 / 90 / 95 | farthest off | beyond | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    for promise, cities in groups.items():
        means = np.array([np.mean([row["mean"] for row in group], axis=0) for group in cities.values()])
        campaigns = [row for group in cities.values() for row in group]
        seeds = [row["seeds"] for row in campaigns]
        beyond = sum(off(row)[0] > 2.5 for row in campaigns)
        lines.append(
            f"| {promise} | {len(cities)}, {len(campaigns)} | {least_to_most(means, 0)} | {least_to_most(means, 1)} "
            f"| {max(off(row)[0] for row in campaigns):.1f} | {beyond} | {min(seeds)} to {max(seeds)} |"
        )
    within = sum(off(row)[0] <= 2.5 for row in rows.values())
    worst = max(np.array(row["se"])[:, :2].max() for row in rows.values())
    lines += [
        "",
        f"{within} of {len(rows)} campaigns lie within 2.5 points of every nominal level, for cells and for regions "
        f"(largest standard error {worst:.2f}).",
    ]
    others = {name: row for name, row in rows.items() if off(row)[0] > 2.5}
    if others:
        lines += [
            "The others, all of them:",
            "",
            "| city | β | people | reporting | promise | cells 80 / 90 / 95 | regions 80 / 90 / 95 | error at most |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for name, row in others.items():
            city, beta, people, reporting, promise = name.split()
            error = np.array(row["se"])[:, :2].max()
            lines.append(
                f"| {city} | {float(beta):g} | {int(people):,} | {reporting} | {promise} | {triple(row, 0)} "
                f"| {triple(row, 1)} | {error:.1f} |"
            )
    return "\n".join(lines)


def write_page(page, rows):
    """Put the tables between the marks of the page; what stands outside them is the writer's."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{tables(rows)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--most-seeds", type=int, default=240)
    parser.add_argument("--first-seed", type=int, default=0, help="take other worlds than those of the page")
    parser.add_argument("--quick", action="store_true", help="4 seeds, a few cases: a smoke test")
    parser.add_argument("--part", choices=[f"{number}/{len(PARTS)}" for number in range(1, len(PARTS) + 1)])
    parser.add_argument("--cities", nargs="*")
    parser.add_argument("--betas", nargs="*", type=float, default=[0.5, 1.0, 2.0])
    parser.add_argument("--people", nargs="*", type=int, default=[1_000, 10_000])
    parser.add_argument("--reportings", nargs="*", default=["once", "every-cycle"])
    parser.add_argument("--promises", nargs="*", default=["epsilon", "mutual-information"])
    parser.add_argument("--borrowed-channels", action="store_true", help="channels that know nothing of these reports")
    parser.add_argument("--output", type=Path, help="keep every row here (JSON), beside those of earlier parts")
    parser.add_argument("--page", type=Path, help="write the tables of --output into this page, and measure nothing")
    chosen = parser.parse_args()
    OPTIONS["borrowed"] = chosen.borrowed_channels  # the workers are forked, and know it
    kept = json.loads(chosen.output.read_text()) if chosen.output and chosen.output.exists() else {}
    if chosen.page:
        write_page(chosen.page, kept)
        return 0
    known = places()
    if not elsewhere.FILE.exists():
        print("without ../shared: made-up cities, Paris and San Francisco only")
    names = chosen.cities or (["hot", "paris"] if chosen.quick else list(known))
    if chosen.part:
        names = [name for name in PARTS[int(chosen.part[0]) - 1] if name in known]
    cases = [
        (name, beta, people, reporting, promise)
        for name in names
        for beta in ([1.0] if chosen.quick else chosen.betas)
        for people in ([1_000] if chosen.quick else chosen.people)
        for reporting in chosen.reportings
        for promise in chosen.promises
    ]
    began = time.perf_counter()
    rows = measured(cases, chosen)
    print("coverage in % of nominal 80/90/95, and its largest standard error over seeds; cells where nobody is, apart")
    for name, row in rows.items():
        error = np.array(row["se"])[:, :2].max()
        print(
            f"{name:50s} cells {triple(row, 0)} | regions {triple(row, 1)} | ± {error:.1f} | nobody {triple(row, 2)} | "
            f"{row['seeds']} seeds, off {off(row)[0]:.1f} {'OFF' if off(row)[1] else 'ok'}"
        )
    print(f"{time.perf_counter() - began:.0f} s")
    if chosen.output:
        chosen.output.write_text(json.dumps({**kept, **rows}, indent=1), encoding="utf-8")
    return 1 if any(off(row)[1] for row in rows.values()) and not chosen.quick else 0


if __name__ == "__main__":
    sys.exit(main())
