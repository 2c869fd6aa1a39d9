"""Small pictures without a plotting library: line panels, heat maps and paths as one SVG text.

Ticks are round numbers (:func:`~.drawing.nice_step`, as in the reports) and legends stand above the axes,
so that they cover nothing. Inks can be read on white and on black: a notebook's card has no paper of its own.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.drawing import escape, nice_step

COLOURS = ("#2a7fc4", "#c8611f", "#2f9551", "#7d7d7d", "#c0457c", "#94831f")
OURS = "#8a5fb5"  # the same in every panel
WIDTH, HEIGHT = 300, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 24, 36
_LETTER = 5.4  # about the width of one


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
    """Lines in metres, (n, 2) east and north with NaN where the pen is lifted; ``length_words`` names a length."""

    title: str
    lines: Mapping[str, FloatArray]
    length_words: Callable[[float], str]


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
) -> str:
    """All parts side by side in one SVG; without ``paper`` it lies on whatever is behind it, in that text's ink."""
    rows, above = -(-len(parts) // columns), 30 if title else 0
    width, height = columns * WIDTH, rows * HEIGHT + above
    drawers = {Panel: _panel, HeatMap: _heat_map, Tracks: _tracks, Bars: _bars}
    body = [f'<text x="8" y="20" font-size="15">{escape(title)}</text>'] if title else []
    for number, part in enumerate(parts):
        x, y = (number % columns) * WIDTH, above + (number // columns) * HEIGHT
        body.append(f'<g transform="translate({x},{y})">{drawers[type(part)](part)}</g>')  # type: ignore[operator]
    back = f'<rect width="100%" height="100%" fill="{paper}"/>' if paper else ""
    ink = "black" if paper else "currentColor"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto" fill="{ink}" font-family="sans-serif" font-size="10">{back}'
        f"{''.join(body)}</svg>\n"
    )


def _title(words: str) -> str:
    return f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(words)}</text>' if words else ""


