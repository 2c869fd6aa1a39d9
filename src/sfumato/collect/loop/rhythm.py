"""How often one device reports: once, in every cycle, or once per epoch of several cycles, and what that costs.

An epoch is ``epoch_cycles`` cycles. Within it a person reports in one cycle at most and pays the dearest of its
channels; epochs add up like reports of one place. Between "once", after which nobody can report again, and
"every-cycle", after which a budget is spent in a fortnight, it is the plan that lasts.

T reports of one place are one report of a product channel, whose exact level is T beta + Lip(sum_t log Z_t) when every
c > 0 (beta may differ: sum_t beta_t), at most sum_t 2 beta_t and at most the sum of the levels: the slopes of
different cycles rarely add in one place. A person who moves pays sum_t 2 beta_t d(x_t, x'_t). Who reports once, in one
of several disjoint cohorts, pays the dearest channel.

*Classes of cycles* that a campaign may declare: weekday and weekend, parts of the day, or both, in its own time zone.
People are elsewhere at night and on Sundays, again and again. Cycles of one class share their reports
(:mod:`sfumato.collect.estimation.smooth_map`), and a weekend is judged beside weekends. A class belongs to the clock of
the place, not to the reports: it is declared before anybody reports and cannot be chosen to suit the data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from sfumato.accountant.compose import Guarantee, Reporting, checked_reporting, composition, geo_total
from sfumato.base.errors import InputError, NotCertified
from sfumato.collect.grids.grid_channel import (
    EpsilonRange,
    GridChannel,
    level_from_normaliser,
    level_without_normaliser,
)

Rhythm = Literal["once", "every-cycle", "once-per-epoch"]
RHYTHMS: tuple[Rhythm, ...] = ("once", "every-cycle", "once-per-epoch")
MOST_EPOCH_CYCLES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Spent:
    """What a person has spent: the level, or a certified bracket of it, and the statement at its upper end."""

    level: EpsilonRange
    guarantee: Guarantee


def spending(channels: Sequence[GridChannel], *, reporting: Reporting) -> Spent:
    """What one person who stays in one place has spent at most on reports through ``channels``, at least one."""
    checked_reporting(reporting)
    if any(channel.grid != channels[0].grid for channel in channels):
        raise InputError("The channels belong to different grids.", "Compose channels of one grid only.")
    statements = [channel.guarantee() for channel in channels]
    by_rule = composition(statements, reporting=reporting)
    levels = [channel.epsilon() for channel in channels]
    unit = levels[0].unit
    if reporting == "once" or len(channels) == 1:
        level = EpsilonRange(max(one.lower for one in levels), max(one.upper for one in levels), unit)
        return Spent(level, by_rule)
    level = _product_level(channels)
    return Spent(level, geo_total(statements, reporting, unit=unit, epsilon=level.upper))


spent = spending  # its name in 0.2.0


def spent_in_epochs(epochs: Sequence[Sequence[GridChannel]]) -> Spent:
    """What a person spent who reported at most once in each epoch, through any one of its channels.

    At most the sum of the dearest levels; at least what the dearest channels cost together.
    """
    each = [spending(channels, reporting="once") for channels in epochs]
    dearest = [max(channels, key=lambda channel: channel.epsilon().upper) for channels in epochs]
    together = spending(dearest, reporting="every-cycle")
    total = math.fsum(one.level.upper for one in each)
    level = EpsilonRange(together.level.lower, max(total, together.level.lower), together.level.unit)
    statements = [one.guarantee for one in each]
    return Spent(level, geo_total(statements, "every-cycle", unit=level.unit, epsilon=level.upper))


def _product_level(channels: Sequence[GridChannel]) -> EpsilonRange:
    grid = channels[0].grid
    beta = sum(channel.beta for channel in channels)
    everywhere = all(channel.reports_every_cell for channel in channels)
    try:
        log_z = np.sum([channel.log_normaliser() for channel in channels], axis=0)
    except NotCertified:
        return level_without_normaliser(grid, beta, everywhere=everywhere)
    return level_from_normaliser(
        grid,
        beta,
        log_z,
        everywhere=everywhere,
        relative_error=lambda: math.fsum(channel.normaliser_error() for channel in channels),
    )


def checked_rhythm(rhythm: str, epoch_cycles: int | None) -> Rhythm:
    """The rhythm, if the number of cycles of an epoch is given exactly where there are epochs."""
    for known in RHYTHMS:
        if rhythm == known:
            break
    else:
        raise InputError(f"The reporting is '{rhythm}'.", f"It is {', '.join(RHYTHMS[:-1])} or {RHYTHMS[-1]}.")
    if (known == "once-per-epoch") != (epoch_cycles is not None):
        raise InputError(
            f"Reporting '{known}' {'needs' if epoch_cycles is None else 'has no'} epoch_cycles.",
            "Give epoch_cycles, the cycles of an epoch, with once-per-epoch and only there.",
        )
    if epoch_cycles is not None and not 2 <= epoch_cycles <= MOST_EPOCH_CYCLES:
        raise InputError(f"An epoch of {epoch_cycles} cycles.", f"Take 2 to {MOST_EPOCH_CYCLES:,} cycles.")
    return known


def epoch_number(cycle: int, epoch_cycles: int) -> int:
    """The epoch (from 1) of a cycle (from 1)."""
    return (cycle - 1) // epoch_cycles + 1


def as_reporting(rhythm: Rhythm) -> Reporting:
    """What varies between the reports of one cycle and the next, for an interval.

    Who reports once per epoch is in another cycle's cohort by chance, as who reports once.
    """
    return "every-cycle" if rhythm == "every-cycle" else "once"


def spent_by(
    channels: Sequence[GridChannel], rhythm: Rhythm, epoch_cycles: int | None, *, first_cycle: int = 1
) -> Spent:
    """What one person who stays in one place has spent at most on these consecutive cycles, from ``first_cycle``."""
    if rhythm != "once-per-epoch":
        return spending(channels, reporting=as_reporting(rhythm))
    assert epoch_cycles is not None
    epochs: dict[int, list[GridChannel]] = {}
    for place, channel in enumerate(channels):
        epochs.setdefault(epoch_number(first_cycle + place, epoch_cycles), []).append(channel)
    return spent_in_epochs(list(epochs.values()))


CycleClasses = Literal["none", "weekday-weekend", "parts-of-day", "weekday-weekend-parts-of-day"]
CYCLE_CLASSES: tuple[CycleClasses, ...] = ("none", "weekday-weekend", "parts-of-day", "weekday-weekend-parts-of-day")
_PARTS = ("night", "morning", "afternoon", "evening")
_LOOKS = 48
_MOST = 2 / 3
"""The part of a cycle that must lie in one class; what lies in several is shown by itself."""
HOUR_S, DAY_S, WEEK_S = 3_600, 86_400, 604_800
_WEEK = timedelta(weeks=1)
_A_MONDAY = datetime(2024, 1, 1)  # by the clock of whatever place


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which class a cycle belongs to, from when it was open."""

    classes: CycleClasses = "none"
    time_zone: str = "UTC"
    begins_hour: int | None = None
    """When rounds begin by that clock: weeks on Mondays at this hour, days at it, parts of a day in step with it."""

    def __post_init__(self) -> None:
        if self.classes not in CYCLE_CLASSES:
            raise InputError(f"There are no classes '{self.classes}'.", f"They are {', '.join(CYCLE_CLASSES)}.")
        _zone(self.time_zone)

    @property
    def longest_cycle_s(self) -> float | None:
        """Cycles longer than this never lie in one class; None without classes."""
        if self.classes == "none":
            return None
        return DAY_S if self.classes == "weekday-weekend" else DAY_S / len(_PARTS)

    def check_cycle(self, duration_s: float | None) -> None:
        """Refuse cycles that cannot lie in one class: too long, or as long as reports take to come."""
        longest = self.longest_cycle_s
        if longest is not None and (duration_s is None or duration_s > longest):
            lasts = "until enough reports came" if duration_s is None else f"{duration_s / 3600:g} h"
            raise InputError(
                f"Cycles that last {lasts} have no class of '{self.classes}'.",
                f"Let cycles last {longest / 3600:g} h or less, or declare no classes.",
            )

    def check_steps(self, duration_s: float | None) -> None:
        """Refuse rounds that cannot all begin at the hour: neither weeks nor parts of a week in whole hours."""
        if self.begins_hour is None:
            return
        if not 0 <= self.begins_hour < 24:
            raise InputError(f"There is no hour {self.begins_hour}.", "Give 0 to 23.")
        whole = duration_s is not None and duration_s % HOUR_S == 0
        if not whole or (WEEK_S % int(duration_s or 1) and int(duration_s or 1) % WEEK_S):
            raise InputError(
                "Such rounds cannot always begin at the same hour.",
                "Let them last 1, 2, 3, 4, 6, 8, 12 or 24 h, or weeks.",
            )

    def due_s(self, opened_s: float, duration_s: int) -> int:
        """When a round is due that is opened now: after its time, or at the first beginning after half of it.

        Steps are counted on the clock of the place from Monday 00:00, so that eight in the morning stays eight in the
        morning when summer time begins; the first round of a campaign lasts between a half and one and a half times.
        """
        if self.begins_hour is None:
            return int(opened_s) + duration_s
        zone = _zone(self.time_zone)
        local = datetime.fromtimestamp(opened_s + duration_s / 2, zone).replace(tzinfo=None)
        start = _A_MONDAY + timedelta(hours=self.begins_hour)
        steps = -((start - local) // timedelta(seconds=min(duration_s, WEEK_S)))
        begins = start + steps * timedelta(seconds=min(duration_s, WEEK_S))
        if duration_s > WEEK_S:  # so many weeks after the Monday nearest to where it was opened
            first = datetime.fromtimestamp(opened_s, zone).replace(tzinfo=None)
            begins = start + round((first - start) / _WEEK) * _WEEK + timedelta(seconds=duration_s)
        return int(begins.replace(tzinfo=zone).timestamp())

    def class_at(self, time_s: float) -> str:
        """The class of one moment."""
        local = datetime.fromtimestamp(time_s, _zone(self.time_zone))
        day = "weekend" if local.weekday() >= 5 else "weekday"
        part = _PARTS[local.hour * len(_PARTS) // 24]
        return {"none": "", "weekday-weekend": day, "parts-of-day": part}.get(self.classes, f"{day} {part}")

    def class_of(self, begin_s: float, end_s: float) -> str:
        """The class that two thirds of the cycle lie in, or "mixed"."""
        length = max(0.0, end_s - begin_s)
        looks = Counter(self.class_at(begin_s + length * (look + 0.5) / _LOOKS) for look in range(_LOOKS))
        name, most = looks.most_common(1)[0]
        return name if most >= _MOST * _LOOKS else "mixed"

    def classes_of(self, spans: Sequence[tuple[float, float]]) -> tuple[str, ...] | None:
        """The class of every cycle (begin, end), a mixed one its own; None where no classes are declared."""
        if self.classes == "none":
            return None
        named = [self.class_of(begin, end) for begin, end in spans]
        return tuple(f"mixed {place + 1}" if name == "mixed" else name for place, name in enumerate(named))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"There is no time zone '{name[:64]}'.", "Use a name of the IANA database, for example Europe/Paris."
        ) from error
