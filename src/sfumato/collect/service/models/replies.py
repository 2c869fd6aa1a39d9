"""The envelope of every JSON answer, and what each answer holds in it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sfumato.collect.service.models.shown import (
    CampaignView,
    ClosedCycleView,
    CountedCycleView,
    DashboardCampaignView,
    LogEntryView,
    MapView,
    ServerView,
)


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


class ReportAnswer(Answer):
    """The report is on disk; ``duplicate`` if it was before."""

    duplicate: bool


class BatchAnswer(Answer):
    """The batch is on disk; ``duplicate`` if it was before."""

    duplicate: bool
    reports: int


class TicketAnswer(Answer):
    """A ticket for one report."""

    ticket: str
    expires_at_s: int


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


class StateAnswer(Answer):
    """Whether the server is alive or ready."""

    state: Literal["alive", "ready"]
