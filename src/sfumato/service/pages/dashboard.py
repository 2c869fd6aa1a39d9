"""The operator's dashboard: the map with its uncertainty, the cycles and their numbers, the alarm, fakes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.grid import Grid
from sfumato.service.pages.layout import facts, number, page, percent, section, table, text
from sfumato.service.pages.maps import grid_map, sparkline
from sfumato.units import format_length

Cycle = Mapping[str, Any]
_SHOWN_CELLS = 15


def dashboard_page(campaign: Mapping[str, Any], history: Sequence[Cycle]) -> str:
    """A campaign's dashboard from its closed cycles, oldest first."""
    name, grid = str(campaign["name"]), Grid.from_dict(campaign["grid"])
    home = f"/campaigns/{text(name)}"
    links = f'<a href="{home}">Take part</a><a href="{home}/dashboard.json">JSON</a>'
    parts = [f"<h1>{text(campaign['title'])}</h1>", _open_cycle(campaign), _alarm(history), _map(grid, history)]
    if history:
        parts += [_latest(history[-1]), _fakes(history[-1]), _cycles(history), _exports(name)]
    tiles = text(campaign.get("tile_url") or "")
    body = f'<div id="dashboard" data-campaign="{text(name)}" data-tiles="{tiles}">{"".join(parts)}</div>'
    return page(f"Dashboard: {campaign['title']}", body, links=links, script="dashboard")


def _open_cycle(campaign: Mapping[str, Any]) -> str:
    cycle = campaign["cycle"]
    return (
        f'<p class="lead" id="open-cycle">Cycle {text(cycle["number"])} is {text(cycle["state"])}: about '
        f"{int(cycle['reports']):,} reports so far (rounded down to tens). "
        f"Version <code>{text(cycle['version'][:12])}…</code></p>"
    )


def _alarm(history: Sequence[Cycle]) -> str:
    if not history:
        return '<div id="alarm" role="status"></div>'
    alarm = history[-1]["alarm"]
    if alarm["raised"]:
        reasons = "".join(f"<li>{text(reason)}</li>" for reason in alarm["reasons"])
        return f'<div id="alarm" class="alarm" role="alert"><strong>Poisoning alarm</strong><ul>{reasons}</ul></div>'
    return '<p id="alarm" role="status" class="calm">No alarm: the reports fit the published channel.</p>'


def _map(grid: Grid, history: Sequence[Cycle]) -> str:
    if not history:
        drawn = grid_map(grid, [0.0] * grid.cells, title="No estimate yet", about="No cycle has closed yet.")
        words = "<p>No cycle has closed yet: there is nothing to estimate from.</p>"
        return section("map-section", "The map", f'{words}<div class="map" id="map">{drawn}</div>')
    last = history[-1]
    title = f"Where {last.get('target', 'reporters')} are, cycle {last['cycle']}"
    about = "Estimated share per cell. The table below lists the same numbers."
    drawn = grid_map(grid, last["estimate"], title=title, about=about, low=last["low"], high=last["high"])
    top = percent(float(np.max(last["estimate"])))
    inside = f"""<div id="map-controls"></div><div class="map" id="map">{drawn}</div>
<p class="legend" id="legend"><span>0</span><span class="ramp" aria-hidden="true"></span>
<span>{top} in one cell (square-root scale)</span><span>○ uncertain: interval wider than twice the estimate</span></p>
<div id="map-table">{_cells(grid, last)}</div>"""
    return section("map-section", title, inside)


def _cells(grid: Grid, cycle: Cycle) -> str:
    order = np.argsort(-np.asarray(cycle["estimate"]), kind="stable")[:_SHOWN_CELLS].tolist()
    lat, lon = grid.centres_deg()
    level = f"{100 * float(cycle.get('interval_level', 0.95)):.0f} %"

    def rows() -> Iterator[list[str]]:
        for cell in order:
            row, column = divmod(cell, grid.columns)
            interval = f"{percent(cycle['low'][cell])} – {percent(cycle['high'][cell])}"
            where = f"{lat[cell]:.4f}, {lon[cell]:.4f}"
            yield [f"{cell} (row {row}, column {column})", where, percent(cycle["estimate"][cell]), interval]

    caption = f"The map as a table: the {len(order)} largest of {grid.cells} cells (all of them in the CSV below)."
    return table(caption, ["Cell", "Centre", "Estimate", f"{level} interval"], rows(), label="The map as a table")


def _level(cycle: Cycle) -> str:
    level = cycle.get("epsilon_per_km") or {}
    if level.get("exact"):
        return number(level.get("upper"), 4)
    return f"{number(level.get('lower'), 4)} – {number(level.get('upper'), 4)}"


def _latest(last: Cycle) -> str:
    moved = last.get("emd_to_previous_m")
    items = [
        ("Reports", f"{int(last['reports']):,}", f"cycle {last['cycle']}"),
        ("Exact ε per km", _level(last), f"never above 2β = {number(last['two_beta_per_km'], 4)}"),
        ("Mutual information", f"{number(last.get('mutual_information_nats'))} nats", "per report, at the estimate"),
        ("Distortion", format_length(float(last.get("distortion_m") or 0)), "mean, true to reported cell"),
        ("Moved since the previous", "–" if moved is None else format_length(float(moved)), "earth mover's distance"),
        ("Residual test", f"p = {number(last['residual'].get('p_value'), 2)}", "small: reports do not fit the channel"),
    ]
    return section("numbers", "Latest cycle", facts(items))


def _fakes(last: Cycle) -> str:
    influence = last.get("influence") or {}
    items = [
        (f"{100 * float(share):g} % fake reports", format_length(float(moved)), "the map would move by")
        for share, moved in influence.items()
    ]
    words = """<p class="soft">A browser cannot prove that a person uses it. This is how far the map would move (earth
mover's distance) if somebody sent fake reports at the worst single cell. It never changes what
honest reports reveal.</p>"""
    return section("fakes", "What fake reports could do", words + facts(items))


def _when(seconds: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(float(seconds))) if seconds else "–"


def _cycles(history: Sequence[Cycle]) -> str:
    def rows() -> Iterator[list[str]]:
        for one in history:
            alarm = '<strong class="bad">alarm</strong>' if one["alarm"]["raised"] else "no"
            numbers = [
                number(one.get("emd_to_previous_m"), 4), _level(one), number(one.get("mutual_information_nats")),
                number(one.get("distortion_m"), 4), number(one["residual"].get("p_value"), 2),
            ]  # fmt: skip
            yield [text(one["cycle"]), _when(one.get("closed_at_s")), f"{int(one['reports']):,}", *numbers, alarm]

    heads = ["Cycle", "Closed (UTC)", "Reports", "Moved, m", "ε per km", "Information, nats", "Distortion, m"]
    listed = table("Every closed cycle.", [*heads, "Residual p", "Alarm"], rows(), label="Cycles")
    line = sparkline([one.get("emd_to_previous_m") for one in history], title="Movement of the map per cycle")
    return section("cycles", "Cycles", f'<div id="charts">{line}</div>{listed}')


def _exports(name: str) -> str:
    base = f"/api/v1/campaigns/{text(name)}/estimate"
    kinds = (("GeoJSON", ".geojson"), ("CSV", ".csv"), ("GeoParquet", ".parquet"), ("JSON", ".json"))
    links = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds)
    return section("exports", "Take it with you", f"<p>{links}</p>")
