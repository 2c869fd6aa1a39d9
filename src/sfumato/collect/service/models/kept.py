"""What the store keeps as text and a channel publishes: strict records, read back or refused, never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.grid import Grid
from sfumato.collect.loop.loop import Promise
from sfumato.collect.loop.rhythm import Calendar, CycleClasses, Rhythm, epoch_number

State = Literal["open", "closing", "closed"]
CampaignState = Literal["running", "paused", "ended", "archived"]
TicketKind = Literal["blind", "linkable"]
Language = Literal["", "en", "fr", "de", "es"]
"""What the pages for participants are written in; empty: what the reader's browser asks for."""
NOTICE_FIELDS = ("organiser", "contact", "legal_basis", "officer", "processor", "retention")
ShortText = Annotated[str, StringConstraints(max_length=200)]
Description = Annotated[str, StringConstraints(max_length=2000)]


def _integral(value: object) -> object:
    """JSON has one kind of number: 7.0 is the integer 7 (and 7.5 stays what it is, to be refused)."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


INTEGRAL = BeforeValidator(_integral)
EndsAt = Annotated[
    int | None,
    Field(
        ge=0, le=9_999_999_999, description="When it ends by itself, in Unix seconds (0, in a change of texts: never)."
    ),
    INTEGRAL,
]


class Texts(BaseModel):
    """What is said about a campaign, beside its title: in the request that makes it, and ever after."""

    question: ShortText = ""
    """What people are asked, in one sentence."""
    description: Description = ""
    """What it is for, in the operator's words."""
    organiser: ShortText = ""
    """Who is responsible for it, by name."""
    contact: ShortText = ""
    """Whom to ask."""
    language: Language = ""
    """The language of its pages; empty: that of the reader's browser."""
    ends_at_s: EndsAt = None
    """When it ends by itself, in Unix seconds."""
    legal_basis: ShortText = ""
    """On what law it rests."""
    officer: ShortText = ""
    """The data protection officer, or that there is none."""
    processor: ShortText = ""
    """Who runs the server, and under which contract."""
    retention: ShortText = ""
    """Until when results are kept."""
    offers_position: bool = True
    """Whether the page offers the device's own position, which answers only *where are you now?*"""


class Record(BaseModel):
    """A value with a fixed set of fields: strict types, no unknown field, no NaN."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class GridFields(Record):
    """A grid on the earth: its size in cells, a cell's size in metres and in degrees, and its north-western corner."""

    rows: int
    columns: int
    cell_height: float
    cell_width: float
    unit: Literal["m"]
    north_deg: float
    west_deg: float
    cell_height_deg: float
    cell_width_deg: float

    @classmethod
    def of(cls, grid: Grid) -> GridFields:
        """The fields of ``grid``."""
        return cls.model_validate(grid.to_dict())

    def to_grid(self) -> Grid:
        """The grid they describe."""
        return Grid(**dict(self))


class District(Record):
    """A named area of squares, chosen before anybody reports: ``runs`` are first cell, cells, first cell, cells, ..."""

    name: str
    runs: tuple[int, ...]

    @classmethod
    def each(cls, names: Sequence[str], of_cell: IntArray) -> tuple[District, ...]:
        """The districts of cells that are numbered by ``of_cell`` (-1: of none)."""
        edges = np.flatnonzero(np.diff(of_cell, prepend=-2, append=-2))
        runs: list[list[int]] = [[] for _ in names]
        for first, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            if of_cell[first] >= 0:
                runs[int(of_cell[first])] += [first, end - first]
        return tuple(cls(name=name, runs=tuple(run)) for name, run in zip(names, runs, strict=True))


def border_parts(of_cell: IntArray, parts: FloatArray) -> tuple[int, ...]:
    """As :attr:`Specification.district_parts`."""
    told = np.rint(1000 * parts).astype(np.int64)
    whole = 1000 * (of_cell == np.arange(len(parts))[:, None])
    district, cell = np.nonzero(told * (told != whole).any(axis=0))
    return tuple(np.column_stack([district, cell, told[district, cell]]).ravel().tolist())


