"""How what is stored looks to the outside: the one place that turns records of the store into views."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import SfumatoError
from sfumato.collect.client.public_log import check_head, head_from, head_words
from sfumato.collect.service.models.kept import EstimateFacts, PublishedChannel
from sfumato.collect.service.models.replies import (
    AreaView,
    CampaignView,
    ChannelAnswer,
    ClosedCycleView,
    CountedCycleView,
    DashboardCampaignView,
    EstimatedCycleView,
    HeadView,
    LogEntryView,
    MapView,
    OpenCycleView,
)
from sfumato.collect.service.pages.words import headline
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import Campaign, CellCounts, LoggedVersion, StoredCycle, StoredEstimate

View = TypeVar("View", bound=BaseModel)
MAP_CELLS = 4_096
"""Cells on one page of a map."""


def campaign_view(campaign: Campaign, cycle: StoredCycle, *, counts: bool = False) -> CampaignView:
    """A campaign and its current cycle, with the counts of the open cycle for operators only.

    However they are rounded, somebody who adds forged reports until a step is passed knows the number before it, and
    sees single people arrive.
    """
    asked = campaign.specification
    hidden = {} if counts else dict.fromkeys(("tickets", "reports", "relayed_reports"))
    current = _view(OpenCycleView, cycle, cycle.facts, **hidden)
    level = asked.level_never_above_per_km
    return _view(CampaignView, campaign, asked, cells=asked.cell_count, two_beta_per_km=level, cycle=current)


def dashboard_view(campaign: Campaign, cycle: StoredCycle, *, tile_url: str | None) -> DashboardCampaignView:
    """The same for the dashboard."""
    return _view(DashboardCampaignView, campaign_view(campaign, cycle), tile_url=tile_url)


def closed_view(campaign: Campaign, cycle: StoredCycle, facts: EstimateFacts) -> ClosedCycleView:
    """A closed cycle in numbers: what it revealed is said for the map it led to, not for the one it began with."""
    level, out = campaign.specification.level_never_above_per_km, bool(cycle.excluded)
    told = "" if facts.sharpness is None else headline(facts.sharpness)
    return _view(ClosedCycleView, cycle, facts, cycle=cycle.number, two_beta_per_km=level, excluded=out, headline=told)


def estimated_view(campaign: Campaign, cycle: StoredCycle, estimate: StoredEstimate) -> EstimatedCycleView:
    """A closed cycle with its map."""
    return _view(
        EstimatedCycleView,
        closed_view(campaign, cycle, estimate.facts),
        estimate=estimate.probabilities.tolist(),
        this_cycle=_listed(estimate.this_cycle),
        without_suspicious=_listed(estimate.without_suspicious),
        low=_known(estimate.low),
        high=_known(estimate.high),
        areas=_areas(estimate),
        districts=estimate.districts,
    )


def _areas(estimate: StoredEstimate) -> list[AreaView] | None:
    if estimate.areas is None:
        return None
    rows = estimate.areas.reshape(-1, 7).tolist()
    boxes = [dict(zip(("row", "column", "rows", "columns"), map(int, row), strict=False)) for row in rows]
    shares = [{"share": min(share, 1.0), "low": low, "high": min(high, 1.0)} for *_, share, low, high in rows]
    return [_view(AreaView, **box, **known) for box, known in zip(boxes, shares, strict=True)]


def map_pages(cells: int) -> int:
    """In how many pages a map of so many cells comes."""
    return -(-cells // MAP_CELLS)


def map_view(estimate: StoredEstimate, page: int) -> MapView:
    """One page of a closed cycle's map."""
    first = (page - 1) * MAP_CELLS
    part = slice(first, first + MAP_CELLS)
    known = math.isfinite(float(estimate.low.sum()))
    return MapView(
        cycle=estimate.cycle,
        page=page,
        pages=map_pages(estimate.probabilities.size),
        first_cell=first,
        estimate=estimate.probabilities[part].tolist(),
        this_cycle=_listed(estimate.this_cycle, part),
        low=_listed(estimate.low if known else None, part),
        high=_listed(estimate.high if known else None, part),
        areas=_areas(estimate),
        districts=estimate.districts,
    )


def counted_view(
    campaign: Campaign, cycle: StoredCycle, estimate: StoredEstimate, counts: CellCounts
) -> CountedCycleView:
    """A closed cycle with its map, its reports per cell and its channel."""
    published = PublishedChannel.model_validate_json(cycle.payload)
    return _view(
        CountedCycleView,
        estimated_view(campaign, cycle, estimate),
        counts=counts.direct.tolist(),
        relayed_counts=counts.relayed.tolist(),
        grid=published.grid,
        beta_per_m=published.beta_per_m,
        output_weights=list(published.output_weights),
    )


def channel_answer(cycle: StoredCycle, public_key: str) -> ChannelAnswer:
    """The offered channel with its hash and signature."""
    return _view(ChannelAnswer, cycle, public_key=public_key, log_index=cycle.number - 1)


def log_view(campaign: Campaign, entries: Iterable[LoggedVersion]) -> list[LogEntryView]:
    """The public log, oldest first."""
    return [_view(LogEntryView, one, index=one.position, campaign=campaign.name) for one in entries]


def head_view(campaign: str, entry: LoggedVersion, public_key: str) -> HeadView:
    """The head of a campaign's log."""
    about = {"campaign": campaign, "public_key": public_key, "index": entry.position}
    return _view(HeadView, entry, words=head_words(entry.entry), **about)


def republished_heads(settings: Settings) -> list[HeadView]:
    """The heads of other collectors' logs in the operator's file, each checked before it is said again."""
    try:
        found = json.loads(Path(settings.text("heads_file")).read_text(encoding="utf-8"))["heads"]
        known = [head_from(one, str(one["public_key"]), int(one["index"])) for one in found]
        for one in known:
            check_head(one)
    except (OSError, ValueError, KeyError, TypeError, SfumatoError):
        return []  # there is none, or one that nobody signed: it is not said again
    return [HeadView.model_validate({**one, "words": head_words(one["entry"])}) for one in known]


def _view(kind: type[View], *sources: object, **more: object) -> View:
    """The view with these fields, and those of the same name that ``sources`` have."""
    found = {name: getattr(one, name) for one in sources for name in kind.model_fields if hasattr(one, name)}
    return kind.model_validate({**found, **more})


def _listed(values: FloatArray | None, part: slice = slice(None)) -> list[float] | None:
    return None if values is None else values[part].tolist()


def _known(values: FloatArray) -> list[float | None]:
    """The numbers, and None where there is none."""
    return [value if math.isfinite(value) else None for value in values.tolist()]
