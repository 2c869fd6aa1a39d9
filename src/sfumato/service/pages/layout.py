"""The frame of every page: no cookie, no inline script, nothing from another host; usable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path

_BUNDLE = Path(str(files("sfumato.service") / "static" / "bundle"))


def has_bundle() -> bool:
    """Whether the pages' JavaScript was built (``make web``) or came with the wheel."""
    return (_BUNDLE / "participant.js").is_file() and (_BUNDLE / "dashboard.js").is_file()


def has_entry(name: str) -> bool:
    """Whether the bundle has this page's script."""
    return has_bundle() and (_BUNDLE / f"{name}.js").is_file()


@lru_cache(maxsize=1)
def _style() -> str:
    return (files("sfumato.service.pages") / "style.css").read_text(encoding="utf-8")


def text(value: object) -> str:
    """Anything as HTML text."""
    return escape(str(value), quote=True)


def number(value: float | None, digits: int = 3) -> str:
    """A number for people, or a dash for nothing."""
    if value is None:
        return "–"
    return f"{value:,.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share for people, or a dash for nothing."""
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if value >= 0.001 else f"{100 * value:.2g} %"


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


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]], *, label: str) -> str:
    """A table that can be scrolled by keyboard; cells are HTML already."""
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def page(title: str, body: str, *, links: str = "", script: str | None = None) -> str:
    """A whole page; ``script`` names an entry of the bundle and is left out when there is none."""
    scripts = styles = ""
    if script is not None and has_bundle():
        scripts = f'<script type="module" src="/static/bundle/{script}.js"></script>'
        styles = "".join(
            f'<link rel="stylesheet" href="/static/bundle/{sheet.name}">' for sheet in sorted(_BUNDLE.glob("*.css"))
        )
    return f"""<!doctype html>
<html lang="en">
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
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Pages"><a class="name" href="/">sfumato</a>{links}</nav></header>
<main id="main">
{body}
</main>
<footer>sfumato collects blurred places only: this server never receives, stores or logs a true location.
No cookies. Basemap: Natural Earth (public domain).</footer>
</body>
</html>
"""