class Specification(Texts, Record):
    """What a campaign is: an operator's request with the settings' defaults filled in."""

    title: str
    grid: GridFields
    beta_per_m: float
    cycle_duration_s: int | None
    cycle_reports: int | None
    minimum_cycle_s: int
    minimum_tickets: int
    floor: float
    reporting: Rhythm
    relayed: bool
    relayed_cap_reports: int
    promise: Promise = "mutual-information"
    """What its channel is best for; campaigns kept before there was a choice follow the published loop."""
    epoch_cycles: int | None = None
    """With reporting once-per-epoch: how many cycles share one report of each device."""
    cycle_classes: CycleClasses = "none"
    """Which cycles are alike: weekday and weekend, parts of the day; declared before anybody reports."""
    time_zone: str = "UTC"
    """Whose clock the classes go by."""
    begins_hour: int | None = None
    """At which hour of that clock rounds begin: weeks on Mondays; None: when the one before ends."""
    tickets: TicketKind = "linkable"
    """What its tickets are; those of campaigns kept before there was a choice can be linked to reports."""
    rehearsal: bool = False
    """Whether it is only tried out: its reports may be simulated, and are no answer to anything."""

    districts: tuple[District, ...] = ()
    """Areas with names whose shares are published; they never change."""
    district_parts: tuple[int, ...] = ()
    """District, cell, thousandths of it inside, district, ...: of cells on borders; of all others the runs say it."""

    @property
    def district_of_cell(self) -> IntArray:
        """The district of each cell, -1 for none."""
        out: IntArray = np.full(self.cell_count, -1, dtype=np.int64)
        for number, one in enumerate(self.districts):
            for first, cells in zip(one.runs[::2], one.runs[1::2], strict=True):
                out[first : first + cells] = number
        return out

    @property
    def parts_of_cells(self) -> FloatArray:
        """(districts, cells): the part of each cell inside."""
        out: FloatArray = (self.district_of_cell == np.arange(len(self.districts))[:, None]).astype(np.float64)
        district, cell, part = np.array(self.district_parts, dtype=np.int64).reshape(-1, 3).T
        out[:, cell] = 0.0
        out[district, cell] = part / 1000
        return out

    @property
    def brackets(self) -> tuple[str, ...]:
        """What its privacy notice still leaves open: fields that only the organiser can fill in."""
        empty = tuple(name for name in NOTICE_FIELDS if not getattr(self, name).strip())
        return empty if self.question.strip() or self.description.strip() else ("question", *empty)

    @property
    def cell_count(self) -> int:
        """How many cells the grid has."""
        return self.grid.rows * self.grid.columns

    @property
    def level_never_above_per_km(self) -> float:
        """2 beta, which no output weights pass, per kilometre of the ground."""
        return 2000 * self.grid.to_grid().ground_stretch * self.beta_per_m

    @property
    def once(self) -> bool:
        """Whether each device reports once in the campaign's life."""
        return self.reporting == "once"

    @property
    def calendar(self) -> Calendar:
        """Which class a cycle belongs to."""
        return Calendar(self.cycle_classes, self.time_zone, self.begins_hour)

    def due_at_s(self, opened_s: float) -> int | None:
        """When a cycle is due that is opened then; None where only reports end it."""
        return None if self.cycle_duration_s is None else self.calendar.due_s(opened_s, self.cycle_duration_s)

    def ticket_scope(self, cycle: int) -> int:
        """What a device has one ticket for: 0 is the campaign's whole life, else the cycle's number, or the epoch's."""
        if self.once:
            return 0
        return cycle if self.epoch_cycles is None else epoch_number(cycle, self.epoch_cycles)

    def spent_scope(self, cycle: int) -> int:
        """Within what a ticket is spent once: a blind one is of its cycle alone, whose key no other cycle takes."""
        return cycle if self.tickets == "blind" else self.ticket_scope(cycle)


class PublishedTickets(Record):
    """The kind of ticket, the round's public key, when the round began and how long it lasts (if time ends it)."""

    kind: str
    key: str
    opened_at_s: int
    round_s: int | None = None


