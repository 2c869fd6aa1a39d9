"""Two other goals: the eps-LIP channel that tells the most, and the cheapest that hides a latent variable only.

The first is a linear program over the vertices of the lifts.

The lifts of a report form a polytope V, and sum_y m_y psi(lift_y) is greatest for a convex psi when every lift is a
vertex: max sum_v w_v psi(v) with weights w >= 0 of sum 1 and mean lift 1. At small epsilon lifts are 1 + v with |v| of
the order of epsilon and utilities differ by its square, below the tolerances of any solver: so the program is written
in v / epsilon and in utilities divided by the largest, and certified by its multipliers. For *any* lambda ::

    sum_y m_y psi(lift_y) - psi(1)  <=  max over vertices of  psi(v) - psi(1) - lambda . v

because the mean of v is 0 (docs/derivations/channels.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from sfumato.base.arrays import Solved, Status
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.numbers.rounding import UNIT
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities, checked_rows
from sfumato.channels.conversions.composition import lift_moves
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.lip.candidates import bound_below, merge_targets, solution
from sfumato.channels.designs.lip.closed_forms import lip_design
from sfumato.channels.designs.lip.linear_program import best_for_latent
from sfumato.channels.designs.promises import LatentPromise
from sfumato.channels.designs.task import DesignedChannel
from sfumato.channels.measures.discrete import average_distortion, mutual_information
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
        found = linprog(-values / scale, A_eq=rows, b_eq=right, bounds=(0, None), method="highs")
        if found.status != 0:
            raise NotConverged("The linear program over vertices was not solved.", "Use fewer symbols.")
        weights = np.maximum(np.asarray(found.x), 0)
        multipliers = -np.asarray(found.eqlin.marginals)[: p.size] * scale / size
        upper = float((values - moves @ multipliers).max())
    upper += 16 * UNIT * (scale + size * float(np.abs(multipliers).sum()))  # its own rounding
    used = weights > 1e-12
    matrix = (weights[used, None] * (1 + moves[used])).T
    designed = lip_design(matrix / matrix.sum(axis=1, keepdims=True), Known(p), p, eps, None)
    reached = mutual_information(designed.channel.matrix, p)
    missing = max(0.0, (upper - reached) / upper) if upper > 0 else 0.0
    return BestUtility(designed, reached, upper, missing, "converged" if missing <= gap else "stopped")


def latent_channel(
    secret_prior: npt.ArrayLike,
    given: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    epsilon_low: float | None = None,
    gap: float = 1e-5,
    inputs: Sequence[str] = (),
) -> Solved[DesignedChannel]:
    """Protect a latent S (S -> X -> Y) and nothing else: the cheapest channel on X for which Y says little about S.

    ``given[s, x]`` = P(x | s). The promise is about S; about X itself there is none (its leakage is often infinite).
    """
    began = time.perf_counter()
    up = design_epsilon(epsilon)
    low = up if epsilon_low is None else design_epsilon(epsilon_low, "epsilon_low")
    rows = checked_rows(given)
    ps = positive_prior(secret_prior, rows.shape[0])
    d = checked_distortion(distortion)
    if d.shape[0] != rows.shape[1] or d.min() < 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {rows.shape[1]} symbols.", "Give d(x, y) >= 0.")
    p = checked_probabilities(ps @ rows)
    raw, bound, steps = best_for_latent(p, d, rows, up=up, low=low)
    assert raw is not None
    raw = np.maximum(raw, 0)
    raw /= raw.sum(axis=1, keepdims=True)
    place = merge_targets(raw, d, p, allowance=1e-7 * max(bound, 1e-300))
    kept = np.unique(place)
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, np.searchsorted(kept, place), raw.T)
    promise = LatentPromise(ps, rows, up, low)
    outputs = tuple(str(y) for y in kept)
    labels = partial(Channel, inputs=tuple(inputs), outputs=outputs, distortion=d[:, kept])
    made = DesignedChannel(promise.keep(gathered, labels), promise)
    cost = average_distortion(made.channel, p, d[:, kept])
    return solution(made, cost, bound_below(bound, cost), gap=gap, steps=steps, began=began)
