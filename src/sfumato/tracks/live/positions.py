"""One position as phones, trackers and receivers send it: OwnTracks, Traccar and OsmAnd, GPSLogger, NMEA, GPSD, NDJSON.

Strict: what is not a position on the globe at a time near now is refused in words that repeat none of it.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sfumato.base.arrays import wrap_longitude
from sfumato.base.errors import InputError
from sfumato.tracks.io.draft import number

_EARLIEST_S = 946_684_800.0  # 2000
_AHEAD_S = 86_400.0
_NAME_LENGTH = 80
_NOT_HERE = InputError("This is no position.", "Give latitude, longitude in degrees and a time.")


@dataclass(frozen=True, slots=True, repr=False)
class Position:
    """Who was where, when; its text never shows where."""

    person: str
    time_ms: int
    lat_deg: float
    lon_deg: float

    def __repr__(self) -> str:
        return f"<Position of {self.person}, not shown where>"


def position(person: str, lat: object, lon: object, moment: object) -> Position:
    """Checked: on the globe, between the year 2000 and tomorrow."""
    lat_deg, lon_deg, time_s = number(lat), number(lon), _seconds(moment)
    if not person or len(person) > _NAME_LENGTH or not person.isprintable():
        raise InputError("The name of the person is empty, too long or unprintable.", "At most 80 letters.")
    if lat_deg is None or lon_deg is None or not (abs(lat_deg) <= 90 and abs(lon_deg) <= 360):
        raise InputError("Latitude or longitude is missing or not on the globe.", "Give degrees.")
    if time_s is None or not _EARLIEST_S <= time_s <= time.time() + _AHEAD_S:
        what = "The time is missing, before 2000 or more than a day ahead."
        raise InputError(what, "Give seconds since 1970, or ISO 8601.")
    if abs(lon_deg) >= 180:
        lon_deg = float(wrap_longitude(lon_deg))
    return Position(person, round(1000 * time_s), lat_deg, lon_deg)


def _seconds(value: object) -> float | None:
    """Seconds or milliseconds since 1970, or a text of ISO 8601 with its zone."""
    found = number(value)
    if found is not None:
        return None if not math.isfinite(found) else found / 1000.0 if found > 1e11 else found
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return None


def json_object(text: str | bytes) -> Mapping[str, object]:
    """A JSON object, or refused; no constants that JSON does not have."""
    found: object = None
    with contextlib.suppress(ValueError, RecursionError):
        found = _JSON.decode(text if isinstance(text, str) else text.decode())
    if isinstance(found, dict):
        return found
    raise InputError("This is no JSON object.", "Send one object.")


def _refuse_constant(_name: str) -> float:
    raise ValueError("constant")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def from_owntracks(person: str, message: Mapping[str, object]) -> Position | None:
    """A message of OwnTracks; None for all that are no location (waypoints, last wills, cards)."""
    if message.get("_type") not in ("location", "transition"):
        if not isinstance(message.get("_type"), str):
            raise InputError("This is no message of OwnTracks.", "Its _type is missing.")
        return None
    return position(person, message.get("lat"), message.get("lon"), message.get("tst"))


def from_query(person: str, values: Mapping[str, str]) -> Position:
    """OsmAnd's protocol, which Traccar's app and GPSLogger's custom URL speak, too: lat, lon, timestamp or time."""
    return position(person, values.get("lat"), values.get("lon"), values.get("timestamp") or values.get("time"))


def from_traccar(person: str, message: Mapping[str, object]) -> Position:
    """The JSON of newer Traccar apps: location.coords and location.timestamp."""
    location = message.get("location")
    coordinates = location.get("coords") if isinstance(location, dict) else None
    if not isinstance(location, dict) or not isinstance(coordinates, dict):
        raise _NOT_HERE
    return position(person, coordinates.get("latitude"), coordinates.get("longitude"), location.get("timestamp"))


def from_line(line: str | bytes, person: str = "me") -> Position:
    """One JSON object a line: lat, lon, time, and person where there are several."""
    row = json_object(line)
    who = row.get("person", person)
    if not isinstance(who, str):
        raise InputError("person is no text.", 'Write "person": "anna".')
    return position(who, row.get("lat"), row.get("lon"), row.get("time"))


def from_nmea(person: str, line: str) -> Position | None:
    """An RMC sentence of NMEA 0183 with a valid checksum and fix; None for every other sentence."""
    body, star, check = line.strip().partition("*")
    fields = body.split(",")
    if not body.startswith("$") or fields[0][3:] != "RMC":
        return None
    total = 0
    for letter in body[1:].encode("ascii", "replace"):
        total ^= letter
    if not star or check[:2].upper() != f"{total:02X}" or len(fields) < 10 or fields[2] != "A":
        return None
    try:
        at = datetime.strptime(fields[9] + fields[1][:6], "%d%m%y%H%M%S").replace(tzinfo=UTC).timestamp()
        at += float("0" + fields[1][6:])
        lat, lon = _degrees(fields[3], fields[4], "NS"), _degrees(fields[5], fields[6], "EW")
    except (ValueError, IndexError) as error:
        raise _NOT_HERE from error
    return position(person, lat, lon, at)


def _degrees(text: str, side: str, sides: str) -> float:
    if len(side) != 1 or side not in sides:
        raise ValueError("side")
    whole, minutes = text[: text.index(".") - 2], text[text.index(".") - 2 :]
    return (float(whole) + float(minutes) / 60.0) * (-1.0 if side in "SW" else 1.0)


def from_gpsd(person: str, message: Mapping[str, object]) -> Position | None:
    """A TPV report of gpsd with a fix; None for everything else."""
    mode = message.get("mode")
    if message.get("class") != "TPV" or not isinstance(mode, int) or mode < 2:
        return None
    return position(person, message.get("lat"), message.get("lon"), message.get("time"))


def from_receiver_line(person: str, line: str) -> Position | None:
    """A line of gpsd's JSON or an NMEA sentence; None for what is neither, or no position."""
    try:
        return from_gpsd(person, json_object(line)) if line.lstrip().startswith("{") else from_nmea(person, line)
    except InputError:
        return None
