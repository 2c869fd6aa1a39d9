"""The map: release, and where it is a private page the original and the adversary's 68% band, drawn as one SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.drawing.scales import one_decimal
from sfumato.base.drawing.svg import (
    MapSheet,
    element,
    label,
    locator,
    path_data,
    picture,
    scale_bar,
    sheet_around,
    short,
)
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.pages.report.words import interval_words
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate

WIDTH, HEIGHT, MARGIN = 960.0, 600.0, 36.0
INSET_W, INSET_H, INSET_DEG = 168.0, 112.0, 24.0


@dataclass(frozen=True, slots=True, eq=False)
class TrackMap:
    """The SVG, its drawn points in pixels for the page's slider, and the legend as (layer, words)."""

    svg: str
    slider: Mapping[str, object]
    legend: tuple[tuple[str, str], ...]


def draw_map(
    release: Trace,
    original: Trace | None,
    certificate: Certificate,
    audit: Audit | None,
    shown: IntArray,
    *,
    line: Trace | None = None,
) -> TrackMap:
    """The SVG of a release, as dots around its smooth ``line`` or as a line itself; the original only where given."""
    layers = [(release.lat_deg[shown], release.lon_deg[shown])]
    if original is not None:
        layers.append((original.lat_deg[shown], original.lon_deg[shown]))
    radius_m = certificate.stated.numbers.radius_m
    attacked = audit is not None and audit.interval_68_m is not None
    half_width_m = float((audit.interval_68_m if audit is not None else certificate.noise_m) or 0.0)
    sheet = sheet_around(
        *(np.concatenate(axis) for axis in zip(*layers, strict=True)),
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        room_m=half_width_m,
        least_m=max(4 * radius_m, 100.0),
    )
    segment = release.segment[shown]
    released = sheet.pixels(*layers[0])
    middle = released
    if audit is not None and audit.guess is not None:
        middle = sheet.pixels(audit.guess[0][shown], audit.guess[1][shown])
    pieces = [] if sheet.metric else [element("path", class_="land", d=sheet.land())]
    if half_width_m:
        wide, way = 2 * half_width_m / sheet.metres_per_px, path_data(middle, segment)
        pieces.append(element("path", id="layer-band", class_="band", stroke_width=wide, d=way))
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
    pieces += [scale_bar(MARGIN, HEIGHT - 22, sheet.metres_per_px, 260), _radius(sheet, radius_m)]
    if sheet.metric:
        pieces.append(_inset(sheet, np.concatenate([sheet.pixels(*layer) for layer in layers])))
    pieces += [
        element("circle", id=f"at-{name}", class_=f"at {name}", r=7, cx=-99, cy=-99)
        for name in ("original", "release")
        if name in slider
    ]
    return TrackMap(
        _svg(pieces, original is not None, half_width_m),
        slider,
        _legend(attacked, half_width_m, certificate, original, line),
    )


def _legend(
    attacked: bool, half_width_m: float, certificate: Certificate, original: Trace | None, line: Trace | None
) -> tuple[tuple[str, str], ...]:
    interval, around = interval_words(certificate), ""
    if attacked:
        interval, around = "the adversary's 68% interval", " around their best guess"
    rows = {
        "original": "original (private)" if original is not None else "",
        "smooth": "likeliest track, from the release alone" if line is not None else "",
        "release": "release" if line is None else "release, point by point",
        "band": f"{interval}, ±{format_length(half_width_m)} per coordinate{around}" if half_width_m else "",
    }
    return tuple((layer, words) for layer, words in rows.items() if words)


def _svg(pieces: Sequence[str], private: bool, half_width_m: float) -> str:
    shows = "the original track, the released track" if private else "the released track"
    band = f" and a band of plus or minus {format_length(half_width_m)} that is the 68% interval"
    title = f"Map of {'original and release' if private else 'the release'}"
    about = f"It shows {shows}{band if half_width_m else ''}. North is up."
    sea = element("rect", class_="sea", width=WIDTH, height=HEIGHT)
    return picture(WIDTH, HEIGHT, sea, *pieces, title=title, about=about, named="map", class_="map")


def _track(name: str, points: FloatArray, segment: IntArray, *, dots: bool) -> str:
    marks = [element("circle", cx=x, cy=y, r=2.2) for x, y in points.tolist()] if dots else []
    (x, y), (to_x, to_y) = points[0].tolist(), points[-1].tolist()
    ends = (
        element("circle", class_="end", cx=x, cy=y, r=6),
        element("rect", class_="end", x=to_x - 5, y=to_y - 5, width=10, height=10, rx=2),
    )
    line = element("path", class_=f"track {name}", d=path_data(points, segment))
    return element("g", line, *marks, *ends, id=f"layer-{name}", class_=name)


def _points(name: str, points: FloatArray) -> str:
    """Dots without a line, as one path."""
    marks = "".join(f"M{short(x)} {short(y)}h0" for x, y in points.tolist())
    return element("g", element("path", class_="points", d=marks), id=f"layer-{name}", class_=name)


def _radius(sheet: MapSheet, radius_m: float) -> str:
    """The promise's radius at the map's scale, where it can be seen."""
    px = radius_m / sheet.metres_per_px
    if not 3 <= px <= 90:
        return ""
    words = label(WIDTH - MARGIN, HEIGHT - 12, f"radius {format_length(radius_m)}", anchor="end")
    return element("g", element("circle", cx=WIDTH - MARGIN - px, cy=HEIGHT - 30 - px, r=px), words, class_="scale")


def _inset(sheet: MapSheet, points: FloatArray) -> str:
    """Where on Earth this is: the emptier upper corner with the land around and a dot."""
    low = points[:, 1] < INSET_H + 24
    crowded_right = np.count_nonzero(low & (points[:, 0] > WIDTH - INSET_W - 24))
    crowded_left = np.count_nonzero(low & (points[:, 0] < INSET_W + 24))
    x, y = (12.0 if crowded_left < crowded_right else WIDTH - INSET_W - 12), 12.0
    land = locator(sheet.lat0, sheet.lon0, (x, y, x + INSET_W, y + INSET_H), INSET_DEG)
    return element(
        "g",
        element("rect", x=x, y=y, width=INSET_W, height=INSET_H),
        element("path", class_="land", d=land),
        element("circle", cx=x + INSET_W / 2, cy=y + INSET_H / 2, r=4),
        class_="inset",
    )
