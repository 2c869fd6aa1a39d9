"""All reproductions, a few at a time in processes of their own; what became of every claim, and one page of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

from sfumato.base.drawing.svg import escape
from sfumato.base.version import __version__
from sfumato.papers import REPRODUCTIONS, Reproduction, reproduce
from sfumato.papers.claims import Claim, cannot_check, count_verdicts
from sfumato.papers.l_eff import DataNotHere
from sfumato.papers.statements import statements

_STYLE = """
body { font-family: sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
td, th { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: left; vertical-align: top; }
.holds { color: #2f6f3e; } .other { color: #a33; } .unknown { color: #777; } .surprise { background: #fdd; }
svg { max-width: 100%; height: auto; } details { margin: .6rem 0; } .small { color: #555; font-size: .85rem; }
"""
_COLOURS = {"holds": "holds", "cannot be checked": "unknown"}
# The longest first, so that no process is left alone with one at the end.
LONGEST = ["cip-figure-2", "privic-figure-3", "cip-home-temperature", "privic-starts", "privic-figure-9"]


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """One finished reproduction and how long it took."""

    result: Reproduction
    seconds: float


def run_one(name: str, quick: bool) -> Done:
    """One reproduction; where its data may not ship and is not here, its claims cannot be checked."""
    began = time.perf_counter()
    try:
        result = reproduce(name, quick=quick)
    except DataNotHere as missing:
        rows = [row for row in statements().values() if row.command == f"reproduce {name}"]
        claims = [cannot_check(row.says, whose=row.key, because=missing.what) for row in rows]
        result = Reproduction(name, REPRODUCTIONS[name].words, {}, claims, notes=(missing.advice,))
    return Done(result, time.perf_counter() - began)


def run_all(*, quick: bool, workers: int | None = None, names: Sequence[str] | None = None) -> Iterator[Done]:
    """Every reproduction as it finishes; the order is that of finishing."""
    chosen = list(REPRODUCTIONS if names is None else names)
    chosen.sort(key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    count = min(workers or os.cpu_count() or 1, len(chosen))
    if count == 1:
        yield from (run_one(name, quick) for name in chosen)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(run_one, name, quick) for name in chosen]
        for future in as_completed(waiting):
            yield future.result()


def in_order(done: Sequence[Done]) -> list[Done]:
    """The finished reproductions in the order of the list."""
    place = {name: number for number, name in enumerate(REPRODUCTIONS)}
    return sorted(done, key=lambda one: place[one.result.name])


def all_claims(done: Sequence[Done]) -> list[Claim]:
    """Every claim of every reproduction."""
    return [claim for one in done for claim in one.result.claims]


def page_of_all(done: Sequence[Done], pictures: Mapping[str, str], *, quick: bool) -> str:
    """One HTML page with every claim, and the pictures (SVG) by name, where there are any; it asks no host."""
    claims = all_claims(done)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sfumato: the papers, reproduced</title>',
        f"<style>{_STYLE}</style></head><body><h1>The papers, reproduced</h1>",
        f"<p>sfumato {__version__}{', --quick' if quick else ''}. {escape(count_verdicts(claims))}.</p>",
        "<p>The word before a paper's claim is that of its row on the page of coverage. What would be wrong here is "
        "what was seen and differs from what the repository recorded; such lines are marked.</p><h2>Claims</h2>",
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
        parts.append(pictures.get(result.name, ""))
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
        verdict = f'<td class="{_COLOURS.get(claim.verdict, "other")}">{claim.verdict}</td>'
        words = claim.line().split("] ", 1)[1]
        rows.append(f"<tr{mark}>{link}{verdict}<td>{escape(claim.whose)}</td><td>{escape(words)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _table(rows: Sequence[object]) -> str:
    shown = [row for row in rows if isinstance(row, dict)]
    if not shown:
        return ""
    head = "".join(f"<th>{escape(key)}</th>" for key in shown[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row.values()) + "</tr>" for row in shown)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
