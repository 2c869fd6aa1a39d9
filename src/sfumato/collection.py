"""The loop of incremental collection, as pure functions: prior, channel, reports, tally, estimate, and round again.

Nothing here keeps state, draws reports or talks to anyone: a service or a simulation calls these functions with what it
holds. Reports are those of disjoint cohorts ("once") or of the same people in every cycle ("every-cycle"); what each
costs a person is :func:`spent`. The first channel is Blahut-Arimoto from the uniform prior, so that it is within the same
2 beta as every other; a fixed Laplace first round is not [Biswas2023, Alg. 1, corrected].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, IntArray, positive, read_only
from sfumato.channel import checked_probabilities
from sfumato.errors import InputError
from sfumato.estimation.earth_mover import earth_movers_distance
from sfumato.estimation.joint import Estimate, joint
from sfumato.estimation.tally import Tally, checked_tallies
from sfumato.estimation.uncertainty import Intervals, intervals
from sfumato.grid import Grid
from sfumato.mechanisms.blahut_arimoto import DEFAULT_FLOOR, DEFAULT_STEPS, blahut_arimoto, checked_floor
from sfumato.mechanisms.grid_channel import EpsilonRange, GridChannel, spent_by_one_place

Reporting = Literal["once", "every-cycle"]

DEFAULT_MAX_LOG_CHANGE = 1.0
_ALARM_P = 1e-4


@dataclass(frozen=True, slots=True)
class Rules:
    """What a campaign fixes in advance. ``beta`` per unit of the grid; ``max_log_change`` caps |change of log c|."""

    beta: float
    ba_steps: int = DEFAULT_STEPS
    floor: float = DEFAULT_FLOOR
    max_log_change: float | None = DEFAULT_MAX_LOG_CHANGE
    reporting: Reporting = "once"

    def __post_init__(self) -> None:
        positive(self.beta, "beta")
        checked_floor(self.floor)
        if self.max_log_change is not None:
            positive(self.max_log_change, "max_log_change")
        if self.reporting not in ("once", "every-cycle"):
            raise InputError(f"The reporting is '{self.reporting}'.", "It is 'once' or 'every-cycle'.")


def first_channel(grid: Grid, rules: Rules) -> GridChannel:
    """The channel of the first cycle: nothing is known, so the prior is uniform."""
    return blahut_arimoto(
        np.full(grid.cells, 1.0 / grid.cells), grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor
    ).value


def next_channel(previous: GridChannel, prior: npt.ArrayLike, rules: Rules) -> GridChannel:
    """The channel for ``prior``, no weight changed by more than a factor exp(max_log_change) since ``previous``."""
    fresh = blahut_arimoto(
        prior, previous.grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor
    ).value  # fmt: skip
    if rules.max_log_change is None:
        return fresh
    return GridChannel(
        previous.grid, rules.beta, capped_weights(previous.output_weights, fresh.output_weights, rules.max_log_change, rules.floor)
    )  # fmt: skip


def capped_weights(previous: FloatArray, fresh: FloatArray, max_log_change: float, floor: float) -> FloatArray:
    """The weights proportional to ``fresh`` as far as previous/e^cap, floor/m <= c <= previous e^cap allow, summing to 1.

    clip(s fresh) for the one scale s that sums to 1: it exists, because the lower limits sum to at most 1 (``previous``
    respects the floor) and the upper ones to e^cap.
    """
    growth = math.exp(positive(max_log_change, "max_log_change"))
    low = np.maximum(previous / growth, np.minimum(floor / previous.size, previous))
    high = previous * growth

    def total(log_scale: float) -> float:
        return float(np.clip(fresh * math.exp(log_scale), low, high).sum())

    lower, upper = -1.0, 1.0
    while total(lower) > 1 and lower > -700:
        lower *= 2
    while total(upper) < 1 and upper < 700:
        upper *= 2
    for _ in range(200):
        middle = 0.5 * (lower + upper)
        lower, upper = (middle, upper) if total(middle) < 1 else (lower, middle)
    return read_only(np.clip(fresh * math.exp(upper), low, high))  # type: ignore[no-any-return]


def spent(channels: Sequence[GridChannel], *, reporting: Reporting) -> EpsilonRange:
    """What one person who stays in one place has spent at most, per unit of the grid.

    Once: the dearest single channel. Every cycle: T beta + Lip(sum_t log Z_t), exactly; at most 2 beta T.
    """
    if reporting == "every-cycle":
        return spent_by_one_place(list(channels))
    if not channels:
        return EpsilonRange(0.0, 0.0)
    levels = [channel.epsilon() for channel in channels]
    return EpsilonRange(max(level.lower for level in levels), max(level.upper for level in levels), levels[0].unit)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualTest:
    """Do the reports of one cycle look like reports of *any* map through the published channel?"""

    statistic: float
    degrees_of_freedom: int
    p_value: float
    worst_cell: int
    worst_excess: float
    """(observed - expected) / sqrt(expected) at the worst cell."""
    alarm: bool


def residual_test(tally: Tally, probabilities: npt.ArrayLike, *, alarm_p: float = _ALARM_P) -> ResidualTest:
    """Pearson's test of a cycle's counts against ``probabilities`` sent through its channel.

    A spike of forged reports of one cell cannot be explained by people near it, who would also report its neighbours.
    Cells that expect fewer than 5 reports are pooled. The map was fitted to the same reports, so that the statistic is
    if anything too small: the alarm is conservative.
    """
    from scipy.stats import chi2

    theta = checked_probabilities(probabilities, tally.channel.cells)
    n = tally.total
    if n == 0:
        raise InputError("This cycle has no report.", "Wait for reports before testing them.")
    expected = n * tally.channel.report_distribution(theta)
    observed = tally.counts.astype(np.float64)
    standard = (observed - expected) / np.sqrt(np.maximum(expected, 1e-12 * n))
    worst = int(np.argmax(np.where(expected >= 0.01, standard, (observed - expected) / 0.1)))
    enough = expected >= 5
    parts_expected = np.append(expected[enough], expected[~enough].sum())
    parts_observed = np.append(observed[enough], observed[~enough].sum())
    used = parts_expected > 0
    statistic = float(np.sum((parts_observed[used] - parts_expected[used]) ** 2 / parts_expected[used]))
    freedom = max(1, int(used.sum()) - 1)
    p_value = float(chi2.sf(statistic, freedom))
    return ResidualTest(statistic, freedom, p_value, worst, float(standard[worst]), bool(p_value < alarm_p))


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How far forged reports, all of one cell in the last cycle, would move the estimate."""

    share: float
    cell: int
    moved: float
    """Earth mover's distance between the estimates without and with them, in the grid's unit."""
    into_cell: float
    """What share of people they would add to their cell."""


