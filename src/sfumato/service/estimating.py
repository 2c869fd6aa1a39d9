"""The service's only calls into the mathematics: the first channel, and what a closed cycle publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency

from sfumato import collection
from sfumato.arrays import FloatArray
from sfumato.mechanisms.grids.grid_channel import GridChannel
from sfumato.service.models.kept import Alarm, ChannelFacts, EstimateFacts, LevelPerKm, Residual, Specification
from sfumato.service.offers import channel_from_payload
from sfumato.service.settings import Settings
from sfumato.service.store import CellCounts


@dataclass(frozen=True, slots=True, eq=False)
class CycleResult:
    """What a closed cycle publishes, and the channel of the next."""

    facts: EstimateFacts
    probabilities: FloatArray
    low: FloatArray
    high: FloatArray
    next_channel: GridChannel
    next_facts: ChannelFacts


def first_channel(specification: Specification) -> GridChannel:
    """The channel of a campaign's first cycle, when nothing is known."""
    return collection.first_channel(specification.grid.to_grid(), _rules(specification, max_log_change=None))


def channel_facts(channel: GridChannel, prior: npt.ArrayLike | None) -> ChannelFacts:
    """What a channel reveals: its exact level per km, and information and distortion for ``prior`` (None: uniform)."""
    level = channel.epsilon()
    assumed = np.full(channel.cells, 1.0 / channel.cells) if prior is None else prior
    return ChannelFacts(
        epsilon_per_km=LevelPerKm(lower=1000 * level.lower, upper=1000 * level.upper, exact=bool(level.exact)),
        mutual_information_nats=float(channel.mutual_information(assumed)),
        distortion_m=float(channel.distortion(assumed)),
    )


def estimate_cycle(
    specification: Specification,
    counts: Sequence[CellCounts],
    *,
    previous: FloatArray | None,
    settings: Settings,
) -> CycleResult:
    """Estimate from the pooled cycles, judge the last one, and make the next channel under the caps."""
    pairs = [(channel_from_payload(one.payload), one.direct + one.relayed) for one in counts]
    alarm_p = settings.number("residual_alarm_p")
    rules = _rules(specification, max_log_change=settings.number("log_weight_change_cap_nats"), alarm_p=alarm_p)
    closed = collection.close_cycle(pairs, rules, previous=previous)
    alarm = _alarm(closed, counts[-1], alarm_p)
    # No channel follows reports that raised an alarm, of whichever test.
    following = pairs[-1][0] if alarm.raised else closed.next_channel
    unknown = np.full(pairs[-1][0].cells, np.nan)
    theta = closed.estimate.probabilities
    facts = EstimateFacts(
        emd_to_previous_m=None if closed.moved is None else float(closed.moved),
        residual=Residual(statistic=float(closed.residual.statistic), p_value=float(closed.residual.p_value)),
        alarm=alarm,
        change_capped=bool(closed.capped) and not alarm.raised,
        influence={f"{one.share:g}": float(one.moved) for one in closed.influence},
        spent_epsilon_per_km=1000 * float(closed.spent.upper),
        gap_nats_per_report=float(closed.estimate.gap),
        target="reporters",
        interval_level=None if closed.intervals is None else float(closed.intervals.level),
        **dict(channel_facts(pairs[-1][0], theta)),
    )
    return CycleResult(
        facts=facts,
        probabilities=theta,
        # The estimate is smoothed and the interval is not: it is widened where it would leave its own estimate out.
        low=unknown if closed.intervals is None else np.minimum(closed.intervals.lower, theta),
        high=unknown if closed.intervals is None else np.maximum(closed.intervals.upper, theta),
        next_channel=following,
        next_facts=channel_facts(following, theta),
    )


def _alarm(closed: collection.ClosedCycle, last: CellCounts, alarm_p: float) -> Alarm:
    reasons = list(closed.alarms)
    if last.relayed.any() and last.direct.any():
        p_value = relayed_differ_p(last.direct, last.relayed)
        if p_value < alarm_p:
            reasons.append(
                f"Relayed reports differ from those sent with tickets (p = {p_value:.1e}). The channel is kept."
            )
    return Alarm(raised=bool(reasons), reasons=tuple(reasons))


def relayed_differ_p(direct: npt.ArrayLike, relayed: npt.ArrayLike) -> float:
    """Pearson's test that two tallies through one channel come from one distribution; cells under 10 are pooled."""
    table = np.stack([np.asarray(direct), np.asarray(relayed)]).astype(np.float64)
    many = table.sum(axis=0) >= 10
    table = np.column_stack([table[:, many], table[:, ~many].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def _rules(specification: Specification, *, max_log_change: float | None, alarm_p: float = 0.0) -> collection.Rules:
    return collection.Rules(
        beta=specification.beta_per_m,
        floor=specification.floor,
        max_log_change=max_log_change,
        reporting=specification.reporting,
        alarm_p=alarm_p,
    )
