"""Formulas of the documentation as MathML, at build time: browsers draw them, and no page asks for a script."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_page_content(text: str, **_: Any) -> str:
    """Called by MkDocs with a page's HTML: every formula that arithmatex marked becomes MathML."""

    def formula(match: re.Match[str]) -> str:
        display = "block" if match.group(2) == "[" else "inline"
        return str(convert(html.unescape(match.group(3)), display=display))

    return _FORMULA.sub(formula, text)