def ticks(low: float, high: float, *, log: bool = False) -> list[float]:
    """Round numbers between two ends, about four of them; powers of ten on a log axis that holds two of them."""
    if log:
        powers = [10.0**k for k in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
        if len(powers) >= 2:
            return powers[:: -(-len(powers) // 5)]
    step = nice_step(high - low, 4)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _panel(panel: Panel) -> str:
    x = np.asarray(panel.x, dtype=np.float64)
    drawn = {name: np.asarray(values, dtype=np.float64) for name, values in panel.lines.items()}
    inks = {name: OURS if name.startswith("ours") else COLOURS[k % len(COLOURS)] for k, name in enumerate(drawn)}
    legend, top = _legend(inks if len(inks) > 1 else {}, _TOP)
    ok = {name: np.isfinite(values) & ((values > 0) | (not panel.log_y)) for name, values in drawn.items()}
    everything = np.concatenate([values[ok[name]] for name, values in drawn.items()])
    low, high = float(everything.min(initial=np.inf)), float(everything.max(initial=-np.inf))
    low = low if panel.log_y else min(low, 0.0)
    high = high if high > low else 2 * low if panel.log_y else low + 1
    marks = ticks(low, high, log=panel.log_y)
    if not panel.log_y:  # up to the next round number, so that the highest line has one above it
        step = nice_step(high - low, 4)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        marks = ticks(low, high)
    x0, x1 = float(x.min()), float(x.max())
    if x1 == x0:
        x0, x1 = x0 - 0.5, x1 + 0.5
    a, b = (math.log10(low), math.log10(high)) if panel.log_y else (low, high)
    bottom = HEIGHT - _BOTTOM

    def px(value: npt.ArrayLike) -> FloatArray:
        return np.asarray(_LEFT + (np.asarray(value) - x0) / (x1 - x0) * (WIDTH - _LEFT - _RIGHT))

    def py(value: npt.ArrayLike) -> FloatArray:
        shown = np.log10(value) if panel.log_y else np.asarray(value)
        return np.asarray(bottom - (shown - a) / (b - a) * (bottom - top))

    out = [_title(panel.title), legend]
    if panel.dashed is not None and x0 <= panel.dashed <= x1:
        out.append(f'<path d="M{float(px(panel.dashed)):.1f} {top}V{bottom}" stroke="#777777" stroke-dasharray="3 3"/>')
    out.append(
        f'<rect x="{_LEFT}" y="{top}" width="{WIDTH - _LEFT - _RIGHT}" height="{bottom - top}" '
        'fill="none" stroke="#999999"/>'
    )
    for mark in marks:
        y = float(py(mark))
        out.append(
            f'<path d="M{_LEFT} {y:.1f}h-3" stroke="#999999"/>'
            f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{mark:.6g}</text>'
        )
    for mark in ticks(x0, x1):
        at = float(px(mark))
        out.append(
            f'<path d="M{at:.1f} {bottom}v3" stroke="#999999"/>'
            f'<text x="{at:.1f}" y="{bottom + 13}" text-anchor="middle">{mark:.6g}</text>'
        )
    out.append(
        f'<text x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 7}" text-anchor="middle">{escape(panel.x_label)}</text>'
    )
    turned = f"translate(10,{(top + bottom) / 2}) rotate(-90)"
    out.append(f'<text transform="{turned}" text-anchor="middle">{escape(panel.y_label)}</text>')
    for name, values in drawn.items():
        there = ok[name]
        points = " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(px(x[there]), py(values[there]), strict=True))
        dash = ' stroke-dasharray="5 3"' if list(drawn).index(name) >= len(COLOURS) else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{inks[name]}" stroke-width="1.6"{dash}/>')
    return "".join(out)


def _legend(inks: Mapping[str, str], top: int) -> tuple[str, int]:
    """The names of lines in rows under the title, and where the axes may begin."""
    out, x, y = [], 8.0, top + 4
    for name, ink in inks.items():
        wide = 16 + _LETTER * len(name) + 10
        if x > 8.0 and x + wide > WIDTH:
            x, y = 8.0, y + 12
        out.append(
            f'<path d="M{x:.1f} {y - 3}h12" stroke="{ink}" stroke-width="2"/>'
            f'<text x="{x + 16:.1f}" y="{y}">{escape(name)}</text>'
        )
        x += wide
    return "".join(out), y + 8 if inks else top


def _heat_map(part: HeatMap) -> str:
    image = base64.b64encode(_png(part.matrix / (float(np.max(np.abs(part.matrix))) or 1.0))).decode()
    words = " down, ".join(word for word in (part.y_label, part.x_label) if word)
    across = f"{words} across" if words else ""
    return (
        f'{_title(part.title)}<image x="65" y="20" width="170" height="170" image-rendering="pixelated" '
        f'href="data:image/png;base64,{image}"/>'
        f'<text x="{WIDTH / 2}" y="206" text-anchor="middle">{escape(across)}</text>'
    )


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
    scale = min((WIDTH - 20) / reach[0], (HEIGHT - 60) / reach[1])
    low = HEIGHT - 36 - (HEIGHT - 60 - reach[1] * scale) / 2
    out = [_title(part.title)]
    for number, (name, line) in enumerate(part.lines.items()):
        colour = COLOURS[0] if name != "original (private)" else COLOURS[1]
        pen, data = "M", []
        for x, y in line.tolist():
            if x != x:
                pen = "M"
                continue
            data.append(f"{pen}{10 + x * scale:.1f} {low - y * scale:.1f}")
            pen = "L"
        out.append(f'<path d="{"".join(data)}" fill="none" stroke="{colour}" stroke-width="1.2"/>')
        if len(part.lines) > 1:
            out.append(
                f'<text x="{WIDTH - 8}" y="{HEIGHT - 8 - 12 * number}" text-anchor="end" fill="{colour}">'
                f"{escape(name)}</text>"
            )
    length = 10 ** np.floor(np.log10(0.5 * (WIDTH - 20) / scale))
    length *= 5 if 5 * length * scale <= 0.5 * WIDTH else 2 if 2 * length * scale <= 0.5 * WIDTH else 1
    out.append(
        f'<path d="M10 {HEIGHT - 14}v4h{length * scale:.1f}v-4" fill="none" stroke="#777777"/>'
        f'<text x="10" y="{HEIGHT - 18}">{escape(part.length_words(float(length)))}</text>'
    )
    return "".join(out)


def _bars(part: Bars) -> str:
    most = max((value for value in part.values.values() if math.isfinite(value)), default=0.0) or 1.0
    out = [_title(part.title)]
    tall = min(26.0, (HEIGHT - 40) / max(len(part.values), 1))
    for number, (name, value) in enumerate(part.values.items()):
        y, long = 30 + tall * number, (WIDTH - 180) * min(value / most, 1.0)
        out.append(
            f'<text x="118" y="{y + 0.55 * tall:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="122" y="{y:.1f}" width="{long:.1f}" height="{0.7 * tall:.1f}" '
            f'fill="{COLOURS[0]}"/><text x="{126 + long:.1f}" y="{y + 0.55 * tall:.1f}">'
            f"{value:.3g} {escape(part.unit)}</text>"
        )
    return "".join(out)
