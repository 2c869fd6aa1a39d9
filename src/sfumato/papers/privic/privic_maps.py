"""Figures 1, 6 and 7 of PRIVIC: the true maps of Paris and San Francisco, the island, and the last estimates.

[Biswas2023, Fig. 1, 6b, 7]. Counts per cell only: the check-ins themselves (Fig. 6a) may not be redistributed.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.collect.cities import city
from sfumato.collect.estimation.earth_mover import earth_movers_distance
from sfumato.collect.loop.simulation import simulate
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import cannot_check, check, near
from sfumato.papers.picture import CellMap, Picture
from sfumato.papers.privic.privic_elastic import STRONG, VULNERABLE, island
from sfumato.papers.privic.privic_tables import PAPER, published_protocol

NAMES = {"paris": "Paris", "sf": "San Francisco"}


def run(*, quick: bool = False) -> Reproduction:
    """The maps as pictures and as numbers; one round each."""
    rows: list[Row] = []
    alike: list[float] = []
    panels: list[CellMap] = []
    numbers: dict[str, object] = {}
    distances: dict[tuple[str, float], float] = {}
    for name in ("paris", "sf"):
        place = city(name)
        grid, truth = place.plain_grid, place.probabilities
        panels.append(CellMap(f"6b: {NAMES[name]}, true", truth.reshape(grid.shape)))
        numbers[f"{name}, true"] = _map(truth, grid.shape)
        for beta in (0.5, 1.0):
            (one,) = simulate(place.people, grid, published_protocol(name, beta), rounds=1)
            estimate = one[-1].estimate
            distances[name, beta] = earth_movers_distance(estimate, truth, grid)
            panels.append(CellMap(f"7: {NAMES[name]}, estimated, beta {beta:g}", estimate.reshape(grid.shape)))
            numbers[f"{name}, estimated, beta {beta:g}"] = _map(estimate, grid.shape)
            alike.append(float(np.corrcoef(truth, estimate)[0, 1]))
            busiest = np.argsort(-truth)[:10]
            rows.append(
                {
                    "city": NAMES[name],
                    "beta": beta,
                    "EMD (cells)": distances[name, beta],
                    "paper (mean of 5 rounds)": PAPER[name, beta][-1],
                    "busiest cells: true share": float(truth[busiest].sum()),
                    "busiest cells: estimated": float(estimate[busiest].sum()),
                    "correlation of the maps": alike[-1],
                }
            )
    planted = island()
    paris = city("paris").plain_grid.shape
    panels.append(CellMap("1: the island A and the crowd B", planted.reshape(paris)))
    row, column = divmod(VULNERABLE, paris[1])
    around = np.delete(planted.reshape(paris)[row - 1 : row + 2, column - 1 : column + 2].ravel(), 4)
    numbers["paris, island"] = _map(planted, paris)
    least = min(alike)
    claims = (
        check(
            "the estimated maps are fairly accurate (correlation with the truth above .8)",
            least > 0.8,
            whose="Biswas2023, Fig. 7",
            measured=least,
        ),
        check(
            "beta = 1 is estimated better than beta = .5, in both cities",
            all(distances[name, 1.0] < distances[name, 0.5] for name in NAMES),
            whose="Biswas2023, Fig. 7",
            measured=tuple(distances.values()),
        ),
        near(
            "Figure 1: the cell of the crowd, B, holds this share",
            float(city("paris").probabilities[STRONG]),
            float(planted[STRONG]),
            tolerance=0.05,
        ),
        check(
            "the island stands alone in the south-west: nobody in the eight cells around it",
            float(planted[VULNERABLE]) > 0 and not around.any(),
            whose="Biswas2023, Fig. 1",
            measured=float(planted[VULNERABLE]),
        ),
        near(
            "the heat maps of the truth hold everybody",
            sum(float(city(name).probabilities.sum()) for name in NAMES),
            2.0,
            tolerance=1e-9,
            whose="Biswas2023, Fig. 6b",
        ),
        cannot_check(
            "Figure 6a: the check-ins as points", whose="Biswas2023, Fig. 6a", because="only counts per cell may ship"
        ),
    )
    return Reproduction(
        name="privic-maps",
        title="Figures 1, 6b and 7: true and estimated maps",
        tables={"the last cycle's map, one round": rows},
        claims=claims,
        picture=Picture(panels, "Share of people by cell", columns=4),
        notes=("Row 0 is north and column 0 west; every map is in --json as rows of shares.",),
        numbers=numbers,
    )


def _map(values: FloatArray, shape: tuple[int, int]) -> list[list[float]]:
    return [[round(float(v), 8) for v in row] for row in values.reshape(shape)]
