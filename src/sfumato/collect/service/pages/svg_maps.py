"""Maps drawn by the server as SVG, and the operator's own streets and outline under them; never of another host.

Pictures are the same for everybody, so no request ever depends on a place. A page asks for all tiles of its campaign's
rectangle at once and for nothing else, whatever somebody looks at: which tiles a browser asks for would otherwise tell
the operator where its reader lives.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.service.models.replies import AreaView
from sfumato.collect.service.pages.layout import text
from sfumato.collect.service.pages.words import Words, words
from sfumato.collect.service.settings import Settings

TILES, OUTLINE = "/tiles/map.pmtiles", "/tiles/outline.json"
_MAGIC = b"PMTiles\x03"
_LARGEST_OUTLINE = 4_000_000
LARGEST_DRAWN = 4_096
SHADES = 9
FAINTEST = 0.25
"""How much of its colour an area keeps of which nothing is known."""
_LOCATOR_REACH_DEG = 9.0


@dataclass(frozen=True, slots=True)
class Ground:
    """The files, checked; ``tiles`` and ``outline`` are the addresses pages are told, empty where there is nothing."""

    tiles: str = ""
    outline: str = ""
    tiles_file: Path | None = None
    outline_file: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Ground:
        """Looked at once, when the server starts: a file that is no map is refused then, not in somebody's browser."""
        url, tiles, outline = (settings.text(name) for name in ("tile_url", "tiles", "outline"))
        if url and (not url.startswith("/") or url.startswith("//") or not all(f"{{{one}}}" in url for one in "zxy")):
            raise InputError(
                "tile_url is no path of this site.",
                "Pages ask no other host: give --tiles FILE.pmtiles, or a path such as /streets/{z}/{x}/{y}.pbf that "
                "your proxy answers.",
            )
        if url and tiles:
            raise InputError("Both tiles and tile_url are given.", "Choose one of them.")
        return cls(
            TILES if tiles else url,
            OUTLINE if outline else "",
            _pmtiles(Path(tiles)) if tiles else None,
            _geojson(Path(outline)) if outline else None,
        )


def _pmtiles(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path.name} with tiles.", "Give --tiles the path of a PMTiles file.")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InputError(f"{path.name} is no PMTiles file of version 3.", "Make one with planetiler or pmtiles.")
    return path


def _geojson(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path.name} with an outline.", "Give --outline the path of a GeoJSON file.")
    if path.stat().st_size > _LARGEST_OUTLINE:
        raise InputError(f"{path.name} is larger than 4 MB.", "Simplify the outline: it is drawn at a city's scale.")
    try:
        kind = json.loads(path.read_text(encoding="utf-8")).get("type")
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path.name} is no GeoJSON.", "Give a GeoJSON file with the city's outline.") from error
    if not isinstance(kind, str):
        raise InputError(f"{path.name} is no GeoJSON.", "Give a GeoJSON file with the city's outline.")
    return path


def under(ground: Ground | None) -> str:
    """Where the live map finds the operator's own streets and outline, as attributes of its element."""
    known = ground or Ground()
    return f' data-tiles="{text(known.tiles)}" data-outline="{text(known.outline)}"'


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
    said: Words | None = None,
    low: Sequence[float | None] = (),
    high: Sequence[float | None] = (),
) -> str:
    """An SVG of the grid, darker where the value is larger; a ring marks shares with intervals twice as wide."""
    tongue = said or words("en")
    side, blocks = coarser(grid, np.asarray(values, dtype=np.float64))
    rows, columns = blocks.shape
    width, height = grid.cell_width * side, grid.cell_height * side
    scale = 100.0 / max(columns * width, 1e-9)
    w, h = width * scale, height * scale
    intervals = list(zip(low, high, strict=True)) if side == 1 else []
    parts = []
    for index, (value, shade) in enumerate(zip(blocks.ravel().tolist(), shades(blocks.ravel()), strict=True)):
        row, column = divmod(index, columns)
        share = tongue.percent(value)
        least, most = intervals[index] if intervals else (None, None)
        if least is not None and most is not None:
            share += f" ({tongue.percent(least)} – {tongue.percent(most)})"
        told = tongue.say("title_square", row=row * side, column=column * side, share=share)
        parts.append(
            f'<rect class="cell q{shade}" x="{column * w:.2f}" y="{row * h:.2f}" width="{w:.2f}" height="{h:.2f}">'
            f"<title>{text(told)}</title></rect>"
        )
        if shade > 0 and least is not None and most is not None and most - least > 2 * value:
            x, y = (column + 0.5) * w, (row + 0.5) * h
            parts.append(
                f'<circle class="doubt" cx="{x:.2f}" cy="{y:.2f}" r="{0.16 * min(w, h):.2f}" stroke-width=".35"/>'
            )
    return _framed(grid, parts, rows * h, title, about)


