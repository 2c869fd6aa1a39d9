"""Small pictures without a plotting library: line panels, heat maps and paths as one SVG text."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray

COLOURS = ("#1f6fb2", "#c2571a", "#2f8f4e", "#444444", "#b23a6f", "#8a7a1f")
OURS = "#7a4ea3"  # the same in every panel
WIDTH, HEIGHT = 300, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 26, 34


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One set of axes: named lines over a common x, an optional shaded x-interval, a dashed x, and a log y."""

    title: str
    x: FloatArray
    lines: Mapping[str, FloatArray]
    x_label: str = ""
    y_label: str = ""
    shaded: tuple[float, float] | None = None
    dashed: float | None = None
    log_y: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """A matrix as colours, with a line (a noise sample) drawn beneath where there is one."""

    title: str
    matrix: FloatArray
    sample: FloatArray | None = None
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PathMap:
    """A path in the plane with discs around its points and some of them marked."""

    title: str
    path: FloatArray
    released: FloatArray
    radii: FloatArray
    marked: Sequence[int] = field(default_factory=tuple)


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


def svg(parts: Sequence[Panel | HeatMap | PathMap | Tracks | Bars], *, columns: int = 4, title: str = "") -> str:
    """All parts side by side in one SVG."""
    rows = -(-len(parts) // columns)
    width, height = columns * WIDTH, rows * HEIGHT + 30
    drawers = {Panel: _panel, HeatMap: _heat_map, PathMap: _path_map, Tracks: _tracks, Bars: _bars}
    body = [f'<text x="8" y="20" font-size="15">{escape(title)}</text>']
    for number, part in enumerate(parts):
        x, y = (number % columns) * WIDTH, 30 + (number // columns) * HEIGHT
        body.append(f'<g transform="translate({x},{y})">{drawers[type(part)](part)}</g>')  # type: ignore[operator]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(body)}</svg>\n"
    )


def _panel(panel: Panel) -> str:
    x = np.asarray(panel.x, dtype=np.float64)
    drawn = {name: np.asarray(values, dtype=np.float64) for name, values in panel.lines.items()}
    everything = np.concatenate([v[np.isfinite(v)] for v in drawn.values()])
    if panel.log_y:
        everything = np.log10(everything[everything > 0])
    low, high = float(everything.min()), float(everything.max())
    if not panel.log_y:
        low = min(low, 0.0)
    high = high if high > low else low + 1
    x0, x1 = float(x.min()), float(x.max())
    if x1 == x0:
        x0, x1 = x0 - 0.5, x1 + 0.5

    def px(value: npt.ArrayLike) -> FloatArray:
        return np.asarray(_LEFT + (np.asarray(value) - x0) / (x1 - x0) * (WIDTH - _LEFT - _RIGHT))

    def py(value: npt.ArrayLike) -> FloatArray:
        shown = np.log10(np.maximum(value, 1e-300)) if panel.log_y else np.asarray(value)
        return np.asarray(HEIGHT - _BOTTOM - (shown - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM))

    out = [f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(panel.title)}</text>']
    if panel.shaded is not None:
        a, b = (float(px(np.clip(v, x0, x1))) for v in panel.shaded)
        out.append(
            f'<rect x="{a:.1f}" y="{_TOP}" width="{b - a:.1f}" height="{HEIGHT - _TOP - _BOTTOM}" fill="#ececec"/>'
        )
    if panel.dashed is not None and x0 <= panel.dashed <= x1:
        d = float(px(panel.dashed))
        out.append(
            f'<line x1="{d:.1f}" x2="{d:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}" stroke="#333" '
            'stroke-dasharray="3 3"/>'
        )
    out.append(
        f'<rect x="{_LEFT}" y="{_TOP}" width="{WIDTH - _LEFT - _RIGHT}" height="{HEIGHT - _TOP - _BOTTOM}" '
        'fill="none" stroke="#999"/>'
    )
    for share in (0.0, 0.5, 1.0):
        level = low + share * (high - low)
        shown = 10**level if panel.log_y else level
        y = HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)
        out.append(f'<text x="{_LEFT - 3}" y="{y + 3:.1f}" text-anchor="end">{shown:.3g}</text>')
        at = x0 + share * (x1 - x0)
        out.append(f'<text x="{float(px(at)):.1f}" y="{HEIGHT - _BOTTOM + 12}" text-anchor="middle">{at:.3g}</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(panel.x_label)}</text>')
    out.append(f'<text x="4" y="{_TOP - 4}">{escape(panel.y_label)}</text>')
    for number, (name, values) in enumerate(drawn.items()):
        colour = OURS if name.startswith("ours") else COLOURS[number % len(COLOURS)]
        ok = np.isfinite(values) & ((values > 0) | (not panel.log_y))
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px(x[ok]), py(values[ok]), strict=True))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        y = _TOP + 11 + 11 * number
        out.append(f'<text x="{WIDTH - _RIGHT - 4}" y="{y}" text-anchor="end" fill="{colour}">{escape(name)}</text>')
    return "".join(out)


