"""Google location exports: Takeout's Records.json and Semantic history, and the phone's Timeline.json since 2024.

None of them promises an order or has recording segments, so points are sorted by time. A visit is two points, at its
start and its end; a journey is its two ends and its path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sfumato.errors import InputError
from sfumato.io.draft import Draft, Reading
from sfumato.io.json_text import at, load_json, number, objects
from sfumato.io.times import mixed_times

# "48.2082°, 16.3738°" on Android, "geo:48.2082,16.3738" on iOS.
_PAIR = re.compile(r"^\s*(?:geo:)?\s*([+-]?\d+(?:\.\d+)?)\s*°?\s*,\s*([+-]?\d+(?:\.\d+)?)\s*°?\s*$")


def read(path: Path, reading: Reading) -> list[Draft]:
    """Any Google export, told apart by its top-level keys."""
    return from_json(load_json(path, "Google"), reading)


def from_json(document: object, reading: Reading) -> list[Draft]:
    """The same from parsed JSON."""
    readers: dict[str, Callable[[object, Draft], None]] = {
        "locations": _records,
        "timelineObjects": _semantic,
        "semanticSegments": _android,
        "rawSignals": _android,
    }
    draft = Draft(reading, "1")
    if isinstance(document, list):
        for entry in objects(document):
            _segment(entry, draft)
    else:
        key = next((key for key in readers if at(document, key) is not None), None)
        if key is None:
            raise InputError(
                "The JSON is not a Google location export that is known here.",
                "Give Records.json, a month of Semantic Location History, or the phone's Timeline.json.",
            )
        readers[key](document, draft)
    if not draft.lat:
        raise InputError("The Google export has no points with a position and a time.", "Export a longer period.")
    draft.sort_by_time()
    return [draft]


def looks_like(document: object) -> bool:
    """Whether parsed JSON is one of these exports."""
    if isinstance(document, list):
        return any(
            "startTime" in entry and {"visit", "activity", "timelinePath"} & entry.keys()
            for entry in objects(document)[:1000]
        )
    keys = ("locations", "timelineObjects", "semanticSegments", "rawSignals")
    return any(isinstance(at(document, key), list) for key in keys)


def _records(document: object, draft: Draft) -> None:
    unplaced = 0
    for entry in objects(at(document, "locations")):
        lat, lon = _e7(entry, "latitude"), _e7(entry, "longitude")
        time = _stamp(entry, "timestamp")
        if lat is None or lon is None:
            unplaced += 1
            continue
        draft.add(lat, lon, time)
        for key, value in entry.items():
            if key not in ("latitudeE7", "longitudeE7", "timestamp", "timestampMs"):
                draft.saw(key, value)
    if unplaced:
        draft.dropped[f"points without a position ({unplaced})"] = None


def _semantic(document: object, draft: Draft) -> None:
    for entry in objects(at(document, "timelineObjects")):
        journey, visit = at(entry, "activitySegment"), at(entry, "placeVisit")
        if isinstance(journey, dict):
            begin, finish = (_stamp(at(journey, "duration"), f"{edge}Timestamp") for edge in ("start", "end"))
            _place(at(journey, "startLocation"), begin, draft)
            for point in objects(at(journey, "simplifiedRawPath", "points")):
                _place(point, _stamp(point, "timestamp"), draft)
            _place(at(journey, "endLocation"), finish, draft)
            _note(journey, {"startLocation", "endLocation", "duration", "simplifiedRawPath"}, draft)
        if isinstance(visit, dict):
            for edge in ("start", "end"):
                _place(at(visit, "location"), _stamp(at(visit, "duration"), f"{edge}Timestamp"), draft)
            _note(visit, {"location", "duration"}, draft)
            _note(at(visit, "location"), {"latitudeE7", "longitudeE7"}, draft)


def _android(document: object, draft: Draft) -> None:
    for entry in objects(at(document, "semanticSegments")):
        _segment(entry, draft)
    semantic = bool(draft.lat)
    for signal in objects(at(document, "rawSignals")):
        position = at(signal, "position")
        if isinstance(position, dict) and not semantic:
            where = _pair(position.get("LatLng") or position.get("latLng"))
            if where is not None and position.get("timestamp") is not None:
                draft.add(*where, position["timestamp"])
                _note(position, {"LatLng", "latLng", "timestamp"}, draft)
        else:
            draft.dropped["raw signals"] = None
    _note(document, {"semanticSegments", "rawSignals"}, draft)


def _segment(entry: dict[str, object], draft: Draft) -> None:
    """One visit, journey or path of the phone's export, of either kind of phone."""
    begin, finish = entry.get("startTime"), entry.get("endTime")
    for step in objects(entry.get("timelinePath")):
        where = _pair(step.get("point"))
        time = step.get("time")
        if time is None:
            time = _later(begin, step.get("durationMinutesOffsetFromStartTime"), draft.reading)
        if where is not None and time is not None:
            draft.add(*where, time)
    for where, time in (
        (_pair(at(entry, "visit", "topCandidate", "placeLocation")), begin),
        (_pair(at(entry, "visit", "topCandidate", "placeLocation")), finish),
        (_pair(at(entry, "activity", "start")), begin),
        (_pair(at(entry, "activity", "end")), finish),
    ):
        if where is not None and time is not None:
            draft.add(*where, time)
    _note(at(entry, "visit", "topCandidate"), {"placeLocation"}, draft)
    _note(at(entry, "activity"), {"start", "end"}, draft)
    _note(entry, {"startTime", "endTime", "timelinePath", "visit", "activity"}, draft)


def _later(begin: object, minutes: object, reading: Reading) -> float | None:
    offset = number(minutes)
    if not isinstance(begin, str) or offset is None:
        return None
    return float(mixed_times([begin], reading.zone)[0]) + 60.0 * offset


def _pair(place: object) -> tuple[float, float] | None:
    if isinstance(place, dict):
        place = place.get("latLng") or place.get("LatLng")
    match = _PAIR.match(place) if isinstance(place, str) else None
    return (float(match.group(1)), float(match.group(2))) if match else None


def _place(location: object, time: object, draft: Draft) -> None:
    lat = _e7(location, "latitude", "lat")
    lon = _e7(location, "longitude", "lng")
    if lat is not None and lon is not None and time is not None:
        draft.add(lat, lon, time)


def _e7(entry: object, *names: str) -> float | None:
    for name in names:
        value = number(at(entry, f"{name}E7"))
        if value is not None:
            # Some exports hold unsigned overflows of negative numbers.
            limit = 900_000_000 if name.startswith("lat") else 1_800_000_000
            return (value - 4_294_967_296 if value > limit else value) / 1e7
    return None


def _stamp(entry: object, name: str) -> object:
    """``timestamp`` as an ISO text (newer) or ``timestampMs`` as milliseconds in a text (older), as a number if ms."""
    text = at(entry, name)
    if isinstance(text, str):
        return text
    millis = number(at(entry, f"{name}Ms"))
    return None if millis is None else millis / 1000.0


def _note(entry: object, used: set[str], draft: Draft) -> None:
    if isinstance(entry, dict):
        for key in entry.keys() - used:
            draft.dropped[str(key)] = None
