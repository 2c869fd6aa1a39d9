"""The map of a report as a picture of its own: what its colours say stands under it, and of whom, when, how sure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from textwrap import wrap

from sfumato.base.drawing.svg import element, label
from sfumato.collect.service.pages.dashboard import drawn_map
from sfumato.collect.service.pages.paper import Paper
from sfumato.collect.service.pages.words import Words

_LIGHT = (
    "--land:#faf7f2;--card:#fff;--ink:#1f1a15;--soft:#5b5249;--line:#ddd3c6;--sea:#dfe8ee;--paper:#fff;--bad:#a3201a;"
    "--q0:#f5eee3;--q1:#eeddc4;--q2:#e6c99f;--q3:#dcb17a;--q4:#cf9757;--q5:#bb7c3b;--q6:#a06127;--q7:#824818;--q8:#5f300d"
)
_STYLE = (
    f"svg{{{_LIGHT};font-family:system-ui,sans-serif;background:var(--land)}}"
    ".told{font-size:3.2px;font-weight:600;text-anchor:middle;dominant-baseline:middle;fill:var(--ink);"
    "stroke:var(--card);stroke-width:.8;paint-order:stroke}.few{font-size:2.6px;font-weight:400;fill:var(--soft)}"
    ".district-edge{fill:none;stroke:var(--ink);stroke-width:.35}rect.cell{stroke:var(--paper);stroke-width:.35}"
    ".doubt{fill:none;stroke:var(--ink)}.locator-sea{fill:var(--sea)}.locator-land{fill:var(--q2)}"
    ".locator-here{fill:var(--bad)}.note{font-size:2.6px;fill:var(--ink)}.asked{font-size:3.2px;font-weight:600;fill:var(--ink)}"
    + "".join(f".q{one}{{fill:var(--q{one})}}" for one in range(9))
)
_VIEW = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_TEXTS = re.compile(r"<span>(.*?)</span>")
_ROW, _LETTERS = 3.4, 80
"""Of a line of notes: how high it is, and about how many letters it takes."""


def map_file(paper: Paper, said: Words) -> bytes:
    """An SVG file: the map with its legend, the question, how many took part from when until when, and the level."""
    drawn, legend = drawn_map(paper.campaign, paper.history, paper.latest, said)
    wide, tall = map(float, _VIEW.findall(drawn)[0])
    notes = [label(1, tall + 4, paper.campaign.question or paper.campaign.title, class_="asked")]
    for line in _lines(paper, said):
        tall += _ROW
        notes.append(label(1, tall + 4, line, class_="note"))
    if "ramp" in legend:
        notes += _ramp(tall + 6, unescape(_TEXTS.findall(legend)[1]), said)
    else:
        notes.append(label(1, tall + 8, unescape(legend), class_="note"))
    size = f'xmlns="http://www.w3.org/2000/svg" width="1200" viewBox="0 0 {wide:g} {tall + 16:g}"'
    opening, _, rest = _VIEW.sub(size, drawn, count=1).removesuffix("</svg>").partition(">")
    return f"{opening}><style>{_STYLE}</style>{rest}{''.join(notes)}</svg>".encode()


def _lines(paper: Paper, said: Words) -> Iterator[str]:
    """Of which rounds, how many reports, when, at which level; and that it is only tried out."""
    known = paper.period(said)
    of = {"from_": str(known["from"]), "until": str(known["until"])}
    of["reports"] = said.reports(sum(one.reports for one in paper.rounds))
    level = None if paper.level is None else f"{100 * paper.level:g} %"
    counted = said.say("paper_of_plain", **of) if level is None else said.say("paper_of", **of, level=level)
    yield from wrap(f"{paper.when(said)} · {counted}", _LETTERS)
    if paper.campaign.rehearsal:
        yield from wrap(said.say("rehearsal"), _LETTERS)


def _ramp(y: float, most: str, said: Words) -> Iterator[str]:
    """Fewest, the shades, most; and that fainter is less certain."""
    yield label(21, y + 2, said.say("legend_fewest"), class_="note", anchor="end")
    for shade in range(9):
        yield element("rect", class_=f"q{shade}", x=22 + 2.6 * shade, y=y, width=2.6, height=2.4)
    yield label(46.5, y + 2, most, class_="note")
    yield label(22, y + 6, said.say("legend_faint"), class_="note")
