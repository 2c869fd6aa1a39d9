"""The map of a campaign, for everybody, in the reader's language: the map with its uncertainty, the alarm, and folded
the rounds (cycles of the interface) with their numbers and what fake reports could do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.base.drawing.svg import escape as text
from sfumato.base.things.grid import Grid
from sfumato.collect.service.models.outlook import ComparisonView
from sfumato.collect.service.models.replies import (
    CampaignView,
    ClosedCycleView,
    DashboardCampaignView,
    EstimatedCycleView,
)
from sfumato.collect.service.pages.district_page import change_section, district_map, district_table
from sfumato.collect.service.pages.layout import facts, fold, page, rehearsal_note, shift, switch, table
from sfumato.collect.service.pages.svg_maps import Ground, area_map, grid_map, line_chart, under
from sfumato.collect.service.pages.words import Words, average_in_words, headline, list_in_words, odds_in_words, words

_SHOWN_CELLS = 15
_COLUMNS = ["col_round", "col_closed", "col_reports", "col_moved", "level", "col_information", "col_distortion"]
_COLUMNS += ["col_residual", "col_alarm", "col_in_map"]


def dashboard_page(
    campaign: DashboardCampaignView,
    history: Sequence[ClosedCycleView],
    latest: EstimatedCycleView | None,
    *,
    language: str = "en",
    kept: str = "",
    ground: Ground | None = None,
    compared: ComparisonView | None = None,
) -> str:
    """A campaign's map from its closed cycles, oldest first, and the latest with its map; ``kept`` as in
    :func:`.participant.participant_page`."""
    said = words(language)
    name = campaign.name
    home = f"/campaigns/{text(name)}"
    links = f'<a href="{home}{kept}">{text(said.say("nav_take_part"))}</a><a href="{home}/dashboard.json">JSON</a>'
    last = next((one for one in reversed(history) if not one.excluded), None)
    asked = f'<p class="over">{text(campaign.title)}</p>' if campaign.question else ""
    parts = [
        asked,
        f"<h1>{text(campaign.question or campaign.title)}</h1>",
        _alarm(last, history, said),
        _headline(latest if last is None or changed_in(history, last) is None else None, said, none=latest is None),
    ]
    parts += [_left_out(history, said), _map(campaign, history, latest, ground, said), _open_round(campaign, said)]
    if latest is not None and last is not None:
        parts.append(_exports(campaign, kept, said))
        inside = f'<div id="map-table">{area_table(campaign, history, latest, said)}</div>'
        parts.append(fold("map-fold", said.say("fold_table"), inside))
        if compared is not None:
            parts.append(fold("changes", said.say("change_title"), change_section(compared, f"{home}/report", said)))
        parts.append(fold("numbers", said.say("fold_numbers"), latest_round(campaign, last, said)))
        parts.append(fold("fakes", said.say("fold_fakes"), fakes(last, said)))
        parts.append(fold("cycles", said.say("fold_rounds"), every_round(history, campaign.time_zone, said)))
    body = f'{rehearsal_note(campaign, said)}<div id="dashboard" data-campaign="{text(name)}">{"".join(parts)}</div>'
    title = said.say("result_page", title=campaign.title)
    return page(title, body, links=links + switch(f"{home}/dashboard", said), script="dashboard", said=said)


def changed_in(history: Sequence[ClosedCycleView], last: ClosedCycleView) -> int | None:
    """The last of the averaged rounds that did not fit those before it, though nothing looks forged; None: all fit."""
    since = last.cycle - last.averaged_cycles + 1
    changed = [one.cycle for one in history if one.verdict == "changed" and not one.excluded]
    return max((one for one in changed if since < one <= last.cycle), default=None)


def changed_words(history: Sequence[ClosedCycleView], last: ClosedCycleView, said: Words) -> str:
    """That an average is no answer; nothing where it is one."""
    changed = changed_in(history, last)
    if changed is None:
        return ""
    if changed < last.cycle:
        return said.say("changed_since", round=changed)
    return said.say("changed_first", round=changed, p=said.number(last.residual.p_value, 2))


def _headline(latest: EstimatedCycleView | None, said: Words, *, none: bool) -> str:
    if none:
        told = said.say("head_none")
    else:
        told = "" if latest is None or latest.sharpness is None else headline(latest.sharpness, said)
    odds = "" if latest is None or latest.map_odds is None else odds_in_words(latest.map_odds, said)
    return f'<p class="headline" id="headline">{text(told)}</p><p class="soft" id="map-odds">{text(odds)}</p>'


def _open_round(campaign: DashboardCampaignView, said: Words) -> str:
    cycle = campaign.cycle
    told = said.say("round_open" if cycle.state == "open" else "round_counted", round=cycle.number)
    return f'<p class="soft" id="open-cycle">{text(told)}</p>'


def _left_out(history: Sequence[ClosedCycleView], said: Words) -> str:
    """What the operator left out of the map, in words."""
    out = [one.cycle for one in history if one.excluded]
    if not out:
        return ""
    told = said.say("left_out_one" if len(out) == 1 else "left_out_many", rounds=list_in_words(out, said))
    return f'<p id="left-out" role="note">{text(told)}</p>'


def _alarm(last: ClosedCycleView | None, history: Sequence[ClosedCycleView], said: Words) -> str:
    """The alarm and its reasons in the reader's language."""
    if last is None:
        return '<div id="alarm" role="status"></div>'
    if last.alarm.raised:
        reasons = "".join(f"<li>{text(said.in_language(reason))}</li>" for reason in last.alarm.reasons)
        told = text(said.say("alarm_raised"))
        return f'<div id="alarm" class="alarm" role="alert"><strong>{told}</strong><ul>{reasons}</ul></div>'
    changed = changed_words(history, last, said)
    if changed:
        return f'<p id="alarm" role="status" class="alarm changed"><strong>{text(changed)}</strong></p>'
    return f'<p id="alarm" role="status" class="calm">{text(said.say("alarm_calm"))}</p>'


