"""What requests may say: strict, closed to anything else.

A report has four fields: one cell number and three texts of fixed length in hexadecimal. None of them can hold a
coordinate, and every other field is refused.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sfumato.collect.loop.loop import DEFAULT_PROMISE, Promise
from sfumato.collect.loop.rhythm import CycleClasses, Rhythm
from sfumato.collect.service.models.kept import INTEGRAL, Description, EndsAt, Language, ShortText, Texts, TicketKind

LARGEST_GRID = 1_000_000
TICKET_PATTERN = r"^(1-[0-9]{1,9}-[0-9]{1,12}-[0-9a-f]{32}-[0-9a-f]{64}|2-[0-9]{1,9}-[0-9a-f]{128}-([0-9a-f]{2})+)$"
Version = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64),
    Field(description="Version of the channel the report was drawn from."),
]
Key = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{32}$", min_length=32, max_length=32),
    Field(description="128 fresh random bits per drawn report; resend with the same key."),
]
CampaignName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)]
Reason = Annotated[str, StringConstraints(max_length=500), Field(description="Why, for the audit log.")]
OperatorName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)]
Cell = Annotated[int, Field(ge=0, lt=LARGEST_GRID, description="Number of the reported cell."), INTEGRAL]


class Request(BaseModel):
    """A request body: strict types, no unknown field."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ReportRequest(Request):
    """One obfuscated report."""

    cell: Cell
    version: Version
    key: Key
    ticket: Annotated[str, StringConstraints(pattern=TICKET_PATTERN, max_length=1_200)]


class BatchRequest(Request):
    """Relayed reports, all drawn on their devices from the same channel."""

    version: Version
    key: Key
    cells: Annotated[list[Cell], Field(min_length=1, max_length=10_000)]


class TicketRequest(Request):
    """A device asks for its ticket of a cycle."""

    cycle: Annotated[int, Field(ge=1, le=999_999_999), INTEGRAL]
    device: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64)]
    blinded: Annotated[
        str | None,
        StringConstraints(pattern=r"^([0-9a-f]{2})+$", min_length=512, max_length=1024),
        Field(description="The blinded ticket, where the campaign's tickets are blind (RFC 9474)."),
    ] = None


class RectangleRequest(Request):
    """A rectangle on the map, in degrees; it may cross the date line."""

    south: Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
    west: Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
    north: Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
    east: Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]

    @property
    def edges(self) -> tuple[float, float, float, float]:
        """South, west, north, east."""
        return self.south, self.west, self.north, self.east


class GridRequest(RectangleRequest):
    """The rectangle a campaign covers and the size of its square cells."""

    cell_size_m: Annotated[float, Field(ge=1, le=1_000_000, allow_inf_nan=False)]


class CampaignRequest(Texts, Request):
    """A new campaign. Give beta_per_m or epsilon_per_km; the cycle is due by time, by reports, or both."""

    name: CampaignName
    title: ShortText = ""
    grid: GridRequest
    beta_per_m: Annotated[float | None, Field(gt=0, le=10, allow_inf_nan=False)] = None
    epsilon_per_km: Annotated[float | None, Field(gt=0, le=20_000, allow_inf_nan=False)] = None
    cycle_duration_s: Annotated[int | None, Field(ge=1, le=31_557_600), INTEGRAL] = None
    cycle_reports: Annotated[int | None, Field(ge=1, le=1_000_000_000), INTEGRAL] = None
    minimum_cycle_s: Annotated[int | None, Field(ge=0, le=31_557_600), INTEGRAL] = None
    minimum_tickets: Annotated[int | None, Field(ge=1, le=1_000_000_000), INTEGRAL] = None
    floor: Annotated[float | None, Field(ge=1e-6, le=1, allow_inf_nan=False)] = None
    reporting: Rhythm = "once"
    epoch_cycles: Annotated[int | None, Field(ge=2, le=100_000), INTEGRAL] = None
    cycle_classes: CycleClasses = "none"
    time_zone: Annotated[str, StringConstraints(min_length=1, max_length=64)] = "UTC"
    begins_hour: Annotated[int | None, Field(ge=0, le=23), INTEGRAL] = None
    promise: Promise = DEFAULT_PROMISE
    tickets: TicketKind = "linkable"
    rehearsal: bool = False
    areas: Annotated[
        dict[str, object] | None, Field(description="Districts: a GeoJSON FeatureCollection of polygons, WGS 84.")
    ] = None
    name_field: Annotated[ShortText | None, Field(description="The property that names a district.")] = None
    relayed: bool = False
    relayed_cap_reports: Annotated[int | None, Field(ge=0, le=1_000_000_000), INTEGRAL] = None


class CloseRequest(Request):
    """Nothing to say: close the cycle if it may be closed."""


class ActRequest(Request):
    """An act that needs nothing but, if you like, its reason."""

    reason: Reason = ""


class TextsRequest(Request):
    """What is said about a campaign; a text that is left out stays."""

    title: Annotated[str | None, StringConstraints(min_length=1, max_length=200)] = None
    question: ShortText | None = None
    description: Description | None = None
    organiser: ShortText | None = None
    contact: ShortText | None = None
    language: Language | None = None
    ends_at_s: EndsAt = None
    legal_basis: ShortText | None = None
    officer: ShortText | None = None
    processor: ShortText | None = None
    retention: ShortText | None = None
    offers_position: bool | None = None


class CopyRequest(Request):
    """A rehearsal becomes the real campaign under a name of its own: another campaign, with none of its reports."""

    name: CampaignName


class DeleteRequest(Request):
    """To delete a campaign, write its name again."""

    confirm: CampaignName


class OperatorRequest(Request):
    """A colleague with a token of their own."""

    name: OperatorName


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
    areas: dict[str, object] | None = None
    name_field: ShortText | None = None


class PlacesRequest(Request):
    """A name, or how it begins; or which places are in a rectangle. In no address, so in no log of a proxy."""

    name: ShortText = ""
    within: RectangleRequest | None = None


class AreasRequest(Request):
    """A zipped shapefile or a GeoPackage of named areas."""

    file: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$"), Field(description="The file's bytes, as base64.")
    ]


class CodeRequest(Request):
    """The address of a campaign's page as people will type it."""

    address: Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=200)]
