"""The pages people see, drawn by the server and complete without JavaScript; the bundle makes them livelier."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.collect.service.models.shown import CampaignView
from sfumato.collect.service.pages.dashboard import dashboard_page
from sfumato.collect.service.pages.layout import page, switch, text
from sfumato.collect.service.pages.operate import operate_page
from sfumato.collect.service.pages.participant import participant_page
from sfumato.collect.service.pages.privacy import privacy_notice
from sfumato.collect.service.pages.words import Words, words

__all__ = ["dashboard_page", "home_page", "missing_page", "operate_page", "participant_page", "privacy_notice"]


def home_page(campaigns: Sequence[CampaignView], *, language: str = "en", kept: str = "") -> str:
    """The list of campaigns, or a word to the operator when there is none."""
    said = words(language)
    links = switch("/", said)
    if not campaigns:
        body = (
            f"<h1>{text(said.say('home_none'))}</h1><p>{text(said.say('home_none_about'))} "
            f'<a href="/operate">{text(said.say("home_screens"))}</a> · <code>sfumato campaign create</code></p>'
        )
        return page(said.say("home_none"), body, links=links, said=said)
    items = "".join(
        f'<li class="card"><h2><a href="/campaigns/{text(one.name)}{kept}">{text(one.title)}</a></h2>'
        f"<p>{text(_about(one, said))} "
        f'<a href="/campaigns/{text(one.name)}/dashboard{kept}">{text(said.say("nav_map"))}</a></p></li>'
        for one in campaigns
    )
    title = said.say("home_title")
    return page(title, f'<h1>{text(title)}</h1><ul class="plain">{items}</ul>', links=links, said=said)


def missing_page(language: str) -> str:
    """What somebody reads who follows a link that leads nowhere."""
    said = words(language)
    body = (
        f"<h1>{text(said.say('missing'))}</h1><p>{text(said.say('missing_about'))}</p>"
        f'<p><a href="/">{text(said.say("missing_home"))}</a></p>'
    )
    return page(said.say("missing"), body, said=said)


def _about(one: CampaignView, said: Words) -> str:
    level = said.number(one.two_beta_per_km)
    return said.say("home_about", cells=said.count(one.cells), level=level, round=one.cycle.number)
