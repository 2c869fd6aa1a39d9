"""KML: gx:Track and gx:MultiTrack, and Placemarks of points with a TimeStamp, or a TimeSpan: the time it begins."""

from __future__ import annotations

import math
import tempfile
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.archive import unpack_entry
from sfumato.tracks.io.draft import NO_POSITION, Draft, Reading, degrees
from sfumato.tracks.io.times import format_times
from sfumato.tracks.io.xml.xml import escape, parse_xml


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.drafts: list[Draft] = []
        self.about = Draft(reading)
        self.stamped = Draft(reading, "points")
        self.placemark: Draft | None = None
        self.stack: list[str] = []
        self.whens: list[str] = []
        self.places: list[str] = []
        self.segment = -1
        self.skipped = Draft(reading)
        self.stamp = self.point = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.stack.append(name)
        if name == "Placemark":
            self.end_placemark()
            self.placemark = Draft(self.reading, str(len(self.drafts) + 1))
            self.segment, self.stamp, self.point = -1, "", ""
        elif name == "Track":
            self.whens, self.places = [], []

    def end(self, name: str, text: str) -> None:
        self.stack.pop()
        clean = text.strip()
        inside = self.stack[-1] if self.stack else ""
        if inside == "Track" and name == "when":
            self.whens.append(clean)
        elif inside == "Track" and name == "coord":
            self.places.append(clean)
        elif name == "Track":
            self._track()
        elif self.stack[-2:] == ["Placemark", "TimeStamp"] and name == "when":  # not one of a view
            self.stamp = clean
        elif self.stack[-2:] == ["Placemark", "TimeSpan"] and name == "begin":
            self.stamp = self.stamp or clean
        elif inside == "Point" and name == "coordinates":
            if self.point:
                self.skipped.skip("further points of a MultiGeometry")
            self.point = self.point or clean
        elif inside in ("LineString", "LinearRing") and name == "coordinates":
            self.skipped.skip(f"points of a {inside}, which has no times", len(clean.split()))
        elif name == "Placemark":
            self.end_placemark()
        elif clean and name not in ("begin", "end", "altitudeMode"):
            (self.placemark or self.about).saw(name, clean)

    def _track(self) -> None:
        if self.placemark is None:
            self.placemark = Draft(self.reading, "1")
        if len(self.whens) != len(self.places):
            raise InputError(
                f"A gx:Track has {len(self.whens)} times and {len(self.places)} positions.", "Export the file again."
            )
        self.segment += 1
        for when, place in zip(self.whens, self.places, strict=True):
            if place:
                _add(self.placemark, place.split(), when or None, self.segment)
            else:  # an empty gx:coord says that the position was unknown then
                self.placemark.skip(NO_POSITION)

    def end_placemark(self) -> None:
        """A Placemark has ended, or a track without one."""
        draft, self.placemark = self.placemark, None
        if draft is None:
            return
        if draft.lat:
            self.drafts.append(draft)
            self.skipped.skip("points beside a track", bool(self.point))
        elif self.point and self.stamp:
            _add(self.stamped, self.point.split(","), self.stamp, 0)
            self.stamped.dropped.update(draft.dropped)
            self.stamped.absorb(draft)
        else:
            self.about.dropped.update(draft.dropped)
            self.skipped.skip("waypoints", bool(self.point))
            self.skipped.absorb(draft)


