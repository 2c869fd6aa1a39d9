"""Small pictures for the PRIVIC reproductions: lines with points, and maps of cells, as plain SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray

_COLOURS = ("#1b6ca8", "#c8553d", "#4b8b3b", "#8a5a9e", "#b8860b", "#555555")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 400, 64, 48, 34


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]], *, title: str, x: str, y: str, logarithmic: bool = True
) -> str:
    """One line per series of (x, y) points; values that are not finite are left out."""
    kept = {
        name: [(a, b) for a, b in points if math.isfinite(b) and (b > 0 or not logarithmic)]
        for name, points in series.items()
    }
    every = [point for points in kept.values() for point in points]
    scale = math.log10 if logarithmic else float
    low_x, high_x = min(a for a, _ in every), max(a for a, _ in every)
    low_y, high_y = min(scale(b) for _, b in every), max(scale(b) for _, b in every)
    low_y, high_y = low_y - 0.05 * (high_y - low_y or 1), high_y + 0.05 * (high_y - low_y or 1)

    def place(a: float, b: float) -> tuple[float, float]:
        across = _LEFT + (a - low_x) / (high_x - low_x or 1) * (_WIDTH - _LEFT - 150)
        up = _HEIGHT - _BOTTOM - (scale(b) - low_y) / (high_y - low_y) * (_HEIGHT - _BOTTOM - _TOP)
        return across, up

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<title>{html.escape(title)}</title><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{html.escape(title)}</text>',
        f'<text x="{(_WIDTH - 90) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{html.escape(x)}</text>',
        f'<text x="14" y="{_HEIGHT / 2}" transform="rotate(-90 14 {_HEIGHT / 2})" text-anchor="middle">'
        f"{html.escape(y)}</text>",
    ]
    for step in range(6):
        level = low_y + (high_y - low_y) * step / 5
        value = 10**level if logarithmic else level
        up = place(low_x, value)[1]
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 150}" y1="{up:.1f}" y2="{up:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{up + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for tick in sorted({a for a, _ in every}):
        across = place(tick, 10**low_y if logarithmic else low_y)[0]
        parts.append(f'<text x="{across:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{tick:g}</text>')
    for index, (name, points) in enumerate(kept.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in (place(*p) for p in points)]
        parts.append(
            f'<text x="{_WIDTH - 144}" y="{_TOP + 16 + 18 * index}" fill="{colour}">{html.escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def maps(panels: Sequence[tuple[str, FloatArray]], shape: tuple[int, int], *, title: str, per_row: int = 4) -> str:
    """Maps of cells, dark where a value is large (square-root scale), each with its caption."""
    rows, columns = shape
    size = 9
    wide, tall = columns * size + 24, rows * size + 36
    total_rows = math.ceil(len(panels) / per_row)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide * per_row + 16} {tall * total_rows + 40}" '
        'font-family="sans-serif" font-size="10">',
        f'<title>{html.escape(title)}</title><rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="20" font-size="14">{html.escape(title)}</text>',
    ]
    for index, (caption, values) in enumerate(panels):
        left, top = 12 + (index % per_row) * wide, 44 + (index // per_row) * tall
        parts.append(f'<text x="{left}" y="{top - 4}">{html.escape(caption)}</text>')
        share = np.sqrt(values / values.max())
        for cell in range(rows * columns):
            row, column = divmod(cell, columns)
            shade = round(255 - 215 * float(share[cell]))
            parts.append(
                f'<rect x="{left + column * size}" y="{top + row * size}" width="{size}" height="{size}" '
                f'fill="rgb({shade},{shade},255)"/>'
            )
    return "\n".join([*parts, "</svg>"])
