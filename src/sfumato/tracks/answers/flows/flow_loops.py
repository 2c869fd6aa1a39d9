"""Compiled loops over trips: one step of expectation-maximisation of an origin-destination map.

A trip's likelihood is a product, over the axes or over its two ends, and beyond a few noises it is nothing: each trip
carries two small blocks, (``side`` x ``side``), whose corner is ``first``: row of the start and of the end, column of
the start and of the end.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled

NOTHING = 1e-4  # of the likeliest pair of rows


@compiled(fastmath=True)  # sums may be reordered, which moves them by a rounding
def step_by_axes(
    flows: FloatArray, first: IntArray, down: FloatArray, across: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(Σ_t of the trips' posteriors, likelihood of each trip) under flows[i, j, k, l]: from row i to j, column k to l.

    ``first`` is (trips, 4): first row of the start and of the end, first column of the start and of the end; ``weight``
    is 0 for trips that only get a likelihood.
    """
    back = np.zeros_like(flows)
    likelihood = np.empty(len(first))
    side = down.shape[1]
    for t in range(len(first)):
        i0, j0, k0, l0 = first[t]
        total = 0.0
        for i in range(side):
            for j in range(side):
                if down[t, i, j] < NOTHING:
                    continue
                plane = flows[i0 + i, j0 + j]
                partial = 0.0
                for k in range(side):
                    for m in range(side):
                        partial += plane[k0 + k, l0 + m] * across[t, k, m]
                total += partial * down[t, i, j]
        likelihood[t] = total
        if weight[t] > 0.0 and total > 0.0:
            share = weight[t] / total
            for i in range(side):
                for j in range(side):
                    scaled = share * down[t, i, j]
                    if down[t, i, j] >= NOTHING:
                        plane = back[i0 + i, j0 + j]
                        for k in range(side):
                            for m in range(side):
                                plane[k0 + k, l0 + m] += scaled * across[t, k, m]
    return back * flows, likelihood


@compiled(fastmath=True)  # sums may be reordered, which moves them by a rounding
def trip_blocks(
    start: FloatArray, end: FloatArray, rho: FloatArray, variance: float, cell: float, first: IntArray, side: int
) -> FloatArray:
    """(trips, side, side): the bivariate Gaussian density at the cells' centres, scaled to 1 at its peak."""
    out = np.empty((len(start), side, side))
    for t in range(len(start)):
        r = rho[t]
        scale = -0.5 / (variance * (1 - r * r))
        for i in range(side):
            u = start[t] - (first[t, 0] + i + 0.5) * cell
            for j in range(side):
                v = end[t] - (first[t, 1] + j + 0.5) * cell
                out[t, i, j] = math.exp(scale * (u * u - 2 * r * u * v + v * v))
    return out


@compiled(fastmath=True)
def end_blocks(at: FloatArray, epsilon: float, height: float, width: float, first: IntArray, side: int) -> FloatArray:
    """(trips, side, side): planar Laplace density around one end, averaged over 5 x 5 places of each cell."""
    out = np.empty((len(at), side, side))
    for t in range(len(at)):
        for i in range(side):
            for k in range(side):
                total = 0.0
                for a in range(5):
                    u = at[t, 0] - (first[t, 0] + i + (a + 0.5) / 5) * height
                    for b in range(5):
                        v = at[t, 1] - (first[t, 1] + k + (b + 0.5) / 5) * width
                        total += math.exp(-epsilon * math.sqrt(u * u + v * v))
                out[t, i, k] = total / 25
    return out
