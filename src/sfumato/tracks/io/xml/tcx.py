"""TCX (Garmin Training Center): every Track element is a segment; points without a position are left out."""

from __future__ import annotations

from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.tracks.io.draft import NO_POSITION, Draft, Reading
from sfumato.tracks.io.xml.xml import degrees, parse_xml

_STRUCTURE = frozenset({"Id", "TotalTimeSeconds", "Time", "LatitudeDegrees", "LongitudeDegrees"})


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
                self.point[parent if name == "Value" else name] = text
        elif text.strip() and name not in _STRUCTURE:
            draft.saw(f"{self.stack[-1]} {name}" if self.stack[-1] in ("Creator", "Author") else name, text)

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
