"""The earth mover's distance between two maps: how far, on average, people would have to be moved.

For a metric, mass common to both maps never moves: EMD(a, b) = EMD((a-b)+, (b-a)+), so it is cancelled first and only
cells that differ enter the transport problem. Above ``EXACT_UP_TO`` cells, the maps are coarsened to blocks, and the
triangle inequality gives a certified bracket: |EMD(a, b) - EMD(A, B)| <= sum of what moving each cell's excess to the
centre of its block costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack
from scipy.spatial.distance import cdist

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.things.grid import Grid

EXACT_UP_TO = 10_000
_COARSE_CELLS = 4_000
_WITHOUT_POT = 2_500
_NEGLIGIBLE = 1e-13


@dataclass(frozen=True, slots=True)
class EarthMovers:
    """The distance in the grid's unit, certified to lie in [lower, upper]; ``block`` cells a side were merged."""

    value: float
    lower: float
    upper: float
    block: int = 1


def earth_movers_distance(a: npt.ArrayLike, b: npt.ArrayLike, grid: Grid) -> float:
    """EMD in the grid's unit: exact up to 10,000 cells, from blocks beyond (see :func:`earth_movers`)."""
    return earth_movers(a, b, grid).value


def earth_movers(a: npt.ArrayLike, b: npt.ArrayLike, grid: Grid, *, block: int | None = None) -> EarthMovers:
    """EMD with its certificate. ``block``: merge that many cells a side (chosen by size when None; 1 is exact)."""
    p, q = (_map(values, grid) for values in (a, b))
    excess = p - q
    supply, demand = np.maximum(excess, 0.0), np.maximum(-excess, 0.0)
    if block is None:
        block = 1 if grid.cells <= EXACT_UP_TO else math.ceil(math.sqrt(grid.cells / _COARSE_CELLS))
    if int(block) != block or block < 1:
        raise InputError(f"The block is {block} cells a side.", "It is a whole number of at least 1.")
    centres = grid.centres()
    if block == 1:
        value = _transport(supply, demand, centres)
        return EarthMovers(value, value, value)
    columns = grid.columns
    row, column = np.divmod(np.arange(grid.cells), columns)
    label = (row // block) * math.ceil(columns / block) + column // block
    count = int(label.max()) + 1
    size = np.bincount(label, minlength=count)
    middle = np.stack([np.bincount(label, centres[:, k], minlength=count) / size for k in (0, 1)], axis=1)
    # Excess that cancels inside its block moves at most the two distances to the centre, already counted below.
    inward = float(np.sum((supply + demand) * np.linalg.norm(centres - middle[label], axis=1)))
    net = np.bincount(label, supply - demand, minlength=count)
    value = _transport(np.maximum(net, 0.0), np.maximum(-net, 0.0), middle)
    return EarthMovers(value, max(0.0, value - inward), value + inward, int(block))


def _map(values: npt.ArrayLike, grid: Grid) -> FloatArray:
    array = finite(values, "A map", dimensions=1)
    if array.size and array.max() > 1e290:
        array = array / array.max()  # the sum of numbers so large may be none
    if array.size != grid.cells or array.min(initial=0.0) < 0 or array.sum() <= 0:
        raise InputError(
            f"A map of {array.size} values does not fit {grid.cells} cells.", "Give one share per cell, at least 0."
        )
    share: FloatArray = array / array.sum()
    return share


def _transport(supply: FloatArray, demand: FloatArray, centres: FloatArray) -> float:
    sources, sinks = np.flatnonzero(supply), np.flatnonzero(demand)
    if sources.size == 0 or sinks.size == 0:
        return 0.0
    moved = float(supply.sum())
    if moved <= 0.0:
        return 0.0
    give, take = supply[sources] / supply.sum(), demand[sinks] / demand.sum()

    costs = cdist(centres[sources], centres[sinks])
    try:
        from ot.lp import emd2
    except ImportError:
        return moved * _linear_program(give, take, costs)
    return moved * float(emd2(give, take, costs, numItermax=5_000_000))


def _linear_program(give: FloatArray, take: FloatArray, costs: FloatArray) -> float:
    """The transport problem by HiGHS, for installations without POT.

    Amounts below 1e-13 of the whole are left out: HiGHS takes a problem with amounts of 1e-70, which estimates of
    empty cells have, for infeasible. That changes the answer by at most 1e-13 times the cells times the longest way.
    """
    if costs.size > _WITHOUT_POT**2:
        raise InputError("Exact transport of this size needs POT.", "pip install 'sfumato[design]', or give block=.")
    given, taken = give > _NEGLIGIBLE, take > _NEGLIGIBLE
    give, take, costs = give[given] / give[given].sum(), take[taken] / take[taken].sum(), costs[np.ix_(given, taken)]

    # HiGHS accepts errors of 1e-7 in each constraint: large amounts make them negligible. The last one is redundant.
    scale = 1e6
    rows = kron(eye_array(give.size), np.ones((1, take.size)))
    columns = kron(np.ones((1, give.size)), eye_array(take.size))
    equal: Any = vstack([rows, columns]).tocsr()[:-1]
    amounts = scale * np.concatenate([give, take])[:-1]
    solved = linprog(costs.ravel(), A_eq=equal, b_eq=amounts, method="highs")
    if solved.status != 0 or solved.fun is None:
        raise NotConverged("The transport problem was not solved.", "Install POT: pip install 'sfumato[design]'.")
    return float(solved.fun) / scale