def _add(draft: Draft, numbers: list[str], time: str | None, segment: int) -> None:
    if len(numbers) < 2:
        draft.add(math.nan, math.nan, time, segment)
        return
    draft.add(degrees(numbers[1]), degrees(numbers[0]), time, segment)
    if len(numbers) > 2 and numbers[2] not in ("0", "0.0"):  # 0 is what writers put where there is no height
        draft.saw("elevation", numbers[2])


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft per Placemark with a track; all time-stamped points together are one more. KMZ is KML, packed."""
    return (_read_packed if zipfile.is_zipfile(path) else _read_document)(path, reading)


def _read_packed(path: Path, reading: Reading) -> list[Draft]:
    """The drafts of ``doc.kml``, or of the one KML file there is; other KML files of the zip are counted."""
    try:
        with zipfile.ZipFile(path) as packed:
            found = [info for info in packed.infolist() if info.filename.lower().endswith(".kml")]
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise InputError("The KMZ file is no readable zip file.", "It may be cut off; export it again.") from None
    if not found:
        raise InputError("The KMZ file holds no KML file.", "Export the track again, as KML or GPX.")
    main = min(found, key=lambda info: (info.filename.lower() != "doc.kml", info.filename.count("/")))
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        target = Path(folder) / "doc.kml"
        unpack_entry(path, main, target)
        if target.stat().st_size == 0:
            raise InputError("The KML file in the KMZ file is empty.", "Export the track again.")
        drafts = _read_document(target, reading)
    if len(found) > 1:
        drafts[0].dropped[f"further KML files ({len(found) - 1})"] = None
    return drafts


def _read_document(path: Path, reading: Reading) -> list[Draft]:
    reader = _Reader(reading)
    parse_xml(path, reader.start, reader.end, kind="KML")
    reader.end_placemark()
    used = [*reader.drafts, *([reader.stamped] if reader.stamped.lat else [])]
    if not used:
        lines = any("no times" in reason for reason in reader.skipped.skipped)
        what = (
            "its lines have no times"
            if lines
            else "no gx:Track and no point with a TimeStamp or a TimeSpan that begins"
        )
        raise InputError(f"The KML file has no track with times ({what}).", "Export it as gx:Track, or as GPX.")
    used[0].dropped.update(reader.about.dropped)
    used[0].absorb(reader.skipped)
    return used


def write(trace: Trace, path: Path, *, times: bool = True) -> None:
    """One Placemark with a gx:MultiTrack, a gx:Track per segment; without times a LineString per segment."""
    refused = sorted(set(trace.columns) - {"elevation"})
    if refused:
        raise InputError(f"KML cannot hold {refused[0]} per point here.", "Write GPX, CSV or Parquet to keep it.")
    lat, lon, moments = decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), format_times(trace.times_s)
    elevation = trace.columns.get("elevation")
    heights = ["0"] * len(trace) if elevation is None else [f"{h:.10g}" for h in np.nan_to_num(elevation).tolist()]
    mode = "clampToGround" if elevation is None else "absolute"
    edges = [0, *(np.flatnonzero(np.diff(trace.segment)) + 1).tolist(), len(trace)]
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
            'xmlns:gx="http://www.google.com/kml/ext/2.2">\n<Document><Placemark>\n'
        )
        for word, tag in (("name", "name"), ("description", "description")):
            if word in trace.texts:
                out.write(f"<{tag}>{escape(trace.texts[word])}</{tag}>\n")
        out.write("<gx:MultiTrack>\n" if times else "<MultiGeometry>\n")
        for first, last in pairwise(edges):
            if not times:
                rows = zip(lon[first:last], lat[first:last], heights[first:last], strict=True)
                line = " ".join(",".join(row) for row in rows)
                out.write(f"<LineString><altitudeMode>{mode}</altitudeMode><coordinates>{line}</coordinates>")
                out.write("</LineString>\n")
                continue
            out.write(f"<gx:Track><altitudeMode>{mode}</altitudeMode>\n")
            out.writelines(f"<when>{time}</when>\n" for time in moments[first:last])
            out.writelines(
                f"<gx:coord>{x} {y} {z}</gx:coord>\n"
                for x, y, z in zip(lon[first:last], lat[first:last], heights[first:last], strict=True)
            )
            out.write("</gx:Track>\n")
        out.write("</gx:MultiTrack>\n" if times else "</MultiGeometry>\n")
        out.write("</Placemark></Document>\n</kml>\n")
