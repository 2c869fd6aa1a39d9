"""The loop of incremental collection, as pure functions: prior, channel, reports, tally, estimate, and round again.

Nothing here keeps state, draws reports or talks to anyone: a service or a simulation calls these functions with what it
holds. Reports are those of disjoint cohorts ("once") or of the same people in every cycle ("every-cycle"); what they
cost a person together is for the accountant to say.

A campaign promises one thing and uses the channel that is best for it: *epsilon*, the tight channel of exact level
2 beta, the same in every cycle (:mod:`sfumato.collect.grids.tight`); *mutual-information*, Blahut-Arimoto on the
last map, within 2 beta, the first from the uniform prior, as in [Biswas2023, Sec. 7].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, checked_steps, positive
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_floor
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.joint import Estimate, joint
from sfumato.collect.estimation.smooth_map import blend, changed_map, log_smooth
from sfumato.collect.estimation.tally import Tally, checked_tallies, merge
from sfumato.collect.estimation.uncertainty import LARGEST_COVARIANCE, Intervals, intervals
from sfumato.collect.grids.blahut_arimoto import DEFAULT_FLOOR, DEFAULT_STEPS, blahut_arimoto
from sfumato.collect.grids.grid_channel import EpsilonRange, GridChannel
from sfumato.collect.grids.tight import tight_channel
from sfumato.collect.loop.defences import (
    DEFAULT_ALARM_P,
    CycleVerdict,
    Influence,
    ResidualTest,
    capped_weights,
    fake_report_influence,
    judge_cycle,
    monitored_distance,
)
from sfumato.collect.loop.rhythm import Rhythm, as_reporting, checked_rhythm, spent_by

Promise = Literal["epsilon", "mutual-information"]
PROMISES: tuple[Promise, ...] = ("epsilon", "mutual-information")
DEFAULT_PROMISE: Promise = "epsilon"

_BLENDED_UP_TO = 20_000
"""Cells times distinct channels up to which the number of steps is found by thinning."""
_WATCHED_WELL = 1_000
"""Cells up to which the forecast of forged reports tries many places; beyond, the worst alone."""
DEFAULT_MAX_LOG_CHANGE = 0.2
"""Honest channels make nine tenths of their gain in eight cycles; see benchmarks/evidence_defences.py."""
Beside = tuple[Sequence[Tally], FloatArray]
"""What a cycle is judged beside: the cycles of its class, it among them, and their map."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a campaign fixes in advance. ``beta`` per unit of the grid: no report costs more than epsilon = 2 beta.

    ``promise``: what the channel is best for. ``max_log_change`` caps |change of log c| where the channel follows the
    map. ``alarm_p``: the p value below which a cycle raises an alarm and the channel is kept; 0 for never.
    """

    beta: float
    promise: Promise = DEFAULT_PROMISE
    ba_steps: int = DEFAULT_STEPS
    floor: float = DEFAULT_FLOOR
    max_log_change: float | None = DEFAULT_MAX_LOG_CHANGE
    reporting: Rhythm = "once"
    alarm_p: float = DEFAULT_ALARM_P
    epoch_cycles: int | None = None
    """With reporting once-per-epoch: how many cycles an epoch has."""

    def __post_init__(self) -> None:
        positive(self.beta, "beta")
        checked_promise(self.promise)
        checked_floor(self.floor)
        checked_steps(self.ba_steps)
        if self.max_log_change is not None:
            positive(self.max_log_change, "max_log_change")
        if not 0 <= self.alarm_p <= 1:
            raise InputError(f"The alarm's p value is {self.alarm_p}.", "It lies between 0 (never) and 1.")
        checked_rhythm(self.reporting, self.epoch_cycles)


def checked_promise(promise: str) -> Promise:
    """Epsilon or mutual-information, or InputError."""
    for known in PROMISES:
        if promise == known:
            return known
    raise InputError(f"The promise is '{promise}'.", f"It is {' or '.join(PROMISES)}.")


def first_channel(grid: Grid, rules: Rules) -> GridChannel:
    """The channel of the first cycle: the tight one, or Blahut-Arimoto from the uniform prior, as promised."""
    if rules.promise == "epsilon":
        return tight_channel(grid, epsilon=2 * rules.beta, floor=rules.floor).value
    return blahut_arimoto(
        np.full(grid.cells, 1.0 / grid.cells), grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor
    ).value


def next_channel(previous: GridChannel, prior: npt.ArrayLike, rules: Rules) -> GridChannel:
    """The channel for ``prior``, no weight changed by more than a factor exp(max_log_change) since ``previous``.

    The tight channel does not depend on any map, and stays.
    """
    if rules.promise == "epsilon":
        return previous
    fresh = blahut_arimoto(prior, previous.grid, beta=rules.beta, steps=rules.ba_steps, floor=rules.floor).value
    if rules.max_log_change is None:
        return fresh
    weights = capped_weights(previous.output_weights, fresh.output_weights, rules.max_log_change, rules.floor)
    return GridChannel(previous.grid, rules.beta, weights)


@dataclass(frozen=True, slots=True, eq=False)
class ClosedCycle:
    """Everything a closed cycle publishes."""

    estimate: Estimate
    """The average over all these cycles, every report in it."""
    this_cycle: Estimate
    """The last cycle's own map, held to that of its class (or the average) as far as its reports do not object."""
    intervals: Intervals | None
    """Of the average; None where they were not asked for, or above 2,500 cells (then ask for regions)."""
    next_channel: GridChannel
    verdict: CycleVerdict
    without_suspicious: Estimate | None
    """The average without the cycles named suspicious and, after an alarm, without this one; None if none is left."""
    influence: tuple[Influence, ...]
    epsilon: EpsilonRange
    spent: EpsilonRange
    """What one person who stays in one place has spent over all cycles, by the accountant."""
    guarantee: Guarantee
    """The accountant's statement for those reports together."""
    moved: float | None
    """Earth mover's distance to the previous estimate, in the grid's unit (from blocks above 1,000 cells)."""
    capped: bool
    """Whether the next channel would have changed more than the cap allows: usual in the first cycles."""
    alarms: tuple[str, ...]
    notices: tuple[str, ...]
    """What is worth saying and no alarm: the map changed, or was forged to look so."""

    @property
    def residual(self) -> ResidualTest:
        """The test of this cycle against the average."""
        return self.verdict.residual


