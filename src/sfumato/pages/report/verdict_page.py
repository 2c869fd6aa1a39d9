"""The verdict on a release as one page that makes no request: yes or no, then every answer and what it leaves open."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from sfumato.base.drawing.drawing import escape
from sfumato.base.files import write_text
from sfumato.tracks.certificates.verdict import Verdict

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = (
    ".answers{margin:0;padding:1rem 1.2rem}.answers dt{color:var(--soft);font-size:.88rem}"
    ".answers dd{margin:0 0 .9rem;overflow-wrap:anywhere}"
)


def verdict_page(verdict: Verdict) -> str:
    """The verdict's rows under its head: green if all is well, red if not."""
    rows = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in verdict.rows())
    style = resources.files("sfumato.pages.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>Verdict on a release</title><style>{style}{_STYLE}</style></head><body><main><header><h1>sfumato</h1>"
        f'<p class="banner {"public" if verdict.ok else "warning"}"><strong>{escape(verdict.head())}</strong></p>'
        f'</header><dl class="sheet answers">{rows}</dl></main></body></html>\n'
    )


def write_verdict(verdict: Verdict, path: str | Path) -> None:
    """The page, whole or not at all."""
    write_text(path, verdict_page(verdict))