def fake_report_influence(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    estimate: Estimate,
    *,
    shares: Sequence[float] = (0.01, 0.05),
    candidates: int = 4,
) -> tuple[Influence, ...]:
    """For each share of forged reports among the last cycle's, the worst of several cells to forge.

    The cells tried are the emptiest and fullest of the estimate and those farthest from where people are; the estimate
    is redone with as many steps as the true one took. A hostile participant can always do this much.
    """
    filled = checked_tallies(tallies)
    last = filled[-1]
    grid = last.channel.grid
    cells = _forged_cells(grid, estimate.probabilities, last.channel, candidates)
    steps = max(1, estimate.iterations)
    before = joint(filled, stop=steps).probabilities
    found = []
    for share in shares:
        if not 0 < share < 1:
            raise InputError(f"A share of {share} forged reports.", "Give shares between 0 and 1.")
        forged = max(1, round(share * last.total / (1 - share)))
        worst: Influence | None = None
        for cell in cells:
            counts = last.counts.copy()
            counts[cell] += forged
            after = joint([*filled[:-1], Tally(last.channel, counts)], stop=steps).probabilities
            moved = earth_movers_distance(before, after, grid)
            if worst is None or moved > worst.moved:
                worst = Influence(float(share), int(cell), moved, float(after[cell] - before[cell]))
        assert worst is not None
        found.append(worst)
    return tuple(found)


def _forged_cells(grid: Grid, theta: FloatArray, channel: GridChannel, count: int) -> list[int]:
    possible = channel.output_weights > 0
    centre = theta @ grid.centres()
    away = np.linalg.norm(grid.centres() - centre, axis=1)
    far = np.argsort(np.where(possible, -away, np.inf))[:count]
    ordered = np.argsort(np.where(possible, theta, np.inf))
    fullest = np.argsort(np.where(possible, -theta, np.inf))[:1]
    return sorted({int(cell) for cell in (*far, *ordered[: max(1, count - 2)], *fullest)})


@dataclass(frozen=True, slots=True, eq=False)
class ClosedCycle:
    """Everything a closed cycle publishes."""

    estimate: Estimate
    intervals: Intervals | None
    next_channel: GridChannel
    residual: ResidualTest
    influence: tuple[Influence, ...]
    epsilon: EpsilonRange
    spent: EpsilonRange
    mutual_information_nats: float
    """Of the last channel, for the estimated map."""
    distortion: float
    moved: float | None
    """Earth mover's distance to the previous estimate, in the grid's unit."""
    alarms: tuple[str, ...]


