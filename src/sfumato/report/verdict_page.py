"""The verdict on a release as one page that makes no request: four answers, then what else a reader must know."""

from __future__ import annotations

from pathlib import Path

from sfumato.certificates.verdict import Verdict
from sfumato.files import write_text
from sfumato.report.drawing import escaped

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:44rem;margin:2rem auto;padding:0 1rem}"
    "th{text-align:left;padding-right:1rem;vertical-align:top;white-space:nowrap}"
)


def verdict_page(verdict: Verdict) -> str:
    """The lines of the verdict as a table."""
    head, *lines = verdict.lines()
    rows = "".join(f"<tr><th>{escaped(line[2:20].strip())}</th><td>{escaped(line[21:])}</td></tr>" for line in lines)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>Verdict</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escaped(head)}</h1><table>{rows}</table></body></html>\n"
    )


def write_verdict(verdict: Verdict, path: str | Path) -> None:
    """The page, whole or not at all."""
    write_text(path, verdict_page(verdict))
