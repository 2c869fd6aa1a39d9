"""The tightest channel for a promised epsilon: weights that make every normaliser alike, whatever the map.

A published channel P(y | x) = c(y) exp(-beta d(x, y)) / Z(x), Z = K c, costs beta + Lip(log Z): up to 2 beta, because
Z varies. Choose instead

    c proportional to K^-1 1,       K(x, y) = exp(-beta d(x, y)),

and Z is the same everywhere: exact epsilon = beta, so that a promise of epsilon buys twice the beta. It is the *tight
constraints mechanism* [ElSalamouny2014], [Chatzikokolakis2017]; on a line, the truncated geometric one. The weights
depend on the grid alone: nobody's reports, true or forged, steer them.

K is positive definite, so that c is unique; it is positive where beta times the side of a square cell is above about
0.67. Below, and wherever a weight would fall under the floor, the nearest admissible weights are taken,

    minimise  c' K c / 2 - sum c    s.t.  c >= floor,

whose Z equals 1 off the floor and exceeds it there; beta is lowered until the exact level of the weights *as shipped*
is within the promise. Conjugate gradients and accelerated projection need products with K only: FFTs on large grids.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, Solved, positive, read_only
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.things.channel import checked_floor
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.blahut_arimoto import DEFAULT_FLOOR
from sfumato.collect.grids.distance_kernel import GridKernel, grid_kernel
from sfumato.collect.grids.grid_channel import GridChannel

POSITIVE_FROM = 0.67
"""beta times the side of a square cell from which the weights that equalise Z are positive, on grids of any size."""
_RESIDUAL = 1e-11
_MOST_STEPS = 2_000
_MOST_TRIES = 40


def tight_channel(grid: Grid, *, epsilon: float, floor: float = DEFAULT_FLOOR) -> Solved[GridChannel]:
    """The channel of largest beta found whose exact geo-indistinguishability is at most ``epsilon`` per unit.

    ``gap`` = 1 - beta / epsilon: no weights whatever can have a larger beta than epsilon. ``steps`` counts products
    with K over all tries.
    """
    target = positive(epsilon, "epsilon")
    floor = checked_floor(floor)
    if target * min(grid.cell_width, grid.cell_height) < 1e-10:
        raise InputError(f"epsilon is {target:g}: per cell that cannot be told from 0.", "Ask for more.")
    beta, products = target, 0
    for _ in range(_MOST_TRIES):
        kernel = grid_kernel(grid, beta)
        weights, used = equalising_weights(kernel, floor)
        products += used
        channel = GridChannel(grid, beta, weights)
        level = channel.certain_epsilon()
        if level <= target:
            return Solved(channel, "converged", products, 1 - beta / target, beta, target)
        # The level grows almost in proportion to beta; a hair more, so that rounding never keeps us above.
        beta *= target / level * (1 - 1e-12)
    raise NotConverged(
        f"No channel with an exact epsilon of {target:g} was found.", "Use larger cells, or a larger epsilon."
    )


def equalising_weights(kernel: GridKernel, floor: float) -> tuple[FloatArray, int]:
    """c >= floor / m, summing to 1, for which K c varies least, and how many products with K it took."""
    cells = kernel.grid.cells
    if kernel.form == "dense":
        solution, used = np.linalg.solve(kernel.values, np.ones(cells)), 1
    else:
        solution, used = _conjugate_gradients(kernel, np.ones(cells))
    if float(solution.min()) < floor / cells * float(solution.sum()):
        solution, projected = _above_floor(kernel, floor)
        used += projected
    return read_only(_filled(solution / solution.sum(), floor / cells * (1 + 1e-12))), used


def _filled(weights: FloatArray, least: float) -> FloatArray:
    """Weights that sum to 1, none below ``least``: those below are lifted to it, and the others pay in proportion."""
    low = np.zeros(weights.size, dtype=np.bool_)
    while float(weights.min()) < least and not low.all():
        low |= weights <= least
        rest = float(weights[~low].sum())
        weights = np.where(low, least, weights * ((1 - int(low.sum()) * least) / rest if rest > 0 else 0.0))
    return weights


def _conjugate_gradients(kernel: GridKernel, right: FloatArray) -> tuple[FloatArray, int]:
    """K x = right; the residual is judged again by the caller, who computes epsilon from the weights."""
    x = right / float(kernel.signed_product(right).max())
    residual = right - kernel.signed_product(x)
    direction = residual.copy()
    size = float(residual @ residual)
    goal = _RESIDUAL**2 * float(right @ right)
    used = 2
    while size > goal and used < _MOST_STEPS:
        moved = kernel.signed_product(direction)
        used += 1
        length = size / float(direction @ moved)
        x += length * direction
        residual -= length * moved
        fresh = float(residual @ residual)
        direction = residual + (fresh / size) * direction
        size = fresh
    return x, used


def _above_floor(kernel: GridKernel, floor: float) -> tuple[FloatArray, int]:
    """argmin c' K c / 2 - sum c over c >= floor * sum(c) / m, by projected gradients with momentum and restarts."""
    cells = kernel.grid.cells
    ones = np.ones(cells)
    steepest = float(kernel.signed_product(ones).max())  # the largest row sum bounds the largest eigenvalue
    c = ones / steepest
    ahead, momentum = c, 1.0
    tolerance = 1e-9 if cells <= 20_000 else 1e-7
    used = 1
    while used < _MOST_STEPS:
        used += 1
        slope = kernel.signed_product(ahead) - 1.0
        least = floor * float(c.sum()) / cells
        fresh = np.maximum(ahead - slope / steepest, least)
        if float((ahead - fresh) @ (fresh - c)) > 0:
            ahead, momentum = fresh, 1.0
        else:
            longer = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            ahead = fresh + (momentum - 1) / longer * (fresh - c)
            momentum = longer
        change = float(np.abs(fresh - c).max())
        c = fresh
        if change <= tolerance * float(c.max()):
            break
    return np.maximum(c, floor * float(c.sum()) / cells), used
