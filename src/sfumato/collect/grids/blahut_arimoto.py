"""Blahut-Arimoto: the channel that leaks least for its average distortion, on a grid.

    minimise I(X; Y) + beta E d(X, Y)   by   c <- c . K(p / K c),     C(y | x) = c(y) exp(-beta d(x, y)) / Z(x)

started from uniform c; "n steps" are n - 1 updates, as in [Biswas2023, Sec. 2]. With g = K(p / K c), the objective
-sum p log Z is within log max_y g(y) of the best possible: a certified gap, recomputed at the weights as shipped.

A floor mixes a little uniform into c, once, after the last update: c <- (1 - floor) c + floor / m. It keeps 2 beta,
keeps every cell observable (converged weights vanish on most cells, so that the reports no longer determine the
places), and keeps the FFT away from its noise. A target of epsilon is met by bisection and then checked on the shipped
channel.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, checked_steps, one_target, positive, read_only
from sfumato.base.numbers.blahut_arimoto_matrix import largest_good_beta
from sfumato.base.things.channel import checked_floor, checked_probabilities, with_floor
from sfumato.base.things.estimated_map import dense_em_steps, em_factor
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.distance_kernel import GridKernel, grid_kernel
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.on_gpu import attempt, blahut_arimoto_steps

DEFAULT_STEPS = 8
DEFAULT_FLOOR = 0.01


def blahut_arimoto(
    prior: npt.ArrayLike,
    grid: Grid,
    *,
    beta: float | None = None,
    epsilon: float | None = None,
    steps: int = DEFAULT_STEPS,
    floor: float = DEFAULT_FLOOR,
) -> Solved[GridChannel]:
    """The channel after ``steps`` steps, with its certified gap.

    Give exactly one of ``beta`` (per unit of the grid) and ``epsilon`` (the largest exact geo-indistinguishability
    accepted), which the returned channel satisfies.
    """
    p = checked_probabilities(prior, grid.cells)
    floor = checked_floor(floor)
    steps = checked_steps(steps)
    one_target(beta, epsilon)

    def solve(beta: float) -> Solved[GridChannel]:
        kernel = grid_kernel(grid, beta)
        channel = GridChannel(grid, beta, with_floor(_iterate(p, kernel, steps), floor))
        return _with_gap(p, channel, kernel, steps)

    if beta is not None:
        return solve(positive(beta, "beta"))
    assert epsilon is not None
    target = positive(epsilon, "epsilon")
    # beta <= epsilon <= 2 beta brackets the answer; the level grows with beta.
    return largest_good_beta(
        solve, target / 2, target, lambda found: found.value.certain_epsilon() <= target, found_at_low=True
    )


def _iterate(p: FloatArray, kernel: GridKernel, steps: int) -> FloatArray:
    """``steps`` - 1 updates from uniform."""
    c = np.full(p.size, 1.0 / p.size)
    if kernel.form == "dense" and kernel.smallest > 0.0:
        # K c > 0 everywhere, and c keeps its sum: sum c K(p / K c) = sum p.
        dense_em_steps(c, p, kernel.values, steps - 1)
        return c
    device = kernel.device
    found = None if device is None else attempt(lambda: blahut_arimoto_steps(device, p, steps))
    if found is not None:
        return found
    seen = p > 0
    for _ in range(steps - 1):
        # Inaccurate factors far from everyone only meet weights that are negligible before the floor.
        c *= em_factor(p, kernel.product(c, needed=seen), lambda f: kernel.product(f, needed=False))
        c /= c.sum()
    return c


def _with_gap(p: FloatArray, channel: GridChannel, kernel: GridKernel, taken: int) -> Solved[GridChannel]:
    """The gap and the objective of the channel as shipped."""
    c, seen = channel.output_weights, p > 0
    z = kernel.product(c)
    if kernel.form == "dense" and float(c.min()) >= 1e-290:
        channel._known.log_z = read_only(np.log(z))
    gap = max(0.0, math.log(float(em_factor(p, z, lambda f: kernel.product(f, needed=False)).max())))
    objective = float(-np.sum(p[seen] * np.log(z[seen])))
    return Solved(channel, "stopped", taken, gap / objective if objective > 0 else gap, objective, objective - gap)