def close_cycle(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    rules: Rules,
    *,
    previous: npt.ArrayLike | None = None,
    with_intervals: bool = True,
    with_influence: bool = True,
) -> ClosedCycle:
    """Estimate from all tallies (oldest first), judge the last one, and make the next channel.

    ``previous`` is the previous cycle's estimate, where there is one.
    """
    filled = checked_tallies(tallies)
    last = filled[-1]
    estimate = joint(filled)
    theta = estimate.probabilities
    residual = residual_test(last, theta)
    alarms = []
    if residual.alarm:
        alarms.append(
            f"The reports of this cycle fit no map through the published channel (p = {residual.p_value:.1e}); "
            f"cell {residual.worst_cell} is reported too often."
        )
    following = next_channel(last.channel, theta, rules)
    if rules.max_log_change is not None and _cap_binds(last.channel, following, rules.max_log_change):
        alarms.append("The next channel wanted to change more than the cap allows.")
    return ClosedCycle(
        estimate=estimate,
        intervals=intervals(filled, estimate=estimate, reporting=rules.reporting) if with_intervals else None,
        next_channel=following,
        residual=residual,
        influence=fake_report_influence(filled, estimate) if with_influence else (),
        epsilon=last.channel.epsilon(),
        spent=spent([tally.channel for tally in filled], reporting=rules.reporting),
        mutual_information_nats=last.channel.mutual_information(theta),
        distortion=last.channel.distortion(theta),
        moved=None if previous is None else earth_movers_distance(previous, theta, last.channel.grid),
        alarms=tuple(alarms),
    )


def _cap_binds(previous: GridChannel, following: GridChannel, cap: float) -> bool:
    change = np.abs(np.log(following.output_weights) - np.log(previous.output_weights))
    return bool(change.max() >= cap * (1 - 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class Elasticity:
    """How a channel treats one cell: does it stay, and how far and where is it sent?"""

    cell: int
    stays: float
    displacement: float
    mode_cell: int
    crowd: float
    """The mean share of people at the reported cell: high where reports hide in a crowd."""
    posterior_self: float
    """P(x = cell | y = cell): what a report of the cell itself gives away."""


def elasticity(channel: GridChannel, cell: int, prior: npt.ArrayLike) -> Elasticity:
    """Probability of staying, mean displacement, most likely report and crowd of ``cell`` under ``channel``."""
    p = checked_probabilities(prior, channel.cells)
    row = channel.row(cell)
    reported = float(channel.report_distribution(p)[cell])
    return Elasticity(
        cell=int(cell),
        stays=float(row[cell]),
        displacement=float(row @ channel.grid.distances_from(cell)),
        mode_cell=int(np.argmax(row)),
        crowd=float(row @ p),
        posterior_self=float(p[cell] * row[cell] / reported) if reported > 0 else 0.0,
    )


def cohorts(people: IntArray, cycles: int, order: IntArray) -> list[IntArray]:
    """Disjoint cohorts: ``people`` are the true cells, ``order`` a random permutation of them; one part per cycle."""
    if order.shape != people.shape:
        raise InputError("The order does not fit the people.", "Give a permutation of all of them.")
    shuffled = people[order]
    return [shuffled[cycle::cycles] for cycle in range(cycles)]


def summary(closed: ClosedCycle) -> dict[str, Any]:
    """The numbers of a closed cycle that a dashboard lists."""
    return {
        "reports": closed.estimate.reports,
        "iterations": closed.estimate.iterations,
        "gap_nats_per_report": closed.estimate.gap,
        "epsilon": closed.epsilon.to_dict(),
        "spent_epsilon": closed.spent.to_dict(),
        "mutual_information_nats": closed.mutual_information_nats,
        "distortion": closed.distortion,
        "moved": closed.moved,
        "residual": {
            "statistic": closed.residual.statistic,
            "degrees_of_freedom": closed.residual.degrees_of_freedom,
            "p_value": closed.residual.p_value,
            "worst_cell": closed.residual.worst_cell,
            "alarm": closed.residual.alarm,
        },
        "influence": [
            {"share": one.share, "cell": one.cell, "moved": one.moved, "into_cell": one.into_cell}
            for one in closed.influence
        ],
        "alarms": list(closed.alarms),
    }
