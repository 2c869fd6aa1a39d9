"""How a channel treats one cell: whether it stays, how far it is sent, and whether its reports hide in a crowd.

Blahut-Arimoto sends people towards where others are reported ([Biswas2023, Sec. 3.3]), but an isolated cell that holds
much mass earns weight of its own and is then reported as itself: camouflage depends on the island being small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.things.channel import checked_probabilities
from sfumato.collect.grids.grid_channel import GridChannel


@dataclass(frozen=True, slots=True, eq=False)
class Elasticity:
    """How a channel treats one cell: does it stay, and how far and where is it sent?"""

    cell: int
    stays: float
    displacement: float
    mode_cell: int
    crowd: float
    """The mean share of people at the reported cell: high where reports hide in a crowd."""
    posterior_self: float
    """P(x = cell | y = cell): what a report of the cell itself gives away."""


def elasticity(channel: GridChannel, cell: int, prior: npt.ArrayLike) -> Elasticity:
    """Probability of staying, mean displacement, most likely report and crowd of ``cell`` under ``channel``."""
    p = checked_probabilities(prior, channel.cells)
    row = channel.row(cell)
    reported = float(channel.report_distribution(p)[cell])
    return Elasticity(
        cell=int(cell),
        stays=float(row[cell]),
        displacement=float(row @ channel.grid.distances_from(cell)),
        mode_cell=int(np.argmax(row)),
        crowd=float(row @ p),
        posterior_self=float(p[cell] * row[cell] / reported) if reported > 0 else 0.0,
    )
