"""Do intervals cover with few people? Cells, 3 x 3 blocks of anybody's choice, and the areas that a campaign shows.

    python benchmarks/evidence_few.py [--seeds 40] [--workers 2] [--page docs/collection.md]

One cycle of the tight channel of exact epsilon 2 per cell, everybody reports once; nominal 90 and 95 % for reporters.
``--page`` writes the table into the page. Exits with 1 when the areas shown cover less than 2.5 points below nominal:
too much is no fault here, too little is.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import elsewhere

LEVELS = (0.90, 0.95)
CITIES, PEOPLE = ("clusters", "twelve", "paris"), (50, 100, 300)
BEGIN, END = "<!-- few people: written by benchmarks/evidence_few.py -->", "<!-- end of few people -->"


def covered(case):
    """[level][cells with people, 3 x 3 blocks, areas shown]: the share covered, and the areas' median width."""
    from sfumato.collect.estimation.tally import Tally
    from sfumato.collect.estimation.uncertainty import interval_ends, intervals
    from sfumato.collect.grids.sampling import draw_tally
    from sfumato.collect.loop import Rules, cut, first_channel, sharpness, told_apart
    from sfumato.collect.loop.told_areas import chosen_cells

    name, people, seed = case
    grid, share = {**elsewhere.made_up(), **elsewhere.tuned_on()}[name]
    present = np.random.default_rng(seed).multinomial(people, share)
    channel = first_channel(grid, Rules(beta=1.0))
    tally = Tally(channel, draw_tally(channel, present, rng=1000 + seed))
    linear, truth = intervals([tally]).linear, present / people
    blocks = [(row, column, 3, 3) for row in range(grid.rows - 2) for column in range(grid.columns - 2)]
    width = sharpness(told_apart([tally], "once"), 1.0, people).width
    chosen = [chosen_cells(grid, np.array(blocks)), chosen_cells(grid, cut(grid, width))]
    chosen[0] = chosen[0][chosen[0] @ truth > 0]
    moments = [linear.cells("reporters"), *(linear.sums(rows, "reporters") for rows in chosen)]
    wanted = [truth, *(rows @ truth for rows in chosen)]
    out = []
    for level in LEVELS:
        ends = [interval_ends(one, level) for one in moments]
        held = [(low <= true) & (true <= high) for (low, high), true in zip(ends, wanted, strict=True)]
        wide = float(np.median(np.clip(ends[2][1], 0, 1) - np.clip(ends[2][0], 0, 1)))
        out.append([held[0][truth > 0].mean(), held[1].mean(), held[2].mean(), wide])
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--page", type=Path, help="write the table into this page")
    chosen = parser.parse_args()
    groups = [(name, people) for name in CITIES for people in PEOPLE]
    lines = [
        "| city | people | cells 90 / 95 | 3 × 3 blocks 90 / 95 | areas shown 90 / 95 | median width of their 95 % |",
        "|---|---|---|---|---|---|",
    ]
    short = False
    with ProcessPoolExecutor(chosen.workers) as pool:
        for name, people in groups:
            cases = [(name, people, seed) for seed in range(chosen.seeds)]
            mean = np.mean(list(pool.map(covered, cases)), axis=0)
            told = [" / ".join(f"{100 * level[kind]:.1f}" for level in mean) for kind in range(3)]
            lines.append(f"| {name} | {people} | {' | '.join(told)} | {100 * mean[1][3]:.0f} % |")
            print(lines[-1], flush=True)
            short |= bool((mean[:, 2] < np.array(LEVELS) - 0.025).any())
    if chosen.page:
        before, rest = chosen.page.read_text(encoding="utf-8").split(BEGIN)
        table = "\n".join(lines)
        chosen.page.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return int(short)


if __name__ == "__main__":
    sys.exit(main())
