"""Maps drawn by the server as SVG: the same for everybody, so no request ever depends on a place."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.grid import Grid
from sfumato.service.pages.layout import percent, text

LARGEST_DRAWN = 4_096
SHADES = 9
_LOCATOR_REACH_DEG = 9.0


def shades(values: FloatArray) -> list[int]:
    """Each value's shade, 0 .. 8: equal steps of the square root, so that small shares can be told apart."""
    top = float(values.max())
    if top <= 0:
        return [0] * values.size
    steps = np.floor(np.sqrt(np.clip(values, 0, None) / top) * SHADES).astype(int)
    return [int(step) for step in np.minimum(steps, SHADES - 1)]


def coarser(grid: Grid, values: FloatArray) -> tuple[int, FloatArray]:
    """Sums over blocks of cells until the map has at most 4,096 of them; the block's side in cells."""
    side = 1
    while math.ceil(grid.rows / side) * math.ceil(grid.columns / side) > LARGEST_DRAWN:
        side += 1
    if side == 1:
        return 1, values.reshape(grid.shape)
    rows, columns = (-(-n // side) * side for n in grid.shape)
    padded = np.zeros((rows, columns))
    padded[: grid.rows, : grid.columns] = values.reshape(grid.shape)
    return side, padded.reshape(rows // side, side, columns // side, side).sum(axis=(1, 3))


def grid_map(
    grid: Grid,
    values: Sequence[float],
    *,
    title: str,
    about: str,
    low: Sequence[float | None] = (),
    high: Sequence[float | None] = (),
) -> str:
    """An SVG of the grid, darker where the value is larger; a ring marks shares with intervals twice as wide."""
    side, blocks = coarser(grid, np.asarray(values, dtype=np.float64))
    rows, columns = blocks.shape
    width, height = grid.cell_width * side, grid.cell_height * side
    scale = 100.0 / max(columns * width, 1e-9)
    w, h = width * scale, height * scale
    intervals = list(zip(low, high, strict=True)) if side == 1 else []
    parts = []
    for index, (value, shade) in enumerate(zip(blocks.ravel().tolist(), shades(blocks.ravel()), strict=True)):
        row, column = divmod(index, columns)
        words = f"row {row * side}, column {column * side}: {percent(value)}"
        least, most = intervals[index] if intervals else (None, None)
        if least is not None and most is not None:
            words += f" ({percent(least)} to {percent(most)})"
        parts.append(
            f'<rect class="cell q{shade}" x="{column * w:.2f}" y="{row * h:.2f}" width="{w:.2f}" height="{h:.2f}">'
            f"<title>{words}</title></rect>"
        )
        if shade > 0 and least is not None and most is not None and most - least > 2 * value:
            x, y = (column + 0.5) * w, (row + 0.5) * h
            parts.append(
                f'<circle class="doubt" cx="{x:.2f}" cy="{y:.2f}" r="{0.16 * min(w, h):.2f}" stroke-width=".35"/>'
            )
    total = rows * h
    locator = _locator(grid)
    across = 120 if locator else 102  # the locator stands beside the cells, never over them
    return (
        f'<svg viewBox="-1 -1 {across} {max(total, 18) + 2:.2f}" role="img" aria-label="{text(title)}. {text(about)}">'
        f"<title>{text(title)}</title><desc>{text(about)}</desc>{''.join(parts)}{locator}</svg>"
    )


@lru_cache(maxsize=1)
def _land() -> list[list[tuple[float, float]]]:
    place = files("sfumato").joinpath("data", "ne_110m_land.geojson")
    if not place.is_file():
        return []
    features = json.loads(place.read_text(encoding="utf-8"))["features"]
    rings: list[list[tuple[float, float]]] = []
    for feature in features:
        shape = feature["geometry"]
        polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
        rings.extend([(lon, lat) for lon, lat, *_ in polygon[0]] for polygon in polygons)
    return rings


def _locator(grid: Grid) -> str:
    """A small window on the coarse coastline around the grid: where on earth this is. Says nothing about anybody."""
    rings = _land()
    if grid.north_deg is None or not rings:
        return ""
    assert grid.north_deg is not None
    assert grid.west_deg is not None
    lat = grid.north_deg - grid.rows * (grid.cell_height_deg or 0) / 2
    lon = grid.west_deg + grid.columns * (grid.cell_width_deg or 0) / 2
    squeeze = math.cos(math.radians(min(80.0, abs(lat))))
    scale = 8.0 / _LOCATOR_REACH_DEG
    paths = []
    for ring in rings:
        placed = [(((p[0] - lon + 540) % 360 - 180) * squeeze * scale, (lat - p[1]) * scale) for p in ring]
        if max(x for x, _ in placed) - min(x for x, _ in placed) < 250 * squeeze:
            inside = _clipped(placed, 8.0)
            if inside:
                paths.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in inside) + "Z")
    return (
        '<g transform="translate(110 8)"><clipPath id="locator"><rect x="-8" y="-8" width="16" height="16" rx="1.5"/>'
        '</clipPath><rect class="locator-sea" x="-8" y="-8" width="16" height="16" rx="1.5" stroke-width=".3"/>'
        f'<g clip-path="url(#locator)"><path class="locator-land" d="{"".join(paths)}"/></g>'
        '<circle class="locator-here" r=".9"/></g>'
    )


def _clipped(ring: list[tuple[float, float]], reach: float) -> list[tuple[float, float]]:
    """The part of a polygon within a square, one side after the other (Sutherland and Hodgman)."""
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        kept: list[tuple[float, float]] = []
        for before, here in zip([ring[-1], *ring[:-1]], ring, strict=True):
            a, b = reach - sign * before[axis], reach - sign * here[axis]
            if (a < 0) != (b < 0):
                t = a / (a - b)
                kept.append((before[0] + t * (here[0] - before[0]), before[1] + t * (here[1] - before[1])))
            if b >= 0:
                kept.append(here)
        ring = kept
        if not ring:
            return []
    return ring


def sparkline(values: Sequence[float | None], *, title: str) -> str:
    """A small line of a number over the cycles."""
    known = [(i, float(v)) for i, v in enumerate(values) if v is not None]
    if len(known) < 2:
        return ""
    top = max(v for _, v in known) or 1.0
    last = max(1, len(values) - 1)
    points = " ".join(f"{100 * i / last:.2f},{29 - 28 * v / top:.2f}" for i, v in known)
    return (
        f'<svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label="{text(title)}">'
        f'<polyline points="{points}"/></svg>'
    )
