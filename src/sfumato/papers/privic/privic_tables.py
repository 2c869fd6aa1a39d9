"""Tables 2 and 3 of PRIVIC: the distance between the true and the estimated map after every cycle.

[Biswas2023, App. B]. The protocol that reproduces them is the text of section 5, in cell units, on 11 x 15 and 16 x 24
cells. (Algorithm 1 as printed obfuscates with the channel of the cycle before and estimates with this one's, and loops
once too often; Algorithm 2 normalises over d(z, y): see :mod:`sfumato.papers.privic.privic_small`.) The paper's
"16 x 12" and "24 x 17" count edges. Row N = 1 is the uniform start, so 14 and 7 cycles report.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sfumato.collect.cities import city
from sfumato.collect.loop.simulation import AveragedCycle, Protocol, average_rounds, simulate
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import Claim, cannot_check, check, near
from sfumato.papers.picture import lines

# Means of the five rounds printed in the paper, from N = 2 on; and the published steps and cycles.
PAPER: dict[tuple[str, float], tuple[float, ...]] = {
    ("paris", 1.0): (0.2744, 0.2381, 0.2066, 0.1911, 0.1732, 0.1665, 0.1613, 0.1588, 0.1492, 0.1420, 0.1414, 0.1453,
                     0.1390, 0.1399),
    ("paris", 0.5): (0.5782, 0.4875, 0.4259, 0.3879, 0.3675, 0.3536, 0.3441, 0.3349, 0.3293, 0.3243, 0.3260, 0.3130,
                     0.3059, 0.3053),
    ("sf", 1.0): (0.3696, 0.2986, 0.2621, 0.2357, 0.2160, 0.1989, 0.1856),
    ("sf", 0.5): (0.8018, 0.6556, 0.5707, 0.5163, 0.4811, 0.4554, 0.4364),
}  # fmt: skip
FIRST_ROW = {"paris": 2.02262, "sf": 7.37595}
OUR_FIRST_ROW = {"paris": 2.022618, "sf": 7.376104}
STEPS = {"paris": (14, 8, 10), "sf": (7, 5, 5)}
ROUNDS = {"paris": 60, "sf": 20}
TOLERANCE = {"paris": 0.06, "sf": 0.01}
CHECK_INS = {"paris": (10_260, 10_078), "sf": (123_108, 123_025)}
"""As section 7 says, and as section 3 and the published files have."""
PRINTED_GRID = {"paris": (16, 12), "sf": (24, 17)}
SAID_CYCLES = {"paris": 15, "sf": 8}


def published_protocol(name: str, beta: float, **changes: Any) -> Protocol:
    """The published cycles and steps of a city."""
    cycles, ba_steps, ibu_steps = STEPS[name]
    changes.setdefault("reporting", "every-cycle")
    return Protocol(beta=beta, cycles=cycles, ba_steps=ba_steps, ibu_steps=ibu_steps, **changes)


@lru_cache(maxsize=16)
def published_rows(name: str, beta: float, rounds: int, seed: int = 0) -> tuple[AveragedCycle, ...]:
    """The published loop, averaged over rounds."""
    place = city(name)
    protocol = published_protocol(name, beta)
    return tuple(average_rounds(simulate(place.people, place.plain_grid, protocol, rounds=rounds, seed=seed)))


def table_2(*, quick: bool = False) -> Reproduction:
    """Paris."""
    return _table("privic-table-2", "paris", "Table 2: Paris", quick)


def table_3(*, quick: bool = False) -> Reproduction:
    """San Francisco."""
    return _table("privic-table-3", "sf", "Table 3: San Francisco", quick)


def _table(key: str, name: str, title: str, quick: bool) -> Reproduction:
    rounds = 5 if quick else ROUNDS[name]
    allowed = TOLERANCE[name] + ((0.04 if name == "paris" else 0.01) if quick else 0.0)
    rows: list[Row] = []
    claims: list[Claim] = []
    place = f"Biswas2023, {title.split(':')[0]}"
    series = {}
    for beta in (1.0, 0.5):
        ours = published_rows(name, beta, rounds)
        first = ours[0].emd_mean
        claims.append(
            near(f"beta = {beta:g}: row N = 1, the uniform start", first, FIRST_ROW[name], tolerance=1e-4, whose=place)
        )
        claims.append(near(f"beta = {beta:g}: the same by our count", first, OUR_FIRST_ROW[name], tolerance=1e-5))
        worst = 0.0
        for row, paper in zip(ours[1:], PAPER[name, beta], strict=True):
            off = row.emd_mean / paper - 1
            worst = max(worst, abs(off))
            rows.append(
                {
                    "beta": beta,
                    "N": row.cycle + 1,
                    "paper": paper,
                    "ours": round(row.emd_mean, 4),
                    "sd": round(row.emd_sd, 4),
                    "difference": f"{100 * off:+.2f} %",
                    "epsilon": round(row.epsilon, 4),
                    "spent_epsilon": round(row.spent_epsilon, 3),
                }
            )
        claims.append(
            near(
                f"beta = {beta:g}: the means of all rows N >= 2, largest relative difference",
                worst,
                0.0,
                tolerance=allowed,
                relative=False,
                whose=place,
            )
        )
        series[f"ours, beta {beta:g}"] = [(row.cycle + 1, row.emd_mean) for row in ours[1:]]
        series[f"paper, beta {beta:g}"] = [(index + 2, value) for index, value in enumerate(PAPER[name, beta])]
    grid = city(name).plain_grid
    claims += [
        cannot_check(
            "section 7 works with other numbers of check-ins than section 3",
            whose="Biswas2023, Sec. 7, check-ins",
            because=f"{CHECK_INS[name][0]:,} against {CHECK_INS[name][1]:,}, the number in the released files "
            f"({100 * (CHECK_INS[name][0] / CHECK_INS[name][1] - 1):.2g} % more); row N = 1 agrees with that and need "
            "not disagree with the other",
        ),
        check(
            "the grid has as many cells across and down as printed",
            (grid.columns, grid.rows) == PRINTED_GRID[name],
            recorded="fails",
            whose="Biswas2023, Sec. 3.3, grid",
            measured=(float(grid.columns), float(grid.rows)),
            expected=tuple(float(side) for side in PRINTED_GRID[name]),
            because=f"the files' grid, which meets row N = 1 of the table to {abs(first / FIRST_ROW[name] - 1):.0e}",
        ),
        near(
            "row N = 1 is the uniform start: one cycle less reports than is said",
            float(len(PAPER[name, 1.0])),
            float(SAID_CYCLES[name] - 1),
            tolerance=1e-9,
            whose="Biswas2023, Sec. 7, cycles",
        ),
    ]
    costs = {beta: [row for row in rows if row["beta"] == beta][-1]["spent_epsilon"] for beta in (0.5, 1.0)}
    return Reproduction(
        key,
        title,
        {"earth mover's distance to the truth, in cells": rows},
        claims,
        lines(series, title=f"{title}: distance after each cycle", x="N", y="EMD (cells)"),
        (
            f"Mean of {rounds} rounds, seeds 0 to {rounds - 1}; every person reports in every cycle.",
            "The paper's units are cells, not kilometres, and its grids' sizes count edges.",
            f"It does not say what this costs: {costs[0.5]} per cell at beta = 0.5 and {costs[1.0]} at beta = 1, "
            "against the 2 beta of one report.",
        ),
        {"rounds": rounds},
    )
