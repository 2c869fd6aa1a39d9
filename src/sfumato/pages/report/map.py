"""The map: release, and where it is a private page the original and the adversary's 68% band, drawn as one SVG."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.drawing.drawing import escape, nice_step, one_decimal, path_data, short
from sfumato.base.things.frames import frame_for, wrap_longitude
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.pages.report.words import interval_words
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate

WIDTH, HEIGHT, MARGIN = 960.0, 600.0, 36.0
INSET_W, INSET_H, INSET_DEG = 168.0, 112.0, 24.0
# Natural Earth's 1 : 110 million land is wrong by kilometres: under a city it would mislead.
LAND_FROM_M = 250_000.0
_METRES_PER_DEGREE = 111_195.0


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """The SVG, its drawn points in pixels for the page's slider, and the legend as (layer, words)."""

    svg: str
    slider: Mapping[str, object]
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """Degrees to pixels: the local frame's metres for a city, plain longitude and latitude for a continent."""

    lat0: float
    lon0: float
    metric: bool
    centre: tuple[float, float]
    metres_per_px: float

    def metres(self, lat: FloatArray, lon: FloatArray) -> FloatArray:
        if self.metric:
            return frame_for(self.lat0, self.lon0).to_metres(lat, lon)
        east = wrap_longitude(lon - self.lon0) * math.cos(math.radians(self.lat0)) * _METRES_PER_DEGREE
        return np.column_stack([east, (lat - self.lat0) * _METRES_PER_DEGREE])

    def pixels(self, lat: FloatArray, lon: FloatArray) -> FloatArray:
        xy = (self.metres(lat, lon) - np.array(self.centre)) / self.metres_per_px
        return np.column_stack([WIDTH / 2 + xy[:, 0], HEIGHT / 2 - xy[:, 1]])


def draw_map(
    release: Trace,
    original: Trace | None,
    certificate: Certificate,
    audit: Audit | None,
    shown: IntArray,
    *,
    line: Trace | None = None,
) -> Picture:
    """The SVG of a release, as dots around its smooth ``line`` or as a line itself; the original only where given."""
    layers = [(release.lat_deg[shown], release.lon_deg[shown])]
    if original is not None:
        layers.append((original.lat_deg[shown], original.lon_deg[shown]))
    radius_m = certificate.stated.numbers.radius_m
    attacked = audit is not None and audit.interval_68_m is not None
    half_width_m = float((audit.interval_68_m if audit is not None else certificate.noise_m) or 0.0)
    sheet = _sheet(layers, radius_m, half_width_m)
    segment = release.segment[shown]
    released = sheet.pixels(*layers[0])
    middle = released
    if audit is not None and audit.guess is not None:
        middle = sheet.pixels(audit.guess[0][shown], audit.guess[1][shown])
    band_px = max(2 * half_width_m / sheet.metres_per_px, 0.0)
    pieces = [_land(sheet)]
    if half_width_m:
        band = f'<path id="layer-band" class="band" stroke-width="{short(band_px)}" d="{path_data(middle, segment)}"/>'
        pieces.append(band)
    slider: dict[str, object] = {"release": one_decimal(released.ravel())}
    dots = len(shown) <= 400
    if original is not None:
        true = sheet.pixels(*layers[1])
        slider["original"] = one_decimal(true.ravel())
        pieces.append(_track("original", true, segment, dots=dots))
    if line is None:
        pieces.append(_track("release", released, segment, dots=dots))
    else:
        pieces.append(_points("release", released))
        pieces.append(_track("smooth", sheet.pixels(line.lat_deg[shown], line.lon_deg[shown]), segment, dots=False))
    pieces += [_scale_bar(sheet), _radius(sheet, radius_m)]
    if sheet.metric:
        pieces.append(_inset(sheet, np.concatenate([sheet.pixels(*layer) for layer in layers])))
    markers = "".join(
        f'<circle id="at-{name}" class="at {name}" r="7" cx="-99" cy="-99"/>'
        for name in ("original", "release")
        if name in slider
    )
    return Picture(
        _svg(pieces, markers, original is not None, half_width_m),
        slider,
        _legend(attacked, half_width_m, certificate, original, line),
    )


