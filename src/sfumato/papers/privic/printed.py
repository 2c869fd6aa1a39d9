"""PRIVIC's algorithms as printed, to show what is wrong with them: nothing here is used by a collection.

[Biswas2023]. The text of section 5 is right and is what :mod:`sfumato.collect.loop.simulation` implements. As printed,

* Algorithm 1 lets people report through the channel of the cycle *before*, C^(t), and estimates as if they had used
  this cycle's, C^(t+1), and loops for t <= N, one cycle more than the N it returns;
* Algorithm 2 normalises over d(z, y) where d(x, z) is meant: its rows do not sum to 1, so it is not a channel;
* eq. (8) writes exp(+β d) in its numerator: rows that report the far end of town.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, positive
from sfumato.base.randomness import randomness
from sfumato.base.things.channel import LEAST_PROBABILITY, checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.earth_mover import earth_movers_distance
from sfumato.collect.estimation.joint import ibu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.sampling import draw_tally


def algorithm_2_row_sums(prior: npt.ArrayLike, distances: npt.ArrayLike, *, beta: float) -> FloatArray:
    """The row sums of one step of Algorithm 2 as printed, from the uniform channel: they should be 1."""
    d = finite(distances, "The distances", dimensions=2)
    checked_probabilities(prior, d.shape[0])
    weights = np.full(d.shape[1], 1.0 / d.shape[1])  # c(y) of the uniform channel, whatever the prior
    kernel = np.exp(-positive(beta, "beta") * d)
    return np.asarray((weights * kernel / (weights @ kernel)).sum(axis=1))


def equation_8_row_sums(weights: npt.ArrayLike, distances: npt.ArrayLike, *, beta: float) -> FloatArray:
    """The row sums of eq. (8) as printed, exp(+β d) over Σ q exp(-β d): they should be 1."""
    d = finite(distances, "The distances", dimensions=2)
    reported = finite(weights, "The weights", dimensions=1)
    q = checked_probabilities(np.where((reported > 0) & (reported < LEAST_PROBABILITY), 0.0, reported), d.shape[1])
    return np.asarray((q * np.exp(beta * d)).sum(axis=1) / (q * np.exp(-positive(beta, "beta") * d)).sum(axis=1))


def algorithm_1_distances(
    people: IntArray, grid: Grid, *, beta: float, cycles: int, ba_steps: int, ibu_steps: int, seed: int
) -> list[float]:
    """The distance to the truth after every cycle of Algorithm 1 as printed (reports through the channel before)."""
    truth = people / people.sum()
    theta = np.full(grid.cells, 1.0 / grid.cells)
    before = GridChannel(grid, 1e-9, theta)  # C^(0): uniform reports
    source = randomness(seed)
    found = []
    for _ in range(cycles):
        channel = blahut_arimoto(theta, grid, beta=beta, steps=ba_steps, floor=0.0).value
        reports = draw_tally(before, people, rng=source)
        theta = ibu(channel, reports, steps=ibu_steps, start=theta).probabilities
        before = channel
        found.append(earth_movers_distance(theta, truth, grid))
    return found
