"""What is said of a campaign that is only thought about: what so many people would draw, and what it costs them."""

from __future__ import annotations

from typing import Literal

from sfumato.collect.service.models.kept import Record


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
    advice: list[str]
