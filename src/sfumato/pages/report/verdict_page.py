"""The verdict on a release as one page that makes no request: yes or no, then every answer and what it leaves open."""

from __future__ import annotations

from sfumato.base.drawing.elements import escape
from sfumato.pages.report.parts import html_page
from sfumato.tracks.certificates.verdict import Verdict

_STYLE = (
    ".answers{margin:0;padding:1rem 1.2rem}.answers dt{color:var(--soft);font-size:.88rem}"
    ".answers dd{margin:0 0 .9rem;overflow-wrap:anywhere}"
)


def verdict_page(verdict: Verdict) -> str:
    """The verdict's rows under its head: green if all is well, red if not."""
    rows = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in verdict.rows())
    head = f"<strong>{escape(verdict.head())}</strong>"
    return html_page(
        "Verdict on a release",
        f'<header><h1>sfumato</h1><p class="banner {"public" if verdict.ok else "warning"}">{head}</p></header>',
        f'<dl class="sheet answers">{rows}</dl>',
        style=_STYLE,
    )
