"""A plan for the operator's screens: what a campaign that is thought about would promise, tell and cost."""

from __future__ import annotations

import math
from dataclasses import asdict

from sfumato.accountant.device import DEFAULT_CAP_PER_KM
from sfumato.base.drawing.svg import element, picture
from sfumato.base.things.estimated_map import cut
from sfumato.base.things.grid import Grid
from sfumato.base.units import format_length
from sfumato.collect.client.offer import Caps
from sfumato.collect.client.reveals import reveals
from sfumato.collect.loop.districts import Districts, pairs_of, telling
from sfumato.collect.loop.forecast import CampaignPlan, Forecast, as_planned, cheaper, forecast, plan
from sfumato.collect.loop.rhythm import as_reporting
from sfumato.collect.loop.told_areas import DRAWN_UP_TO
from sfumato.collect.service.models.bodies import PlanRequest
from sfumato.collect.service.models.outlook import CheaperView, PairView, PlanView, WidthView
from sfumato.collect.service.rounds.signed_offers import districts_of
from sfumato.collect.service.sentences import in_language
from sfumato.collect.service.settings import Settings

_LARGEST_PLANNED = 2_500
"""Cells; a finer grid is plan_of with larger cells, which changes nothing about areas much wider than a cell."""


def plan_of(asked: PlanRequest, settings: Settings, *, language: str = "en") -> PlanView:
    """The plan, in the operator's language; takes up to a second or two."""
    grid = Grid.from_bounds(**dict(asked.grid))
    coarser = max(1.0, math.sqrt(grid.cells / _LARGEST_PLANNED))
    shown = grid if coarser == 1 else _with_cells_of(asked, asked.grid.cell_size_m * coarser * 1.01)
    made = plan(
        shown,
        epsilon=asked.epsilon_per_km / 1000,
        promise=asked.promise,
        budget=DEFAULT_CAP_PER_KM / 1000,
        cycle_s=asked.cycle_duration_s,
        lasting_s=asked.after_s,
    )
    found = forecast(
        made,
        people=asked.people,
        after_s=asked.after_s,
        cycle_s=asked.cycle_duration_s,
        reporting=asked.reporting,
        epoch_cycles=asked.epoch_cycles,
    )
    named = districts_of(asked.areas, asked.name_field, grid)
    together, pairs = ([], []) if named is None else _districts(named, asked, made, found, language)
    told = reveals(shown, made.channel.output_weights, beta_per_m=made.channel.beta)
    return PlanView(
        rows=grid.rows,
        columns=grid.columns,
        cells=grid.cells,
        cells_limit=_limit(settings),
        epsilon_per_km=found.epsilon_per_km,
        displacement_m=made.distortion,
        two_cell_success=told.two_cell_success,
        reports_until_stop=made.reports_until_stop,
        people=found.people,
        reports=found.reports,
        after_s=found.after_s,
        width_m=found.width_m,
        finer=[WidthView(width_m=width, people=people) for width, people in found.finer],
        words=in_language(found.words, language),
        map_words=in_language(found.map_words, language),
        reports_each=found.each,
        epsilon_together_per_km=found.together_per_km,
        together_words=in_language(found.together_words, language),
        areas_svg=_areas_svg(shown, found, in_language(found.words, language)),
        cheaper=[_cheaper_view(shown, one, language) for one in cheaper(made, found, cycle_s=asked.cycle_duration_s)],
        districts=together,
        pairs=pairs,
        advice=[
            in_language(line, language)
            for line in _advice(asked, grid, found.width_m, settings, smallest_m=made.smallest_tight_cell)
        ],
    )


def _districts(
    named: Districts, asked: PlanRequest, made: CampaignPlan, found: Forecast, language: str
) -> tuple[list[list[str]], list[PairView]]:
    """The districts as the map would show them, and every two neighbours."""
    apart = telling(named, as_planned(made, found.each), as_reporting(asked.reporting))
    together = [[named.names[one] for one in group] for group in apart.groups(found.reports)]
    pairs = pairs_of(named, apart, people=asked.people, each=max(1, found.each))
    return together, [PairView(**asdict(one), words=in_language(one.words, language)) for one in pairs]


def _cheaper_view(grid: Grid, one: Forecast, language: str) -> CheaperView:
    words = in_language(one.once_words, language)
    return CheaperView(
        reporting="once" if one.epoch_cycles is None else "once-per-epoch",
        epoch_cycles=one.epoch_cycles,
        epsilon_together_per_km=one.together_per_km,
        width_m=one.width_m,
        round_width_m=one.round_width_m,
        words=words,
        areas_svg=_areas_svg(grid, one, words),
    )


def _areas_svg(grid: Grid, one: Forecast, words: str) -> str:
    """The areas that the map of a plan would be cut into: they depend on how many report, never on what."""
    if not one.drawn:
        return ""
    w, h = 100 / grid.columns, 100 * grid.rows * grid.cell_height / (grid.columns * grid.cell_width) / grid.rows
    drawn = [
        element("rect", x=1 + w * left, y=1 + h * top, width=w * wide, height=h * tall)
        for top, left, tall, wide in cut(grid, one.width_m).tolist()
    ]
    return picture(102, 2 + h * grid.rows, *drawn, title=words, xmlns="http://www.w3.org/2000/svg")


def _with_cells_of(asked: PlanRequest, size_m: float) -> Grid:
    return Grid.from_bounds(**{**dict(asked.grid), "cell_size_m": size_m})


def _limit(settings: Settings) -> int:
    return min(settings.whole("cells_limit"), Caps().cells)


def _advice(
    asked: PlanRequest, grid: Grid, width_m: float | None, settings: Settings, *, smallest_m: float
) -> list[str]:
    """What to change, if anything."""
    found = []
    side = asked.grid.cell_size_m
    limit, least = _limit(settings), settings.whole("minimum_tickets")
    if grid.cells > limit:
        enough = format_length(float(f"{side * math.sqrt(grid.cells / limit) * 1.05:.2g}"))
        found.append(f"The grid has {grid.cells:,} cells; this server allows {limit:,}. Use cells of {enough} or more.")
    if grid.cells > DRAWN_UP_TO:
        enough = format_length(float(f"{side * math.sqrt(grid.cells / DRAWN_UP_TO) * 1.05:.2g}"))
        found.append(f"The map draws areas up to {DRAWN_UP_TO:,} cells: use cells of {enough} or more.")
    if width_m is None:
        found.append("Ask more people, cover a smaller area, use larger cells, or allow each report to cost more.")
    elif width_m > 4 * side:
        wide = format_length(float(f"{width_m / 2:.1g}"))
        found.append(f"Cells of {format_length(side)} are finer than this map can tell; {wide} would do.")
    if asked.promise == "epsilon" and side < smallest_m:
        found.append(
            f"Cells narrower than {format_length(smallest_m)} cost part of the promise: larger cells are sharper."
        )
    if asked.people < least:
        found.append(f"No cycle is published with fewer than {least} people.")
    found += [
        f"No device would take part. {line}" for line in Caps().too_much(grid, epsilon_per_km=asked.epsilon_per_km)
    ]
    if 8 < asked.epsilon_per_km <= Caps().two_beta_per_km:
        found.append("At this level a report gives away the street, more or less: 2 per km is the usual choice.")
    return found
