"""A map of many rides: what is shared, the zones around places, and the gates where rides come out, as one SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.drawing import escape, nice_step, short
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.places.globe import Around

WIDTH, HEIGHT, MARGIN = 960.0, 600.0, 30.0
_MOST_POINTS = 400  # of one ride


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Something drawn at a place: a disc of ``radius_m``, a dot where that is 0, with words beside it."""

    lat_deg: float
    lon_deg: float
    kind: str
    radius_m: float = 0.0
    words: str = ""


def archive_map(lines: Iterable[tuple[str, Trace]], marks: Sequence[Mark], title: str) -> str:
    """Lines are (kind, trace): ``release`` or ``original``; marks are drawn over them. North is up.

    Nothing to draw (files without times are no tracks) is no picture.
    """
    thinned = [(kind, *_thinned(trace)) for kind, trace in lines]
    if not thinned and not marks:
        return ""
    lat = np.concatenate([row[1] for row in thinned] or [np.array([mark.lat_deg for mark in marks])])
    lon = np.concatenate([row[2] for row in thinned] or [np.array([mark.lon_deg for mark in marks])])
    around = Around(float(np.median(lat)), float(np.quantile(lon, 0.5, method="higher")))
    seen = around.to_metres(lat, lon)
    near = np.concatenate([seen, *(around.to_metres(mark.lat_deg, mark.lon_deg) for mark in marks)])
    room = max([1.2 * mark.radius_m for mark in marks], default=0.0)
    low, high = np.quantile(near, 0.002, axis=0) - room, np.quantile(near, 0.998, axis=0) + room
    span = np.maximum(high - low, 200.0)
    scale = float(min((WIDTH - 2 * MARGIN) / span[0], (HEIGHT - 2 * MARGIN) / span[1]))
    middle = (low + high) / 2

    def pixels(metres: FloatArray) -> FloatArray:
        xy = (metres - middle) * scale
        return np.column_stack([WIDTH / 2 + xy[:, 0], HEIGHT / 2 - xy[:, 1]])

    pieces = [
        f'<path class="track {kind}" d="{_path(pixels(around.to_metres(y, x)), segment)}"/>'
        for kind, y, x, segment in thinned
    ]
    for mark in marks:
        x, y = pixels(around.to_metres(mark.lat_deg, mark.lon_deg))[0]
        radius = max(mark.radius_m * scale, 3.0)
        pieces.append(f'<circle class="mark {mark.kind}" cx="{short(x)}" cy="{short(y)}" r="{short(radius)}"/>')
        if mark.words:
            pieces.append(f'<text class="mark-words" x="{short(x + 6)}" y="{short(y - 6)}">{escape(mark.words)}</text>')
    bar_m = nice_step(float(span[0]), 5)
    return (
        f'<svg class="map" viewBox="0 0 {short(WIDTH)} {short(HEIGHT)}" role="img" aria-label="{escape(title)}">'
        f'<rect class="sea" width="{short(WIDTH)}" height="{short(HEIGHT)}"/>{"".join(pieces)}'
        f'<path class="bar" d="M{short(MARGIN)} {short(HEIGHT - 16)}h{short(bar_m * scale)}"/>'
        f'<text class="bar-words" x="{short(MARGIN)}" y="{short(HEIGHT - 22)}">{escape(format_length(bar_m))}</text>'
        "</svg>"
    )


def _thinned(trace: Trace) -> tuple[FloatArray, FloatArray, np.ndarray]:
    step = max(1, len(trace) // _MOST_POINTS)
    edge = np.diff(trace.segment, prepend=trace.segment[0] - 1) != 0
    last = np.append(edge[1:], True)
    chosen = np.flatnonzero(edge | last | (np.arange(len(trace)) % step == 0))
    return trace.lat_deg[chosen], trace.lon_deg[chosen], trace.segment[chosen]


def _path(points: FloatArray, segment: np.ndarray) -> str:
    starts = np.diff(segment, prepend=segment[0] - 1) != 0
    return "".join(f"{'M' if new else 'L'}{x:.1f} {y:.1f}" for (x, y), new in zip(points.tolist(), starts, strict=True))
