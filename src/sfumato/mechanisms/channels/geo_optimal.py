"""The geo-indistinguishable channel of least average distortion, for any places and any distortion [Bordenabe2014].

    min sum p_x d[x, y] Q[x, y]   s.t.  sum_y Q[x, y] = 1,   Q[x, y] <= e^(g dist(x, x')) Q[x', y]  for all x, x', y

has n^2 k constraints, of which those implied through a place exactly between x and x' are left out. Few places are
solved by an interior-point method (:mod:`.geo_interior_point`), many, or any where a gap of 0.5 % is enough, by a
first-order one (:mod:`.geo_first_order`); either way the lower bound is a dual objective made exactly feasible, and the
channel is certified on all pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sfumato.arrays import BoolArray, FloatArray, Solved, finite, positive
from sfumato.channel import checked_distortion
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.leakage.discrete import average_distortion
from sfumato.mechanisms.channels.candidates import (
    Candidate,
    best_reported,
    cheapest,
    constant_report,
    gathered_outputs,
)
from sfumato.mechanisms.channels.certified import bound_below
from sfumato.mechanisms.channels.deadline import Deadline
from sfumato.mechanisms.channels.exponential import exponential_for_epsilon
from sfumato.mechanisms.channels.geo_interior_point import interior_point
from sfumato.mechanisms.channels.geo_promise import GeoChannel, certified_geo, checked_plane_error, checked_smallest
from sfumato.mechanisms.channels.named_design import ChannelTask, DesignedChannel
from sfumato.mechanisms.channels.planar_laplace import planar_laplace_matrix
from sfumato.priors.cells import positive_prior

GAP = 5e-5
"""What the interior-point method certifies on ordinary priors; asking for less may end with what was reached."""
GAP_OF_MANY = 0.03
"""What is asked of the first-order method unless something else is: seconds for 400 cells, long for 2,500."""
ROUGH_GAP = 5e-3
"""From this gap on the first-order method is the faster one, except for few places."""
FEW = 300_000
LARGEST_PROBLEM = 12_000_000
"""Up to this many constraints (pairs times outputs) the interior-point method holds them all in memory."""
SECONDS_PER_CONSTRAINT = 8e-6
"""About thirty steps of the interior-point method; with less time than that the first-order method finds more."""
MOST_PLACES = 2_500
_MEASURED_PER_S = 5e8


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
) -> Solved[GeoChannel]:
    """The optimum for ``epsilon`` per unit of ``distances``; distortion is the distance itself unless given.

    ``gap``: 5e-5 unless given, 3 % where there are too many places for the interior-point method.

    Whatever the solver found is compared with the best constant report and, where the gap is missed, with other
    channels of that epsilon (``rivals``; the exponential mechanism unless given), each report replaced by the best
    answer; what ships is the cheapest channel that keeps the promise after certification. A gap that is not reached is
    said (``status`` "stopped").
    """
    began = time.perf_counter()
    g = positive(epsilon, "epsilon", at_most=1e100)
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
    work = p.size**2 * d.shape[1]
    deadline = Deadline.after(_solving(most_seconds, work))
    wanted = positive(_usual_gap(work) if gap is None else gap, "gap", at_most=1.0)
    trivial = constant_report(p, d)
    candidates, bound, steps = [trivial], 0.0, 0
    if trivial.cost > 0 and p.size > 1:
        in_time = deadline.left_s > SECONDS_PER_CONSTRAINT * work
        if work <= FEW or (work <= LARGEST_PROBLEM and wanted < ROUGH_GAP and in_time):
            found, bound, steps = interior(p, d, far, g, gap=wanted, most_steps=most_steps, deadline=deadline)
        else:
            from sfumato.mechanisms.channels.geo_first_order import first_order  # compiled loops: not for few places

            found, bound, steps = first_order(p, d, far, g, gap=wanted, deadline=deadline, progress=progress)
            missed = not found or bound < (1 - wanted) * found[-1].cost
            if missed and work <= LARGEST_PROBLEM and not deadline.passed:  # steep promises and skewed priors
                finer = interior(p, d, far, g, gap=wanted, most_steps=most_steps, deadline=deadline)
                found, bound, steps = [*found, *finer[0]], max(bound, finer[1]), steps + finer[2]
        candidates += found
        if bound < (1 - wanted) * min(candidate.cost for candidate in candidates):
            others = [best_reported(matrix, p, d) for matrix in (_rivals(far, g) if rivals is None else rivals())]
            rival = min(others, key=lambda other: other.cost)  # to certify one takes as long as the others together
            if rival.cost < min(candidate.cost for candidate in candidates):
                candidates.append(rival)
    names = tuple(inputs)

    def shipped(candidate: Candidate) -> tuple[float, GeoChannel]:
        gathered, columns = gathered_outputs(candidate, d, p)
        if progress is not None and columns.size > 1:
            progress(f"measuring every pair of {p.size} places over {columns.size} outputs")
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
        status="converged" if reached <= wanted else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def _rivals(far: FloatArray, g: float, grid: Grid | None = None) -> Iterator[FloatArray]:
    """Channels in closed form that keep the promise too; what does not after all is not shipped."""
    yield exponential_for_epsilon(far, g, metric=True).channel.matrix
    if grid is not None:
        yield planar_laplace_matrix(grid, g)


def _solving(most_seconds: float | None, work: int) -> float | None:
    """What of the time the solver may have: the channel is then measured on every pair, several times; at least half.

    ``_MEASURED_PER_S`` of (pair, output) a second, for the four times of certification and the one of its statement.
    """
    if most_seconds is None:
        return None
    seconds = positive(most_seconds, "most_seconds")
    return max(seconds / 2, seconds - work / _MEASURED_PER_S)


def _usual_gap(work: int) -> float:
    return GAP if work <= LARGEST_PROBLEM else GAP_OF_MANY


def interior(
    p: FloatArray, d: FloatArray, far: FloatArray, g: float, *, gap: float, most_steps: int, deadline: Deadline
) -> tuple[list[Candidate], float, int]:
    """The interior-point method on every pair of places that is not implied by others."""
    pairs = irreducible_pairs(far)
    return interior_point(p, d, np.exp(-g * far), pairs, gap=gap, most_steps=most_steps, deadline=deadline)


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's geo-optimal."""
    far = task.prior.distances_m()
    grid = task.grid if task.grid is not None and task.grid.cells == task.prior.size else None
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
        rivals=lambda: _rivals(far, task.level, grid),
    )
    return DesignedChannel.solved(solved)
