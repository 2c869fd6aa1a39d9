"""Parts that all pages are made of: the file around them, which asks nothing of any host, sections and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources

from sfumato.base.drawing.svg import element, escape

PRIVATE = "<strong>Private.</strong> This page was computed from the original. Keep it to yourself."
_POLICY = "default-src 'none'; style-src 'unsafe-inline'{script}; base-uri 'none'; form-action 'none'"


def style_or_script(name: str) -> str:
    """The text of ``page.css``, ``page.js`` or ``map.js``."""
    return resources.files("sfumato.pages.report").joinpath(name).read_text(encoding="utf-8")


def html_page(title: str, *body: str, style: str = "", script: str = "") -> str:
    """One file with its style and script inside, and a policy that forbids requests."""
    policy = _POLICY.format(script="; script-src 'unsafe-inline'" if script else "")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
        'content="no-referrer"><meta name="robots" content="noindex">'
        f"<title>{escape(title)}</title><style>{style_or_script('page.css')}{style}</style></head>"
        f"<body><main>{''.join(body)}</main>{script}</body></html>\n"
    )


def page(title: str, banner: str, drawn: str, *sections: str, style: str = "", script: str = "") -> str:
    """A page of sections under a picture, with a ``script`` by name; private where its title says so."""
    kind = "private" if "(private)" in title else "public"
    return html_page(
        title,
        f'<p class="banner {kind}" role="note">{banner}</p><header><h1>sfumato</h1></header>',
        f"<figure>{drawn}</figure>" if drawn else "",
        *sections,
        "<footer><p>This page asks nothing of any server.</p></footer>",
        style=style,
        script=f"<script>{style_or_script(script)}</script>" if script else "",
    )


def section(title: str, body: str) -> str:
    """A titled part of a page; nothing where there is nothing in it."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that scrolls."""
    lines = (element("tr", *(f"<td>{escape(value)}</td>" for value in row)) for row in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return (
        '<div class="sheet" tabindex="0" role="region" aria-label="Table"><table class="list">'
        f"<tr>{head}</tr>{''.join(lines)}</table></div>"
    )