def drawn_map(
    campaign: CampaignView, history: Sequence[ClosedCycleView], last: EstimatedCycleView, said: Words
) -> tuple[str, str]:
    """(the map, its legend): districts where there are some; the round itself where an average is no answer."""
    grid, changed = campaign.grid.to_grid(), changed_in(history, last) is not None
    title = said.say("result_title", when=_when_of(last, changed, said))
    if last.districts is not None:
        shown = last.districts.this_round if changed else last.districts.average
        drawn = district_map(campaign, shown, title=title, about=said.say("about_districts"), said=said)
        return drawn, _legend(said.say("legend_most"), said) if len(shown) > 1 else text(said.say("legend_one"))
    if last.areas is None or changed:
        own = last.this_cycle if changed and last.this_cycle is not None else last.estimate
        low, high = ([], []) if changed else (last.low, last.high)
        drawn = grid_map(grid, own, title=title, about=said.say("about_squares"), said=said, low=low, high=high)
        return drawn, _legend(said.say("legend_square", share=said.percent(max(own))), said)
    drawn = area_map(grid, last.areas, title=title, about=said.say("about_areas"), said=said)
    return drawn, _legend(said.say("legend_most"), said) if len(last.areas) > 1 else text(said.say("legend_one"))


def _when_of(last: EstimatedCycleView, changed: bool, said: Words) -> str:
    return said.say("when_round", round=last.cycle) if changed else average_in_words(last, said)


