"""What a campaign would promise, tell and cost before it starts: its channel, and how long a device can take part.

A device keeps one budget for everything it ever sends and stops for good when it is spent: at 2 per km and report,
after 15 reports of 30 per km. A campaign of daily reports is over for its people in a fortnight. So a plan says it, and
offers what lasts: one report in the campaign's life, or one per epoch of so many cycles that the budget lasts as
long as asked (:mod:`.rhythm`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import positive
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.tight import POSITIVE_FROM
from sfumato.collect.loop.loop import Promise, Rules, first_channel, next_channel

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class CampaignPlan:
    """One channel and what it means for a device; lengths in the grid's unit, epsilon per unit."""

    promise: Promise
    channel: GridChannel
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
    """The plan of a campaign that promises ``epsilon`` per unit of the grid, for devices with ``budget`` per unit."""
    rules = Rules(beta=positive(epsilon, "epsilon") / 2, promise=promise, max_log_change=None)
    channel = first_channel(grid, rules)
    assumed = np.full(grid.cells, 1.0 / grid.cells) if prior is None else np.asarray(prior, dtype=np.float64)
    if promise == "mutual-information" and prior is not None:
        channel = next_channel(channel, assumed, rules)
    level = channel.epsilon().upper
    reports = math.floor(positive(budget, "The budget") / level * (1 + 1e-9))
    cycle = positive(cycle_s, "The cycle")
    epoch_s = positive(lasting_s, "The time it should last") / reports if reports else math.inf
    return CampaignPlan(
        promise=promise,
        channel=channel,
        promised_epsilon=epsilon,
        epsilon=level,
        mutual_information_bits=channel.mutual_information(assumed) / math.log(2),
        distortion=channel.distortion(assumed),
        reports_until_stop=reports,
        lasts_s=reports * cycle,
        lasting_epoch_s=epoch_s,
        lasting_epoch_cycles=max(1, math.ceil(epoch_s / cycle * (1 - 1e-12))) if reports else None,
        for_ever=reports * level,
        smallest_tight_cell=POSITIVE_FROM / epsilon,
    )
