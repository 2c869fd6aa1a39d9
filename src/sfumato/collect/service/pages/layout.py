"""The frame of every page: no cookie, no inline script, nothing from another host; usable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

from sfumato.base.drawing.svg import escape as text
from sfumato.collect.service.models.replies import CampaignView
from sfumato.collect.service.pages.words import Words, words
from sfumato.collect.service.sentences import LANGUAGES

_BUNDLE = Path(str(files("sfumato.collect.service") / "static" / "bundle"))
_MELTING = (25, 50, 20, 55, 100, 50, 15, 45, 25)
MARK = (
    '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><g fill="currentColor">'
    + "".join(
        f'<rect x="{2 + 10 * (at % 3)}" y="{2 + 10 * (at // 3)}" width="8" height="8" rx="2" opacity="{one / 100:g}"/>'
        for at, one in enumerate(_MELTING)
    )
    + "</g></svg>"
)
"""Our own sign: a square that melts into its neighbours."""


def has_bundle() -> bool:
    """Whether the pages' JavaScript was built (``make web``) or came with the wheel."""
    return (_BUNDLE / "participant.js").is_file() and (_BUNDLE / "dashboard.js").is_file()


def has_entry(name: str) -> bool:
    """Whether the bundle has this page's script."""
    return has_bundle() and (_BUNDLE / f"{name}.js").is_file()


@lru_cache(maxsize=1)
def _style() -> str:
    return (files("sfumato.collect.service.pages") / "style.css").read_text(encoding="utf-8")


def facts(items: Iterable[tuple[str, str, str]]) -> str:
    """Names, numbers and what they mean, as a definition list."""
    listed = "".join(f"<div><dt>{text(a)}</dt><dd>{text(b)}<small>{text(c)}</small></dd></div>" for a, b, c in items)
    return f'<dl class="numbers">{listed}</dl>'


def section(name: str, title: str, inside: str) -> str:
    """A card with its heading."""
    return (
        f'<section class="card" id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{text(title)}</h2>'
        f"{inside}</section>"
    )


def fold(name: str, title: str, inside: str) -> str:
    """Details that are there for whoever opens them."""
    return f'<details class="card" id="{name}"><summary>{text(title)}</summary>{inside}</details>'


def switch(address: str, said: Words) -> str:
    """The same page in the other languages; the name of each is written in itself."""
    items = "".join(
        f'<a href="{address}?language={one}" hreflang="{one}" lang="{one}"'
        f"{' aria-current=' + chr(34) + 'true' + chr(34) if one == said.language else ''}"
        f' title="{text(words(one).say("language"))}">{one}</a>'
        for one in LANGUAGES
    )
    return f'<span class="languages" role="group" aria-label="{text(said.say("nav_languages"))}">{items}</span>'


def shift(moved_m: float, campaign: CampaignView, said: Words) -> str:
    """How far reports are moved; whoever moves, moves by a square: less than half of one on average is mostly none."""
    square = min(campaign.grid.cell_height, campaign.grid.cell_width)
    return said.say("displacement_most") if 2 * moved_m < square else said.length(moved_m)


def rehearsal_note(campaign: CampaignView, said: Words) -> str:
    """What stands above everything of a campaign that is only tried out; nothing above the others."""
    told = f'<p class="alarm" role="note"><strong>{text(said.say("rehearsal"))}</strong></p>'
    return told if campaign.rehearsal else ""


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]], *, label: str) -> str:
    """A table that can be scrolled by keyboard; cells are HTML already."""
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def page(title: str, body: str, *, links: str = "", script: str | None = None, said: Words | None = None) -> str:
    """A whole page, in English or in the language of ``said``; ``script`` names an entry of the bundle."""
    tongue = said or words("en")
    scripts = styles = ""
    if script is not None and has_bundle():
        scripts = f'<script type="module" src="/static/bundle/{script}.js"></script>'
        styles = "".join(
            f'<link rel="stylesheet" href="/static/bundle/{sheet.name}">' for sheet in sorted(_BUNDLE.glob("*.css"))
        )
    return f"""<!doctype html>
<html lang="{tongue.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{text(title)} · sfumato</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
{styles}<style>{_style()}</style>
{scripts}
</head>
<body>
<a class="skip" href="#main">{text(tongue.say("skip"))}</a>
<header><nav aria-label="{text(tongue.say("nav_pages"))}">
<a class="name" href="/">{MARK}sfumato</a>{links}</nav></header>
<main id="main">
{body}
</main>
<footer>{text(tongue.say("footer"))}</footer>
</body>
</html>
"""


def local_time(seconds: float, zone: str) -> str:
    """2027-06-30 08:00, by the clock of that zone."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
