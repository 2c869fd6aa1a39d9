"""What a campaign would promise, tell and cost before it starts: its channel, how long a device can take part, its map.

A device keeps one budget for everything it ever sends and stops for good when it is spent: at 2 per km and report,
after 15 reports of 30 per km. A campaign of daily reports is over for its people in a fortnight. So a plan says it, and
offers what lasts: one report in the campaign's life, or one per epoch of so many cycles that the budget lasts as
long as asked (:mod:`.rhythm`).

A forecast and the headline of the map that comes of it are the same function (:func:`.told_areas.told_apart`) of the
channel and the number of reports: what was promised is what is drawn, but for what later channels change. Above
:data:`.told_areas.DRAWN_UP_TO` cells no areas are drawn; the forecast then says so, and its widths are
:func:`.told_areas.resolution`'s alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.things.grid import Grid
from sfumato.base.units import format_duration, format_length, two_digits
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.tight import POSITIVE_FROM
from sfumato.collect.loop.loop import Promise, Rules, first_channel, next_channel
from sfumato.collect.loop.map_odds import MapOdds, map_odds
from sfumato.collect.loop.rhythm import MOST_EPOCH_CYCLES, Rhythm, as_reporting, checked_rhythm
from sfumato.collect.loop.told_areas import DRAWN_UP_TO, Resolution, resolution, told_apart

SECONDS_PER_DAY = 86_400.0
_MOST_REPORTS = 1_000_000_000
_MOST_TALLIES = 365  # of one device: what reports can tell no longer depends on how many of them are one person's
_ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


@dataclass(frozen=True, slots=True, eq=False)
class CampaignPlan:
    """One channel and what it means for a device; lengths in the grid's unit, epsilon per unit."""

    promise: Promise
    channel: GridChannel
    shares: FloatArray
    """How people are thought to be spread: as the prior says, else evenly."""
    promised_epsilon: float
    epsilon: float
    """Exact, of the channel as it would be shipped (an upper bound above 5,000 cells)."""
    mutual_information_bits: float
    distortion: float
    reports_until_stop: int
    """How many reports a device's budget allows, of this campaign and nothing else."""
    lasts_s: float
    """How long a device that reports every cycle takes part."""
    lasting_epoch_s: float
    """The shortest epoch with which it would last as long as was asked."""
    lasting_epoch_cycles: int | None
    """The same in cycles: ``epoch_cycles`` of a campaign that asks once per epoch; None if no report is allowed."""
    for_ever: float
    """What a device has spent on this campaign, per unit, when it stops for good."""
    smallest_tight_cell: float
    """Cells at least so wide make the tight channel exact; below, it costs a few percent of epsilon."""


