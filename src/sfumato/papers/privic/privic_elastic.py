"""How a channel treats one cell: whether it stays, how far it is sent, and whether its reports hide in a crowd.

[Biswas2023, Sec. 3.3]. An elastic mechanism has rows proportional to q(y) e^(-β d), q(y) the probability that y is
reported: every fixed point of Blahut-Arimoto, on the whole grid or on some of its cells. The limit from a uniform
channel has the least I + β·distortion of these, not the least distortion.

The island of Figures 1 and 2: cell 93 of our order of Paris (row 6 from the north, column 3 from the west); the cells
around it are emptied and their people put onto it. How many cells is not said; the nearest eight hold .8 % of the
people, the 5 x 5 around it 8.4 %, and then Blahut-Arimoto reports the island itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.channels.measures.discrete import mutual_information
from sfumato.collect.cities import city


@dataclass(frozen=True, slots=True, eq=False)
class Elasticity:
    """How a channel treats one cell: does it stay, and how far is it sent?"""

    stays: float
    displacement: float
    crowd: float
    """The mean share of people at the reported cell: high where reports hide in a crowd."""


def elasticity(channel: npt.ArrayLike, grid: Grid, cell: int, prior: npt.ArrayLike) -> Elasticity:
    """Probability of staying, mean displacement and crowd of ``cell`` under ``channel``."""
    matrix = np.asarray(channel, dtype=np.float64)
    row, p = matrix[cell], checked_probabilities(prior, len(matrix))
    return Elasticity(float(row[cell]), float(row @ grid.distances_from(cell)), float(row @ p))


VULNERABLE, STRONG = 93, 52


def island(*, reach: int = 1) -> FloatArray:
    """Paris with the cells up to ``reach`` around the vulnerable one emptied and their people put onto it."""
    place = city("paris")
    columns = place.plain_grid.columns
    rows, across = np.divmod(np.arange(place.plain_grid.cells), columns)
    around = (abs(rows - VULNERABLE // columns) <= reach) & (abs(across - VULNERABLE % columns) <= reach)
    prior = np.array(place.probabilities)
    gathered = float(prior[around].sum())
    prior[around] = 0.0
    prior[VULNERABLE] = gathered
    return prior


def travel_distance(
    row: FloatArray, grid: Grid, cell: int, prior: FloatArray, *, places: int = 40, draws: int = 200
) -> float:
    """The mean distance from ``cell`` to the place of interest nearest to its report, in cells.

    So many places, drawn like the people other than the cell's own, and again so many times (seeded).
    """
    others = np.array(prior)
    others[cell] = 0.0
    others /= others.sum()
    source = np.random.default_rng(0)
    distances = grid.distance_matrix()
    found = []
    for _ in range(draws):
        chosen = np.unique(source.choice(others.size, places, p=others))
        nearest = chosen[np.argmin(distances[:, chosen], axis=1)]
        found.append(float(row @ distances[cell, nearest]))
    return float(np.mean(found))


def elastic_distortions(
    prior: npt.ArrayLike, distances: FloatArray, *, beta: float, outputs: Sequence[int], steps: int = 20_000
) -> tuple[float, float]:
    """(distortion, mutual information) of the elastic mechanism on some outputs: Blahut-Arimoto's fixed point there."""
    p = checked_probabilities(prior, len(distances))
    kernel = np.exp(-beta * distances)
    weights = np.zeros(len(distances))
    weights[list(outputs)] = 1 / len(outputs)
    for _ in range(steps):
        weights = weights * ((p / (kernel @ weights)) @ kernel)
    matrix = kernel * weights
    matrix /= matrix.sum(axis=1, keepdims=True)
    return float(p @ (matrix * distances).sum(axis=1)), mutual_information(matrix, p)