def _framed(grid: Grid, parts: Sequence[str], total: float, title: str, about: str) -> str:
    locator = _locator(grid)
    across = 120 if locator else 102  # the locator stands beside the cells, never over them
    return (
        f'<svg viewBox="-1 -1 {across} {max(total, 18) + 2:.2f}" role="img" aria-label="{text(title)}. {text(about)}">'
        f"<title>{text(title)}</title><desc>{text(about)}</desc>{''.join(parts)}{locator}</svg>"
    )


def middle(area: AreaView) -> float:
    """The middle of an area's interval: what its colour says, as its words do."""
    return (area.low + area.high) / 2


def sure(area: AreaView, cells: int) -> float:
    """How sure an area's share is, 1 certain .. 0 unknown: its interval beside twice its middle (or an even share)."""
    even = area.rows * area.columns / cells
    return min(1.0, max(0.0, 1 - (area.high - area.low) / (2 * max(middle(area), even))))


def span(low: float, high: float) -> str:
    """An interval of shares for people: 12–17 %, < 1 %."""
    least, most = round(100 * low), round(100 * high)
    if most < 1:
        return "< 1 %"
    return f"{most} %" if least == most else f"{least}–{most} %"


def area_map(grid: Grid, areas: Sequence[AreaView], *, title: str, about: str, said: Words | None = None) -> str:
    """An SVG of areas: darker where there are more people to the square kilometre, paler where it is uncertain.

    One area is the whole map, and nothing is known of where in it people are: it has no colour.
    """
    tongue = said or words("en")
    scale = 100.0 / max(grid.columns * grid.cell_width, 1e-9)
    w, h = grid.cell_width * scale, grid.cell_height * scale
    density = np.array([middle(one) / (one.rows * one.columns) for one in areas])
    shaded = shades(density) if len(areas) > 1 else [0]
    parts = []
    for one, shade in zip(areas, shaded, strict=True):
        told = text(tongue.say("of_people", span=span(one.low, one.high)))
        x, y, width, height = one.column * w, one.row * h, one.columns * w, one.rows * h
        opacity = FAINTEST + (1 - FAINTEST) * (sure(one, grid.cells) if len(areas) > 1 else 0.0)
        parts.append(
            f'<rect class="cell q{shade}" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
            f'fill-opacity="{opacity:.2f}"><title>{told}</title></rect>'
        )
        if len(areas) > 1 and width > 13:
            label = span(one.low, one.high)
            kind = "told few" if label.startswith("<") else "told"
            at = f'x="{x + width / 2:.2f}" y="{y + height / 2:.2f}"'
            parts.append(f'<text class="{kind}" {at}>{text(label)}</text>')
    return _framed(grid, parts, grid.rows * h, title, about)


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


def line_chart(
    points: Sequence[tuple[int, float | None]], *, title: str, unit: str = "", said: Words | None = None
) -> str:
    """A number over the rounds, with its largest and latest value written; nothing for fewer than two points."""
    tongue = said or words("en")
    known = [(cycle, value) for cycle, value in points if value is not None]
    if len(known) < 2:
        return ""
    top, first, last = max(value for _, value in known) or 1.0, known[0][0], known[-1][0]
    placed = [(8 + 264 * (c - first) / max(1, last - first), 96 - 76 * v / top) for c, v in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    x, y = placed[-1]
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>' for a, b in placed) if len(placed) <= 20 else ""
    now, most = (text(f"{tongue.number(value)} {unit}".strip()) for value in (known[-1][1], top))
    told = tongue.say("chart_label", title=text(title), now=now, round=last, top=most)
    ends = [text(tongue.say("when_round", round=one)) for one in (first, last)]
    return (
        f'<figure><figcaption>{text(title)}</figcaption><svg class="chart" viewBox="0 0 320 116" role="img" '
        f'aria-label="{told}"><path d="M8 96H272M8 20H272"/><polyline points="{line}"/>{dots}'
        f'<text x="276" y="{y + 4:.1f}" class="now">{now}</text>'
        f'<text x="8" y="15">{most}</text><text x="8" y="112">{ends[0]}</text>'
        f'<text x="{x:.1f}" y="112" text-anchor="end">{ends[1]}</text></svg></figure>'
    )
