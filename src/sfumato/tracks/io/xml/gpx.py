"""GPX 1.0 and 1.1: tracks in, released positions and times out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TextIO

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import bounds_texts, decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading
from sfumato.tracks.io.times import format_times
from sfumato.tracks.io.xml.xml import degrees, escape, parse_xml

_STRUCTURE = frozenset({"gpx", "trk", "trkseg", "trkpt", "rte", "rtept", "wpt", "extensions", "metadata", "time"})


class _Reader:
    """Follows the elements of one file: which track, segment and kind of point it is in."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.tracks: list[Draft] = []
        self.routes: list[Draft] = []
        self.about = Draft(reading)
        self.current: Draft | None = None
        self.root = self.point = ""
        self.segment = -1
        self.waypoints = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "trkpt" or name == "rtept":
            if self.current is None:
                raise InputError("A GPX point lies outside any track.", "The file is damaged; export it again.")
            self.point = name
            segment = max(self.segment, 0) if name == "trkpt" else 0
            self.current.add(degrees(attributes.get("lat")), degrees(attributes.get("lon")), None, segment)
        elif name == "trkseg":
            self.segment += 1
        elif name == "trk" or name == "rte":
            kind = self.tracks if name == "trk" else self.routes
            self.current = Draft(self.reading, str(len(kind) + 1))
            kind.append(self.current)
            self.segment = -1
        elif name == "wpt":
            self.point = name
            self.waypoints += 1
        elif not self.root:
            self.root = name
            if name == "gpx" and attributes.get("creator", "sfumato") != "sfumato":
                self.about.saw("device", attributes["creator"])

    def end(self, name: str, text: str) -> None:
        if name == self.point:
            self.point = ""
        elif name == "trk" or name == "rte":
            self.current = None
        elif self.point == "wpt":
            return
        elif self.point and name == "time" and self.current is not None:
            self.current.times[-1] = text.strip()
        elif name not in _STRUCTURE and text.strip():
            (self.current or self.about).saw(name, text)


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft per track, its segments kept; timed routes are used where a file has no track."""
    reader = _Reader(reading)
    parse_xml(path, reader.start, reader.end, kind="GPX")
    if reader.root != "gpx":
        raise InputError("The file is XML but not GPX.", "Name its format with format= or --format.")
    return _chosen(reader.tracks, reader.routes, reader.about, reader.waypoints)


def _chosen(tracks: list[Draft], routes: list[Draft], about: Draft, waypoints: int) -> list[Draft]:
    used = [track for track in tracks if track.lat]
    unused = [route for route in routes if route.lat]
    if not used:
        used, unused = unused, []
    if not used:
        what = f"it has {waypoints} waypoint(s) only" if waypoints else "it is empty"
        raise InputError(f"The GPX file has no track points ({what}).", "Record or export a track with times.")
    used[0].skip("waypoints", waypoints)
    used[0].skip("points of routes", sum(len(route.lat) for route in unused))
    used[0].dropped = {**about.dropped, **used[0].dropped}
    for word, text in about.texts.items():
        used[0].texts.setdefault(word, text)
    return used


def write(trace: Trace, path: Path, *, times: bool = True) -> None:
    """GPX 1.1 with positions and (unless left out) times, bounds of the release, and what was kept by name."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        _write(trace, out, times)


def _write(trace: Trace, out: TextIO, times: bool) -> None:
    extra = sorted(name for name, kept in trace.columns.items() if name != "elevation" and not np.isnan(kept).all())
    space = ' xmlns:kept="urn:sfumato:kept"' if extra else ""
    south, west, north, east = bounds_texts(trace.lat_deg, trace.lon_deg)
    out.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<gpx version="1.1" creator="sfumato" xmlns="http://www.topografix.com/GPX/1/1"{space}>\n'
        f'<metadata><bounds minlat="{south}" minlon="{west}" maxlat="{north}" maxlon="{east}"/></metadata>\n<trk>\n'
    )
    if "name" in trace.texts:
        out.write(f"<name>{escape(trace.texts['name'])}</name>\n")
    if "description" in trace.texts:
        out.write(f"<desc>{escape(trace.texts['description'])}</desc>\n")
    for _, points in groupby(
        zip(trace.segment.tolist(), _points(trace, extra, times), strict=True), key=lambda item: item[0]
    ):
        out.write("<trkseg>\n")
        out.writelines(text for _, text in points)
        out.write("</trkseg>\n")
    out.write("</trk>\n</gpx>\n")


def _points(trace: Trace, extra: list[str], timed: bool) -> Iterator[str]:
    lat, lon = decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg)
    times = [f"<time>{time}</time>" for time in format_times(trace.times_s)] if timed else [""] * len(trace)
    if not trace.columns:
        for y, x, t in zip(lat, lon, times, strict=True):
            yield f'<trkpt lat="{y}" lon="{x}">{t}</trkpt>\n'
        return
    elevation = trace.columns.get("elevation", np.full(len(trace), np.nan))
    for place, (y, x, t) in enumerate(zip(lat, lon, times, strict=True)):
        ele = "" if np.isnan(elevation[place]) else f"<ele>{elevation[place]:.10g}</ele>"
        values = "".join(
            f"<kept:{_tag(name)}>{trace.columns[name][place]:.10g}</kept:{_tag(name)}>"
            for name in extra
            if not np.isnan(trace.columns[name][place])
        )
        kept = f"<extensions>{values}</extensions>" if values else ""
        yield f'<trkpt lat="{y}" lon="{x}">{ele}{t}{kept}</trkpt>\n'


def _tag(name: str) -> str:
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_" for letter in f"_{name}"
    )[0 if not name[:1].isalpha() else 1 :]