def _legend(
    attacked: bool, half_width_m: float, certificate: Certificate, original: Trace | None, line: Trace | None
) -> tuple[tuple[str, str], ...]:
    width = format_length(half_width_m)
    band = (
        f"the adversary's 68% interval, ±{width} per coordinate around their best guess"
        if attacked
        else f"{interval_words(certificate)}, ±{width} per coordinate"
    )
    drawn = [("release", "release")]
    if line is not None:
        drawn = [("smooth", "likeliest track, from the release alone"), ("release", "release, point by point")]
    rows = [*drawn, *([("band", band)] if half_width_m else [])]
    return tuple(([("original", "original (private)")] if original is not None else []) + rows)


def _svg(pieces: list[str], markers: str, private: bool, half_width_m: float) -> str:
    shows = "the original track, the released track" if private else "the released track"
    band = f" and a band of plus or minus {escape(format_length(half_width_m))} that is the 68% interval"
    return (
        f'<svg class="map" viewBox="0 0 {short(WIDTH)} {short(HEIGHT)}" role="img" aria-labelledby="map-t map-d">'
        f'<title id="map-t">Map of {"original and release" if private else "the release"}</title>'
        f'<desc id="map-d">It shows {shows}{band if half_width_m else ""}. North is up.</desc>'
        f'<rect class="sea" width="{short(WIDTH)}" height="{short(HEIGHT)}"/>{"".join(pieces)}{markers}</svg>'
    )


def _sheet(layers: list[tuple[FloatArray, FloatArray]], radius_m: float, half_width_m: float) -> _Sheet:
    lat = np.concatenate([layer[0] for layer in layers])
    lon = np.concatenate([layer[1] for layer in layers])
    lat0, lon0 = float((lat.min() + lat.max()) / 2), _middle_longitude(lon)
    plain = _Sheet(lat0, lon0, False, (0.0, 0.0), 1.0)
    extent = float(np.ptp(plain.metres(lat, lon), axis=0).max())
    metric = extent < LAND_FROM_M or abs(lat0) > 85
    xy = _Sheet(lat0, lon0, metric, (0.0, 0.0), 1.0).metres(lat, lon)
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.maximum(high - low + half_width_m, max(4 * radius_m, 100.0))
    scale = max(span[0] / (WIDTH - 2 * MARGIN), span[1] / (HEIGHT - 2 * MARGIN))
    centre = (low + high) / 2
    return _Sheet(lat0, lon0, metric, (float(centre[0]), float(centre[1])), float(scale))


def _middle_longitude(lon: FloatArray) -> float:
    """The middle of the shortest arc that holds all longitudes, right across the antimeridian too."""
    ordered = np.unique(wrap_longitude(lon))
    gaps = np.diff(np.append(ordered, ordered[0] + 360.0))
    widest = int(np.argmax(gaps))
    start = ordered[(widest + 1) % len(ordered)]
    return float(wrap_longitude(np.array([start + (360.0 - gaps[widest]) / 2]))[0])


def _track(name: str, points: FloatArray, segment: IntArray, *, dots: bool) -> str:
    line = f'<path class="track {name}" d="{path_data(points, segment)}"/>'
    marks = "".join(f'<circle cx="{short(x)}" cy="{short(y)}" r="2.2"/>' for x, y in points.tolist()) if dots else ""
    first, last = points[0], points[-1]
    ends = (
        f'<circle class="end" cx="{short(first[0])}" cy="{short(first[1])}" r="6"/>'
        f'<rect class="end" x="{short(last[0] - 5)}" y="{short(last[1] - 5)}" width="10" height="10" rx="2"/>'
    )
    return f'<g id="layer-{name}" class="{name}">{line}{marks}{ends}</g>'


def _points(name: str, points: FloatArray) -> str:
    """Dots without a line, as one path."""
    marks = "".join(f"M{short(x)} {short(y)}h0" for x, y in points.tolist())
    return f'<g id="layer-{name}" class="{name}"><path class="points" d="{marks}"/></g>'


def _scale_bar(sheet: _Sheet) -> str:
    length_m = nice_step(sheet.metres_per_px * 160, 1)
    length_m = length_m if length_m / sheet.metres_per_px <= 260 else length_m / 2
    px = length_m / sheet.metres_per_px
    x, y = MARGIN, HEIGHT - 22
    return (
        f'<g class="scale"><path d="M{short(x)} {short(y - 5)}v5h{short(px)}v-5"/>'
        f'<text x="{short(x + px / 2)}" y="{short(y - 9)}" text-anchor="middle">'
        f"{escape(format_length(length_m))}</text></g>"
    )


