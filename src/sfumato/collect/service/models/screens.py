"""What the operator's screens ask and are told: a plan before a campaign, a code to print, backups."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from sfumato.collect.loop.loop import DEFAULT_PROMISE, Promise
from sfumato.collect.loop.rhythm import Rhythm
from sfumato.collect.service.models.kept import Record
from sfumato.collect.service.models.replies import Answer
from sfumato.collect.service.models.requests import INTEGRAL, GridRequest, Request


class PlanRequest(Request):
    """A campaign that is thought about: its area, its promise, and about how many people for how long."""

    grid: GridRequest
    epsilon_per_km: Annotated[float, Field(gt=0, le=20_000, allow_inf_nan=False)] = 2.0
    people: Annotated[int, Field(ge=1, le=1_000_000_000), INTEGRAL] = 500
    after_s: Annotated[int, Field(ge=1, le=315_576_000), INTEGRAL] = 604_800
    cycle_duration_s: Annotated[int, Field(ge=1, le=31_557_600), INTEGRAL] = 86_400
    reporting: Rhythm = "once"
    epoch_cycles: Annotated[int | None, Field(ge=2, le=100_000), INTEGRAL] = None
    promise: Promise = DEFAULT_PROMISE


class WidthView(Record):
    """How many people it takes to tell areas of this width apart."""

    width_m: float
    people: int


class PlanView(Record):
    """What so many people would draw, and what each report would cost them."""

    rows: int
    columns: int
    cells: int
    cells_limit: int
    epsilon_per_km: float
    displacement_m: float
    two_cell_success: float | None
    reports_until_stop: int
    people: int
    reports: int
    after_s: float
    width_m: float | None
    finer: list[WidthView]
    words: str
    advice: list[str]


class PlanAnswer(Answer):
    """A plan."""

    plan: PlanView


class CodeRequest(Request):
    """The address of a campaign's page as people will type it."""

    address: Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=200)]


class CodeAnswer(Answer):
    """A QR code as an SVG picture."""

    address: str
    svg: str


class BackupView(Record):
    """One backup on the server's own disk."""

    name: str
    made_at_s: int
    bytes: int


class BackupsAnswer(Answer):
    """The backups there are, newest first, and the folder they are in (None: none are made here)."""

    backups: list[BackupView]
    folder: str | None
