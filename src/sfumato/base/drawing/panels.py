"""Small pictures without a plotting library: line panels, heat maps and paths as one SVG text.

Ticks are round numbers (as in the reports) and legends stand above the axes, so that they cover nothing: one above all
panels where they have the same lines. Lines of few points have a mark of their own beside a colour of their own.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.scales import COLOURS, OURS, Scale, nice_step, ticks, x_axis, y_axis
from sfumato.base.drawing.svg import element, escape, label, line_data, path_data, scale_bar, short

WIDTH, HEIGHT = 300, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 24, 36
_LETTER = 5.4  # about the width of one
_FRAME = "#999999"
_MARKS = (
    "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z",
    "m-2.3 -2.3h4.6v4.6h-4.6z",
    "m0 -3l2.8 5h-5.6z",
    "m0 -3.2l3.2 3.2l-3.2 3.2l-3.2 -3.2z",
    "m0 3l2.8 -5h-5.6z",
    "m-2.4 -2.4l4.8 4.8m0 -4.8l-4.8 4.8",
)
_FEW = 40
"""Lines of at most so many points have marks."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One set of axes: named lines over a common x, a dashed x, and a log y."""

    title: str
    x: FloatArray
    lines: Mapping[str, FloatArray]
    x_label: str = ""
    y_label: str = ""
    dashed: float | None = None
    log_y: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """A matrix as colours."""

    title: str
    matrix: FloatArray
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Lines in metres, (n, 2) east and north with NaN where the pen is lifted."""

    title: str
    lines: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Named sizes, one bar each."""

    title: str
    values: Mapping[str, float]
    unit: str


