"""Figure 3 of PRIVIC: is the map estimated better from Blahut-Arimoto or from Laplace reports? From Laplace.

[Biswas2023, Sec. 3.4] finds Blahut-Arimoto better at high privacy. With planar Laplace noise at ε = 2β, as the paper
tunes it, on the same cells and with the published update steps, Laplace is better at every level, in both cities; so it
is with ten times the steps. The two rank the other way in mutual information: Laplace tells more about each person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.base.things.channel import Channel
from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.measures.discrete import mutual_information
from sfumato.collect.cities import city
from sfumato.collect.estimation import earth_movers_distance, ibu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.sampling import draw_tally
from sfumato.papers import Reproduction
from sfumato.papers.claims import check
from sfumato.papers.picture import lines
from sfumato.papers.privic.privic_tables import STEPS

PAPER = "Biswas2023"
BETAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0, 5.0)
PRIVATE = {"paris": 1.4, "sf": 1.0}


@dataclass(frozen=True, slots=True)
class ReportsCompared:
    """The distance to the truth in cells from BA and from LAP reports of everybody at one β, and what each tells."""

    city: str
    beta: float
    elastic: float
    laplace: float
    elastic_longer: float
    laplace_longer: float
    elastic_information: float
    laplace_information: float
    sd: float
    """The larger standard deviation of the two distances over the rounds; 0 for one round."""


def compare_reports(name: str, beta: float, *, rounds: int) -> ReportsCompared:
    """Everyone reports once through either channel; the published update steps, and ten times as many."""
    place = city(name)
    grid, truth = place.plain_grid, place.probabilities
    _, ba_steps, ibu_steps = STEPS[name]
    elastic = blahut_arimoto(truth, grid, beta=beta, steps=ba_steps, floor=0.0).value
    matrix = planar_laplace_matrix(grid, 2 * beta)
    laplace = Channel(matrix / matrix.sum(axis=1, keepdims=True))
    found: list[list[float]] = []
    for number in range(rounds):
        source = np.random.default_rng(1000 * number + 1)
        reports = sum(source.multinomial(count, row) for count, row in zip(place.people, laplace.matrix, strict=True))
        row = []
        for channel, tally in ((elastic, draw_tally(elastic, place.people, rng=1000 * number)), (laplace, reports)):
            both = (ibu(channel, tally, steps=steps).probabilities for steps in (ibu_steps, 10 * ibu_steps))
            row += [earth_movers_distance(estimate, truth, grid) for estimate in both]
        found.append(row)
    ba, ba_longer, lap, lap_longer = (float(mean) for mean in np.mean(found, axis=0))
    told = elastic.mutual_information(truth), mutual_information(laplace.matrix, truth)
    sd = float(np.std(found, axis=0, ddof=1)[[0, 2]].max()) if rounds > 1 else 0.0
    return ReportsCompared(name, beta, ba, lap, ba_longer, lap_longer, told[0], told[1], sd)


def run(*, quick: bool = False) -> Reproduction:
    """Both cities; ``quick`` takes 3 values of β and one round."""
    rounds, chosen = (1, (0.4, 1.0, 5.0)) if quick else (5, BETAS)
    found = [compare_reports(n, b, rounds=rounds) for n in ("paris", "sf") for b in chosen]
    series: dict[str, list[tuple[float, float]]] = {}
    for one in found:
        series.setdefault(f"{one.city} BA", []).append((one.beta, one.elastic))
        series.setdefault(f"{one.city} LAP", []).append((one.beta, one.laplace))
    private = [one.elastic / one.laplace for one in found if one.beta <= PRIVATE[one.city]]
    loose = max(max(one.elastic, one.laplace) for one in found if one.beta == max(chosen))
    return Reproduction(
        "privic-figure-3",
        "Figure 3: statistical utility of BA and planar Laplace at ε = 2β",
        {
            "EMD (cells)": [
                {
                    "city": one.city,
                    "beta": one.beta,
                    "BA": round(one.elastic, 4),
                    "LAP": round(one.laplace, 4),
                    "sd": round(one.sd, 4),
                    "BA, 10 x the steps": round(one.elastic_longer, 4),
                    "LAP, 10 x the steps": round(one.laplace_longer, 4),
                    "MI BA": round(one.elastic_information, 3),
                    "MI LAP": round(one.laplace_information, 3),
                }
                for one in found
            ]
        },
        (
            check(
                "BA estimates better than LAP at high privacy (Paris β up to 1.4, San Francisco up to 1)",
                min(private) < 1,
                whose=f"{PAPER}, Fig. 3",
                measured=min(private),
                expected=1.0,
                because="least ratio of BA's distance to LAP's; below 1 BA would be better somewhere",
            ),
            check(
                "as privacy decreases both distances go to 0 (under a quarter of a cell at the largest β)",
                loose < 0.25,
                whose=f"{PAPER}, Sec. 3.4, limit",
                measured=loose,
            ),
            check("LAP is better at every β tried, published steps", all(o.laplace < o.elastic for o in found)),
            check("the same with ten times the steps", all(o.laplace_longer < o.elastic_longer for o in found)),
            check(
                "LAP leaks more mutual information: the two notions rank the channels oppositely",
                all(one.laplace_information > one.elastic_information for one in found),
            ),
        ),
        lines(series, title="Distance to the truth at ε = 2β", x="beta", y="EMD (cells)"),
        (f"Mean of {rounds} simulations; BA on the true prior; LAP is planar Laplace noise, rounded and clamped.",),
    )