def close_cycle(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    rules: Rules,
    *,
    previous: npt.ArrayLike | None = None,
    suspicious: Sequence[int] = (),
    classes: Sequence[str] | None = None,
    first_cycle: int = 1,
    with_intervals: bool = True,
    with_influence: bool = True,
) -> ClosedCycle:
    """Estimate from all tallies (oldest first), judge the last one, and make the next channel.

    ``previous`` is the previous cycle's estimate, where there is one. ``suspicious``: the tallies (by index) that
    raised an alarm when they were closed. ``first_cycle`` numbers the first of them, for epochs. ``classes`` names each
    tally's class of cycles, such as weekday and weekend (:mod:`.rhythm`): the last cycle is then held to its class,
    and judged beside it. After an alarm a channel that follows the map is kept. The estimate itself holds every report.
    """
    entries = [entry if isinstance(entry, Tally) else Tally(entry[0], np.asarray(entry[1])) for entry in tallies]
    filled = checked_tallies(entries)
    if entries[-1].total == 0:
        raise InputError("The last cycle has no report.", "Keep it open until somebody reports.")
    last = filled[-1]
    estimate, smooth = average_map(filled)
    theta = estimate.probabilities
    own, beside = own_map(entries, smooth, classes)
    verdict = judge_cycle(filled, theta, alarm_p=rules.alarm_p, beside=beside)
    kept = " The channel is kept." if rules.promise == "mutual-information" else ""
    following = last.channel if verdict.alarm else next_channel(last.channel, theta, rules)
    small = last.channel.cells <= LARGEST_COVARIANCE
    account = spent_by(
        [entry.channel for entry in entries], rules.reporting, rules.epoch_cycles, first_cycle=first_cycle
    )
    doubted = {index for index in suspicious if 0 <= index < len(entries)} | (
        {len(entries) - 1} if verdict.alarm else set()
    )
    trusted = [entry for index, entry in enumerate(entries) if index not in doubted and entry.total]
    shown = (
        intervals(filled, smooth=smooth, reporting=as_reporting(rules.reporting)) if with_intervals and small else None
    )
    return ClosedCycle(
        estimate=estimate,
        this_cycle=own,
        intervals=shown,
        next_channel=following,
        verdict=verdict,
        without_suspicious=average_map(trusted)[0] if doubted and trusted else None,
        influence=fake_report_influence(filled, estimate, candidates=4 if last.channel.cells <= _WATCHED_WELL else 1)
        if with_influence
        else (),
        epsilon=last.channel.epsilon(),
        spent=account.level,
        guarantee=account.guarantee,
        moved=None if previous is None else monitored_distance(previous, theta, last.channel.grid),
        capped=rules.max_log_change is not None and _cap_binds(last.channel, following, rules.max_log_change),
        alarms=(verdict.words + kept,) if verdict.alarm else (),
        notices=(verdict.words,) if verdict.kind == "changed" else (),
    )


def own_map(
    entries: Sequence[Tally], average: Estimate, classes: Sequence[str] | None
) -> tuple[Estimate, Beside | None]:
    """The last cycle's map, held to its class's (that held to ``average``) as far as its reports do not object."""
    if classes is None:
        return changed_map(entries[-1:], average), None
    if len(classes) != len(entries):
        raise InputError(
            f"There are {len(classes)} classes for {len(entries)} cycles.", "Name the class of every cycle."
        )
    alike = [entry for entry, name in zip(entries, classes, strict=True) if name == classes[-1] and entry.total]
    of_class = changed_map(alike, average)
    # The only cycle of its class has nothing beside it but the average.
    return changed_map(entries[-1:], of_class), (alike, of_class.probabilities) if len(alike) > 1 else None


def average_map(tallies: Sequence[Tally]) -> tuple[Estimate, Estimate]:
    """(what is shown: the blend of the early-stopped and the smooth map; the smooth one by itself).

    Where many different channels meet many cells, finding the number of steps would take minutes: the smooth map is
    shown, which needs none and is as good (docs/reproductions.md).
    """
    together = merge(tallies)
    smooth = log_smooth(together)
    if len(together) * together[0].channel.cells > _BLENDED_UP_TO:
        return smooth, smooth
    return blend(together, joint(together), smooth), smooth


def _cap_binds(previous: GridChannel, following: GridChannel, cap: float) -> bool:
    used = previous.output_weights > 0  # a weight of 0 stays 0
    change = np.abs(np.log(following.output_weights[used]) - np.log(previous.output_weights[used]))
    return bool(change.max() >= cap * (1 - 1e-9))
