"""SVG and HTML as text: elements with safe attributes, and maps: a sheet of paper, its scale bar, the land around.

Land is Natural Earth's at 1 : 110 million, wrong by kilometres: under a city it would mislead, so a sheet of a city has
it only in a corner, to say where on Earth this is.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import pairwise

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, wrap_longitude
from sfumato.base.things.frames import frame_for
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length


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


MOST_POINTS = 1500
LAND_FROM_M = 250_000.0
METRES_PER_DEGREE = 111_195.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class MapSheet:
    """Degrees to pixels: the local frame's metres for a city, plain longitude and latitude for a continent."""

    lat0: float
    lon0: float
    metric: bool
    width: float
    height: float
    centre: tuple[float, float] = (0.0, 0.0)
    metres_per_px: float = 1.0

    def metres(self, lat: FloatArray, lon: FloatArray) -> FloatArray:
        """East and north of the sheet's origin."""
        if self.metric:
            return frame_for(self.lat0, self.lon0).to_metres(lat, lon)
        east = wrap_longitude(lon - self.lon0) * math.cos(math.radians(self.lat0)) * METRES_PER_DEGREE
        return np.column_stack([east, (lat - self.lat0) * METRES_PER_DEGREE])

    def pixels(self, lat: FloatArray, lon: FloatArray) -> FloatArray:
        """Places on the picture, north up."""
        xy = (self.metres(lat, lon) - np.array(self.centre)) / self.metres_per_px
        return np.column_stack([self.width / 2 + xy[:, 0], self.height / 2 - xy[:, 1]])

    def land(self) -> str:
        """Path data of the land under a continent; nothing under a city."""
        if self.metric:
            return ""
        reach = max(self.width, self.height) * self.metres_per_px / METRES_PER_DEGREE
        reach_lon = min(reach / max(math.cos(math.radians(self.lat0)), 0.05), 179.0)
        box = (-20.0, -20.0, self.width + 20, self.height + 20)
        return _land(self.lat0, self.lon0, reach, reach_lon, box, lambda lat, lon: self.pixels(lat, self.lon0 + lon))


def sheet_around(
    lat: FloatArray,
    lon: FloatArray,
    *,
    width: float,
    height: float | None = None,
    margin: float,
    room_m: float = 0.0,
    least_m: float = 100.0,
    rare: float = 0.0,
    even: bool = False,
) -> MapSheet:
    """The sheet that holds all places but the ``rare`` share at each edge, with ``room_m`` around them.

    Without ``height`` it is as high as the places ask for; ``even`` keeps meridians upright, for cells of a grid.
    """
    lat0, lon0 = float((lat.min() + lat.max()) / 2), _middle_longitude(lon)
    plain = MapSheet(lat0, lon0, False, width, height or width)
    extent = float(np.ptp(plain.metres(lat, lon), axis=0).max())
    metric = not even and (extent < LAND_FROM_M or abs(lat0) > 85)
    xy = replace(plain, metric=metric).metres(lat, lon)
    low, high = np.quantile(xy, rare, axis=0), np.quantile(xy, 1 - rare, axis=0)
    span = np.maximum(high - low + room_m, least_m)
    scale = span[0] / (width - 2 * margin)
    if height is None:
        height = min(float(span[1] / scale), 4 * width) + 2 * margin
    scale = max(scale, span[1] / (height - 2 * margin))
    east, north = ((low + high) / 2).tolist()
    return MapSheet(lat0, lon0, metric, width, height, (east, north), float(scale))


def _middle_longitude(lon: FloatArray) -> float:
    """The middle of the shortest arc that holds all longitudes, right across the antimeridian too."""
    ordered = np.unique(wrap_longitude(lon))
    gaps = np.diff(np.append(ordered, ordered[0] + 360.0))
    widest = int(np.argmax(gaps))
    start = ordered[(widest + 1) % len(ordered)]
    return float(wrap_longitude(np.array([start + (360.0 - gaps[widest]) / 2]))[0])


def scale_bar(x: float, y: float, metres_per_px: float, most_px: float) -> str:
    """A round length of at most ``most_px`` from (x, y) to the right, with its words beside it."""
    most_m = most_px * metres_per_px
    power = 10.0 ** math.floor(math.log10(most_m))
    length_m = next(step * power for step in (5.0, 2.0, 1.0) if step * power <= most_m)
    px = length_m / metres_per_px
    bar = element("path", d=f"M{short(x)} {short(y - 5)}v5h{short(px)}v-5", fill="none", stroke="#777777")
    return element("g", bar, label(x + px + 6, y, format_length(length_m)), class_="scale")


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


def locator(lat0: float, lon0: float, box: Box, across_deg: float) -> str:
    """Path data of the land around a place, which is the middle of the box."""
    left, top, right, bottom = box
    scale, stretch = (right - left) / across_deg, max(math.cos(math.radians(lat0)), 0.15)

    def pixels(lat: FloatArray, lon: FloatArray) -> FloatArray:
        return np.column_stack([(left + right) / 2 + lon * stretch * scale, (top + bottom) / 2 - (lat - lat0) * scale])

    return _land(lat0, lon0, (bottom - top) / scale / 2, min(across_deg / 2 / stretch, 170.0), box, pixels)


def _land(
    lat0: float,
    lon0: float,
    reach_lat: float,
    reach_lon: float,
    box: Box,
    pixels: Callable[[FloatArray, FloatArray], FloatArray],
) -> str:
    """Rings of land near a place, longitudes relative to it; a ring may be needed from both sides."""
    found = []
    for lat, lon in _world():
        if lat.max() < lat0 - reach_lat or lat.min() > lat0 + reach_lat:
            continue
        for turn in (-360.0, 0.0, 360.0):
            relative = lon - lon0 + turn
            if relative.max() >= -reach_lon and relative.min() <= reach_lon:
                found.append(_clip(pixels(lat, relative), box))
    return "".join(found)


@lru_cache(maxsize=1)
def _world() -> tuple[tuple[FloatArray, FloatArray], ...]:
    text = resources.files("sfumato").joinpath("data/ne_110m_land.geojson").read_text(encoding="utf-8")
    shapes = [feature["geometry"] for feature in json.loads(text)["features"]]
    polygons = [
        one for s in shapes for one in (s["coordinates"] if s["type"] == "MultiPolygon" else [s["coordinates"]])
    ]
    rings = [np.array(ring, dtype=np.float64) for polygon in polygons for ring in polygon]
    return tuple((ring[:, 1], ring[:, 0]) for ring in rings)


def _clip(points: FloatArray, box: Box) -> str:
    """A polygon cut to a box (Sutherland-Hodgman), as closed path data."""
    ring = points.tolist()
    for axis, limit, keep_above in ((0, box[0], True), (0, box[2], False), (1, box[1], True), (1, box[3], False)):
        cut: list[list[float]] = []
        for place, here in enumerate(ring):
            before = ring[place - 1]
            inside = here[axis] >= limit if keep_above else here[axis] <= limit
            was_inside = before[axis] >= limit if keep_above else before[axis] <= limit
            if inside != was_inside:
                share = (limit - before[axis]) / (here[axis] - before[axis])
                cut.append([before[k] + share * (here[k] - before[k]) for k in (0, 1)])
            if inside:
                cut.append(here)
        ring = cut
    return line_data(np.array(ring), closed=True) if len(ring) >= 3 else ""


def depth(share: float, top: float) -> float:
    """How dark a cell is, 0 to 1: by the square root, so that small shares can be told apart."""
    return math.sqrt(max(share, 0.0) / top) if top > 0 else 0.0
