"""The operator's dashboard: the map with its uncertainty, the cycles and their numbers, the alarm, fakes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.grid import Grid
from sfumato.service.models.shown import ClosedCycleView, DashboardCampaignView, EstimatedCycleView
from sfumato.service.pages.layout import facts, number, page, percent, section, table, text
from sfumato.service.pages.maps import grid_map, sparkline
from sfumato.units import format_length

History = Sequence[EstimatedCycleView]
_SHOWN_CELLS = 15


def dashboard_page(campaign: DashboardCampaignView, history: History) -> str:
    """A campaign's dashboard from its closed cycles, oldest first."""
    name, grid = campaign.name, campaign.grid.to_grid()
    home = f"/campaigns/{text(name)}"
    links = f'<a href="{home}">Take part</a><a href="{home}/dashboard.json">JSON</a>'
    parts = [f"<h1>{text(campaign.title)}</h1>", _open_cycle(campaign), _alarm(history), _map(grid, history)]
    if history:
        parts += [_latest(history[-1]), _fakes(history[-1]), _cycles(history), _exports(name)]
    tiles = text(campaign.tile_url or "")
    body = f'<div id="dashboard" data-campaign="{text(name)}" data-tiles="{tiles}">{"".join(parts)}</div>'
    return page(f"Dashboard: {campaign.title}", body, links=links, script="dashboard")


def _open_cycle(campaign: DashboardCampaignView) -> str:
    cycle = campaign.cycle
    return (
        f'<p class="lead" id="open-cycle">Cycle {cycle.number} is {text(cycle.state)}: about '
        f"{cycle.reports:,} reports so far (rounded down to tens). "
        f"Version <code>{text(cycle.version[:12])}…</code></p>"
    )


def _alarm(history: History) -> str:
    if not history:
        return '<div id="alarm" role="status"></div>'
    alarm = history[-1].alarm
    if alarm.raised:
        reasons = "".join(f"<li>{text(reason)}</li>" for reason in alarm.reasons)
        return f'<div id="alarm" class="alarm" role="alert"><strong>Poisoning alarm</strong><ul>{reasons}</ul></div>'
    return '<p id="alarm" role="status" class="calm">No alarm: the reports fit the published channel.</p>'


def _map(grid: Grid, history: History) -> str:
    if not history:
        drawn = grid_map(grid, [0.0] * grid.cells, title="No estimate yet", about="No cycle has closed yet.")
        words = "<p>No cycle has closed yet: there is nothing to estimate from.</p>"
        return section("map-section", "The map", f'{words}<div class="map" id="map">{drawn}</div>')
    last = history[-1]
    title = f"Where {last.target} are, cycle {last.cycle}"
    about = "Estimated share per cell. The table below lists the same numbers."
    drawn = grid_map(grid, last.estimate, title=title, about=about, low=last.low, high=last.high)
    top = percent(max(last.estimate))
    inside = f"""<div id="map-controls"></div><div class="map" id="map">{drawn}</div>
<p class="legend" id="legend"><span>0</span><span class="ramp" aria-hidden="true"></span>
<span>{top} in one cell (square-root scale)</span><span>○ uncertain: interval wider than twice the estimate</span></p>
<div id="map-table">{_cells(grid, last)}</div>"""
    return section("map-section", title, inside)


def _cells(grid: Grid, cycle: EstimatedCycleView) -> str:
    order = np.argsort(-np.asarray(cycle.estimate), kind="stable")[:_SHOWN_CELLS].tolist()
    lat, lon = grid.centres_deg()
    # Above 2,500 cells there is a map without intervals.
    level = "No" if cycle.interval_level is None else f"{100 * cycle.interval_level:.0f} %"

    def rows() -> Iterator[list[str]]:
        for cell in order:
            row, column = divmod(cell, grid.columns)
            interval = f"{percent(cycle.low[cell])} – {percent(cycle.high[cell])}"
            where = f"{lat[cell]:.4f}, {lon[cell]:.4f}"
            yield [f"{cell} (row {row}, column {column})", where, percent(cycle.estimate[cell]), interval]

    caption = f"The map as a table: the {len(order)} largest of {grid.cells} cells (all of them in the CSV below)."
    return table(caption, ["Cell", "Centre", "Estimate", f"{level} interval"], rows(), label="The map as a table")


def _level(cycle: ClosedCycleView) -> str:
    level = cycle.epsilon_per_km
    return number(level.upper, 4) if level.exact else f"{number(level.lower, 4)} – {number(level.upper, 4)}"


def _latest(last: ClosedCycleView) -> str:
    moved = last.emd_to_previous_m
    items = [
        ("Reports", f"{last.reports:,}", f"cycle {last.cycle}"),
        ("Exact ε per km", _level(last), f"promised at most {number(last.two_beta_per_km, 4)}"),
        ("Mutual information", f"{number(last.mutual_information_nats)} nats", "per report, at the estimate"),
        ("Distortion", format_length(last.distortion_m), "mean, true to reported cell"),
        ("Moved since the previous", "–" if moved is None else format_length(moved), "earth mover's distance"),
        ("Residual test", f"p = {number(last.residual.p_value, 2)}", "small: reports do not fit the channel"),
    ]
    return section("numbers", "Latest cycle", facts(items))


def _fakes(last: ClosedCycleView) -> str:
    items = [
        (f"{100 * float(share):g} % fake reports", format_length(moved), "the map would move by")
        for share, moved in last.influence.items()
    ]
    words = """<p class="soft">A browser cannot prove that a person uses it. This is how far the map would move (earth
mover's distance) if somebody sent fake reports at the worst single cell. It never changes what
honest reports reveal.</p>"""
    return section("fakes", "What fake reports could do", words + facts(items))


def _when(seconds: int | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else "–"


def _cycles(history: History) -> str:
    def rows() -> Iterator[list[str]]:
        for one in history:
            alarm = '<strong class="bad">alarm</strong>' if one.alarm.raised else "no"
            yield [
                str(one.cycle),
                _when(one.closed_at_s),
                f"{one.reports:,}",
                number(one.emd_to_previous_m, 4),
                _level(one),
                number(one.mutual_information_nats),
                number(one.distortion_m, 4),
                number(one.residual.p_value, 2),
                alarm,
            ]

    heads = ["Cycle", "Closed (UTC)", "Reports", "Moved, m", "ε per km", "Information, nats", "Distortion, m"]
    listed = table("Every closed cycle.", [*heads, "Residual p", "Alarm"], rows(), label="Cycles")
    line = sparkline([one.emd_to_previous_m for one in history], title="Movement of the map per cycle")
    return section("cycles", "Cycles", f'<div id="charts">{line}</div>{listed}')


def _exports(name: str) -> str:
    base = f"/api/v1/campaigns/{text(name)}/estimate"
    kinds = (("GeoJSON", ".geojson"), ("CSV", ".csv"), ("GeoParquet", ".parquet"), ("JSON", ".json"))
    links = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds)
    return section("exports", "Take it with you", f"<p>{links}</p>")
