"""The loop of incremental collection, as pure functions: prior, channel, reports, tally, estimate, and round again.

Nothing here keeps state, draws reports or talks to anyone: a service or a simulation calls these functions with what it
holds. Reports are those of disjoint cohorts ("once") or of the same people in every cycle ("every-cycle"); what they
cost a person together is for the accountant to say. The first channel is Blahut-Arimoto from the uniform prior, so that
it is within the same 2 beta as every other; a fixed Laplace first round is not [Biswas2023, Alg. 1, corrected].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Reporting, checked_reporting
from sfumato.accountant.grid_reports import spent
from sfumato.arrays import IntArray, positive
from sfumato.collection.defences import (
    DEFAULT_ALARM_P,
    Influence,
    ResidualTest,
    capped_weights,
    fake_report_influence,
    monitored_distance,
    residual_test,
)
from sfumato.errors import InputError
from sfumato.estimation.joint import Estimate, joint
from sfumato.estimation.tally import Tally, checked_tallies
from sfumato.estimation.uncertainty import LARGEST_COVARIANCE, Intervals, intervals
from sfumato.grid import Grid
from sfumato.guarantees import Guarantee
from sfumato.mechanisms.grids.blahut_arimoto import DEFAULT_FLOOR, DEFAULT_STEPS, blahut_arimoto, checked_floor
from sfumato.mechanisms.grids.grid_channel import GridChannel
from sfumato.mechanisms.grids.level import EpsilonRange

DEFAULT_MAX_LOG_CHANGE = 0.2
"""Honest channels make nine tenths of their gain in eight cycles; see benchmarks/evidence_defences.py."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a campaign fixes in advance. ``beta`` per unit of the grid; ``max_log_change`` caps |change of log c|.

    ``alarm_p``: the residual test's p value below which a cycle raises an alarm and the channel is kept; 0 for never.
    """

    beta: float
    ba_steps: int = DEFAULT_STEPS
    floor: float = DEFAULT_FLOOR
    max_log_change: float | None = DEFAULT_MAX_LOG_CHANGE
    reporting: Reporting = "once"
    alarm_p: float = DEFAULT_ALARM_P

    def __post_init__(self) -> None:
        positive(self.beta, "beta")
        checked_floor(self.floor)
        if isinstance(self.ba_steps, bool) or int(self.ba_steps) != self.ba_steps or self.ba_steps < 1:
            raise InputError(f"{self.ba_steps} Blahut-Arimoto steps.", "Take at least 1 (the uniform channel).")
        if self.max_log_change is not None:
            positive(self.max_log_change, "max_log_change")
        if not 0 <= self.alarm_p <= 1:
            raise InputError(f"The alarm's p value is {self.alarm_p}.", "It lies between 0 (never) and 1.")
        checked_reporting(self.reporting)


def first_channel(grid: Grid, rules: Rules) -> GridChannel:
    """The channel of the first cycle: nothing is known, so the prior is uniform."""
    return blahut_arimoto(
        np.full(grid.cells, 1.0 / grid.cells), grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor
    ).value


def next_channel(previous: GridChannel, prior: npt.ArrayLike, rules: Rules) -> GridChannel:
    """The channel for ``prior``, no weight changed by more than a factor exp(max_log_change) since ``previous``."""
    fresh = blahut_arimoto(prior, previous.grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor).value
    if rules.max_log_change is None:
        return fresh
    weights = capped_weights(previous.output_weights, fresh.output_weights, rules.max_log_change, rules.floor)
    return GridChannel(previous.grid, rules.beta, weights)


@dataclass(frozen=True, slots=True, eq=False)
class ClosedCycle:
    """Everything a closed cycle publishes."""

    estimate: Estimate
    intervals: Intervals | None
    """None where they were not asked for, or above 2,500 cells (then ask for regions)."""
    next_channel: GridChannel
    residual: ResidualTest
    influence: tuple[Influence, ...]
    epsilon: EpsilonRange
    spent: EpsilonRange
    """What one person who stays in one place has spent over all cycles, by the accountant."""
    guarantee: Guarantee
    """The accountant's statement for those reports together."""
    mutual_information_nats: float
    """Of the last channel, for the estimated map."""
    distortion: float
    moved: float | None
    """Earth mover's distance to the previous estimate, in the grid's unit (from blocks above 2,500 cells)."""
    capped: bool
    """Whether the next channel would have changed more than the cap allows: usual in the first cycles."""
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

    ``previous`` is the previous cycle's estimate, where there is one. After an alarm the next channel is the last one:
    to go on, leave the suspicious tallies out. The estimate itself holds every report, forged or not.
    """
    entries = [entry if isinstance(entry, Tally) else Tally(entry[0], np.asarray(entry[1])) for entry in tallies]
    filled = checked_tallies(entries)
    if entries[-1].total == 0:
        raise InputError("The last cycle has no report.", "Keep it open until somebody reports.")
    last = filled[-1]
    estimate = joint(filled)
    theta = estimate.probabilities
    residual = residual_test(last, theta, earlier=filled[:-1], alarm_p=rules.alarm_p)
    alarms = []
    if residual.alarm:
        alarms.append(
            f"The reports fit no map through the published channels (p = {residual.p_value:.1e}); "
            f"cell {residual.worst_cell} is reported too often. The channel is kept."
        )
    following = last.channel if residual.alarm else next_channel(last.channel, theta, rules)
    small = last.channel.cells <= LARGEST_COVARIANCE
    account = spent([tally.channel for tally in filled], reporting=rules.reporting)
    shown = intervals(filled, reporting=rules.reporting) if with_intervals and small else None
    return ClosedCycle(
        estimate=estimate,
        intervals=shown,
        next_channel=following,
        residual=residual,
        influence=fake_report_influence(filled, estimate, candidates=4 if small else 1) if with_influence else (),
        epsilon=last.channel.epsilon(),
        spent=account.level,
        guarantee=account.guarantee,
        mutual_information_nats=last.channel.mutual_information(theta),
        distortion=last.channel.distortion(theta),
        moved=None if previous is None else monitored_distance(previous, theta, last.channel.grid),
        capped=rules.max_log_change is not None and _cap_binds(last.channel, following, rules.max_log_change),
        alarms=tuple(alarms),
    )


def _cap_binds(previous: GridChannel, following: GridChannel, cap: float) -> bool:
    used = previous.output_weights > 0  # a weight of 0 stays 0
    change = np.abs(np.log(following.output_weights[used]) - np.log(previous.output_weights[used]))
    return bool(change.max() >= cap * (1 - 1e-9))


def cohorts(people: IntArray, cycles: int, order: IntArray) -> list[IntArray]:
    """Disjoint cohorts: ``people`` are the true cells, ``order`` a random permutation of them; one part per cycle."""
    if order.shape != people.shape or not np.array_equal(np.sort(order), np.arange(people.size)):
        raise InputError("The order does not fit the people.", "Give a permutation of all of them.")
    if cycles < 1:
        raise InputError(f"{cycles} cycles were asked for.", "Take at least 1.")
    shuffled = people[order]
    return [shuffled[cycle::cycles] for cycle in range(cycles)]
