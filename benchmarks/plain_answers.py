"""The plainest correction of a heat map and of flows, written apart from the package, with its steps told by the truth.

This is what :mod:`evidence_plain` compares with in the same run, on the same releases and the same cells. It knows
the noise's law as a receiver does, and one thing that no receiver knows: the truth, by which the best of its numbers of
steps is picked for each size of cells. No margin around the rectangle, no shift of a release told from the map, no
held-out people, one latent grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtr

from sfumato.base.arrays import FloatArray

HEAT_STEPS = (100, 200, 400)
FLOW_STEPS = (5, 10, 20, 40)


def heat_maps(
    rows: FloatArray, columns: FloatArray, noise_m: float, *, side_m: float, latent_m: float
) -> Iterator[FloatArray]:
    """Densities on a latent grid after each of ``HEAT_STEPS``; places in metres from the rectangle's south-west."""
    cells = round(side_m / latent_m)
    edges = np.linspace(0.0, side_m, cells + 1)
    centres = (edges[:-1] + edges[1:]) / 2
    seen = np.histogram2d(rows, columns, bins=(edges, edges))[0]
    chance = ndtr((edges[1:, None] - centres) / noise_m) - ndtr((edges[:-1, None] - centres) / noise_m)
    found = np.full((cells, cells), 1.0 / cells**2)
    for step in range(1, max(HEAT_STEPS) + 1):
        found = found * (chance.T @ (seen / np.maximum(chance @ found @ chance.T, 1e-300)) @ chance)
        found /= found.sum()
        if step in HEAT_STEPS:
            yield found


def flows(
    starts: FloatArray, ends: FloatArray, noise_m: float, correlation: FloatArray, *, side_m: float, latent_m: float
) -> Iterator[FloatArray]:
    """Shares of (start, end) pairs of latent cells, (row, column, row, column), after each of ``FLOW_STEPS``."""
    side = round(side_m / latent_m)
    centres = (np.arange(side) + 0.5) * latent_m
    rows, columns = (
        _pair_likelihood(
            (starts[:, axis] - centres[:, None]) / noise_m, (ends[:, axis] - centres[:, None]) / noise_m, correlation
        )
        for axis in (0, 1)
    )
    found = np.full((side**2, side**2), 1.0 / side**4)
    for step in range(1, max(FLOW_STEPS) + 1):
        chance = np.einsum("tp,tp->t", rows @ found, columns)
        found = found * (rows.T @ (columns / np.maximum(chance, 1e-300)[:, None]))
        found /= found.sum()
        if step in FLOW_STEPS:
            by_axis = found.reshape(side, side, side, side)  # row of start, row of end, column of start, of end
            yield by_axis.transpose(0, 2, 1, 3)


def best(apart: Callable[[FloatArray], float], maps: Iterator[FloatArray]) -> float:
    """How near the nearest of them comes to the truth."""
    return min(apart(one) for one in maps)


def _pair_likelihood(start: FloatArray, end: FloatArray, correlation: FloatArray) -> FloatArray:
    """Density of both ends' noise along one axis, (trips, pairs of cells), by the cells' centres; scaled per trip."""
    rest = np.maximum(1 - correlation**2, 1e-6)
    one, other = start[:, None, :], end[None, :, :]
    log = -(one**2 - 2 * correlation * one * other + other**2) / (2 * rest)
    log -= log.max(axis=(0, 1), keepdims=True)
    return np.ascontiguousarray(np.exp(log).reshape(-1, start.shape[1]).T)
