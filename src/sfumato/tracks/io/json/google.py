"""Google location exports: Takeout's Records.json and Semantic history, and the phone's Timeline.json since 2024.

None of them promises an order or has recording segments, so points are sorted by time. A visit is two points, at its
start and its end; a journey is its two ends and its path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.tracks.io.draft import NO_POSITION, Draft, Reading, degrees, number
from sfumato.tracks.io.json.json_text import at, load_json, objects
from sfumato.tracks.io.times import mixed_times

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
        "timelineEdits": _edits,
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
    keys = ("locations", "timelineObjects", "semanticSegments", "rawSignals", "timelineEdits")
    return any(isinstance(at(document, key), list) for key in keys)


def _records(document: object, draft: Draft) -> None:
    for entry in objects(at(document, "locations")):
        draft.add(_e7(entry, "latitude"), _e7(entry, "longitude"), _stamp(entry, "timestamp"))
        for key, value in entry.items():
            if key not in ("latitudeE7", "longitudeE7", "timestamp", "timestampMs"):
                draft.saw(key, value)


def _semantic(document: object, draft: Draft) -> None:
    for entry in objects(at(document, "timelineObjects")):
        if isinstance(journey := entry.get("activitySegment"), dict):
            _journey(journey, draft)
        if isinstance(visit := entry.get("placeVisit"), dict):
            _visit(visit, draft)


def _journey(journey: dict[str, object], draft: Draft) -> None:
    """Its two ends and its path. Of waypoints, which have no times, the first and the last stand for missing ends."""
    begin, finish = (_stamp(at(journey, "duration"), f"{edge}Timestamp") for edge in ("start", "end"))
    waypoints = objects(at(journey, "waypointPath", "waypoints"))
    start, end = (_located(journey.get(f"{edge}Location")) for edge in ("start", "end"))
    if start is None and waypoints and begin is not None:
        start = waypoints.pop(0)
    if end is None and waypoints and finish is not None:
        end = waypoints.pop()
    _place(start, begin, draft)
    for point in objects(at(journey, "simplifiedRawPath", "points")):
        _place(point, _stamp(point, "timestamp"), draft)
    _place(end, finish, draft)
    _place(_located(at(journey, "parkingEvent", "location")), _stamp(at(journey, "parkingEvent"), "timestamp"), draft)
    draft.skip("waypoints without a time", len(waypoints))
    draft.skip("stops of public transport", len(objects(at(journey, "transitPath", "transitStops"))))
    used = ("startLocation", "endLocation", "duration", "simplifiedRawPath", "waypointPath", "parkingEvent")
    _note(journey, (*used, "transitPath"), draft)


def _visit(visit: dict[str, object], draft: Draft) -> None:
    """A place from its start to its end, where it has one; the likeliest place where none was chosen."""
    others = [place for place in objects(visit.get("otherCandidateLocations")) if _located(place)]
    centre = {"latE7": visit.get("centerLatE7"), "lngE7": visit.get("centerLngE7")}
    where = _located(visit.get("location")) or _located(centre) or (others.pop(0) if others else None)
    times = [_stamp(visit.get("duration"), f"{edge}Timestamp") for edge in ("start", "end")]
    for time in [time for time in times if time is not None] or [None]:
        _place(where, time, draft)
    if where is None:
        draft.skip(NO_POSITION)
    draft.skip("other candidates for a place", len(others))
    for point in objects(at(visit, "simplifiedRawPath", "points")):
        _place(point, _stamp(point, "timestamp"), draft)
    for inner in objects(visit.get("childVisits")):
        _visit(inner, draft)
    used = ("location", "duration", "otherCandidateLocations", "centerLatE7", "centerLngE7", "simplifiedRawPath")
    _note(visit, (*used, "childVisits"), draft)
    _note(visit.get("location"), ("latitudeE7", "longitudeE7"), draft)


def _android(document: object, draft: Draft) -> None:
    for entry in objects(at(document, "semanticSegments")):
        _segment(entry, draft)
    semantic = bool(draft.lat)
    for signal in objects(at(document, "rawSignals")):
        if not isinstance(position := signal.get("position"), dict):
            draft.dropped["raw signals without a position"] = None
        elif semantic:
            draft.skip("raw positions beside the timeline")
        else:
            _added(position.get("LatLng") or position.get("latLng"), position.get("timestamp"), draft)
            _note(position, ("LatLng", "latLng", "timestamp"), draft)
    _note(document, ("semanticSegments", "rawSignals"), draft)


def _edits(document: object, draft: Draft) -> None:
    """What a phone sent to the timeline: its raw positions. Places and corrections have no position at a time."""
    for edit in objects(at(document, "timelineEdits")):
        position = at(edit, "rawSignal", "signal", "position")
        if isinstance(position, dict):
            if isinstance(point := position.get("point"), dict):
                _place(point, _stamp(position, "timestamp"), draft)
            else:
                draft.skip(NO_POSITION)
            _note(position, ("point", "timestamp"), draft)
        else:
            draft.dropped["edits without a position"] = None


def _segment(entry: dict[str, object], draft: Draft) -> None:
    """One visit, journey or path of the phone's export, of either kind of phone."""
    begin, finish = entry.get("startTime"), entry.get("endTime")
    for step in objects(entry.get("timelinePath")):
        time = step.get("time")
        if time is None:
            time = _later(begin, step.get("durationMinutesOffsetFromStartTime"), draft.reading)
        _added(step.get("point"), time, draft)
    if isinstance(entry.get("visit"), dict):
        for time in (begin, finish) if finish is not None else (begin,):
            _added(at(entry, "visit", "topCandidate", "placeLocation"), time, draft)
    if isinstance(entry.get("activity"), dict):
        for edge, time in (("start", begin), ("end", finish)):
            if time is not None or edge == "start":
                _added(at(entry, "activity", edge), time, draft)
    _note(at(entry, "visit", "topCandidate"), ("placeLocation",), draft)
    _note(at(entry, "activity"), ("start", "end"), draft)
    _note(entry, ("startTime", "endTime", "timelinePath", "visit", "activity"), draft)