def plan(
    grid: Grid,
    *,
    epsilon: float,
    promise: Promise,
    prior: npt.ArrayLike | None = None,
    budget: float,
    cycle_s: float,
    lasting_s: float,
) -> CampaignPlan:
    """The plan of a campaign that promises ``epsilon`` per unit of the ground, for devices with ``budget`` per unit."""
    stretch = grid.ground_stretch
    rules = Rules(beta=positive(epsilon, "epsilon") / stretch / 2, promise=promise, max_log_change=None)
    channel = first_channel(grid, rules)
    assumed = np.full(grid.cells, 1.0 / grid.cells) if prior is None else np.asarray(prior, dtype=np.float64)
    if promise == "mutual-information" and prior is not None:
        channel = next_channel(channel, assumed, rules)
    level = stretch * channel.epsilon().upper
    # The only cell there is tells nothing, and costs nothing.
    reports = math.floor(positive(budget, "The budget") / level * (1 + 1e-9)) if level > 0 else _MOST_REPORTS
    cycle = positive(cycle_s, "The cycle")
    epoch_s = positive(lasting_s, "The time it should last") / reports if reports else math.inf
    return CampaignPlan(
        promise=promise,
        channel=channel,
        shares=assumed,
        promised_epsilon=epsilon,
        epsilon=level,
        mutual_information_bits=channel.mutual_information(assumed) / math.log(2),
        distortion=channel.distortion(assumed),
        reports_until_stop=reports,
        lasts_s=reports * cycle,
        lasting_epoch_s=epoch_s,
        lasting_epoch_cycles=max(1, math.ceil(epoch_s / cycle * (1 - 1e-12))) if reports else None,
        for_ever=reports * level,
        smallest_tight_cell=POSITIVE_FROM * stretch / epsilon,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """A plan with so many people in it; widths in metres, epsilon per km."""

    people: int
    reports: int
    after_s: float
    width_m: float | None
    """Areas so wide are told apart; None if not even halves of the map are."""
    epsilon_per_km: float
    finer: tuple[tuple[float, int], ...]
    """(width in metres, people): how many people it takes for other widths, narrowest first."""
    map_odds: MapOdds
    """What one round's map would give away, were people spread as the plan assumes."""
    each: int
    """How many reports one person sends in that time, before the device's budget is spent."""
    rounds: int
    """How many rounds of the map that time has."""
    told: Resolution
    """What the reports tell apart, from how many on."""
    drawn: bool = True
    """Whether the map is cut into areas: not above :data:`.areas.DRAWN_UP_TO` cells."""
    epoch_cycles: int | None = None
    """Of how many rounds each person answers one, where that was asked."""

    @property
    def words(self) -> str:
        """What the operator reads before anybody is asked."""
        people = f"With about {self.people:,} people"
        cost = f"Each report costs {self.epsilon_per_km:.3g} per km."
        after = format_duration(self.after_s)
        if self.width_m is None:
            return f"{people} this map cannot even tell its halves apart after {after}. {cost}"
        wide = format_length(_rounded(self.width_m))
        if not self.drawn:
            squares = f"the map draws areas up to {DRAWN_UP_TO:,} cells, and has more: it will show single squares."
            return f"{people} the reports could tell areas about {wide} wide apart after {after}; but {squares} {cost}"
        return f"{people} you will be able to tell areas about {wide} wide apart after {after}. {cost}"

    @property
    def together_per_km(self) -> float:
        """What all reports of one person in that time cost together, at most: losses add up."""
        return self.each * self.epsilon_per_km

    @property
    def together_words(self) -> str:
        """The same in words, where it is more than one report's."""
        if self.each < 2:
            return ""
        return (
            f"All {self.each:,} reports of one person cost up to {self.together_per_km:.3g} per km together: whoever "
            f"collects them can change their odds between two places 1 km apart by a factor of up to "
            f"{factor_words(self.together_per_km)}."
        )

    @property
    def round_width_m(self) -> float | None:
        """How wide areas are that the map of one round tells apart, where each person answers one of several."""
        people = self.people // (self.epoch_cycles or 1)
        return self.told.width_told_apart(people) if people else None

    @property
    def once_words(self) -> str:
        """What a plan with one report of each person costs and tells, beside one with a report in every round."""
        cost, after = f"{self.together_per_km:.3g} per km in all", format_duration(self.after_s)
        if self.epoch_cycles is None:
            return f"Once in the whole campaign: {cost}; the map after {after} tells {_told(self.width_m)} apart."
        people = max(1, self.people // self.epoch_cycles)
        return (
            f"Each person in one of {self.epoch_cycles} rounds, about {people:,} people in each: {cost}; the map after "
            f"{after} tells {_told(self.width_m)} apart, that of one round {_told(self.round_width_m)}."
        )

    @property
    def map_words(self) -> str:
        """What one round's map would give away, before anybody is asked."""
        told = self.map_odds
        average, worst, local = map(odds_words, (told.average, told.worst, told.local))
        most = f"at most {average} on average over people, and {worst} for 99 in 100 of them"
        return (
            f"From one round's map of {told.people:,} reports, somebody who knows how people are spread can tell two "
            f"places {format_length(told.distance_m)} apart with odds of {most}, 99 times in 100; somebody who knows "
            f"where everybody else was, {local}. (If people are spread as this plan assumes.)"
        )


def forecast(
    plan: CampaignPlan,
    *,
    people: int,
    after_s: float,
    cycle_s: float,
    reporting: Rhythm = "once",
    epoch_cycles: int | None = None,
) -> Forecast:
    """What ``people`` would draw in ``after_s``, on a grid in metres."""
    if plan.channel.grid.unit != "m":
        raise InputError("The forecast needs a grid in metres.", "Give the cells' size, or a rectangle on the earth.")
    checked_rhythm(reporting, epoch_cycles)
    each = _reports_each(plan, positive(after_s, "The time"), cycle_s, reporting, epoch_cycles)
    drawn = plan.channel.cells <= DRAWN_UP_TO
    found = _as_drawn(plan, each, reporting) if drawn else resolution(plan.channel)
    reports = math.floor(positive(people, "The number of people")) * each
    return Forecast(
        people=people,
        reports=reports,
        after_s=after_s,
        width_m=found.width_told_apart(reports) if reports else None,
        epsilon_per_km=1000 * plan.epsilon,
        finer=_finer(found, each) if each else (),
        map_odds=map_odds(plan.channel, plan.shares, max(1, people // (epoch_cycles or 1))),
        each=each,
        rounds=max(1, math.floor(after_s / cycle_s * (1 + 1e-12))),
        told=found,
        drawn=drawn,
        epoch_cycles=epoch_cycles,
    )


def cheaper(plan: CampaignPlan, asked: Forecast, *, cycle_s: float) -> tuple[Forecast, ...]:
    """Where each person would report several times: the same people asked once, or a part of them in each round."""
    if asked.each < 2:
        return ()
    rounds = min(asked.rounds, MOST_EPOCH_CYCLES)
    once = forecast(plan, people=asked.people, after_s=asked.after_s, cycle_s=cycle_s)
    odds = map_odds(plan.channel, plan.shares, max(1, asked.people // rounds))
    return once, replace(once, map_odds=odds, epoch_cycles=rounds)


def factor_words(exponent: float) -> str:
    """e to the power of a level, rounded up, in figures that stay readable."""
    if exponent >= 14:
        return f"10^{math.ceil(exponent / math.log(10))}"
    factor = math.exp(exponent)
    step = 10.0 ** min(0, math.floor(math.log10(factor)) - 2)
    return f"{math.ceil(factor / step - 1e-9) * step:,.{2 if factor < 9.995 else 1 if factor < 99.95 else 0}f}"


def _told(width_m: float | None) -> str:
    """What a map tells apart, in words."""
    return "not even its halves" if width_m is None else f"areas about {format_length(_rounded(width_m))} wide"


def _as_drawn(plan: CampaignPlan, each: int, reporting: Rhythm) -> Resolution:
    """By the very rule that cuts the map into areas: as many reports of every device, all through this channel."""
    return told_apart(as_planned(plan, each), as_reporting(reporting))


def as_planned(plan: CampaignPlan, each: int) -> list[Tally]:
    """As many reports of every device, all through the plan's channel."""
    once = Tally(plan.channel, np.where(plan.channel.output_weights > 0, 1, 0).astype(np.int64))
    return [once] * min(max(1, each), _MOST_TALLIES)


def _reports_each(
    plan: CampaignPlan, after_s: float, cycle_s: float, reporting: Rhythm, epoch_cycles: int | None
) -> int:
    """How many reports one device sends in that time, before its budget is spent."""
    if reporting == "once":
        return min(1, plan.reports_until_stop)
    turn_s = cycle_s * (epoch_cycles or 1)
    return min(max(1, math.floor(after_s / turn_s * (1 + 1e-12))), plan.reports_until_stop)


def _finer(found: Resolution, each: int) -> tuple[tuple[float, int], ...]:
    """Round widths that the map can have, and how many people they take."""
    rounds = (part * 10.0**power for power in range(1, 7) for part in _ROUND)
    needed = ((width, found.reports_for(width)) for width in rounds)
    return tuple((width, two_digits(reports / each)) for width, reports in needed if reports is not None)


def _rounded(width_m: float) -> float:
    """To two digits: the formula is no better than that."""
    return float(f"{width_m:.2g}")