class PublishedChannel(Record):
    """The text a cycle publishes and signs; a device builds its own row from it."""

    campaign: str
    cycle: int
    grid: GridFields
    beta_per_m: float
    output_weights: tuple[float, ...]
    floor: float
    reporting: Rhythm
    epoch_cycles: int | None = None
    """Only in campaigns that ask once per epoch; left out of the text of the others."""
    tickets: PublishedTickets | None = None
    """Only where they are blind."""


class LevelPerKm(Record):
    """An epsilon per kilometre: exact, or between two bounds."""

    lower: float
    upper: float
    exact: bool


class ChannelFacts(Record):
    """What a channel reveals: its level, and information and distortion under the prior it was made for."""

    epsilon_per_km: LevelPerKm
    mutual_information_nats: float
    distortion_m: float


class Residual(Record):
    """How well a cycle's reports fit the channel that was published."""

    statistic: float
    p_value: float


class Alarm(Record):
    """Whether the reports look forged, and why."""

    raised: bool
    reasons: tuple[str, ...]


class InfluenceRange(Record):
    """How far a share of forged reports in every pooled cycle would move the map, over the places tried."""

    share: float
    way: str
    least_m: float
    most_m: float


class SharpnessFacts(Record):
    """How fine a map the pooled reports can draw, and what finer would take."""

    reports: int
    width_m: float | None
    """Areas so wide are told apart from their neighbours; None: not even the halves of the map are."""
    finer_width_m: float | None
    more_reports: int | None
    """So many more for areas of ``finer_width_m``; None where no finer is to be had."""


class MapOddsFacts(Record):
    """What the published map gives away about one person of this round: upper limits on the odds of two places.

    See :mod:`sfumato.collect.loop.map_odds`; all but ``local`` and ``together`` may be passed 1 time in 100.
    """

    people: int
    """Whose reports the round has: the limits are theirs, but for reports that came late."""
    distance_m: float
    average: float
    worst: float
    local: float
    """Against somebody who knows where everybody else was."""
    together: float
    """The same, of everything one device may have sent since the campaign began."""


class DistrictShare(Record):
    """A district's share, or that of several that cannot be told apart; no name: of what lies in none."""

    names: tuple[str, ...]
    share: float
    low: float
    high: float


class DistrictFacts(Record):
    """What a closed cycle published about its districts."""

    level: float
    average: tuple[DistrictShare, ...]
    """Over all pooled rounds, those together that so many reports cannot tell apart."""
    this_round: tuple[DistrictShare, ...]
    each: tuple[tuple[float, float, float], ...]
    """Of this round alone, each district by itself: the estimate without smoothing, and the ends that changes are made
    from (:func:`~sfumato.collect.loop.districts.plain_shares`), not cut at 0 and 1."""
    target: Literal["reporters", "population"]
    """Whose share ``each`` is: of everybody of whom those who reported are a sample, where each person reports once."""


class EstimateFacts(ChannelFacts):
    """The numbers a closed cycle publishes beside its map."""

    emd_to_previous_m: float | None
    residual: Residual
    alarm: Alarm
    change_capped: bool
    influence: dict[str, float]
    spent_epsilon_per_km: float
    gap_nats_per_report: float
    target: str
    interval_level: float | None
    verdict: Literal["fits", "changed", "forged"] = "fits"
    """Whether this cycle's reports fit the average map, another map, or none."""
    notices: tuple[str, ...] = ()
    """What is worth saying and no alarm."""
    averaged_cycles: int = 1
    """Over how many cycles the map is an average."""
    cycle_class: str = ""
    """The class of this cycle, where the campaign declared classes."""
    class_cycles: int = 1
    """How many of the averaged cycles are of that class."""
    interval_words: str = ""
    """Whose share of which period the intervals are for."""
    influence_ranges: tuple[InfluenceRange, ...] = ()
    excluded_cycles: tuple[int, ...] = ()
    """Earlier cycles that the operator left out of this map."""
    suspicious_cycles: tuple[int, ...] = ()
    """Pooled cycles that raised the alarm, this one too; ``without_suspicious`` is the map without them."""
    sharpness: SharpnessFacts | None = None
    """None for cycles closed before it was computed, and above 2,500 cells."""
    map_odds: MapOddsFacts | None = None
    """None for cycles closed before it was computed."""
