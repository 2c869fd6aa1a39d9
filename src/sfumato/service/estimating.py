"""The service's only calls into the mathematics: the first channel, and what a closed cycle publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import collection
from sfumato.arrays import FloatArray
from sfumato.mechanisms.grids.grid_channel import GridChannel
from sfumato.service.offers import channel_from_payload, grid_of
from sfumato.service.settings import Settings
from sfumato.service.store import Tally


@dataclass(frozen=True, slots=True, eq=False)
class CycleResult:
    """What a closed cycle publishes, and the channel of the next."""

    facts: Mapping[str, Any]
    probabilities: FloatArray
    low: FloatArray
    high: FloatArray
    next_channel: GridChannel
    next_facts: Mapping[str, Any]


def first_channel(specification: Mapping[str, Any]) -> GridChannel:
    """The channel of a campaign's first cycle, when nothing is known."""
    return collection.first_channel(grid_of(specification), _rules(specification, max_log_change=None))


def offer_facts(channel: GridChannel, prior: npt.ArrayLike | None) -> dict[str, Any]:
    """What a channel reveals: its exact level per km, and information and distortion for ``prior`` (None: uniform)."""
    level = channel.epsilon()
    assumed = np.full(channel.cells, 1.0 / channel.cells) if prior is None else prior
    return {
        "epsilon_per_km": {"lower": 1000 * level.lower, "upper": 1000 * level.upper, "exact": level.exact},
        "mutual_information_nats": channel.mutual_information(assumed),
        "distortion_m": channel.distortion(assumed),
    }


def estimate_cycle(
    specification: Mapping[str, Any],
    tallies: Sequence[Tally],
    *,
    previous: FloatArray | None,
    settings: Settings,
) -> CycleResult:
    """Estimate from the pooled cycles, judge the last one, and make the next channel under the caps."""
    pairs = [(channel_from_payload(tally.payload), tally.direct + tally.relayed) for tally in tallies]
    alarm_p = settings.number("residual_alarm_p")
    rules = _rules(
        specification, max_log_change=settings.number("log_weight_change_cap_nats"), alarm_p=alarm_p
    )  # fmt: skip
    closed = collection.close_cycle(pairs, rules, previous=previous)
    alarm = _alarm(closed, tallies[-1], alarm_p)
    # No channel follows reports that raised an alarm, of whichever test.
    following = pairs[-1][0] if alarm["raised"] else closed.next_channel
    unknown = np.full(pairs[-1][0].cells, np.nan)
    facts = {
        "emd_to_previous_m": closed.moved,
        "residual": {"statistic": closed.residual.statistic, "p_value": closed.residual.p_value},
        "alarm": alarm,
        "change_capped": closed.capped and not alarm["raised"],
        "influence": {f"{one.share:g}": one.moved for one in closed.influence},
        "spent_epsilon_per_km": 1000 * closed.spent.upper,
        "gap_nats_per_report": closed.estimate.gap,
        "target": "reporters",
        "interval_level": None if closed.intervals is None else closed.intervals.level,
    }
    theta = closed.estimate.probabilities
    return CycleResult(
        facts={**facts, **offer_facts(pairs[-1][0], theta)},
        probabilities=theta,
        # The estimate is smoothed and the interval is not: it is widened where it would leave its own estimate out.
        low=unknown if closed.intervals is None else np.minimum(closed.intervals.lower, theta),
        high=unknown if closed.intervals is None else np.maximum(closed.intervals.upper, theta),
        next_channel=following,
        next_facts=offer_facts(following, theta),
    )


def _alarm(closed: collection.ClosedCycle, last: Tally, alarm_p: float) -> dict[str, Any]:
    reasons = list(closed.alarms)
    if last.relayed.any() and last.direct.any():
        p_value = relayed_differ_p(last.direct, last.relayed)
        if p_value < alarm_p:
            reasons.append(
                f"Relayed reports differ from those sent with tickets (p = {p_value:.1e}). The channel is kept."
            )
    return {"raised": bool(reasons), "reasons": reasons}


def relayed_differ_p(direct: npt.ArrayLike, relayed: npt.ArrayLike) -> float:
    """Pearson's test that two tallies through one channel come from one distribution; cells under 10 are pooled."""
    from scipy.stats import chi2_contingency

    table = np.stack([np.asarray(direct), np.asarray(relayed)]).astype(np.float64)
    many = table.sum(axis=0) >= 10
    table = np.column_stack([table[:, many], table[:, ~many].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def _rules(specification: Mapping[str, Any], *, max_log_change: float | None, alarm_p: float = 0.0) -> collection.Rules:
    return collection.Rules(
        beta=specification["beta_per_m"],
        floor=specification["floor"],
        max_log_change=max_log_change,
        reporting=specification["reporting"],
        alarm_p=alarm_p,
    )