def _map(
    campaign: CampaignView,
    history: Sequence[ClosedCycleView],
    last: EstimatedCycleView | None,
    ground: Ground | None,
    said: Words,
) -> str:
    if last is None:
        grid, nothing, about = campaign.grid.to_grid(), said.say("no_estimate"), said.say("head_none")
        drawn = grid_map(grid, [0.0] * grid.cells, title=nothing, about=about, said=said)
        return f'<div class="map" id="map"{under(ground)}>{drawn}</div>'
    title = said.say("result_title", when=_when_of(last, changed_in(history, last) is not None, said))
    drawn, legend = drawn_map(campaign, history, last, said)
    return f"""<section id="map-section" aria-labelledby="map-section-title">
<h2 id="map-section-title">{text(title)}</h2>
<div class="map" id="map"{under(ground)}>{drawn}</div>
<p class="legend" id="legend">{legend}</p>
<div id="map-controls"></div></section>"""


def _legend(most: str, said: Words) -> str:
    return (
        f'<span>{text(said.say("legend_fewest"))}</span><span class="ramp" aria-hidden="true"></span>'
        f'<span>{text(most)}</span>\n<span class="fade" aria-hidden="true"></span>'
        f"<span>{text(said.say('legend_faint'))}</span>"
    )


def area_table(
    campaign: CampaignView, history: Sequence[ClosedCycleView], last: EstimatedCycleView, said: Words
) -> str:
    """The map's twin: districts, or areas from the fullest on, or the largest cells where there are no areas."""
    grid, changed = campaign.grid.to_grid(), changed_in(history, last) is not None
    if last.districts is not None:
        return district_table(last.districts, _when_of(last, changed, said), said, alone=changed)
    if last.areas is None or changed:
        return _cells(grid, last, said, alone=changed)
    lat, lon = grid.north_deg or 0.0, grid.west_deg or 0.0
    tall, wide = grid.cell_height_deg or 0.0, grid.cell_width_deg or 0.0

    def rows() -> Iterator[list[str]]:
        for one in sorted(last.areas or (), key=lambda area: -area.share / (area.rows * area.columns)):
            middle = lat - (one.row + one.rows / 2) * tall, lon + (one.column + one.columns / 2) * wide
            size = f"{said.length(one.columns * grid.cell_width)} × {said.length(one.rows * grid.cell_height)}"
            where = f"{middle[0]:.4f}, {(middle[1] + 540) % 360 - 180:.4f}"
            yield [where, size, said.percent(one.share), f"{said.percent(one.low)} – {said.percent(one.high)}"]

    caption = said.say("areas_caption", count=len(last.areas), when=average_in_words(last, said))
    heads = [said.say("col_centre"), said.say("col_size"), said.say("col_share"), _interval(last, said)]
    return table(caption, heads, rows(), label=said.say("fold_table"))


def _interval(cycle: ClosedCycleView, said: Words) -> str:
    """The head of the intervals' column; above 2,500 cells there is a map without them."""
    if cycle.interval_level is None:
        return said.say("col_no_interval")
    return said.say("col_interval", level=f"{100 * cycle.interval_level:.0f} %")


def _cells(grid: Grid, cycle: EstimatedCycleView, said: Words, *, alone: bool) -> str:
    """The largest squares; ``alone``: in the last round only, where an average is no answer."""
    own = cycle.estimate if cycle.this_cycle is None else cycle.this_cycle
    order = np.argsort(-np.asarray(own), kind="stable")[:_SHOWN_CELLS].tolist()
    lat, lon = grid.centres_deg()

    def rows() -> Iterator[list[str]]:
        for cell in order:
            row, column = divmod(cell, grid.columns)
            interval = f"{said.percent(cycle.low[cell])} – {said.percent(cycle.high[cell])}"
            where = f"{lat[cell]:.4f}, {lon[cell]:.4f}"
            this = said.percent(None if cycle.this_cycle is None else cycle.this_cycle[cell])
            name = said.say("square_value", cell=cell, row=row, column=column)
            yield [name, where, this, *([] if alone else [said.percent(cycle.estimate[cell]), interval])]

    caption = said.say("squares_caption", count=len(order), cells=said.count(grid.cells))
    heads = [said.say(key) for key in ("row_square", "col_centre", "col_this_round")]
    average = average_in_words(cycle, said)
    heads += [] if alone else [average[0].upper() + average[1:], _interval(cycle, said)]
    return table(caption, heads, rows(), label=said.say("fold_table"))


