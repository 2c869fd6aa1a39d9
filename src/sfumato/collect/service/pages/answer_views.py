"""How what is stored looks to the outside: the one place that turns records of the store into views."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sfumato.base.arrays import FloatArray
from sfumato.collect.service.models.kept import EstimateFacts, PublishedChannel
from sfumato.collect.service.models.replies import (
    AreaView,
    CampaignView,
    ChannelAnswer,
    ClosedCycleView,
    CountedCycleView,
    DashboardCampaignView,
    EstimatedCycleView,
    LogEntryView,
    MapView,
    OpenCycleView,
)
from sfumato.collect.service.pages.words import headline
from sfumato.collect.service.store.records import Campaign, CellCounts, LoggedVersion, StoredCycle, StoredEstimate

_ROUNDED_TO = 10
MAP_CELLS = 4_096
"""Cells on one page of a map."""


def campaign_view(campaign: Campaign, cycle: StoredCycle) -> CampaignView:
    """A campaign and its current cycle; counts of the open cycle are rounded down to tens."""
    asked = campaign.specification
    current = OpenCycleView(
        number=cycle.number,
        version=cycle.version,
        state=cycle.state,
        opened_at_s=cycle.opened_at_s,
        due_at_s=cycle.due_at_s,
        tickets=_rounded(cycle.tickets),
        reports=_rounded(cycle.reports),
        relayed_reports=_rounded(cycle.relayed_reports),
        merged_periods=cycle.merged_periods,
        **dict(cycle.facts),
    )
    return CampaignView(
        name=campaign.name,
        cells=asked.cell_count,
        two_beta_per_km=asked.level_never_above_per_km,
        created_at_s=campaign.created_at_s,
        cycle=current,
        state=campaign.state,
        **dict(asked),
    )


def dashboard_view(campaign: Campaign, cycle: StoredCycle, *, tile_url: str | None) -> DashboardCampaignView:
    """The same for the dashboard."""
    return DashboardCampaignView(tile_url=tile_url, **dict(campaign_view(campaign, cycle)))


def closed_view(campaign: Campaign, cycle: StoredCycle, facts: EstimateFacts) -> ClosedCycleView:
    """A closed cycle in numbers: what it revealed is said for the map it led to, not for the one it began with."""
    return ClosedCycleView(
        cycle=cycle.number,
        version=cycle.version,
        opened_at_s=cycle.opened_at_s,
        closed_at_s=cycle.closed_at_s,
        tickets=cycle.tickets,
        reports=cycle.reports,
        relayed_reports=cycle.relayed_reports,
        merged_periods=cycle.merged_periods,
        two_beta_per_km=campaign.specification.level_never_above_per_km,
        excluded=bool(cycle.excluded),
        headline="" if facts.sharpness is None else headline(facts.sharpness),
        **dict(facts),
    )


def estimated_view(campaign: Campaign, cycle: StoredCycle, estimate: StoredEstimate) -> EstimatedCycleView:
    """A closed cycle with its map."""
    return EstimatedCycleView(
        estimate=estimate.probabilities.tolist(),
        this_cycle=None if estimate.this_cycle is None else estimate.this_cycle.tolist(),
        without_suspicious=None if estimate.without_suspicious is None else estimate.without_suspicious.tolist(),
        low=_known(estimate.low),
        high=_known(estimate.high),
        areas=_areas(estimate),
        **dict(closed_view(campaign, cycle, estimate.facts)),
    )


def _areas(estimate: StoredEstimate) -> list[AreaView] | None:
    if estimate.areas is None:
        return None
    return [
        AreaView(
            row=int(row),
            column=int(column),
            rows=int(rows),
            columns=int(columns),
            share=min(share, 1.0),
            low=low,
            high=min(high, 1.0),
        )
        for row, column, rows, columns, share, low, high in estimate.areas.reshape(-1, 7).tolist()
    ]


def map_pages(cells: int) -> int:
    """In how many pages a map of so many cells comes."""
    return -(-cells // MAP_CELLS)


def map_view(estimate: StoredEstimate, page: int) -> MapView:
    """One page of a closed cycle's map."""
    first = (page - 1) * MAP_CELLS
    part = slice(first, first + MAP_CELLS)
    known = estimate.facts.interval_level is not None
    return MapView(
        cycle=estimate.cycle,
        page=page,
        pages=map_pages(estimate.probabilities.size),
        first_cell=first,
        estimate=estimate.probabilities[part].tolist(),
        this_cycle=None if estimate.this_cycle is None else estimate.this_cycle[part].tolist(),
        low=estimate.low[part].tolist() if known else None,
        high=estimate.high[part].tolist() if known else None,
        areas=_areas(estimate),
    )


def counted_view(
    campaign: Campaign, cycle: StoredCycle, estimate: StoredEstimate, counts: CellCounts
) -> CountedCycleView:
    """A closed cycle with its map, its reports per cell and its output weights."""
    return CountedCycleView(
        counts=counts.direct.tolist(),
        relayed_counts=counts.relayed.tolist(),
        output_weights=list(PublishedChannel.model_validate_json(cycle.payload).output_weights),
        **dict(estimated_view(campaign, cycle, estimate)),
    )


def channel_answer(cycle: StoredCycle, public_key: str) -> ChannelAnswer:
    """The offered channel with its hash and signature."""
    return ChannelAnswer(
        payload=cycle.payload,
        version=cycle.version,
        signature=cycle.signature,
        public_key=public_key,
        log_index=cycle.number - 1,
        opened_at_s=cycle.opened_at_s,
        due_at_s=cycle.due_at_s,
    )


def log_view(campaign: Campaign, entries: Iterable[LoggedVersion]) -> list[LogEntryView]:
    """The public log, oldest first."""
    return [
        LogEntryView(
            index=one.position,
            campaign=campaign.name,
            cycle=one.cycle,
            version=one.version,
            previous=one.previous,
            entry=one.entry,
            signature=one.signature,
        )
        for one in entries
    ]


def _rounded(count: int) -> int:
    return count - count % _ROUNDED_TO


def _known(values: FloatArray) -> list[float | None]:
    """The numbers, and None where there is none."""
    return [value if math.isfinite(value) else None for value in values.tolist()]
