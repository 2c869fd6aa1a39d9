"""The eps-LIP channel of greatest use, for information or any convex utility: a linear program over vertices.

The lifts of a report form a polytope V, and sum_y m_y psi(lift_y) is greatest for a convex psi when every lift is a
vertex: max sum_v w_v psi(v) with weights w >= 0 of sum 1 and mean lift 1. At small epsilon lifts are 1 + v with |v| of
the order of epsilon and utilities differ by its square, below the tolerances of any solver: so the program is written
in v / epsilon and in utilities divided by the largest, and certified by its multipliers. For *any* lambda ::

    sum_y m_y psi(lift_y) - psi(1)  <=  max over vertices of  psi(v) - psi(1) - lambda . v

because the mean of v is 0 [Jiang2021; docs/derivations/channels.md].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from sfumato.base.arrays import FloatArray, Status
from sfumato.base.errors import NotConverged
from sfumato.base.numbers.rounding import UNIT
from sfumato.base.things.cell_prior import positive_prior
from sfumato.channels.designs.certified import Designed, design_epsilon
from sfumato.channels.designs.lip.closed_forms import lip_design
from sfumato.channels.measures.discrete import mutual_information
from sfumato.channels.measures.lifts import lift_moves
from sfumato.channels.priors.excess import excess
from sfumato.channels.priors.prior_sets import Known

GAP = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class BestUtility:
    """The channel, its utility as shipped, and an upper bound of every eps-LIP channel's; ``gap`` is relative."""

    designed: Designed
    utility: float
    upper_bound: float
    gap: float
    status: Status


def best_convex_utility(
    prior: npt.ArrayLike, epsilon: float, utility: Callable[[FloatArray], float], *, gap: float = GAP
) -> BestUtility:
    """The channel of greatest sum_y m_y psi(lift_y) for a convex psi of the vector of lifts; few symbols.

    ``utility`` is measured beyond psi(1), what a report that tells nothing is worth; at very small epsilon psi itself
    loses that difference to rounding, and then the gap says so.
    """
    p = positive_prior(prior)
    nothing = float(utility(np.ones(p.size)))

    def beyond(moves: FloatArray) -> FloatArray:
        return np.array([float(utility(1 + v)) - nothing for v in moves])

    def shipped(designed: Designed) -> float:
        q, m = designed.channel.matrix, p @ designed.channel.matrix
        return float(sum(weight * (float(utility(q[:, y] / weight)) - nothing) for y, weight in enumerate(m) if weight))

    return _best(p, epsilon, beyond, shipped, offset=nothing, gap=gap)


def most_information(prior: npt.ArrayLike, epsilon: float, *, gap: float = GAP) -> BestUtility:
    """The largest mutual information of an eps-LIP channel (nats), and a channel that attains it."""
    p = positive_prior(prior)
    return _best(
        p,
        epsilon,
        lambda moves: np.asarray(excess(moves) @ p),
        lambda designed: mutual_information(designed.channel, p),
        offset=0.0,
        gap=gap,
    )


def _best(
    p: FloatArray,
    epsilon: float,
    beyond: Callable[[FloatArray], FloatArray],
    shipped: Callable[[Designed], float],
    *,
    offset: float,
    gap: float,
) -> BestUtility:
    eps = design_epsilon(epsilon)
    moves = lift_moves(p, eps)
    values = beyond(moves)
    scale = float(np.abs(values).max(initial=0.0))
    size = math.expm1(eps)
    if scale == 0:  # nothing is worth more than telling nothing
        weights, multipliers = np.ones(1), np.zeros(p.size)
        moves = np.zeros((1, p.size))
    else:
        rows = np.vstack([moves.T / size, np.ones(len(moves))])
        right = np.append(np.zeros(p.size), 1.0)
        found: Any = linprog(-values / scale, A_eq=rows, b_eq=right, bounds=(0, None), method="highs")
        if found.status != 0:
            raise NotConverged("The linear program over vertices was not solved.", "Use fewer symbols.")
        weights = np.maximum(np.asarray(found.x), 0)
        multipliers = -np.asarray(found.eqlin.marginals)[: p.size] * scale / size
    upper = float((values - moves @ multipliers).max()) if scale > 0 else 0.0
    upper += 16 * UNIT * (abs(offset) + scale + size * float(np.abs(multipliers).sum()))  # its own rounding
    used = weights > 1e-12
    matrix = (weights[used, None] * (1 + moves[used])).T
    designed = lip_design(matrix / matrix.sum(axis=1, keepdims=True), Known(p), p, eps, None)
    reached = shipped(designed)
    missing = max(0.0, (upper - reached) / upper) if upper > 0 else 0.0
    return BestUtility(
        designed, offset + reached, offset + upper, missing, "converged" if missing <= gap else "stopped"
    )
