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
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.scales import Scale
from sfumato.base.drawing.svg import element, escape, label, locator, picture, short
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.service.models.replies import AreaView
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
    return f' data-tiles="{escape(known.tiles)}" data-outline="{escape(known.outline)}"'


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
        at = {"x": column * w, "y": row * h, "width": w, "height": h}
        parts.append(element("rect", element("title", escape(told)), class_=f"cell q{shade}", **at))
        if shade > 0 and least is not None and most is not None and most - least > 2 * value:
            ring = {"cx": (column + 0.5) * w, "cy": (row + 0.5) * h, "r": 0.16 * min(w, h)}
            parts.append(element("circle", class_="doubt", **ring, stroke_width=0.35))
    return in_frame(grid, parts, rows * h, title, about)


def in_frame(grid: Grid, parts: Sequence[str], total: float, title: str, about: str) -> str:
    """A map's parts with a small window on where on earth this is, beside them."""
    beside = _locator(grid)  # never over the cells
    cells = element("g", *parts, beside, transform="translate(1 1)")
    return picture(120 if beside else 102, max(total, 18) + 2, cells, title=title, about=about)


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
        told = element("title", escape(tongue.say("of_people", span=span(one.low, one.high))))
        x, y, width, height = one.column * w, one.row * h, one.columns * w, one.rows * h
        opacity = FAINTEST + (1 - FAINTEST) * (sure(one, grid.cells) if len(areas) > 1 else 0.0)
        box = {"x": x, "y": y, "width": width, "height": height, "fill_opacity": opacity}
        parts.append(element("rect", told, class_=f"cell q{shade}", **box))
        if len(areas) > 1 and width > 13:
            said_share = span(one.low, one.high)
            kind = "told few" if said_share.startswith("<") else "told"
            parts.append(label(x + width / 2, y + height / 2, said_share, class_=kind))
    return in_frame(grid, parts, grid.rows * h, title, about)


def _locator(grid: Grid) -> str:
    """A small window on the coarse coastline around the grid: where on earth this is. Says nothing about anybody."""
    if grid.north_deg is None or grid.west_deg is None:
        return ""
    lat = grid.north_deg - grid.rows * (grid.cell_height_deg or 0) / 2
    lon = grid.west_deg + grid.columns * (grid.cell_width_deg or 0) / 2
    land = locator(lat, lon, (-8.0, -8.0, 8.0, 8.0), 2 * _LOCATOR_REACH_DEG)
    return element(
        "g",
        element("rect", class_="locator-sea", x=-8, y=-8, width=16, height=16, stroke_width=0.3),
        element("path", class_="locator-land", d=land),
        element("circle", class_="locator-here", r=0.9),
        transform="translate(110 8)",
    )


def line_chart(
    points: Sequence[tuple[int, float | None]], *, title: str, unit: str = "", said: Words | None = None
) -> str:
    """A number over the rounds, with its largest and latest value written; nothing for fewer than two points."""
    tongue = said or words("en")
    known = [(cycle, value) for cycle, value in points if value is not None]
    if len(known) < 2:
        return ""
    top, first, last = max(value for _, value in known) or 1.0, known[0][0], known[-1][0]
    along, height = Scale(first, max(last, first + 1), 8, 272), Scale(0.0, top, 96, 20)
    placed = np.column_stack([along([c for c, _ in known]), height([v for _, v in known])])
    x, y = placed[-1].tolist()
    dots = [element("circle", cx=a, cy=b, r=2.5) for a, b in placed.tolist()] if len(placed) <= 20 else []
    now, most = (f"{tongue.number(value)} {unit}".strip() for value in (known[-1][1], top))
    told = tongue.say("chart_label", title=title, now=now, round=last, top=most)
    ends = [tongue.say("when_round", round=one) for one in (first, last)]
    drawn = picture(
        320,
        116,
        element("path", d="M8 96H272M8 20H272"),
        element("polyline", points=" ".join(f"{short(a)},{short(b)}" for a, b in placed.tolist())),
        *dots,
        label(276, y + 4, now, class_="now"),
        label(8, 15, most),
        label(8, 112, ends[0]),
        label(x, 112, ends[1], anchor="end"),
        title=told,
        class_="chart",
    )
    return element("figure", element("figcaption", escape(title)), drawn)