def svg(
    parts: Sequence[Panel | HeatMap | Tracks | Bars],
    *,
    columns: int = 4,
    title: str = "",
    paper: str | None = "white",
    width_mm: float | None = None,
) -> str:
    """All parts side by side in one SVG; without ``paper`` it lies on whatever is behind it, in that text's ink.

    ``width_mm``: as wide as a column of print, whatever the screen.
    """
    rows, above = -(-len(parts) // columns), 30 if title else 0
    width = columns * WIDTH
    panels = [part for part in parts if isinstance(part, Panel)]
    shared = len(panels) > 1 and len({tuple(panel.lines) for panel in panels}) == 1 and len(panels[0].lines) > 1
    legend, above = _legend(list(panels[0].lines), above + 12, width) if shared else ("", above)
    height = rows * HEIGHT + above
    drawers: dict[type, Callable[..., str]] = {HeatMap: _heat_map, Tracks: _tracks, Bars: _bars}
    body = [element("rect", width="100%", height="100%", fill=paper)] if paper else []
    body += [label(8, 20, title, font_size=15)] if title else []
    body += [legend] if legend else []
    for number, part in enumerate(parts):
        x, y = (number % columns) * WIDTH, above + (number // columns) * HEIGHT
        named = label(WIDTH / 2, 14, part.title, anchor="middle", font_size=11) if part.title else ""
        drawn = _panel(part, legend=not shared) if isinstance(part, Panel) else drawers[type(part)](part)
        body.append(element("g", named, drawn, transform=f"translate({x},{y})"))
    size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height, "style": "max-width:100%;height:auto"}
    if width_mm is not None:
        size |= {"width": f"{short(width_mm)}mm", "height": f"{short(width_mm * height / width)}mm", "style": None}
    ink = {"fill": "black" if paper else "currentColor", "font_family": "sans-serif", "font_size": 10}
    return element("svg", *body, xmlns="http://www.w3.org/2000/svg", **size, **ink) + "\n"


def _panel(panel: Panel, *, legend: bool = True) -> str:
    x = np.asarray(panel.x, dtype=np.float64)
    drawn = {name: np.asarray(values, dtype=np.float64) for name, values in panel.lines.items()}
    names, top = _legend(list(drawn), _TOP + 4, WIDTH) if legend and len(drawn) > 1 else ("", _TOP)
    ok = {name: np.isfinite(values) & ((values > 0) | (not panel.log_y)) for name, values in drawn.items()}
    everything = np.concatenate([values[ok[name]] for name, values in drawn.items()])
    low, high = float(everything.min(initial=np.inf)), float(everything.max(initial=-np.inf))
    low = low if panel.log_y else min(low, 0.0)
    high = high if high > low else 2 * low if panel.log_y else low + 1
    if not panel.log_y:  # up to the next round number, so that the highest line has one above it
        step = nice_step(high - low, 4)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    marks = ticks(low, high, log=panel.log_y)
    x0, x1 = float(x.min()), float(x.max())
    if x1 == x0:
        x0, x1 = x0 - 0.5, x1 + 0.5
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    px = Scale(x0, x1, _LEFT, right)
    py = Scale(low, high, bottom, top, np.log10 if panel.log_y else np.asarray)
    out = [names]
    if panel.dashed is not None and x0 <= panel.dashed <= x1:
        dashed = f"M{float(px(panel.dashed)):.1f} {top}V{bottom}"
        out.append(element("path", d=dashed, stroke="#777777", stroke_dasharray="3 3"))
    frame = {"x": _LEFT, "y": top, "width": right - _LEFT, "height": bottom - top}
    out.append(element("rect", **frame, fill="none", stroke=_FRAME))
    out.append(y_axis(py, marks, "{:.6g}".format, _LEFT, right, stroke=_FRAME, stroke_opacity=0.3))
    across = ticks(x0, x1)
    out.append(x_axis(px, across, [f"{mark:.6g}" for mark in across], bottom, stroke=_FRAME))
    out.append(label((_LEFT + right) / 2, HEIGHT - 5, panel.x_label, anchor="middle"))
    turned = f"translate(10,{short((top + bottom) / 2)}) rotate(-90)"
    out.append(element("text", escape(panel.y_label), transform=turned, text_anchor="middle"))
    for number, (name, values) in enumerate(drawn.items()):
        points = np.column_stack([px(x[ok[name]]), py(values[ok[name]])])
        dash = "5 3" if number >= len(COLOURS) else None
        stroke = {"stroke": _ink(number, name), "stroke_width": 1.6, "stroke_dasharray": dash}
        out.append(element("path", d=line_data(points), fill="none", **stroke))
        out.append(_marks(number, name, points) if len(points) <= _FEW and len(drawn) > 1 else "")
    return "".join(out)


def _ink(number: int, name: str) -> str:
    return OURS if name.startswith("ours") else COLOURS[number % len(COLOURS)]


def _marks(number: int, name: str, points: FloatArray) -> str:
    """A mark at each point: the second half of the colours has the same ones, hollow."""
    at = "".join(f"M{short(x)} {short(y)}{_MARKS[number % len(_MARKS)]}" for x, y in points.tolist())
    hollow = number // len(_MARKS) % 2 == 1
    return element("path", d=at, fill="none" if hollow else _ink(number, name), stroke=_ink(number, name))


def _legend(names: Sequence[str], first: int, width: float) -> tuple[str, int]:
    """The names of lines with their marks, in rows from ``first`` on, and where the axes may begin."""
    out, x, y = [], 8.0, first
    for number, name in enumerate(names):
        wide = 16 + _LETTER * len(name) + 10
        if x > 8.0 and x + wide > width:
            x, y = 8.0, y + 12
        out.append(element("path", d=f"M{short(x)} {y - 3}h12", stroke=_ink(number, name), stroke_width=2))
        out += [_marks(number, name, np.array([[x + 6, y - 3]])), label(x + 16, y, name)]
        x += wide
    return "".join(out), y + 8


def _heat_map(part: HeatMap) -> str:
    image = base64.b64encode(_png(part.matrix / (float(np.max(np.abs(part.matrix))) or 1.0))).decode()
    words = " down, ".join(word for word in (part.y_label, part.x_label) if word)
    square = {"x": 65, "y": 20, "width": 170, "height": 170}
    drawn = element("image", **square, image_rendering="pixelated", href=f"data:image/png;base64,{image}")
    return drawn + label(WIDTH / 2, 206, f"{words} across" if words else "", anchor="middle")


def _png(values: FloatArray) -> bytes:
    """A colour PNG of a matrix of values in [-1, 1]: blue below 0, white, red above."""
    v = np.clip(values, -1, 1)[:, :, None]
    white, warm, cold = (np.array(c, dtype=np.float64) for c in ((255, 255, 255), (178, 24, 43), (33, 102, 172)))
    rgb = np.where(v >= 0, white + (warm - white) * v, white + (cold - white) * -v).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _tracks(part: Tracks) -> str:
    every = np.concatenate(list(part.lines.values()))
    reach = np.maximum(np.nanmax(every, axis=0), 1.0)
    scale = float(min((WIDTH - 20) / reach[0], (HEIGHT - 60) / reach[1]))
    low = HEIGHT - 36 - (HEIGHT - 60 - reach[1] * scale) / 2
    out = [scale_bar(10, HEIGHT - 10, 1 / scale, WIDTH / 2)]
    for number, (name, line) in enumerate(part.lines.items()):
        colour = COLOURS[0] if name != "original (private)" else COLOURS[1]
        there = np.isfinite(line[:, 0])
        points = np.column_stack([10 + line[:, 0] * scale, low - line[:, 1] * scale])
        data = path_data(points[there], np.cumsum(~there)[there])
        out.append(element("path", d=data, fill="none", stroke=colour, stroke_width=1.2))
        if len(part.lines) > 1:
            out.append(label(WIDTH - 8, HEIGHT - 8 - 12 * number, name, anchor="end", fill=colour))
    return "".join(out)


def _bars(part: Bars) -> str:
    most = max((value for value in part.values.values() if math.isfinite(value)), default=0.0) or 1.0
    tall = min(26.0, (HEIGHT - 40) / max(len(part.values), 1))
    out = []
    for number, (name, value) in enumerate(part.values.items()):
        y, long = 30 + tall * number, (WIDTH - 180) * min(value / most, 1.0)
        out.append(label(118, y + 0.55 * tall, name, anchor="end"))
        out.append(element("rect", x=122, y=y, width=long, height=0.7 * tall, fill=COLOURS[0]))
        out.append(label(126 + long, y + 0.55 * tall, f"{value:.3g} {part.unit}"))
    return "".join(out)