def _heat_map(part: HeatMap) -> str:
    size = 130
    matrix = part.matrix
    span = float(np.max(np.abs(matrix))) or 1.0
    image = base64.b64encode(_png(matrix / span)).decode()
    out = [
        f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(part.title)}</text>',
        f'<image x="{(WIDTH - size) / 2}" y="20" width="{size}" height="{size}" image-rendering="pixelated" '
        f'href="data:image/png;base64,{image}"/>',
    ]
    if part.sample is None:
        words = " down, ".join(word for word in (part.y_label, part.x_label) if word)
        across = f"{words} across" if words else ""
        return "".join([*out, f'<text x="{WIDTH / 2}" y="168" text-anchor="middle">{escape(across)}</text>'])
    n = len(part.sample)
    largest = float(np.max(np.abs(part.sample))) or 1.0
    points = " ".join(
        f"{20 + 260 * i / max(n - 1, 1):.1f},{182 - 24 * float(v) / largest:.1f}" for i, v in enumerate(part.sample)
    )
    out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.2"/>')
    return "".join(out)


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
    out = [f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(part.title)}</text>']
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
        f'<path d="M10 {HEIGHT - 14}v4h{length * scale:.1f}v-4" fill="none" stroke="#444"/>'
        f'<text x="10" y="{HEIGHT - 18}">{escape(part.length_words(float(length)))}</text>'
    )
    return "".join(out)


def _bars(part: Bars) -> str:
    most = max(part.values.values(), default=0.0) or 1.0
    out = [f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(part.title)}</text>']
    tall = min(26.0, (HEIGHT - 40) / max(len(part.values), 1))
    for number, (name, value) in enumerate(part.values.items()):
        y = 30 + tall * number
        out.append(
            f'<text x="118" y="{y + 0.55 * tall:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="122" y="{y:.1f}" width="{(WIDTH - 180) * value / most:.1f}" height="{0.7 * tall:.1f}" '
            f'fill="{COLOURS[0]}"/><text x="{126 + (WIDTH - 180) * value / most:.1f}" y="{y + 0.55 * tall:.1f}">'
            f"{value:.3g} {escape(part.unit)}</text>"
        )
    return "".join(out)


def _path_map(part: PathMap) -> str:
    reach = float(np.max(part.radii))
    low = np.minimum(part.path.min(axis=0), part.released.min(axis=0)) - reach
    high = np.maximum(part.path.max(axis=0), part.released.max(axis=0)) + reach
    scale = min((WIDTH - 20) / (high[0] - low[0]), (HEIGHT - 40) / (high[1] - low[1]))

    def place(points: FloatArray) -> FloatArray:
        return np.stack([10 + (points[:, 0] - low[0]) * scale, HEIGHT - 10 - (points[:, 1] - low[1]) * scale], axis=1)

    true, released = place(part.path), place(part.released)
    out = [f'<text x="{WIDTH / 2}" y="14" text-anchor="middle" font-size="11">{escape(part.title)}</text>']
    for (x, y), radius in zip(true, part.radii, strict=True):
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius * scale:.1f}" fill="#2f8f4e" fill-opacity="0.12"/>')
    for line, colour, dash in ((true, "#333333", ""), (released, "#c2571a", ' stroke-dasharray="3 2"')):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}"{dash}/>')
    for index in part.marked:
        x, y = true[index]
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#c2571a" stroke="#1f6fb2" stroke-width="2"/>')
    return "".join(out)