def _radius(sheet: _Sheet, radius_m: float) -> str:
    """The promise's radius at the map's scale, where it can be seen."""
    px = radius_m / sheet.metres_per_px
    if not 3 <= px <= 90:
        return ""
    x, y = WIDTH - MARGIN - px, HEIGHT - 30 - px
    return (
        f'<g class="scale"><circle cx="{short(x)}" cy="{short(y)}" r="{short(px)}"/>'
        f'<text x="{short(WIDTH - MARGIN)}" y="{short(HEIGHT - 12)}" text-anchor="end">'
        f"radius {escape(format_length(radius_m))}</text></g>"
    )


def _land(sheet: _Sheet) -> str:
    if sheet.metric:
        return ""
    reach = max(WIDTH, HEIGHT) * sheet.metres_per_px / _METRES_PER_DEGREE
    reach_lon = min(reach / max(math.cos(math.radians(sheet.lat0)), 0.05), 179.0)
    rings = _rings(sheet.lat0, sheet.lon0, reach, reach_lon)
    box = (-20.0, -20.0, WIDTH + 20, HEIGHT + 20)
    parts = [_clipped(sheet.pixels(lat, sheet.lon0 + lon), box) for lat, lon in rings]
    return f'<path class="land" d="{"".join(parts)}"/>'


def _inset(sheet: _Sheet, points: FloatArray) -> str:
    """Where on Earth this is: the emptier upper corner with the land around and a dot."""
    scale = INSET_W / INSET_DEG
    stretch = max(math.cos(math.radians(sheet.lat0)), 0.15)
    half_lon = INSET_DEG / 2 / stretch
    rings = _rings(sheet.lat0, sheet.lon0, INSET_DEG * INSET_H / INSET_W / 2, min(half_lon, 170.0))
    low = points[:, 1] < INSET_H + 24
    crowded_right = np.count_nonzero(low & (points[:, 0] > WIDTH - INSET_W - 24))
    crowded_left = np.count_nonzero(low & (points[:, 0] < INSET_W + 24))
    x0, y0 = (12.0 if crowded_left < crowded_right else WIDTH - INSET_W - 12), 12.0
    box = (x0, y0, x0 + INSET_W, y0 + INSET_H)
    parts = []
    for lat, lon in rings:
        x = x0 + INSET_W / 2 + lon * stretch * scale
        y = y0 + INSET_H / 2 - (lat - sheet.lat0) * scale
        parts.append(_clipped(np.column_stack([x, y]), box))
    return (
        f'<g class="inset"><rect x="{short(x0)}" y="{short(y0)}" width="{short(INSET_W)}" height="{short(INSET_H)}"/>'
        f'<path class="land" d="{"".join(parts)}"/>'
        f'<circle cx="{short(x0 + INSET_W / 2)}" cy="{short(y0 + INSET_H / 2)}" r="4"/></g>'
    )


@lru_cache(maxsize=1)
def _world() -> tuple[tuple[FloatArray, FloatArray], ...]:
    text = resources.files("sfumato").joinpath("data/ne_110m_land.geojson").read_text(encoding="utf-8")
    rings: list[tuple[FloatArray, FloatArray]] = []
    for feature in json.loads(text)["features"]:
        shape = feature["geometry"]
        polygons = shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
        for polygon in polygons:
            for ring in polygon:
                points = np.array(ring, dtype=np.float64)[:, :2]
                rings.append((points[:, 1], points[:, 0]))
    return tuple(rings)


def _rings(lat0: float, lon0: float, reach_lat: float, reach_lon: float) -> list[tuple[FloatArray, FloatArray]]:
    """Rings of land near a place, longitudes relative to it; a ring may be needed from both sides."""
    found = []
    for lat, lon in _world():
        if lat.max() < lat0 - reach_lat or lat.min() > lat0 + reach_lat:
            continue
        for turn in (-360.0, 0.0, 360.0):
            relative = lon - lon0 + turn
            if relative.max() >= -reach_lon and relative.min() <= reach_lon:
                found.append((lat, relative))
    return found


def _clipped(points: FloatArray, box: tuple[float, float, float, float]) -> str:
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
    if len(ring) < 3:
        return ""
    return "M" + "L".join(f"{short(x)} {short(y)}" for x, y in ring) + "Z"
