"""OwnTracks: the recorder's files (.rec, a message a line) and its JSON; locations and transitions are points."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.tracks.io.draft import Draft, Reading, degrees, number


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft; everything but messages with a position of the device is named and left out."""
    messages, damaged = list[object](), 0
    last_is_damaged = False
    with path.open("rb") as stream:
        for line in stream:
            if not line.strip():
                continue
            payload = line[line.find(b"{") :] if b"{" in line else line  # after tabs, or spaces where they were lost
            try:
                messages.append(json.loads(payload))
                last_is_damaged = False
            except (ValueError, RecursionError):
                damaged += 1
                last_is_damaged = True
    if last_is_damaged and messages:
        raise InputError("The OwnTracks file ends in the middle of a message.", "It is cut off; copy it again.")
    return from_messages(messages, reading, damaged)


def from_messages(messages: Iterable[object], reading: Reading, damaged: int = 0) -> list[Draft]:
    """The same from parsed messages; they may arrive late, so points are sorted by the time they were measured."""
    draft = Draft(reading, "1")
    for message in messages:
        kind = message.get("_type") if isinstance(message, dict) else None
        if not isinstance(message, dict) or kind not in ("location", "transition"):
            if kind == "waypoint":
                draft.skip("waypoints")
            draft.dropped["messages other than locations and transitions"] = None
            continue
        draft.add(degrees(message.get("lat")), degrees(message.get("lon")), _moment(message.get("tst")))
        for key, value in message.items():
            if key == "vel":  # OwnTracks counts in km/h
                speed = number(value)
                draft.saw("speed", None if speed is None else speed / 3.6)
            elif key not in ("lat", "lon", "tst", "_type", "desc"):  # a region's name is not the track's
                draft.saw(key, value)
    if not draft.lat:
        raise InputError("The OwnTracks file has no locations.", "Give a .rec file of the OwnTracks recorder.")
    draft.skip("damaged lines", damaged)
    draft.sort_by_time()
    return [draft]


def _moment(value: object) -> object:
    """A number since 1970, also as a text; a text that is none is a time that cannot be read."""
    found = number(value)
    return found if found is not None or value is None else "?"
