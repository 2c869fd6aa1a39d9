"""Section 6 on two cities: how long the loop remembers where it started, with the published and the joint estimator.

[Biswas2023, Sec. 6] speaks of a limit, which no number of cycles refutes: with the published steps a start is
forgotten, slowly; how slowly depends on the cell of the spike and on the draw, so that a spike of nine tenths is tried
in every cell of Paris, one round each. One of all but a millionth has not moved after 14 cycles. Starts: uniform, a
flat random one, and a spike. Distances between runs and to the truth, in cells, mean over rounds with 95 % intervals.
The joint estimator reads the same reports afresh, so that only the channels remember. (With Blahut-Arimoto's *limit*
some starts are never left: :mod:`.privic_chain`.)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import City, city
from sfumato.collect.estimation.earth_mover import earth_movers_distance
from sfumato.collect.estimation.joint import joint
from sfumato.collect.loop.simulation import SimulatedCycle, simulate, start_named
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import Claim, check
from sfumato.papers.picture import lines
from sfumato.papers.privic.privic_tables import STEPS, published_protocol

SPIKES = {"paris": "spike:93", "sf": "spike:93"}
NAMES = {"paris": "Paris", "sf": "San Francisco"}
Runs = dict[str, list[list[SimulatedCycle]]]


def run(*, quick: bool = False) -> Reproduction:
    """Both cities; ``quick`` takes 2 rounds of 30 cycles instead of 5 of 80."""
    rounds, cycles = (2, 30) if quick else (5, 80)
    rows: list[Row] = []
    together: list[Row] = []
    claims: list[Claim] = []
    series: dict[str, list[tuple[float, float]]] = {}
    truth_of_uniform: dict[str, float] = {}
    for name in ("paris", "sf"):
        place = city(name)
        protocol = replace(published_protocol(name, 1.0), cycles=cycles)
        starts = {"uniform": "uniform", "random": "random", "spike": SPIKES[name]}
        runs: Runs = {
            label: simulate(
                place.people, place.plain_grid, protocol, rounds=rounds, start=start_named(text, place.plain_grid)
            )
            for label, text in starts.items()
        }
        published = STEPS[name][0]
        apart = {label: _apart(runs["uniform"], runs[label], place.plain_grid) for label in ("random", "spike")}
        truth = {label: np.array([[cycle.emd for cycle in one] for one in found]) for label, found in runs.items()}
        shown = sorted({0, 1, 2, published, 2 * published, 30, 40, 60, 80} & set(range(cycles + 1)))
        for cycle in shown:
            row: dict[str, object] = {"city": NAMES[name], "cycle": cycle}
            for label in starts:
                row[f"to the truth, {label}"] = _interval(truth[label][:, cycle])
            for label, distances in apart.items():
                row[f"uniform to {label}"] = _interval(distances[:, cycle])
            rows.append(row)
        truth_of_uniform[name] = float(truth["uniform"][:, -1].mean())
        caught = _caught_up(truth["uniform"].mean(axis=0), truth["spike"].mean(axis=0))
        estimates = {label: _joint(runs[label][0], published, quick) for label in ("uniform", "spike")}
        joined = {
            label: earth_movers_distance(e, place.probabilities, place.plain_grid) for label, e in estimates.items()
        }
        between = earth_movers_distance(estimates["uniform"], estimates["spike"], place.plain_grid)
        together.append(
            {
                "city": NAMES[name],
                "cycles": published,
                **{f"joint to the truth, {label}": value for label, value in joined.items()},
                "joint, uniform to spike": between,
                "published, uniform to spike": float(apart["spike"][0, published]),
                "cycles until the spike is within a tenth of uniform (published)": caught,
            }
        )
        claims += _claims(name, truth, published, caught, between, float(apart["spike"][0, published]))
        for label in apart:
            means = apart[label].mean(axis=0)
            series[f"{NAMES[name]}, {label}"] = [(float(n), float(v)) for n, v in enumerate(means)][
                :: max(cycles // 20, 1)
            ]
    early, late = _every_spike(city("paris"), step=11 if quick else 1)
    claims.append(
        check(
            "Paris: wherever the spike is, after 60 cycles it is forgotten (within a quarter of what uniform reaches)",
            bool(late.max() < 1.25 * truth_of_uniform["paris"]),
            measured=tuple(map(float, (early.min(), np.median(early), early.max(), late.min(), late.max()))),
            because=f"{early.size} cells, one round each: least, median and largest distance after 14 cycles, least "
            "and largest after 60",
        )
    )
    stuck = _stuck(city("paris"), 14)
    claims.append(
        check(
            "with all but a millionth in one cell the loop has hardly moved after 14 cycles",
            stuck[1] > 0.9 * stuck[0],
            measured=stuck,
            because="distance to the truth before and after, Paris, cell 93; the channel made for it reports that cell",
        )
    )
    return Reproduction(
        name="privic-starts",
        title="Section 6 on two cities: does the start matter?",
        tables={
            "earth mover's distance (cells), beta = 1, mean ± 95 %": rows,
            "the same reports, estimated jointly": together,
        },
        claims=claims,
        picture=lines(series, title="Distance between a run from uniform and one from ...", x="cycle", y="EMD (cells)"),
        notes=(
            f"{rounds} rounds of {cycles} cycles; a spike holds nine tenths in one cell, the rest spread evenly.",
            "sfumato collect simulate --start spike:93 runs one such campaign.",
        ),
    )


def _claims(
    name: str, truth: dict[str, FloatArray], published: int, caught: int | None, joint_apart: float, apart: float
) -> list[Claim]:
    uniform, spike = (float(truth[label][:, published].mean()) for label in ("uniform", "spike"))
    last = {label: float(values[:, -1].mean()) for label, values in truth.items()}
    return [
        check(
            f"{NAMES[name]}: after the paper's {published} cycles a spike is still seen (over a tenth above uniform)",
            spike > 1.1 * uniform,
            measured=spike,
            expected=uniform,
            because="distance to the truth from a spike, and from uniform",
        ),
        check(
            f"{NAMES[name]}: it is being forgotten: the spike's distance keeps falling",
            last["spike"] < spike,
            whose="Biswas2023, Thm 6.3",
            measured=(spike, last["spike"]),
            because=f"it is within a tenth of uniform after {caught if caught is not None else 'more'} cycles",
        ),
        check(
            f"{NAMES[name]}: the joint estimates of the same reports differ less than the published ones do",
            joint_apart < apart,
            measured=(joint_apart, apart),
        ),
    ]


def _apart(first: list[list[SimulatedCycle]], second: list[list[SimulatedCycle]], grid: Grid) -> FloatArray:
    """(rounds, cycles + 1) distances between the runs of the same round."""
    return np.array(
        [
            [earth_movers_distance(a.estimate, b.estimate, grid) for a, b in zip(one, other, strict=True)]
            for one, other in zip(first, second, strict=True)
        ]
    )


def _joint(cycles: list[SimulatedCycle], count: int, quick: bool) -> FloatArray:
    tallies = [cycle.tally for cycle in cycles[1 : count + 1] if cycle.tally is not None]
    return joint(tallies, stop=100 if quick else "predict", most_steps=1000).probabilities


def _caught_up(uniform: FloatArray, spike: FloatArray) -> int | None:
    """The first cycle from which the spike's distance stays within a tenth of uniform's."""
    late = np.flatnonzero(spike > 1.1 * uniform)
    first = int(late[-1]) + 1 if late.size else 0
    return first if first < uniform.size else None


def _stuck(place: City, cycles: int) -> tuple[float, float]:
    grid = place.plain_grid
    protocol = replace(published_protocol("paris", 1.0), cycles=cycles)
    (one,) = simulate(place.people, grid, protocol, rounds=1, start=start_named("spike:93:0.999999", grid))
    return one[0].emd, one[-1].emd


def _every_spike(place: City, *, step: int) -> tuple[FloatArray, FloatArray]:
    """The distance to the truth after 14 and after 60 cycles from a spike of nine tenths in every ``step``-th cell."""
    grid, protocol = place.plain_grid, replace(published_protocol("paris", 1.0), cycles=60)
    found = []
    for cell in range(0, grid.cells, step):
        (one,) = simulate(place.people, grid, protocol, rounds=1, start=start_named(f"spike:{cell}", grid))
        found.append((one[14].emd, one[60].emd))
    early, late = np.array(found).T
    return early, late


def _interval(values: FloatArray) -> str:
    spread = 1.96 * float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else 0.0
    return f"{values.mean():.4f} ± {spread:.4f}"
