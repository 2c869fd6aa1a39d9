"""The pages without a campaign: the list of them, the operator's screens, and what a link that leads nowhere shows."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.base.drawing.svg import escape as text
from sfumato.collect.service.models.replies import CampaignView
from sfumato.collect.service.pages.layout import has_entry, page, rehearsal_note, switch
from sfumato.collect.service.pages.svg_maps import Ground, under
from sfumato.collect.service.pages.words import Words, words

_COMMANDS = """<p>This server runs without its browser code (<code>make web</code> builds it). Everything
can be done in a terminal with the operator's token in <code>SFUMATO_OPERATOR_TOKEN</code>:</p>
<pre><code>sfumato campaign --help
sfumato collect plan --bounds SOUTH,WEST,NORTH,EAST --cell 500m --people 500
sfumato campaign create NAME --south .. --west .. --north .. --east ..</code></pre>"""


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
        f"{rehearsal_note(one, said)}"
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


def operate_page(ground: Ground | None = None, *, language: str = "en") -> str:
    """The frame of /operate, which holds nothing of any campaign: the bundle fills it after signing in.

    The map that areas are drawn on has the operator's own streets under it.
    """
    said, own = words(language), words(language, operate=True)
    title = text(own.say("operate"))
    waiting = f'<p class="status" role="status">{text(own.say("loading"))}</p>'
    body = f"""<div id="operate"{under(ground)}><h1>{title}</h1>{waiting if has_entry("operate") else _COMMANDS}
<noscript><p>{text(own.say("no_script"))}</p></noscript>
</div>"""
    script = "operate" if has_entry("operate") else None
    return page(own.say("operate"), body, links=switch("/operate", said), script=script, said=said)
