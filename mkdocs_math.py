"""Formulas of the documentation as MathML, at build time: browsers draw them, and no page asks for a script.

A formula on lines of its own stands in a box that scrolls by itself, so that a page never does (``docs/style.css``).
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)

# Relations that latex2mathml takes for letters, and so sets without space around them: ⪰, ⪯ and ~.
_RELATION = re.compile(r"<mi>(&#x0(?:2AB0|2AAF|007E);)</mi>")


def on_page_content(text: str, **_: Any) -> str:
    """Called by MkDocs with a page's HTML: every formula that arithmatex marked becomes MathML."""

    def formula(match: re.Match[str]) -> str:
        block = match.group(2) == "["
        drawn = str(convert(html.unescape(match.group(3)), display="block" if block else "inline"))
        drawn = _RELATION.sub(r"<mo>\1</mo>", drawn)
        return f'<div class="formula">{drawn}</div>' if block else drawn

    return _FORMULA.sub(formula, text)
