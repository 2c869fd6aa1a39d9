"""The geo-indistinguishable channel of least average distortion, for any places and any distortion [Bordenabe2014].

    min sum p_x d[x, y] Q[x, y]   s.t.  sum_y Q[x, y] = 1,   Q[x, y] <= e^(g dist(x, x')) Q[x', y]  for all x, x', y

has n^2 k constraints, of which those implied through a place exactly between x and x' are left out. Few places are
solved by an interior-point method (:mod:`.geo_interior_point`), many by a first-order one (:mod:`.geo_first_order`);
either way the lower bound is a dual objective made exactly feasible, and the channel is certified on all pairs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.arrays import BoolArray, FloatArray, Solved, finite, positive
from sfumato.channel import checked_distortion
from sfumato.errors import InputError
from sfumato.leakage.discrete import average_distortion
from sfumato.mechanisms.channels.candidates import Candidate, cheapest, constant_report, gathered_outputs
from sfumato.mechanisms.channels.certified import bound_below
from sfumato.mechanisms.channels.deadline import Deadline
from sfumato.mechanisms.channels.geo_first_order import first_order
from sfumato.mechanisms.channels.geo_interior_point import interior_point
from sfumato.mechanisms.channels.geo_promise import GeoChannel, certified_geo, checked_plane_error, checked_smallest
from sfumato.mechanisms.channels.named_design import ChannelTask, DesignedChannel
from sfumato.priors.cells import positive_prior

GAP = 5e-5
"""What the interior-point method certifies on ordinary priors; asking for less may end with what was reached."""
LARGEST_PROBLEM = 12_000_000
MOST_PLACES = 2_500


def irreducible_pairs(distances: FloatArray) -> BoolArray:
    """Ordered pairs with no place exactly between them; the constraints of the other pairs follow from these."""
    n = distances.shape[0]
    keep = ~np.eye(n, dtype=bool)
    for middle in range(n):
        through = distances[:, middle, None] + distances[None, middle, :]
        implied = through <= distances * (1 - 1e-12)
        exactly = np.abs(through - distances) <= 1e-12 * distances
        implied |= exactly
        implied[middle, :] = False
        implied[:, middle] = False
        keep &= ~implied
    return keep


def optimal_geo_channel(
    prior: npt.ArrayLike,
    distances: npt.ArrayLike,
    epsilon: float,
    *,
    distortion: npt.ArrayLike | None = None,
    gap: float = GAP,
    most_steps: int = 200,
    most_seconds: float | None = None,
    unit: str = "m",
    plane_error: float = 0.0,
    distortion_name: str | None = None,
    inputs: Sequence[str] = (),
    positions_m: npt.ArrayLike | None = None,
) -> Solved[GeoChannel]:
    """The optimum for ``epsilon`` per unit of ``distances``; distortion is the distance itself unless given.

    Whatever the solver found is compared with the best constant report; what ships is the cheapest channel that keeps
    the promise after certification. A gap that is not reached is said (``status`` "stopped").
    """
    began = time.perf_counter()
    deadline = Deadline.after(most_seconds)
    g = positive(epsilon, "epsilon", at_most=1e100)
    positive(gap, "gap", at_most=1.0)
    checked_plane_error(plane_error)
    far = checked_distortion(distances, "The distances")
    p = positive_prior(prior, far.shape[0])
    if far.shape != (p.size, p.size) or np.any(far[~np.eye(p.size, dtype=bool)] <= 0) or not np.allclose(far, far.T):
        raise InputError(
            "The distances are not positive and symmetric between different places.", "Merge equal places."
        )
    far = np.minimum(far, far.T)
    checked_smallest(g, far)
    d = far if distortion is None else checked_distortion(distortion)
    if d.shape[0] != p.size or d.min(initial=0.0) < 0 or d.shape[1] == 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {p.size} places.", "Give d(x, y) >= 0.")
    if p.size > MOST_PLACES:
        raise InputError(
            f"{p.size} places are too many for this program.",
            f"Use at most {MOST_PLACES}, or planar Laplace with Bayesian remapping.",
        )
    trivial = constant_report(p, d)
    candidates, bound, steps = [trivial], 0.0, 0
    if trivial.cost > 0 and p.size > 1:
        solver = interior if p.size**2 * d.shape[1] <= LARGEST_PROBLEM else first_order
        found, bound, steps = solver(p, d, far, g, gap=gap, most_steps=most_steps, deadline=deadline)
        candidates += found
    names = tuple(inputs)

    def shipped(candidate: Candidate) -> tuple[float, GeoChannel]:
        gathered, columns = gathered_outputs(candidate, d, p)
        square = bool(names) and d.shape[1] == p.size
        made = certified_geo(
            gathered,
            far,
            g,
            unit=unit,
            plane_error=plane_error,
            inputs=names,
            outputs=tuple(names[y] for y in columns) if square else tuple(str(y) for y in columns),
            distortion=d[:, columns],
            distortion_name="euclidean" if distortion is None else distortion_name,
            positions_m=None if positions_m is None else finite(positions_m, "positions_m", dimensions=2),
        )
        return average_distortion(made.channel, p, d[:, columns]), made

    cost, made = cheapest(candidates, shipped)
    bound = bound_below(bound, cost)
    reached = (cost - bound) / cost if cost > 0 else 0.0
    return Solved(
        value=made,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def interior(
    p: FloatArray, d: FloatArray, far: FloatArray, g: float, *, gap: float, most_steps: int, deadline: Deadline
) -> tuple[list[Candidate], float, int]:
    """The interior-point method on every pair of places that is not implied by others."""
    pairs = irreducible_pairs(far)
    return interior_point(p, d, np.exp(-g * far), pairs, gap=gap, most_steps=most_steps, deadline=deadline)


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's geo-optimal."""
    solved = optimal_geo_channel(
        task.prior.probabilities,
        task.prior.distances_m(),
        task.level,
        distortion=task.distortion,
        gap=GAP if task.gap is None else task.gap,
        most_seconds=task.most_seconds,
        unit=task.unit,
        inputs=task.prior.labels,
        positions_m=task.positions_m,
        plane_error=task.plane_error,
        distortion_name=task.distortion_name,
    )
    return DesignedChannel.solved(solved)
