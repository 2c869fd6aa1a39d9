"""The eps-LIP channel that tells the most on average: a linear program over the vertices of the lifts.

The lifts of a report form a polytope V, and sum_y m_y psi(lift_y) is greatest for a convex psi when every lift is a
vertex: max sum_v w_v psi(v) with weights w >= 0 of sum 1 and mean lift 1. At small epsilon lifts are 1 + v with |v| of
the order of epsilon and utilities differ by its square, below the tolerances of any solver: so the program is written
in v / epsilon and in utilities divided by the largest, and certified by its multipliers. For *any* lambda ::

    sum_y m_y psi(lift_y) - psi(1)  <=  max over vertices of  psi(v) - psi(1) - lambda . v

because the mean of v is 0 [Jiang2021; docs/derivations/channels.md].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from sfumato.base.arrays import Status
from sfumato.base.errors import NotConverged
from sfumato.base.numbers.rounding import UNIT
from sfumato.base.things.cell_prior import positive_prior
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.lip.closed_forms import lip_design
from sfumato.channels.designs.task import DesignedChannel
from sfumato.channels.measures.discrete import mutual_information
from sfumato.channels.measures.lifts import lift_moves
from sfumato.channels.priors.excess import excess
from sfumato.channels.priors.prior_sets import Known

GAP = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class BestUtility:
    """The channel, its utility as shipped, and an upper bound of every eps-LIP channel's; ``gap`` is relative."""

    designed: DesignedChannel
    utility: float
    upper_bound: float
    gap: float
    status: Status


def most_information(prior: npt.ArrayLike, epsilon: float, *, gap: float = GAP) -> BestUtility:
    """The largest mutual information of an eps-LIP channel (nats), and a channel that attains it; few symbols."""
    p, eps = positive_prior(prior), design_epsilon(epsilon)
    moves = lift_moves(p, eps)
    values = np.asarray(excess(moves) @ p)
    scale, size = float(np.abs(values).max(initial=0.0)), math.expm1(eps)
    if scale == 0:  # nothing is worth more than telling nothing
        weights, multipliers, upper = np.ones(1), np.zeros(p.size), 0.0
        moves = np.zeros((1, p.size))
    else:
        rows = np.vstack([moves.T / size, np.ones(len(moves))])
        right = np.append(np.zeros(p.size), 1.0)
        found: Any = linprog(-values / scale, A_eq=rows, b_eq=right, bounds=(0, None), method="highs")
        if found.status != 0:
            raise NotConverged("The linear program over vertices was not solved.", "Use fewer symbols.")
        weights = np.maximum(np.asarray(found.x), 0)
        multipliers = -np.asarray(found.eqlin.marginals)[: p.size] * scale / size
        upper = float((values - moves @ multipliers).max())
    upper += 16 * UNIT * (scale + size * float(np.abs(multipliers).sum()))  # its own rounding
    used = weights > 1e-12
    matrix = (weights[used, None] * (1 + moves[used])).T
    designed = lip_design(matrix / matrix.sum(axis=1, keepdims=True), Known(p), p, eps, None)
    reached = mutual_information(designed.channel, p)
    missing = max(0.0, (upper - reached) / upper) if upper > 0 else 0.0
    return BestUtility(designed, reached, upper, missing, "converged" if missing <= gap else "stopped")
