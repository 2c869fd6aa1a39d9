"""Blahut-Arimoto: the channel that leaks least for its average distortion, on a grid.

    minimise I(X; Y) + beta E d(X, Y)   by   c <- c . K(p / K c),     C(y | x) = c(y) exp(-beta d(x, y)) / Z(x)

started from uniform c; "n steps" are n - 1 updates, as in [Biswas2023, Sec. 2]. With g = K(p / K c), the objective
-sum p log Z is within log max_y g(y) of the best possible: a certified gap, recomputed at the weights as shipped.

A floor mixes a little uniform into c, once, after the last update: c <- (1 - floor) c + floor / m. It keeps 2 beta,
keeps every cell observable (converged weights vanish on most cells, so that the reports no longer determine the
places), and keeps the FFT away from its noise. Targets other than beta are met by bisection and then checked on the
shipped channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, Status, positive, read_only
from sfumato.base.errors import NotConverged
from sfumato.base.numbers.blahut_arimoto_matrix import (
    checked_floor,
    checked_steps,
    largest_good_beta,
    one_target,
    smallest_good_beta,
    with_floor,
)
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.kernel import Form, GridKernel, grid_kernel
from sfumato.collect.grids.on_gpu import attempt, blahut_arimoto_steps

DEFAULT_STEPS = 8
DEFAULT_FLOOR = 0.01


def blahut_arimoto(
    prior: npt.ArrayLike,
    grid: Grid,
    *,
    beta: float | None = None,
    distortion: float | None = None,
    epsilon: float | None = None,
    steps: int = DEFAULT_STEPS,
    tolerance: float | None = None,
    floor: float = DEFAULT_FLOOR,
    form: Form | None = None,
) -> Solved[GridChannel]:
    """The channel after ``steps`` steps, or earlier if its certified gap (nats) falls to ``tolerance``.

    Give exactly one of ``beta`` (per unit of the grid), ``distortion`` (the largest average distance accepted) or
    ``epsilon`` (the largest exact geo-indistinguishability accepted). The returned channel satisfies the target.
    """
    p = checked_probabilities(prior, grid.cells)
    floor = checked_floor(floor)
    steps = checked_steps(steps)
    one_target(beta, distortion, epsilon)

    def solve(beta: float) -> Solved[GridChannel]:
        kernel = grid_kernel(grid, beta, form=form)
        c, taken = _iterate(p, kernel, steps, tolerance)
        channel = GridChannel(grid, beta, with_floor(c, floor))
        return _judged(p, channel, kernel, taken, tolerance)

    if beta is not None:
        return solve(positive(beta, "beta"))
    if epsilon is not None:
        target = positive(epsilon, "epsilon")
        # beta <= epsilon <= 2 beta brackets the answer; the level grows with beta.
        return largest_good_beta(
            solve, target / 2, target, lambda found: found.value.certain_epsilon() <= target, found_at_low=True
        )
    assert distortion is not None
    target = positive(distortion, "distortion")
    low, high = _bracket(lambda b: solve(b).value.distortion(p) <= target, grid)
    return smallest_good_beta(solve, low, high, lambda found: found.value.distortion(p) <= target)


def _iterate(p: FloatArray, kernel: GridKernel, steps: int, tolerance: float | None) -> tuple[FloatArray, int]:
    """``steps`` - 1 updates from uniform, or fewer once log max g <= tolerance."""
    cells = p.size
    c = np.full(cells, 1.0 / cells)
    seen = p > 0
    if kernel.form == "dense" and tolerance is None and kernel.smallest > 0.0:
        # K c > 0 everywhere, and c keeps its sum: sum c K(p / K c) = sum p. Small grids spend their time in calls.
        matrix, z, g = kernel.values, np.empty(cells), np.empty(cells)
        for _ in range(steps - 1):
            np.dot(matrix, c, out=z)
            np.divide(p, z, out=z)
            np.dot(matrix, z, out=g)
            c *= g
        return c, steps
    device = kernel.device
    found = None if device is None else attempt(lambda: blahut_arimoto_steps(device, p, steps, tolerance))
    if found is not None:
        return found
    everywhere = bool(seen.all())
    taken = 1
    while taken < steps:
        z = kernel.product(c, needed=True if everywhere else seen)
        ratio = p / z if everywhere else np.divide(p, z, out=np.zeros(cells), where=seen)
        # Inaccurate factors far from everyone only meet weights that are negligible before the floor.
        g = kernel.product(ratio, needed=False)
        if tolerance is not None and math.log(float(g.max())) <= tolerance:
            break
        c *= g
        c /= c.sum()
        taken += 1
    return c, taken


def _judged(
    p: FloatArray, channel: GridChannel, kernel: GridKernel, taken: int, tolerance: float | None
) -> Solved[GridChannel]:
    """The gap and the objective of the channel as shipped."""
    c = channel.output_weights
    z = kernel.product(c)
    if kernel.form == "dense" and float(c.min()) >= 1e-290:
        channel._known.log_z = read_only(np.log(z))
    ratio = np.divide(p, z, out=np.zeros(p.size), where=p > 0)
    gap = max(0.0, math.log(float(kernel.product(ratio, needed=False).max())))
    seen = p > 0
    objective = float(-np.sum(p[seen] * np.log(z[seen])))
    status: Status = "converged" if tolerance is not None and gap <= tolerance else "stopped"
    relative = gap / objective if objective > 0 else gap
    return Solved(channel, status, taken, relative, objective, objective - gap)


def _bracket(good: Callable[[float], bool], grid: Grid) -> tuple[float, float]:
    unit = min(grid.cell_height, grid.cell_width)
    low = high = 1.0 / unit
    while not good(high):
        low, high = high, high * 2
        if high * unit > 2_000:
            raise NotConverged(
                "That average distortion cannot be reached.", "Ask for a larger one, or lower the floor."
            )
    while low == high or good(low):
        low /= 2
        if low * unit < 1e-9:
            break
    return low, high
