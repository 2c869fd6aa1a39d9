"""Small tools of drawing: which points to draw, numbers short enough for a page, round ticks, and safe text."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.traces import Trace

MOST_POINTS = 1500


def drawn_places(trace: Trace, most: int = MOST_POINTS) -> IntArray:
    """Which points are drawn: all, or evenly spaced ones with the ends of segments, about ``most`` in all."""
    count = len(trace)
    if count <= most:
        return np.arange(count)
    breaks = np.flatnonzero(np.diff(trace.segment))
    ends = np.concatenate([[0, count - 1], breaks, breaks + 1])
    if len(ends) > most // 2:
        ends = np.array([0, count - 1])
    return np.unique(np.concatenate([ends, np.linspace(0, count - 1, most - len(ends)).astype(np.int64)]))


def short(value: float) -> str:
    """A coordinate of a drawing: one decimal, no trailing zero."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def path_data(points: FloatArray, segment: IntArray) -> str:
    """SVG path data of (n, 2) points, lifted between segments; one point alone is a dot."""
    pieces: list[str] = []
    edges = [0, *(np.flatnonzero(np.diff(segment)) + 1).tolist(), len(points)]
    for first, last in pairwise(edges):
        words = [f"{short(x)} {short(y)}" for x, y in points[first:last].tolist()]
        if len(words) == 1:
            words.append(words[0])
        pieces.append("M" + "L".join(words))
    return "".join(pieces)


def nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that cuts ``span`` into at most ``most`` pieces."""
    if span <= 0:
        return 1.0
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= rough * (1 - 1e-12))


_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def nice_time_step_s(span_s: float, most: int) -> float:
    """A step that people read on a clock."""
    for step in _TIME_STEPS_S:
        if span_s / step <= most:
            return float(step)
    return max(math.ceil(span_s / most / 86400), 1) * 86400.0


def escape(text: Any) -> str:
    """Any text, safe inside an element or a quoted attribute."""
    return html.escape(str(text), quote=True)


def bullets(items: Iterable[str], *, empty: str = "") -> str:
    """An unordered list of escaped texts."""
    rows = [f"<li>{escape(item)}</li>" for item in items]
    return f"<ul>{''.join(rows)}</ul>" if rows else empty


def one_decimal(values: FloatArray) -> Sequence[float]:
    """Numbers for the page's script, one decimal."""
    result: list[float] = np.round(values, 1).tolist()
    return result
