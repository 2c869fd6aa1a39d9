"""The geo-indistinguishable channel of least average distortion, for any places and any distortion [Bordenabe2014].

    min sum p_x d[x, y] Q[x, y]   s.t.  sum_y Q[x, y] = 1,   Q[x, y] <= e^(g dist(x, x')) Q[x', y]  for all x, x', y

has n^2 k constraints, of which those implied through a place exactly between x and x' are left out. Few places are
solved by an interior-point method (:mod:`.geo_interior_point`), many, or any where a gap of 0.5 % is enough, by a
first-order one (:mod:`.geo_first_order`); either way the lower bound is a dual objective made exactly feasible, and the
channel is certified on all pairs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import BoolArray, FloatArray, Solved, positive
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.exponential import exponential_for_epsilon
from sfumato.channels.designs.geo.geo_interior_point import USUAL_STEPS, interior_point, seconds_per_step
from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.designs.limits import Deadline, checked_smallest
from sfumato.channels.designs.lip.candidates import (
    Candidate,
    Labels,
    best_reported,
    bound_below,
    cheapest,
    constant_report,
    solution,
)
from sfumato.channels.designs.promises import GeoPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel

GAP = 5e-5
"""What the interior-point method certifies on ordinary priors; asking for less may end with what was reached."""
GAP_OF_MANY = 0.03
"""What is asked of the first-order method unless something else is: seconds for 400 cells, long for 2,500."""
ROUGH_GAP = 5e-3
"""From this gap on the first-order method is the faster one, except for few places."""
FEW = 300_000
LARGEST_PROBLEM = 12_000_000
"""Up to this many constraints (pairs times outputs) the interior-point method holds them all in memory."""
MOST_PLACES = 2_500
_RESERVED = 2.0
"""With a time limit, this many times what it took to certify a closed form is kept to certify what the solver finds."""


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
    gap: float | None = None,
    most_steps: int = 200,
    most_seconds: float | None = None,
    unit: str = "m",
    plane_error: float = 0.0,
    distortion_name: str | None = None,
    inputs: Sequence[str] = (),
    positions_m: npt.ArrayLike | None = None,
    progress: Callable[[str], None] | None = None,
    rivals: Callable[[], Iterator[FloatArray]] | None = None,
) -> Solved[DesignedChannel]:
    """The optimum for ``epsilon`` per unit of ``distances``; distortion is the distance itself unless given.

    ``gap``: 5e-5 unless given, 3 % where there are too many places for the interior-point method.

    Whatever the solver found is compared with the best constant report and, where the gap is missed, with other
    channels of that epsilon (``rivals``; the exponential mechanism unless given), each report replaced by the best
    answer; what ships is the cheapest channel that keeps the promise after certification. A gap that is not reached is
    said (``status`` "stopped").
    """
    began = time.perf_counter()
    g = positive(epsilon, "epsilon", at_most=1e100)
    far = checked_distortion(distances, "The distances")
    p = positive_prior(prior, far.shape[0])
    if far.shape != (p.size, p.size) or np.any(far[~np.eye(p.size, dtype=bool)] <= 0) or not np.allclose(far, far.T):
        raise InputError(
            "The distances are not positive and symmetric between different places.", "Merge equal places."
        )
    far = np.minimum(far, far.T)
    checked_smallest(g, far)
    d = far if distortion is None else checked_distortion(distortion)
    distortion_name = "euclidean" if distortion is None else distortion_name
    if d.shape[0] != p.size or d.min(initial=0.0) < 0 or d.shape[1] == 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {p.size} places.", "Give d(x, y) >= 0.")
    if p.size > MOST_PLACES:
        raise InputError(
            f"{p.size} places are too many for this program.",
            f"Use at most {MOST_PLACES}, or planar Laplace with Bayesian remapping.",
        )
    work = p.size**2 * d.shape[1]
    deadline = Deadline.after(most_seconds)
    usual = GAP if work <= LARGEST_PROBLEM else GAP_OF_MANY
    wanted = positive(usual if gap is None else gap, "gap", at_most=1.0)
    names = tuple(inputs)

    promise = GeoPromise(far, g, unit, plane_error)

    labels = Labels(names, names if d.shape[1] == p.size else (), distortion_name, positions_m)

    @cache
    def ship(candidate: Candidate) -> tuple[float, Channel]:
        if progress is not None and candidate.outputs.size > 1:
            progress(f"measuring every pair of {p.size} places over {candidate.outputs.size} outputs")
        return labels.ship(candidate, promise, p, d)

    def rival() -> Candidate:
        others = (best_reported(matrix, p, d) for matrix in (closed_forms(far, g) if rivals is None else rivals()))
        return min(others, key=lambda other: other.cost)  # to certify one takes as long as the others together

    trivial = constant_report(p, d)
    candidates, bound, steps = [trivial], 0.0, 0
    if trivial.cost > 0 and p.size > 1:
        if most_seconds is not None:
            # What can ship at once comes first: what the solver will find takes as long to certify on this machine.
            candidates.append(rival())
            deadline = deadline.before(_RESERVED * _seconds(lambda: cheapest(candidates, ship)))
        found, bound, steps = _solved(
            p, d, far, g, gap=wanted, most_steps=most_steps, deadline=deadline, progress=progress
        )
        candidates += found
        if most_seconds is None and bound < (1 - wanted) * min(candidate.cost for candidate in candidates):
            other = rival()
            if other.cost < min(candidate.cost for candidate in candidates):
                candidates.append(other)

    cost, channel = cheapest(candidates, ship)
    made = DesignedChannel(channel, promise, average_distortion=cost)
    return solution(made, cost, bound_below(bound, cost), gap=wanted, steps=steps, began=began)


def closed_forms(far: FloatArray, g: float, grid: Grid | None = None) -> Iterator[FloatArray]:
    """Channels in closed form that keep the promise too; what does not after all does not ship."""
    yield exponential_for_epsilon(far, g, metric=True).channel.matrix
    if grid is not None and grid.cells == far.shape[0]:
        yield planar_laplace_matrix(grid, g)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _solved(
    p: FloatArray,
    d: FloatArray,
    far: FloatArray,
    g: float,
    *,
    gap: float,
    most_steps: int,
    deadline: Deadline,
    progress: Callable[[str], None] | None,
) -> tuple[list[Candidate], float, int]:
    """Channels found, the best proved bound and the steps, by the method that suits the size, the gap and the time."""
    work = p.size**2 * d.shape[1]
    decay = np.exp(-g * far)

    def interior() -> tuple[list[Candidate], float, int]:
        pairs = irreducible_pairs(far)
        if work > FEW and math.isfinite(deadline.left_s):
            needed = USUAL_STEPS * seconds_per_step(decay, pairs, d.shape[1])
            if deadline.left_s < needed:
                return [], 0.0, 0
        return interior_point(p, d, decay, pairs, gap=gap, most_steps=most_steps, deadline=deadline)

    found, bound, steps = interior() if work <= FEW or (work <= LARGEST_PROBLEM and gap < ROUGH_GAP) else ([], 0.0, 0)
    if found:
        return found, bound, steps
    from sfumato.channels.designs.geo.geo_first_order import first_order  # compiled loops: not for few places

    found, bound, steps = first_order(p, d, far, g, gap=gap, deadline=deadline, progress=progress)
    missed = not found or bound < (1 - gap) * found[-1].cost
    if missed and work <= LARGEST_PROBLEM and not deadline.passed:  # steep promises and skewed priors
        finer = interior()
        found, bound, steps = [*found, *finer[0]], max(bound, finer[1]), steps + finer[2]
    return found, bound, steps


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's geo-optimal."""
    far = task.prior.distances_m()
    solved = optimal_geo_channel(
        task.prior.probabilities,
        far,
        task.level,
        distortion=task.distortion,
        gap=task.gap,
        most_seconds=task.most_seconds,
        unit=task.unit,
        inputs=task.prior.labels,
        positions_m=task.positions_m,
        plane_error=task.plane_error,
        distortion_name=task.distortion_name,
        progress=task.progress,
        rivals=lambda: closed_forms(far, task.level, task.grid),
    )
    return DesignedChannel.from_solved(solved)
