"""GPX 1.0 and 1.1: tracks in, released positions and times out."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import TextIO

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import bounds_texts, decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, degrees
from sfumato.tracks.io.times import format_times
from sfumato.tracks.io.xml.xml import elements, escape, parse_xml, within

_STRUCTURE = frozenset({"gpx", "trk", "trkseg", "trkpt", "rte", "rtept", "wpt", "extensions", "metadata", "time"})
# Garmin's extension of a track point, in the order of its schema; power stands beside it, where Strava reads and
# writes it. What has no place there goes into a namespace of our own.
_GARMIN = {"temperature": "atemp", "heart_rate": "hr", "cadence": "cad", "speed": "speed", "course": "course"}
_GARMIN_POINT = "gpxtpx:TrackPointExtension"
_GARMIN_SPACE = ' xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2"'


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
        _write(trace, out, times, earlier=False)


def write_as_0_2(trace: Trace, path: Path) -> None:
    """As version 0.2.0 wrote it, with all but heights in a namespace of its own; for checking what it released."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        _write(trace, out, True, earlier=True)


def _write(trace: Trace, out: TextIO, times: bool, *, earlier: bool) -> None:
    kept = {name: column for name, column in trace.columns.items() if not np.isnan(column).all()}
    height = [("ele", kept.pop("elevation"))] if "elevation" in kept else []
    power = [("power", kept.pop("power"))] if "power" in kept and not earlier else []
    watch = {} if earlier else {f"gpxtpx:{tag}": name for name, tag in _GARMIN.items() if name in kept}
    garmin = [(tag, kept.pop(name)) for tag, name in watch.items()]
    others = [(f"kept:{_tag(name)}", kept[name]) for name in sorted(kept)]
    space = _GARMIN_SPACE if garmin else ""
    space += ' xmlns:kept="urn:sfumato:kept"' if others else ""
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
    count = len(trace)
    timed = [f"<time>{time}</time>" for time in format_times(trace.times_s)] if times else [""] * count
    extensions = [""] * count
    if power or garmin or others:
        parts = zip(*(elements(columns, count) for columns in (power, garmin, others)), strict=True)
        extensions = [within("extensions", f"{a}{within(_GARMIN_POINT, b)}{c}") for a, b, c in parts]
    places = zip(decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), strict=True)
    points = zip(trace.segment.tolist(), places, elements(height, count), timed, extensions, strict=True)
    for _, segment in groupby(points, key=lambda point: point[0]):
        out.write("<trkseg>\n")
        out.writelines(f'<trkpt lat="{y}" lon="{x}">{h}{t}{more}</trkpt>\n' for _, (y, x), h, t, more in segment)
        out.write("</trkseg>\n")
    out.write("</trk>\n</gpx>\n")


def _tag(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name if name[:1].isalpha() else f"_{name}")
