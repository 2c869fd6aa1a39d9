"""One HTML page with every picture and every claim, complete in itself: it asks no host for anything."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sfumato.papers import REPRODUCTIONS
from sfumato.papers.claims import Claim, counted
from sfumato.papers.every import Done, all_claims

_STYLE = """
body { font-family: sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: left; vertical-align: top; }
.holds { color: #2f6f3e; } .fails { color: #a33; } .unknown { color: #777; } .surprise { background: #fdd; }
svg { max-width: 100%; height: auto; } details { margin: .6rem 0; } .small { color: #555; font-size: .85rem; }
"""
_WORDS = {"holds": "holds", "fails": "fails", "cannot be checked": "unknown"}


def page(done: Sequence[Done], *, quick: bool, version: str) -> str:
    """The page for these reproductions, in the order given."""
    claims = all_claims(done)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sfumato: the papers, reproduced</title>',
        f"<style>{_STYLE}</style></head><body><h1>The papers, reproduced</h1>",
        f"<p>sfumato {escape(version)}{', --quick' if quick else ''}. {escape(counted(claims))}.</p>",
        "<p>A claim of a paper that fails is a finding about the paper. What would be wrong here is a verdict that "
        "differs from the one recorded in the repository; such lines are marked.</p><h2>Claims</h2>",
        _claims_table([(one.result.name, claim) for one in done for claim in one.result.claims]),
    ]
    heading = ""
    for one in done:
        result = one.result
        if REPRODUCTIONS[result.name].heading != heading:
            heading = REPRODUCTIONS[result.name].heading
            parts.append(f"<h2>{escape(heading)}</h2>")
        parts.append(f'<h3 id="{escape(result.name)}">{escape(result.title)}</h3>')
        parts.append(f'<p class="small">sfumato reproduce {escape(result.name)}; {one.seconds:.1f} s</p>')
        parts.append(result.picture_svg)
        parts.append(_claims_table([("", claim) for claim in result.claims]))
        parts.extend(f'<p class="small">{escape(note)}</p>' for note in result.notes)
        for title, rows in result.tables.items():
            parts.append(f"<details><summary>{escape(title)}</summary>{_table(rows)}</details>")
    return "".join([*parts, "</body></html>\n"])


def _claims_table(claims: Sequence[tuple[str, Claim]]) -> str:
    rows = []
    for name, claim in claims:
        link = f'<td><a href="#{escape(name)}">{escape(name)}</a></td>' if name else ""
        mark = "" if claim.as_expected else ' class="surprise"'
        verdict = f'<td class="{_WORDS[claim.verdict]}">{claim.verdict}</td>'
        words = claim.line().split("] ", 1)[1]
        rows.append(f"<tr{mark}>{link}{verdict}<td>{escape(claim.whose)}</td><td>{escape(words)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _table(rows: Sequence[object]) -> str:
    shown = [row for row in rows if isinstance(row, dict)]
    if not shown:
        return ""
    head = "".join(f"<th>{escape(str(key))}</th>" for key in shown[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row.values()) + "</tr>" for row in shown)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
