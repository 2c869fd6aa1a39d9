"""Figures 8 and 9 of PRIVIC: the distance after every cycle, with the joint estimator on the very same reports beside.

[Biswas2023, Sec. 7]. The joint estimator sees the reports of all cycles so far, each through its own channel;
privacy is identical under every definition, because nothing but post-processing changed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sfumato.collect.cities import city
from sfumato.collect.loop.simulation import average_rounds, simulate
from sfumato.papers import Reproduction
from sfumato.papers.claims import Claim, check
from sfumato.papers.picture import lines
from sfumato.papers.privic.privic_tables import STEPS, published_protocol, published_rows


def figure_8(*, quick: bool = False) -> Reproduction:
    """Paris."""
    return _figure("privic-figure-8", "paris", "Figure 8: Paris", quick)


def figure_9(*, quick: bool = False) -> Reproduction:
    """San Francisco."""
    return _figure("privic-figure-9", "sf", "Figure 9: San Francisco", quick)


def after_twice_the_cycles(name: str, beta: float, *, rounds: int) -> tuple[float, float]:
    """The distance to the truth in cells after twice the published cycles, mean over rounds, and the error of its fall.

    The fall since the published cycles is that of the same rounds, so its standard error (0 for one round) is that of
    their differences.
    """
    place, cycles = city(name), STEPS[name][0]
    twice = replace(published_protocol(name, beta), cycles=2 * cycles)
    found = simulate(place.people, place.plain_grid, twice, rounds=rounds)
    fall = np.array([one[cycles].emd - one[-1].emd for one in found])
    error = float(fall.std(ddof=1)) / math.sqrt(rounds) if rounds > 1 else 0.0
    return float(np.mean([one[-1].emd for one in found])), error


def _figure(key: str, name: str, title: str, quick: bool) -> Reproduction:
    rounds = 1 if quick else 5
    place = city(name)
    series = {}
    rows = []
    claims: list[Claim] = []
    paper = f"Biswas2023, {title.split(':')[0].replace('Figure', 'Fig.')}"
    last = {}
    for beta in (0.5, 1.0):
        published = published_rows(name, beta, rounds)
        # The joint estimate of San Francisco at beta 0.5 takes thousands of steps: one round's last cycle is shown.
        long = name == "sf" and beta == 0.5
        protocol = published_protocol(name, beta, estimator="joint", last_only=quick or long)
        together = []
        if not (quick and long):
            together = average_rounds(simulate(place.people, place.plain_grid, protocol, rounds=1 if long else rounds))
        for old in published:
            new = together[old.cycle].emd_mean if together else math.nan
            shown = round(new, 4) if math.isfinite(new) else None
            rows.append({"beta": beta, "N": old.cycle + 1, "published": round(old.emd_mean, 4), "joint": shown})
        series[f"published, beta {beta:g}"] = [(row.cycle + 1, row.emd_mean) for row in published[1:]]
        if together:
            series[f"joint, beta {beta:g}"] = [(row.cycle + 1, row.emd_mean) for row in together[1:]]
            # One round's joint estimate is compared with that round's own published one, of the same reports.
            same = published_rows(name, beta, 1) if long and rounds > 1 else published
            claims.append(
                check(
                    f"beta = {beta:g}: the joint estimate of the same reports is nearer to the truth",
                    together[-1].emd_mean < same[-1].emd_mean,
                    measured=(together[-1].emd_mean, same[-1].emd_mean),
                )
            )
        distances = [row.emd_mean for row in published]
        last[beta] = distances[-1]
        claims.append(
            check(
                f"beta = {beta:g}: the distance decreases with the cycles (halved at once, a quarter less at the end)",
                distances[1] < 0.5 * distances[0] and distances[-1] < 0.75 * distances[1],
                whose=paper,
                measured=(distances[0], distances[1], distances[-1]),
            )
        )
        longer, error = after_twice_the_cycles(name, beta, rounds=rounds)
        claims.append(
            check(
                f"beta = {beta:g}: it has converged where the paper stops (twice the cycles change it by under 5 %)",
                abs(longer / distances[-1] - 1) < 0.05,
                whose=f"{paper}, converged",
                measured=longer,
                expected=distances[-1],
                tolerance=0.05,
                because="distance after twice the cycles, and where the paper stops: it still falls"
                + (f" (by {distances[-1] - longer:.3f} ± {1.96 * error:.3f}, 95 %)" if rounds > 1 else ""),
            )
        )
    claims.append(
        check(
            "beta = 1 is estimated better than beta = 0.5",
            last[1.0] < last[0.5],
            whose=paper,
            measured=(last[1.0], last[0.5]),
        )
    )
    cycles = STEPS[name][0]
    return Reproduction(
        key,
        title,
        {"EMD (cells)": rows},
        claims,
        lines(series, title=f"{title}: distance to the truth after each of {cycles} cycles", x="N", y="EMD (cells)"),
        (
            f"Mean of {rounds} rounds; the same reports for both estimators.",
            *(
                ("San Francisco, beta = 0.5: the joint estimate is of the first round only, at its last cycle.",)
                if name == "sf" and not quick
                else ()
            ),
        ),
    )
