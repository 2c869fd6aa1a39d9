"""Planar geometric noise: a random step on the infinite lattice of cells, P(step) proportional to e^(-epsilon |step|).

Clamped to a grid's rectangle it is a channel whose exact epsilon is at most the nominal one: the normalising sum is the
same for every cell, unlike that of the exponential mechanism.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_distortion
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.geo.geo_promise import GeoChannel, certified_geo, checked_plane_error, checked_smallest
from sfumato.channels.designs.named_design import ChannelTask, DesignedChannel

_DECADES = 42.0


def planar_geometric_channel(grid: Grid, epsilon: float, *, plane_error: float | None = None) -> GeoChannel:
    """The channel of the clamped lattice noise, for ``epsilon`` per unit of the grid (see planar_laplace_channel)."""
    eps = positive(epsilon, "epsilon", at_most=1e100)
    distances = checked_distortion(grid.distance_matrix(), "The distances")
    checked_smallest(eps, distances)
    off = checked_plane_error(grid.plane_error if plane_error is None else plane_error)
    reach = [int(np.ceil(_DECADES / (eps * size))) + 1 for size in (grid.cell_height, grid.cell_width)]
    reach = [max(steps, count) for steps, count in zip(reach, grid.shape, strict=True)]
    if reach[0] * reach[1] > 60_000_000:
        raise InputError(
            f"With epsilon {eps:g} the noise reaches over {reach[0]} x {reach[1]} cells.",
            "Use larger cells or planar_laplace_channel.",
        )
    down = np.arange(-reach[0], reach[0] + 1) * grid.cell_height
    across = np.arange(-reach[1], reach[1] + 1) * grid.cell_width
    kernel = np.exp(-eps * np.hypot(down[:, None], across[None, :]))
    kernel /= kernel.sum()
    folded = _folded(_folded(kernel, grid.rows, reach[0]).T, grid.columns, reach[1])
    # folded: (columns_in * columns_out, rows_in * rows_out)
    matrix = folded.reshape(grid.columns, grid.columns, grid.rows, grid.rows).transpose(2, 0, 3, 1)
    return certified_geo(
        matrix.reshape(grid.cells, grid.cells),
        distances,
        eps,
        unit=grid.unit,
        plane_error=off,
        inputs=grid.labels(),
        outputs=grid.labels(),
        distortion=distances,
        distortion_name="euclidean",
        positions_m=grid.centres() if grid.unit == "m" else None,
    )


def _folded(kernel: FloatArray, count: int, reach: int) -> FloatArray:
    """Rows of the kernel gathered per (input, output) pair of an axis, everything beyond the border at the border."""
    out = np.empty((count, count, kernel.shape[1]))
    upto = np.cumsum(kernel, axis=0)
    after = np.cumsum(kernel[::-1], axis=0)[::-1]
    for place in range(count):
        zero = reach - place  # the kernel row of output 0
        out[place] = kernel[zero : zero + count]
        if count > 1:
            out[place, 0] = upto[zero]
            out[place, count - 1] = after[zero + count - 1]
        else:
            out[place, 0] = kernel.sum(axis=0)
    folded: FloatArray = out.reshape(count * count, kernel.shape[1])
    return folded


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's planar-geometric, on the task's grid."""
    assert task.grid is not None
    made = planar_geometric_channel(task.grid, task.level, plane_error=task.plane_error)
    return DesignedChannel.exact(task, made.channel, made.guarantee, made.again)
