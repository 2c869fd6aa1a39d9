"""TCX (Garmin Training Center): every Track element is a segment; points without a position are left out."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import decimal_texts, differences_m
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import NO_POSITION, TEXTS, Draft, Reading, canonical, degrees
from sfumato.tracks.io.times import format_times
from sfumato.tracks.io.xml.xml import elements, escape, parse_xml, within

# What every activity and lap must have, whatever it is about.
_STRUCTURE = frozenset({"Id", "TotalTimeSeconds", "DistanceMeters", "Intensity", "TriggerMethod"})
_SPACE = "http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"
_POINT_SPACE = "http://www.garmin.com/xmlschemas/ActivityExtension/v2"
# What a point holds, in the order of the schema: beside its position, its heart rate, its turns, its extension.
_TAGS = (
    {"elevation": "AltitudeMeters", "distance": "DistanceMeters"},
    {"heart_rate": "Value"},
    {"cadence": "Cadence"},
    {"speed": "Speed", "power": "Watts"},
)


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.activities: list[Draft] = []
        self.stack: list[str] = []
        self.segment = -1
        self.point: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.stack.append(name)
        if name in ("Activity", "Course") and self.stack.count(name) == 1:
            self.activities.append(Draft(self.reading, str(len(self.activities) + 1)))
            self.segment = -1
        elif name == "Track":
            self.segment += 1
        elif name == "Trackpoint":
            self.point = {}
        elif name == "Position" and "LatitudeDegrees" in self.point and self.activities:
            self.activities[-1].skip("further positions of a point")

    def end(self, name: str, text: str) -> None:
        self.stack.pop()
        if not self.activities:
            return
        draft = self.activities[-1]
        if name == "Trackpoint":
            self._finish(draft)
        elif "Trackpoint" in self.stack:
            parent = self.stack[-1]
            if text.strip():
                # <HeartRateBpm><Value>96</Value>: the parent names it.
                self.point.setdefault(parent if name == "Value" else name, text)
        elif text.strip() and name not in _STRUCTURE and (name, text.strip()) != ("Calories", "0"):
            parent = self.stack[-1]
            if parent in ("Creator", "Author") or canonical(name) in TEXTS:
                draft.saw(f"{parent} {name}" if parent in ("Creator", "Author") else name, text)
            else:  # what is said of a lap (its heart rate on average) is no point's
                draft.dropped[f"{parent if name == 'Value' else name} of laps"] = None

    def _finish(self, draft: Draft) -> None:
        point = self.point
        if "LatitudeDegrees" not in point or "LongitudeDegrees" not in point:
            draft.skip(NO_POSITION)
            return
        time = point.pop("Time", "").strip() or None
        draft.add(
            degrees(point.pop("LatitudeDegrees")), degrees(point.pop("LongitudeDegrees")), time, max(self.segment, 0)
        )
        for name, text in point.items():
            draft.saw(name, text)


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft per activity or course."""
    reader = _Reader(reading)
    parse_xml(path, reader.start, reader.end, kind="TCX")
    used = [draft for draft in reader.activities if draft.lat]
    if not used:
        raise InputError(
            "The TCX file has no track points with a position.", "Indoor activities have none; record one outside."
        )
    for draft in reader.activities:
        if not draft.lat:  # indoors
            used[0].skip(NO_POSITION, draft.skipped.get(NO_POSITION, 0))
    return used


def write(trace: Trace, path: Path) -> None:
    """One activity of one lap, a Track per segment; how long and how far it went is counted from what is released."""
    refused = sorted({*trace.columns, *trace.texts} - {"description"}.union(*_TAGS))
    if refused:
        raise InputError(f"TCX cannot hold {refused[0]}.", "Write GPX, CSV or Parquet to keep it.")
    steps = differences_m(trace.lat_deg[:-1], trace.lon_deg[:-1], trace.lat_deg[1:], trace.lon_deg[1:])
    length_m = float(np.hypot(*steps[np.diff(trace.segment) == 0].T).sum())
    times, of, count = format_times(trace.times_s), trace.columns, len(trace)
    before, heart, turns, further = (
        elements([(tag, of[name]) for name, tag in part.items() if name in of], count) for part in _TAGS
    )
    points = zip(trace.segment.tolist(), decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), times, strict=True)
    rows = zip(points, before, heart, turns, further, strict=True)
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<TrainingCenterDatabase xmlns="{_SPACE}">\n'
            f'<Activities><Activity Sport="Other"><Id>{times[0]}</Id>\n<Lap StartTime="{times[0]}">'
            f"<TotalTimeSeconds>{trace.times_s[-1] - trace.times_s[0]:.3f}</TotalTimeSeconds>"
            f"<DistanceMeters>{length_m:.1f}</DistanceMeters><Calories>0</Calories>"
            "<Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod>\n"
        )
        for _, segment in groupby(rows, key=lambda row: row[0][0]):
            out.write("<Track>\n")
            for (_, lat, lon, time), low, beats, turning, more in segment:
                extension = f'<TPX xmlns="{_POINT_SPACE}">{more}</TPX>' if more else ""
                out.write(
                    f"<Trackpoint><Time>{time}</Time><Position><LatitudeDegrees>{lat}</LatitudeDegrees>"
                    f"<LongitudeDegrees>{lon}</LongitudeDegrees></Position>{low}{within('HeartRateBpm', beats)}"
                    f"{turning}{within('Extensions', extension)}</Trackpoint>\n"
                )
            out.write("</Track>\n")
        notes = escape(trace.texts.get("description", ""))
        out.write(f"</Lap>{within('Notes', notes)}</Activity></Activities>\n</TrainingCenterDatabase>\n")
