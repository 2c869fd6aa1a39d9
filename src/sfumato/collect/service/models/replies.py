"""What is said: how campaigns, cycles and the log look to the outside, and the envelope of every JSON answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.collect.service.models.kept import (
    CampaignState,
    ChannelFacts,
    District,
    DistrictFacts,
    EstimateFacts,
    GridFields,
    Record,
    Specification,
    State,
)
from sfumato.collect.service.models.outlook import ComparisonView, PlaceView, PlanView


class OpenCycleView(ChannelFacts):
    """A campaign's current cycle. Its counts are told to operators; everybody else reads None until it is closed."""

    number: int
    version: str
    state: State
    opened_at_s: int
    due_at_s: int | None
    tickets: int | None
    reports: int | None
    relayed_reports: int | None
    merged_periods: int


class CampaignView(Specification):
    """A campaign and its current cycle."""

    district_parts: tuple[int, ...] = Field((), exclude=True)  # a page of 120 kB has no room for them
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
    low: list[float | None]
    high: list[float | None]
    areas: list[AreaView] | None
    districts: DistrictFacts | None = None


class MapView(Record):
    """One page of a closed cycle's map: the cells from ``first_cell`` on."""

    cycle: int
    page: int
    pages: int
    first_cell: int
    estimate: list[float]
    this_cycle: list[float] | None
    low: list[float] | None
    high: list[float] | None
    areas: list[AreaView] | None
    districts: DistrictFacts | None = None


class CountedCycleView(EstimatedCycleView):
    """A closed cycle with everything: also its reports per cell and its channel."""

    counts: list[int]
    relayed_counts: list[int]
    grid: GridFields
    beta_per_m: float
    output_weights: list[float]


class SignedEntryView(Record):
    """One entry of a campaign's public log as it was signed."""

    campaign: str
    index: int
    version: str
    previous: str
    entry: str
    signature: str


class LogEntryView(SignedEntryView):
    """The same with the cycle whose channel it is; chained to the entry before."""

    cycle: int


class HeadView(SignedEntryView):
    """The last entry, which covers every entry before, with the key that signed it, and its words."""

    public_key: str
    words: str


class ServerView(Record):
    """What this server is and the key it signs with."""

    name: Literal["sfumato"]
    version: str
    public_key: str
    tile_url: str | None


class OperatorView(Record):
    """An operator's name and since when (None: from the start)."""

    name: str
    created_at_s: int | None


class AuditView(Record):
    """One line of the audit log; ``detail`` is a JSON object as text."""

    position: int
    at_s: int
    operator: str
    action: str
    campaign: str | None
    detail: str


class BackupView(Record):
    """One backup on the server's own disk."""

    name: str
    made_at_s: int
    bytes: int


class Answer(BaseModel):
    """The envelope of every JSON answer."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, json_schema_serialization_defaults_required=True
    )

    ok: bool = True
    error: str | None = None
    errors: list[str] = []
    status: int = 200


class Refusal(Answer):
    """What went wrong and what to do."""

    ok: Literal[False] = False


class Refused(Exception):
    """A request the server will not serve: status, sentence, details and headers."""

    def __init__(
        self, status: int, error: str, *, errors: Sequence[str] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.errors = tuple(errors) or (error,)
        self.headers = dict(headers or {})


class ReportAnswer(Answer):
    """The report is on disk; ``duplicate`` if it was before."""

    duplicate: bool


class BatchAnswer(ReportAnswer):
    """The batch is on disk; ``duplicate`` if it was before."""

    reports: int


class TicketAnswer(Answer):
    """A ticket for one report, or where tickets are blind, the signature of the blinded one in hexadecimal."""

    ticket: str
    expires_at_s: int | None


class ChannelAnswer(Answer):
    """The channel of the open cycle: the signed text, its hash and its signature."""

    payload: str
    version: str
    signature: str
    public_key: str
    log_index: int
    opened_at_s: int
    due_at_s: int | None


class CampaignAnswer(Answer):
    """One campaign."""

    campaign: CampaignView


class CampaignsAnswer(Answer):
    """Every campaign."""

    campaigns: list[CampaignView]


class CloseAnswer(Answer):
    """Whether the cycle was closed, and why."""

    closed: bool
    cycle: int
    reason: str


class LogAnswer(Answer):
    """The public log of channel versions."""

    log: list[LogEntryView]


class HeadsAnswer(Answer):
    """The heads of this collector's logs, and those of others that it republishes."""

    heads: list[HeadView]


class HistoryAnswer(Answer):
    """The closed cycles, oldest first."""

    history: list[ClosedCycleView]


class CycleAnswer(Answer):
    """One closed cycle with its estimate."""

    cycle: CountedCycleView


class ServerAnswer(Answer):
    """What this server is and the key it signs with."""

    server: ServerView


class DashboardAnswer(Answer):
    """The dashboard's numbers; the map of each cycle is at ``maps/{cycle}/{page}.json``, page 1 .. ``map_pages``."""

    campaign: DashboardCampaignView
    history: list[ClosedCycleView]
    map_pages: int


class MapAnswer(Answer):
    """One page of a cycle's map."""

    map: MapView


class ComparisonAnswer(Answer):
    """How districts differ between two groups of rounds."""

    comparison: ComparisonView


class PlacesAnswer(Answer):
    """Names for a map, the most people first, and a campaign's districts, whose names are the organiser's."""

    places: list[PlaceView]
    districts: list[District] = []


class AreasAnswer(Answer):
    """The polygons of a file, as GeoJSON in WGS 84."""

    areas: dict[str, object]


class StateAnswer(Answer):
    """Whether the server is alive or ready."""

    state: Literal["alive", "ready"]


class EndAnswer(CampaignAnswer):
    """The campaign has ended; whether its last cycle was published, or why not."""

    published: bool
    reason: str


class DeletedAnswer(Answer):
    """Everything of that campaign is deleted."""

    deleted: str


class LeftOutAnswer(Answer):
    """The cycles that are left out now, and the cycle whose map was estimated again."""

    excluded: list[int]
    revised_cycle: int | None


class OperatorsAnswer(Answer):
    """Everybody who may operate, and who asked."""

    operators: list[OperatorView]
    you: str


class TokenAnswer(Answer):
    """A token, shown once."""

    operator: str
    token: str


class AuditAnswer(Answer):
    """Who did what, oldest first."""

    entries: list[AuditView]


class NoticesAnswer(Answer):
    """The ways a test notice was put on."""

    ways: list[str]


class PlanAnswer(Answer):
    """A plan."""

    plan: PlanView


class CodeAnswer(Answer):
    """A QR code as an SVG picture."""

    address: str
    svg: str


class BackupsAnswer(Answer):
    """The backups there are, newest first, and the folder they are in (None: none are made here)."""

    backups: list[BackupView]
    folder: str | None
