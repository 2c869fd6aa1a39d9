"""The participant's page: what will be sent, drawn before it is sent, and what it reveals.

With the bundle, the report is drawn in the browser by ``clients/js``; without it the page takes no place at all and
says how to take part with the Python client. Either way the page's own requests are the same for everybody.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.client.device import DEFAULT_CAP_PER_KM
from sfumato.client.reveals import Reveals, reveals
from sfumato.grid import Grid
from sfumato.service.models.kept import PublishedChannel
from sfumato.service.models.shown import CampaignView
from sfumato.service.pages.layout import facts, has_bundle, number, page, section, text
from sfumato.service.pages.maps import grid_map
from sfumato.units import format_length

_LARGEST_REVEALED = 2_500

NOT_HIDDEN = (
    "That you took part, and roughly when: the operator sees that a ticket was asked for and a report arrived.",
    "Tickets and reports share no identifier and travel apart with a random delay, but an operator who records "
    "network addresses or timing can try to link them: tickets are not blind signatures.",
    "The operator serves this page's code. What it promises against a hostile operator holds only for a client that "
    "you installed from elsewhere (<code>pip install sfumato</code>, or <code>clients/js</code>).",
    "Your browser's own location provider may learn nearby Wi-Fi networks when it finds your place.",
    "Your budget on this page is kept in this browser, for this site; the installed client keeps one for all servers.",
    "The guarantee is between cells: two points on either side of a border differ by the factor of adjacent cells.",
    "Reports about the same place add up. Your device refuses when the total passes your own cap.",
    "Published maps can be compared from cycle to cycle; what that adds about you is within the same bound.",
)


_STATES = {
    "running": "",
    "paused": "This campaign is paused. A report that you have drawn is kept on your device: send the same one later.",
    "ended": "This campaign has ended and takes no more reports. Its maps stay on the dashboard.",
    "archived": "This campaign has ended and is archived. Its maps stay on the dashboard.",
}


def _about(campaign: CampaignView) -> str:
    """The operator's own words, and what its state means for whoever comes."""
    parts = [f'<p id="about">{text(campaign.description)}</p>' if campaign.description else ""]
    parts.append(f'<p id="contact">Questions: {text(campaign.contact)}</p>' if campaign.contact else "")
    said = _STATES[campaign.state]
    parts.append(f'<p id="state" role="status"><strong>{said}</strong></p>' if said else "")
    return "".join(parts)


def participant_page(campaign: CampaignView, payload: str | None) -> str:
    """A campaign's page; ``payload`` is the open cycle's published text, None while a cycle is being closed."""
    name, grid, cycle = campaign.name, campaign.grid.to_grid(), campaign.cycle
    told = None if payload is None else _told(payload)
    home = f"/campaigns/{text(name)}"
    towards = "The shade shows where this cycle's reports are drawn towards. " if payload is not None else ""
    area = f"""<p class="soft">{grid.rows} × {grid.columns} cells of {text(format_length(grid.cell_height))} ×
{text(format_length(grid.cell_width))}. {towards}A place outside belongs to the nearest cell.</p>
<div class="map" id="area">{_area_map(grid, payload)}</div><p class="legend" id="area-legend"></p>"""
    check = f"""<p>Cycle {cycle.number}{_due(campaign)}. One channel version per cycle, the same for everybody,
listed in the <a href="/api/v1{home}/log">public log</a>:</p><p><code>{text(cycle.version)}</code></p>"""
    body = f"""
<h1>{text(campaign.title)}</h1>
<p class="lead">Help draw a map of where people are, without telling anyone where you are. Your device moves your place
by chance before anything is sent, shows you the result, and sends only that.</p>
{_about(campaign)}
{_take_part(name, has_bundle()) if campaign.state == "running" else ""}
{section("area-section", "The area", area)}
{section("reveals", "What one report reveals", _numbers(campaign, told) + _in_words(told, campaign))}
{section("hidden", "What is not hidden", f"<ul>{''.join(f'<li>{one}</li>' for one in NOT_HIDDEN)}</ul>")}
{section("check", "For those who check", check)}
"""
    links = f'<a href="{home}/dashboard">Dashboard</a><a href="{home}.json">JSON</a>'
    return page(campaign.title, body, links=links, script="participant")