def _exports(campaign: CampaignView, kept: str, said: Words) -> str:
    base = f"/api/v1/campaigns/{text(campaign.name)}/estimate"
    kinds = (("GeoJSON", ".geojson"), ("CSV", ".csv"), ("GeoParquet", ".parquet"), ("JSON", ".json"))
    links = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds)
    report = f'<a href="/campaigns/{text(campaign.name)}/report{kept}">{text(said.say("report_link"))}</a>'
    named = ""
    if campaign.districts:
        base = base.replace("/estimate", "/districts")
        of = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds[:3])
        named = f" {text(said.say('districts_export'))} {of}"
    return f'<p id="exports">{text(said.say("exports"))} {links}{named} · {report}</p>'


def latest_round(about: CampaignView, last: ClosedCycleView, said: Words) -> str:
    """The latest round's numbers, each with what it means."""
    moved = last.emd_to_previous_m
    promised = said.say("fact_level_about", level=said.number(last.two_beta_per_km, 4))
    information = f"{said.number(last.mutual_information_nats)} nats"
    chance = f"p = {said.number(last.residual.p_value, 2)}"
    items = [
        (said.say("col_reports"), said.count(last.reports), said.say("when_round", round=last.cycle)),
        (said.say("fact_level"), _level(last, said), promised),
        (said.say("fact_information"), information, said.say("fact_information_about")),
        (said.say("fact_distortion"), shift(last.distortion_m, about, said), said.say("fact_distortion_about")),
        (said.say("fact_moved"), "–" if moved is None else said.length(moved), said.say("fact_moved_about")),
        (said.say("fact_residual"), chance, said.say("fact_residual_about")),
    ]
    return facts(items)


def fakes(last: ClosedCycleView, said: Words) -> str:
    """How far fake reports would move the map."""
    items = [
        (said.say("fake_share", share=f"{100 * float(share):g}"), said.length(moved), said.say("fake_moved"))
        for share, moved in last.influence.items()
    ]
    return f'<p class="soft">{text(said.say("fakes_about"))}</p>{facts(items)}'


def every_round(history: Sequence[ClosedCycleView], zone: str, said: Words) -> str:
    """Two charts and a table of all rounds shown."""

    def rows() -> Iterator[list[str]]:
        for one in history:
            alarm = (
                f'<strong class="bad">{text(said.say("alarm_word"))}</strong>' if one.alarm.raised else said.say("no")
            )
            yield [
                str(one.cycle),
                said.moment(one.closed_at_s, zone) if one.closed_at_s else "–",
                said.count(one.reports),
                said.number(one.emd_to_previous_m, 4),
                _level(one, said),
                said.number(one.mutual_information_nats),
                "< 1" if one.distortion_m < 1 else said.number(one.distortion_m, 4),
                said.number(one.residual.p_value, 2),
                alarm,
                f"<strong>{text(said.say('left_out_word'))}</strong>" if one.excluded else text(said.say("yes")),
            ]

    heads = [said.say(key, zone=zone) for key in _COLUMNS]
    title = said.say("fold_rounds")
    widths = [(one.cycle, None if one.sharpness is None else one.sharpness.width_m) for one in history]
    charts = line_chart(widths, title=said.say("chart_width"), unit="m", said=said)
    reports = [(one.cycle, float(one.reports)) for one in history]
    charts += line_chart(reports, title=said.say("chart_reports"), said=said)
    return f'<div id="charts" class="charts">{charts}</div>{table(title, heads, rows(), label=title)}'


def _level(cycle: ClosedCycleView, said: Words) -> str:
    level = cycle.epsilon_per_km
    upper = said.number(level.upper, 4)
    return upper if level.exact else f"{said.number(level.lower, 4)} – {upper}"