def _later(begin: object, minutes: object, reading: Reading) -> float | None:
    offset = number(minutes)
    if not isinstance(begin, str) or offset is None:
        return None
    return float(mixed_times([begin], reading.zone)[0]) + 60.0 * offset


def _added(place: object, time: object, draft: Draft) -> None:
    """One point where the phone's export has one: a text of two degrees, or an object with it."""
    if isinstance(place, dict):
        place = place.get("latLng") or place.get("LatLng")
    match = _PAIR.match(place) if isinstance(place, str) else None
    if match:
        draft.add(float(match.group(1)), float(match.group(2)), time)
    elif place:
        draft.add(math.nan, math.nan, time)
    else:
        draft.skip(NO_POSITION)


def _place(location: object, time: object, draft: Draft) -> None:
    if location is not None:
        draft.add(_e7(location, "latitude", "lat"), _e7(location, "longitude", "lng"), time)


def _located(location: object) -> object:
    """A location that has a position."""
    return None if _e7(location, "latitude", "lat") is None else location


def _e7(entry: object, *names: str) -> float | None:
    for name in names:
        value = degrees(at(entry, f"{name}E7"))
        if value is not None:
            # Some exports hold unsigned overflows of negative numbers.
            limit = 900_000_000 if name.startswith("lat") else 1_800_000_000
            return (value - 4_294_967_296 if limit < value < 4_294_967_296 else value) / 1e7
    return None


def _stamp(entry: object, name: str) -> object:
    """``timestamp`` as an ISO text (newer) or ``timestampMs`` as milliseconds in a text (older), as a number if ms."""
    text = at(entry, name)
    if isinstance(text, str) and number(text) is None:
        return text
    millis = number(text) if text is not None else number(at(entry, f"{name}Ms"))
    return None if millis is None else millis if text is not None else millis / 1000.0


def _note(entry: object, used: Container[str], draft: Draft) -> None:
    for key in entry if isinstance(entry, dict) else ():
        if key not in used:
            draft.saw(str(key))
