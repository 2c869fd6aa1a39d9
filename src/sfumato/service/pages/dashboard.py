"""The operator's dashboard: the map with its uncertainty, the cycles and their numbers, the alarm, fakes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.grid import Grid
from sfumato.service.ground import Ground
from sfumato.service.models.shown import ClosedCycleView, DashboardCampaignView, EstimatedCycleView
from sfumato.service.pages.layout import facts, fold, number, page, percent, table, text
from sfumato.service.pages.maps import area_map, grid_map, line_chart, under
from sfumato.units import format_length

History = Sequence[ClosedCycleView]
_SHOWN_CELLS = 15


def dashboard_page(
    campaign: DashboardCampaignView,
    history: History,
    latest: EstimatedCycleView | None,
    *,
    ground: Ground | None = None,
) -> str:
    """A campaign's dashboard from its closed cycles, oldest first, and the latest with its map."""
    name, grid = campaign.name, campaign.grid.to_grid()
    home = f"/campaigns/{text(name)}"
    links = f'<a href="{home}">Take part</a><a href="{home}/dashboard.json">JSON</a>'
    last = next((one for one in reversed(history) if not one.excluded), None)
    asked = f'<p class="over">{text(campaign.title)}</p>' if campaign.question else ""
    parts = [asked, f"<h1>{text(campaign.question or campaign.title)}</h1>"]
    parts += [_headline(latest), _alarm(last), _left_out(history), _map(grid, latest, ground), _open_cycle(campaign)]
    if latest is not None and last is not None:
        parts.append(_exports(name))
        parts.append(fold("map-fold", "The map as a table", f'<div id="map-table">{_table(grid, latest)}</div>'))
        parts.append(fold("numbers", "The latest cycle in numbers", _latest(last)))
        parts.append(fold("fakes", "What fake reports could do", _fakes(last)))
        parts.append(fold("cycles", "Every cycle", _cycles(history)))
    body = f'<div id="dashboard" data-campaign="{text(name)}">{"".join(parts)}</div>'
    return page(f"Map: {campaign.title}", body, links=links, script="dashboard")


def _headline(latest: EstimatedCycleView | None) -> str:
    said = "No cycle has closed yet: there is no map to show." if latest is None else latest.headline
    return f'<p class="headline" id="headline">{text(said)}</p>'


def _open_cycle(campaign: DashboardCampaignView) -> str:
    cycle = campaign.cycle
    return (
        f'<p class="soft" id="open-cycle">Cycle {cycle.number} is {text(cycle.state)}: about '
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


def _map(grid: Grid, last: EstimatedCycleView | None, ground: Ground | None) -> str:
    if last is None:
        drawn = grid_map(grid, [0.0] * grid.cells, title="No estimate yet", about="No cycle has closed yet.")
        return f'<div class="map" id="map"{under(ground)}>{drawn}</div>'
    title = f"Where {last.target} are, {averaged(last)}"
    if last.areas is None:
        about = "Estimated share per square. The table below lists the same numbers."
        drawn = grid_map(grid, last.estimate, title=title, about=about, low=last.low, high=last.high)
        most = f"{percent(max(last.estimate))} in one square"
    else:
        about = (
            "Areas that can be told apart, with the share of people in each. The table below lists the same numbers."
        )
        drawn = area_map(grid, last.areas, title=title, about=about)
        most = "most people to the km²"
    return f"""<section id="map-section" aria-labelledby="map-section-title">
<h2 id="map-section-title">{text(title)}</h2>
<div class="map" id="map"{under(ground)}>{drawn}</div>
<p class="legend" id="legend"><span>fewest</span><span class="ramp" aria-hidden="true"></span><span>{text(most)}</span>
<span class="fade" aria-hidden="true"></span><span>paler: less certain</span></p>
<div id="map-controls"></div></section>"""


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


def _table(grid: Grid, last: EstimatedCycleView) -> str:
    """The map's twin: areas from the fullest on, or the largest cells where there are no areas."""
    if last.areas is None:
        return _cells(grid, last)
    level = f"{100 * (last.interval_level or 0):.0f} %"
    lat, lon = grid.north_deg or 0.0, grid.west_deg or 0.0
    tall, wide = grid.cell_height_deg or 0.0, grid.cell_width_deg or 0.0

    def rows() -> Iterator[list[str]]:
        for one in sorted(last.areas or (), key=lambda area: -area.share / (area.rows * area.columns)):
            middle = lat - (one.row + one.rows / 2) * tall, lon + (one.column + one.columns / 2) * wide
            size = f"{format_length(one.columns * grid.cell_width)} × {format_length(one.rows * grid.cell_height)}"
            where = f"{middle[0]:.4f}, {(middle[1] + 540) % 360 - 180:.4f}"
            yield [where, size, percent(one.share), f"{percent(one.low)} – {percent(one.high)}"]

    caption = f"{len(last.areas)} areas, densest first ({averaged(last)})."
    return table(caption, ["Centre", "Size", "Share", f"{level} interval"], rows(), label="The map as a table")


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
    return facts(items)


def _fakes(last: ClosedCycleView) -> str:
    items = [
        (f"{100 * float(share):g} % fake reports", format_length(moved), "the map would move by")
        for share, moved in last.influence.items()
    ]
    words = """<p class="soft">A browser cannot prove that a person uses it. This is how far the map would move (earth
mover's distance) if somebody sent fake reports at the worst single cell. It never changes what
honest reports reveal.</p>"""
    return words + facts(items)


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
    width = [(one.cycle, None if one.sharpness is None else one.sharpness.width_m) for one in history]
    charts = line_chart(width, title="How wide areas must be to be told apart", unit="m")
    charts += line_chart([(one.cycle, float(one.reports)) for one in history], title="Reports per cycle", unit="")
    return f'<div id="charts" class="charts">{charts}</div>{listed}'


def _exports(name: str) -> str:
    base = f"/api/v1/campaigns/{text(name)}/estimate"
    kinds = (("GeoJSON", ".geojson"), ("CSV", ".csv"), ("GeoParquet", ".parquet"), ("JSON", ".json"))
    links = " · ".join(f'<a href="{base}{ending}" download>{kind}</a>' for kind, ending in kinds)
    return f'<p id="exports">Take the map with you: {links}</p>'
