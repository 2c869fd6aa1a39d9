"""What campaigns, cycles and the log look like to the outside: the same for routes, pages and files."""

from __future__ import annotations

from typing import Literal

from sfumato.collect.service.models.kept import CampaignState, ChannelFacts, EstimateFacts, Record, Specification, State


class OpenCycleView(ChannelFacts):
    """A campaign's current cycle; its counts are rounded down to tens."""

    number: int
    version: str
    state: State
    opened_at_s: int
    due_at_s: int | None
    tickets: int
    reports: int
    relayed_reports: int
    merged_periods: int


class CampaignView(Specification):
    """A campaign and its current cycle."""

    name: str
    cells: int
    two_beta_per_km: float
    created_at_s: int
    cycle: OpenCycleView
    state: CampaignState


class DashboardCampaignView(CampaignView):
    """The same with the address of the dashboard's map tiles, where the operator chose one."""

    tile_url: str | None


class ClosedCycleView(EstimateFacts):
    """A closed cycle in numbers."""

    cycle: int
    version: str
    opened_at_s: int
    closed_at_s: int | None
    tickets: int
    reports: int
    relayed_reports: int
    merged_periods: int
    two_beta_per_km: float
    excluded: bool
    headline: str
    """What the map can tell, in one sentence; empty where it was not computed."""


class AreaView(Record):
    """Cells put together until they can be told from their neighbours: a share of the average, and its interval."""

    row: int
    column: int
    rows: int
    columns: int
    share: float
    low: float
    high: float


class EstimatedCycleView(ClosedCycleView):
    """A closed cycle with its estimate and, where there is one, its interval per cell."""

    estimate: list[float]
    """The average over the pooled cycles."""
    this_cycle: list[float] | None
    without_suspicious: list[float] | None
    """The cycle's own map; None for cycles closed before it was kept."""
    low: list[float | None]
    high: list[float | None]
    areas: list[AreaView] | None
    """The average in areas that can be told apart; None where there are none."""


class MapView(Record):
    """One page of a closed cycle's map: the cells from ``first_cell`` on."""

    cycle: int
    page: int
    pages: int
    first_cell: int
    estimate: list[float]
    """The average over the pooled cycles."""
    this_cycle: list[float] | None
    """The cycle's own map; None for cycles closed before it was kept."""
    low: list[float] | None
    high: list[float] | None
    """Where there are intervals; there are none above 2,500 cells."""
    areas: list[AreaView] | None
    """Of the whole map, on every page; None for cycles closed before there were any, and above 2,500 cells."""


class CountedCycleView(EstimatedCycleView):
    """A closed cycle with everything: also its reports per cell and its output weights."""

    counts: list[int]
    relayed_counts: list[int]
    output_weights: list[float]


class LogEntryView(Record):
    """One entry of the public log: a channel version, chained to the entry before and signed."""

    index: int
    campaign: str
    cycle: int
    version: str
    previous: str
    entry: str
    signature: str


class ServerView(Record):
    """What this server is and the key it signs with."""

    name: Literal["sfumato"]
    version: str
    public_key: str
    tile_url: str | None
