"""The participant's page in one glance: a question, one button, a map, one sentence; everything else is folded.

With the bundle, the report is drawn in the browser by ``clients/js``; without it the page takes no place at all and
says how to take part with the Python client. Either way the page's own requests are the same for everybody.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.accountant.device import DEFAULT_CAP_PER_KM
from sfumato.base.drawing.svg import element
from sfumato.base.drawing.svg import escape as text
from sfumato.base.things.grid import Grid
from sfumato.collect.client.reveals import Reveals, reveals
from sfumato.collect.service.models.kept import PublishedChannel
from sfumato.collect.service.models.replies import CampaignView
from sfumato.collect.service.pages.layout import facts, fold, has_bundle, page, rehearsal_note, shift, switch
from sfumato.collect.service.pages.svg_maps import Ground, in_frame, under
from sfumato.collect.service.pages.words import Words, together_in_words, words

_LARGEST_REVEALED = 2_500
_LINES = 120  # of squares, at most, beside one another
_HIDDEN = 8
_STATES = {"paused": "paused", "ended": "ended", "archived": "ended"}


def participant_page(
    campaign: CampaignView,
    payload: str | None,
    *,
    language: str = "en",
    kept: str = "",
    ground: Ground | None = None,
    head: str = "",
) -> str:
    """A campaign's page; ``payload`` is the open cycle's published text, None while a cycle is being closed.

    ``head``: the words of the public log's last entry.

    ``kept`` is what links carry on when the reader chose the language by the switch: there are no cookies.
    """
    said = words(language)
    grid = campaign.grid.to_grid()
    told = None if payload is None else _told(payload)
    home = f"/campaigns/{text(campaign.name)}"
    keys = [f"hidden_{index}" for index in range(1, _HIDDEN + 1)]
    if campaign.tickets == "blind":
        keys[1] = "hidden_2_blind"
    hidden = "".join(f"<li>{text(said.say(key))}</li>" for key in keys)
    body = f"""{rehearsal_note(campaign, said)}
{_asked(campaign, said)}
{_take_part(campaign, said, waiting=payload is None)}
<div class="map" id="area"{under(ground)}>{_area_map(grid, said)}</div>
<p class="legend" id="area-legend"></p>
<div id="folds"></div>
{fold("reveals", said.say("details_reveals"), _numbers(campaign, told, said) + _in_words(told, campaign, said))}
{fold("hidden", said.say("details_hidden"), f"<ul>{hidden}</ul>")}
{fold("check", said.say("details_check"), _check(campaign, grid, said, head))}
"""
    notice = f'<a href="{home}/privacy-notice?language={said.language}">{text(said.say("nav_notice"))}</a>'
    links = f'<a href="{home}/dashboard{kept}">{text(said.say("nav_map"))}</a>{notice}{switch(home, said)}'
    return page(campaign.title, body, links=links, script="participant", said=said)


def _asked(campaign: CampaignView, said: Words) -> str:
    """The question and the one sentence, in the organiser's words where there are some."""
    question = campaign.question or said.say("question")
    parts = [f'<p class="over">{text(campaign.title)}</p>', f"<h1>{text(question)}</h1>"]
    if campaign.description:
        parts.append(f'<p id="about">{text(campaign.description)}</p>')
    parts.append(f'<p class="lead">{text(said.say("sentence"))}</p>')
    together = together_in_words(campaign, said)
    if together:
        parts.append(f'<p class="soft" id="together">{text(together)}</p>')
    by = [said.say("asked_by", organiser=campaign.organiser)] if campaign.organiser else []
    by += [said.say("contact", contact=campaign.contact)] if campaign.contact else []
    return "".join(parts) + (f'<p class="soft" id="contact">{text(" ".join(by))}</p>' if by else "")


def _take_part(campaign: CampaignView, said: Words, *, waiting: bool) -> str:
    if campaign.state in _STATES:
        return f'<p id="state" role="status"><strong>{text(said.say(_STATES[campaign.state]))}</strong></p>'
    if has_bundle():
        inside = f"""<noscript><p>{text(said.say("no_script"))} <code>python -m sfumato.client</code></p></noscript>
<p class="status" role="status">{text(said.say("closing" if waiting else "checking"))}</p>"""
    else:
        inside = f"""<p>{text(said.say("no_bundle"))}</p>
<pre><code>pip install 'sfumato[service]'
python -m sfumato.client THIS-ADDRESS {text(campaign.name)}</code></pre>"""
    asked = "" if campaign.offers_position else " data-tap-only"
    return (
        f'<div id="take-part" data-campaign="{text(campaign.name)}"{asked}><div id="participant">{inside}</div></div>'
    )