def _take_part(name: str, bundle: bool) -> str:
    if bundle:
        inside = """<noscript><p>Drawing a report happens on your device and needs JavaScript, or the Python client:
<code>python -m sfumato.client</code>.</p></noscript><p class="status" role="status">Loading…</p>"""
    else:
        inside = f"""<p>This server runs without its browser code, so this page takes no place and sends nothing.
Take part from a terminal; the place is typed there, stays there, and you see the report before it is sent:</p>
<pre><code>pip install 'sfumato[service]'
python -m sfumato.client THIS-ADDRESS {text(name)}</code></pre>"""
    return (
        f'<section class="card" id="take-part" data-campaign="{text(name)}" aria-labelledby="take-part-title">'
        f'<h2 id="take-part-title">Take part</h2><div id="participant">{inside}</div></section>'
    )


def _area_map(grid: Grid, payload: str | None) -> str:
    published = None if payload is None else PublishedChannel.model_validate_json(payload)
    weights = (1 / grid.cells,) * grid.cells if published is None else published.output_weights
    about = f"A grid of {grid.rows} by {grid.columns} cells; darker cells are reported more often."
    return grid_map(grid, weights, title="The campaign's area", about=about)


@lru_cache(maxsize=64)
def _told(payload: str) -> Reveals | None:
    published = PublishedChannel.model_validate_json(payload)
    grid = published.grid.to_grid()
    if grid.cells > _LARGEST_REVEALED:
        return None
    return reveals(grid, np.asarray(published.output_weights), beta_per_m=published.beta_per_m)


def _numbers(campaign: CampaignView, told: Reveals | None) -> str:
    level = campaign.cycle.epsilon_per_km
    exact = told.epsilon_per_km if told else level.upper
    kind = "exact, for this cycle's channel" if (told and told.exact) or level.exact else "upper bound"
    moved = format_length(campaign.cycle.distortion_m)
    items = [
        ("ε per km", number(exact, 4), kind),
        ("Promised", number(campaign.two_beta_per_km, 4), "per km at most; your device computes ε and refuses more"),
        ("Typical displacement", moved, "mean, true cell to reported cell"),
    ]
    if told:
        within = f"right guesses between two cells up to {format_length(told.two_cell_within_m)} apart; 50 is a coin"
        items.insert(2, ("Worst two-cell success", f"{100 * told.two_cell_success:.0f} of 100", within))
    return facts(items)


def _in_words(told: Reveals | None, campaign: CampaignView) -> str:
    level = told.epsilon_per_km if told else campaign.two_beta_per_km
    return (
        f"<p>Whoever sees your report can at most multiply the odds between two places 500 m apart by "
        f"{_factor(level / 2)}, and between two places 2 km apart by {_factor(2 * level)}.</p>"
        f"<p>{_how_often(level, campaign)}</p>"
    )


def _how_often(level_per_km: float, campaign: CampaignView) -> str:
    """How many reports a device's budget allows: a device stops for good, and people should know before."""
    if campaign.reporting == "once":
        return "Your device sends one report in this campaign's whole life, wherever you are."
    reports = math.floor(DEFAULT_CAP_PER_KM / level_per_km + 1e-9)
    if campaign.epoch_cycles is not None:
        return (
            f"Your device sends one report per epoch of {campaign.epoch_cycles} cycles, wherever you are: at most "
            f"{number(level_per_km, 4)} per km in each, {number(reports * level_per_km, 4)} for ever. It stops for "
            f"good after {reports} epochs: its budget of {DEFAULT_CAP_PER_KM:g} per km, for all campaigns together, is "
            "then spent."
        )
    return (
        f"Your device sends one report per cycle and stops for good after {reports}: its budget of "
        f"{DEFAULT_CAP_PER_KM:g} per km, for all campaigns together, is then spent."
    )


def _factor(exponent: float) -> str:
    """exp(exponent) in words that stay finite: a campaign may ask for a level at which nothing is hidden."""
    if exponent < 23:
        return f"{math.exp(exponent):,.{2 if exponent < 4 else 0}f}"
    return f"more than 10<sup>{math.floor(exponent / math.log(10))}</sup>"


def _due(campaign: CampaignView) -> str:
    parts = []
    if campaign.cycle_duration_s is not None:
        parts.append(f"after {_duration(campaign.cycle_duration_s)}")
    if campaign.cycle_reports is not None:
        parts.append(f"at {campaign.cycle_reports:,} reports")
    least = campaign.minimum_tickets
    people = "1 person" if least == 1 else f"{least:,} people"
    return f", which closes {' or '.join(parts)}, never with fewer than {people}" if parts else ""


def _duration(seconds: float) -> str:
    for name, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}{'' if seconds == size else 's'}"
    return f"{seconds:.3g} seconds"
