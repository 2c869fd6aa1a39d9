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

History = Sequence[ClosedCycleView]
_SHOWN_CELLS = 15


def dashboard_page(campaign: DashboardCampaignView, history: History, latest: EstimatedCycleView | None) -> str:
    """A campaign's dashboard from its closed cycles, oldest first, and the latest with its map."""
    name, grid = campaign.name, campaign.grid.to_grid()
    home = f"/campaigns/{text(name)}"
    links = f'<a href="{home}">Take part</a><a href="{home}/dashboard.json">JSON</a>'
    last = next((one for one in reversed(history) if not one.excluded), None)
    parts = [f"<h1>{text(campaign.title)}</h1>", _open_cycle(campaign), _alarm(last), _left_out(history)]
    parts.append(_map(grid, latest))
    if last is not None:
        parts += [_latest(last), _fakes(last), _cycles(history), _exports(name)]
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


def _left_out(history: History) -> str:
    """What the operator left out of the map, in words."""
    out = [one.cycle for one in history if one.excluded]
    if not out:
        return ""
    told = "Cycle {} is" if len(out) == 1 else "Cycles {} are"
    return (
        f'<p id="left-out" role="note">{told.format(listed(out))} left out of the map by the operator: the reports are '
        "kept and count no more.</p>"
    )


def listed(cycles: Sequence[int]) -> str:
    """2, 5 and 7."""
    words = [str(one) for one in cycles]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _alarm(last: ClosedCycleView | None) -> str:
    if last is None:
        return '<div id="alarm" role="status"></div>'
    alarm = last.alarm
    if alarm.raised:
        reasons = "".join(f"<li>{text(reason)}</li>" for reason in alarm.reasons)
        return f'<div id="alarm" class="alarm" role="alert"><strong>Poisoning alarm</strong><ul>{reasons}</ul></div>'
    return '<p id="alarm" role="status" class="calm">No alarm: the reports fit the published channel.</p>'


def _map(grid: Grid, last: EstimatedCycleView | None) -> str:
    if last is None:
        drawn = grid_map(grid, [0.0] * grid.cells, title="No estimate yet", about="No cycle has closed yet.")
        words = "<p>No cycle has closed yet: there is nothing to estimate from.</p>"
        return section("map-section", "The map", f'{words}<div class="map" id="map">{drawn}</div>')
    # The cycle's own map first; cycles closed before it was kept have the average only, and say so.
    own = last.this_cycle is not None and last.averaged_cycles > 1
    period = _own(last) if own else averaged(last)
    title = f"Where {last.target} are, {period}"
    about = "Estimated share per cell. The table below lists the same numbers."
    shown = last.this_cycle if own and last.this_cycle is not None else last.estimate
    low, high = ((), ()) if own else (last.low, last.high)
    drawn = grid_map(grid, shown, title=title, about=about, low=low, high=high)
    inside = f"""<div id="map-controls"></div><div class="map" id="map">{drawn}</div>
<p class="legend" id="legend"><span>0</span><span class="ramp" aria-hidden="true"></span>
<span>{percent(max(shown))} in one cell (square-root scale)</span>
<span>○ uncertain: interval wider than twice the estimate</span></p>
<div id="map-table">{_cells(grid, last)}</div>"""
    parts = section("map-section", title, inside)
    if own:
        name = f"Where {last.target} are, {averaged(last)}"
        average = grid_map(grid, last.estimate, title=name, about=about, low=last.low, high=last.high)
        words = "<p class='soft'>An average over time: what changed from cycle to cycle is not in it.</p>"
        parts += section("average-section", name, f'{words}<div class="map">{average}</div>')
    return parts


def _own(cycle: ClosedCycleView) -> str:
    """The cycle's own map; where classes were declared, that of the cycles like it."""
    alike = f" with the {cycle.class_cycles - 1} other {cycle.cycle_class} cycles" if cycle.class_cycles > 1 else ""
    return f"cycle {cycle.cycle}{alike}"


def averaged(cycle: ClosedCycleView) -> str:
    """The pooled map, called what it is: an average over cycles, where it is one."""
    if cycle.averaged_cycles <= 1:
        return f"cycle {cycle.cycle}"
    out, first, missing = set(cycle.excluded_cycles), cycle.cycle, cycle.averaged_cycles - 1
    while missing and first > 1:
        first -= 1
        missing -= first not in out
    between = sorted(one for one in out if first < one < cycle.cycle)
    without = f" without {listed(between)}" if between else ""
    return f"average of cycles {first} to {cycle.cycle}{without}"


def _cells(grid: Grid, cycle: EstimatedCycleView) -> str:
    own = cycle.estimate if cycle.this_cycle is None else cycle.this_cycle
    order = np.argsort(-np.asarray(own), kind="stable")[:_SHOWN_CELLS].tolist()
    lat, lon = grid.centres_deg()
    # Above 2,500 cells there is a map without intervals.
    level = "No" if cycle.interval_level is None else f"{100 * cycle.interval_level:.0f} %"

    def rows() -> Iterator[list[str]]:
        for cell in order:
            row, column = divmod(cell, grid.columns)
            interval = f"{percent(cycle.low[cell])} – {percent(cycle.high[cell])}"
            where = f"{lat[cell]:.4f}, {lon[cell]:.4f}"
            this = "–" if cycle.this_cycle is None else percent(cycle.this_cycle[cell])
            yield [f"{cell} (row {row}, column {column})", where, this, percent(cycle.estimate[cell]), interval]

    caption = f"The map as a table: the {len(order)} largest of {grid.cells} cells (all of them in the CSV below)."
    heads = ["Cell", "Centre", "This cycle", averaged(cycle).capitalize(), f"{level} interval of the average"]
    return table(caption, heads, rows(), label="The map as a table")


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
                "<strong>left out</strong>" if one.excluded else "yes",
            ]

    heads = ["Cycle", "Closed (UTC)", "Reports", "Moved, m", "ε per km", "Information, nats", "Distortion, m"]
    listed = table("Every closed cycle.", [*heads, "Residual p", "Alarm", "In the map"], rows(), label="Cycles")
    line = sparkline([one.emd_to_previous_m for one in history], title="Movement of the map per cycle")
    return section("cycles", "Cycles", f'<div id="charts">{line}</div>{listed}')


def _exports(name: str) -> str:
    base = f"/api/v1/campaigns/{text(name)}/estimate"
    kinds = (("GeoJSON", ".geojson"), ("CSV", ".csv"), ("GeoParquet", ".parquet"), ("JSON", ".json"))
    links = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds)
    return section("exports", "Take it with you", f"<p>{links}</p>")