def _area_map(grid: Grid, said: Words) -> str:
    """The area and its squares' lines: what is light to send, whatever their number."""
    about = said.say("map_about", rows=grid.rows, columns=grid.columns)
    tall = 100.0 * grid.rows * grid.cell_height / (grid.columns * grid.cell_width)
    across, along = (range(0, lines + 1, -(-lines // _LINES)) for lines in (grid.columns, grid.rows))
    lines = [f"M{100 * one / grid.columns:.5g} 0v{tall:.5g}" for one in across]
    lines += [f"M0 {tall * one / grid.rows:.5g}h100" for one in along]
    area = element("rect", class_="q1", width=100, height=tall)
    drawn = [area, element("path", d="".join(lines), class_="doubt", stroke_width=0.15)]
    return in_frame(grid, drawn, tall, said.say("map_title"), about)


@lru_cache(maxsize=64)
def _told(payload: str) -> Reveals | None:
    published = PublishedChannel.model_validate_json(payload)
    grid = published.grid.to_grid()
    if grid.cells > _LARGEST_REVEALED:
        return None
    return reveals(grid, np.asarray(published.output_weights), beta_per_m=published.beta_per_m)


def _numbers(campaign: CampaignView, told: Reveals | None, said: Words) -> str:
    level = campaign.cycle.epsilon_per_km
    exact = told.epsilon_per_km if told else level.upper
    kind = said.say("level_exact" if (told and told.exact) or level.exact else "level_bound")
    items = [
        (said.say("level"), said.number(exact, 4), kind),
        (said.say("promised"), said.number(campaign.two_beta_per_km, 4), said.say("promised_about")),
        (said.say("displacement"), shift(campaign.cycle.distortion_m, campaign, said), said.say("displacement_about")),
    ]
    if told:
        about = said.say("guess_about", distance=said.length(told.two_cell_within_m))
        items.insert(2, (said.say("guess"), said.say("guess_value", count=f"{100 * told.two_cell_success:.0f}"), about))
    return facts(items)


def _in_words(told: Reveals | None, campaign: CampaignView, said: Words) -> str:
    level = told.epsilon_per_km if told else campaign.two_beta_per_km
    odds = said.say("odds", near=said.factor(level / 2), far=said.factor(2 * level))
    return f"<p>{text(odds)}</p><p>{text(_how_often(campaign.two_beta_per_km, campaign, said))}</p>"


def _how_often(level_per_km: float, campaign: CampaignView, said: Words) -> str:
    """How many reports a device's budget allows: a device stops for good, and people should know before."""
    if campaign.reporting == "once":
        return said.say("once")
    reports, cap = math.floor(DEFAULT_CAP_PER_KM / level_per_km + 1e-9), said.number(DEFAULT_CAP_PER_KM)
    if campaign.epoch_cycles is not None:
        level = said.number(level_per_km, 4)
        return said.say("per_epoch", cycles=campaign.epoch_cycles, level=level, reports=reports, cap=cap)
    return said.say("per_cycle", reports=reports, cap=cap)


def _check(campaign: CampaignView, grid: Grid, said: Words, head: str) -> str:
    cycle, people = campaign.cycle, said.count(campaign.minimum_tickets)
    due = []
    if campaign.cycle_duration_s is not None:
        due.append(said.say("check_due_time", duration=said.duration(campaign.cycle_duration_s), people=people))
    if campaign.cycle_reports is not None:
        due.append(said.say("check_due_reports", reports=said.count(campaign.cycle_reports), people=people))
    size = (said.length(grid.cell_height), said.length(grid.cell_width))
    shape = said.say("check_grid", rows=grid.rows, columns=grid.columns, height=size[0], width=size[1])
    log = f"/api/v1/campaigns/{text(campaign.name)}/log"
    return (
        f"<p>{text(said.say('check', cycle=cycle.number))}</p><p><code>{text(cycle.version)}</code></p>"
        f"<p>{text(said.say('check_head'))} <code id='log-head'>{text(head)}</code></p>"
        f'<p><a href="{log}">{text(said.say("check_log"))}</a>. {text(" ".join(due))}</p><p>{text(shape)}</p>'
    )
