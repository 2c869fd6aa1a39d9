"""A sheet as one piece of HTML for notebooks: picture, promise, figures; every text escaped, no request to any host."""

from __future__ import annotations

from sfumato.base.drawing.panels import svg
from sfumato.base.drawing.svg import bullets, escape
from sfumato.pages.notebook.sheet import TO_NOTE, sheet_of
from sfumato.tracks.answers.answer_files import picture

_BOX = (
    "font:14px/1.45 system-ui,sans-serif;border:1px solid #d8d3c8;border-radius:8px;padding:12px 16px;max-width:60rem"
)
_RED = "color:#8a1c1c;background:#fdeaea;border-radius:6px;padding:4px 8px"


def card(value: object) -> str:
    """What a notebook shows of a value."""
    sheet = sheet_of(value)
    rows = "".join(
        f'<tr><th style="text-align:left;font-weight:600;padding-right:12px">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(words)}</td></tr>'
        for name, words in sheet.rows
    )
    folded = "".join(
        f"<details{' open' if title == TO_NOTE else ''}><summary>{escape(title)} ({len(texts)})</summary>"
        f"{bullets(texts)}</details>"
        for title, texts in (sheet.folded or {}).items()
        if texts
    )
    return (
        f'<div style="{_BOX}"><div><strong>{escape(sheet.title)}</strong></div>'
        + "".join(f'<p style="{_RED}">{escape(text)}</p>' for text in sheet.alarms)
        + (f"<p>{escape(sheet.promise)}</p>" if sheet.promise else "")
        + (picture(sheet.on_map) if sheet.on_map is not None else "")
        + (svg(sheet.parts, columns=min(len(sheet.parts), 2), paper=None) if sheet.parts else "")
        + (f"<table>{rows}</table>" if rows else "")
        + f"{folded}</div>"
    )
