"""What is said of a campaign that is only thought about: where it is, what people would draw, and what it costs."""

from __future__ import annotations

from typing import Literal

from sfumato.collect.service.models.kept import Record


class PlaceView(Record):
    """A town, a village or a quarter, from GeoNames: its middle, its country's letters, about how many live there."""

    name: str
    country: str
    lat_deg: float
    lon_deg: float
    people: int


class WidthView(Record):
    """How many people it takes to tell areas of this width apart."""

    width_m: float
    people: int


class CheaperView(Record):
    """One report of each person instead of one in every round: what that costs, and what its map tells."""

    reporting: Literal["once", "once-per-epoch"]
    epoch_cycles: int | None
    epsilon_together_per_km: float
    width_m: float | None
    round_width_m: float | None
    words: str
    areas_svg: str
    """The areas its map would be cut into; empty above 1,000 cells."""


class ChangeView(Record):
    """A district's share before and after (without smoothing), the interval of the difference, and what it tells."""

    name: str
    before: float
    after: float
    low: float
    high: float
    told: Literal["more", "fewer", "none"]


class ComparisonView(Record):
    """How the districts of two groups of rounds differ."""

    before: list[int]
    after: list[int]
    reports_before: int
    reports_after: int
    level: float
    target: Literal["reporters", "population"]
    """Whom a change is of: those who reported, or everybody of whom they are a random sample."""
    rows: list[ChangeView]


class PairView(Record):
    """Two neighbouring districts, and from how many people on they are told apart; None: they never are."""

    one: str
    other: str
    people: int | None
    told: bool
    words: str


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
    map_words: str
    reports_each: int
    epsilon_together_per_km: float
    """What all reports of one person in that time cost together, at most."""
    together_words: str
    areas_svg: str
    cheaper: list[CheaperView]
    districts: list[list[str]]
    """The districts as the map would show them: those together that so many people cannot tell apart."""
    pairs: list[PairView]
    """Neighbouring districts, hardest first."""
    advice: list[str]
