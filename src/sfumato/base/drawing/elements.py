"""SVG and HTML as text: elements with safe attributes, labels, paths, lists, and a picture that can be heard."""

from __future__ import annotations

import html
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray


def escape(text: object) -> str:
    """Any text, safe inside an element or a quoted attribute."""
    return html.escape(str(text), quote=True)


def short(value: float, decimals: int = 1) -> str:
    """A coordinate of a drawing: one decimal, no trailing zero."""
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def element(name: str, *inside: str, **attributes: object) -> str:
    """An element around markup. Numbers have two decimals at most; ``class_`` is class, ``text_anchor`` text-anchor."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{short(value, 2) if isinstance(value, float) else escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{''.join(inside)}</{name}>" if inside else f"<{name}{said}/>"


def label(x: float, y: float, words: object, *, anchor: str | None = None, **attributes: object) -> str:
    """Words at a place of a picture: beginning there, or with their ``middle`` or ``end`` there."""
    return element("text", escape(words), x=x, y=y, text_anchor=anchor, **attributes)


def picture(
    width: float, height: float, *inside: str, title: str, about: str = "", named: str = "", **attributes: object
) -> str:
    """An SVG of markup; ``title`` and ``about`` are for those who hear it, ``named`` begins their ids."""
    heard: dict[str, object] = {"aria_label": f"{title}. {about}" if about else title}
    ids: list[dict[str, object]] = [{}, {}]
    if named:
        heard, ids = {"aria_labelledby": f"{named}-t {named}-d"}, [{"id": f"{named}-t"}, {"id": f"{named}-d"}]
    if about:
        inside = (element("title", escape(title), **ids[0]), element("desc", escape(about), **ids[1]), *inside)
    return element("svg", *inside, viewBox=f"0 0 {short(width)} {short(height)}", role="img", **heard, **attributes)


def line_data(points: FloatArray, *, closed: bool = False) -> str:
    """SVG path data through (n, 2) points; one point alone is a dot."""
    words = [f"{short(x)} {short(y)}" for x, y in points.tolist()]
    return "M" + "L".join(words * 2 if len(words) == 1 else words) + ("Z" if closed else "") if words else ""


def path_data(points: FloatArray, segment: IntArray) -> str:
    """:func:`line_data`, lifted between segments."""
    edges = [0, *(np.flatnonzero(np.diff(segment)) + 1).tolist(), len(points)]
    return "".join(line_data(points[first:last]) for first, last in pairwise(edges))


def bullets(items: Iterable[str], *, empty: str = "") -> str:
    """An unordered list of escaped texts."""
    rows = [f"<li>{escape(item)}</li>" for item in items]
    return f"<ul>{''.join(rows)}</ul>" if rows else empty
