"""A trace being read: points as the file gives them, what was asked to be kept, and the names of what was left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.errors import InputError
from sfumato.io.times import mixed_times, zone_named
from sfumato.traces import Trace

# One word for each thing that files call by many names. Units: metres, m/s, degrees, beats or turns per minute,
# watts, degrees Celsius.
_WORDS = {
    "elevation": ("ele", "alt", "altitude", "altitudemeters", "enhancedaltitude", "elevationm", "height"),
    "speed": ("velocity", "vel", "enhancedspeed", "speedms", "velocitymetersspersecond", "speedmeterspersecond"),
    "course": ("heading", "bearing", "cog", "direction"),
    "heart_rate": ("hr", "heartrate", "heartratebpm", "bpm"),
    "cadence": ("cad", "runcadence"),
    "temperature": ("atemp", "wtemp", "temp"),
    "power": ("watts", "pwr"),
    "accuracy": ("acc", "hacc", "horizontalaccuracy", "accuracymeters", "gpsaccuracy"),
    "distance": ("distancemeters", "dist"),
    "name": ("trackname", "title"),
    "description": ("desc", "cmt", "comment", "notes"),
    "device": ("creator", "manufacturer", "product", "garminproduct", "serialnumber", "devicetag"),
}
_CANONICAL = {alias: word for word, aliases in _WORDS.items() for alias in (*aliases, word.replace("_", ""))}
# Words about the whole track that a writer can carry; everything else that is kept is one number per point.
TEXTS = frozenset({"name", "description"})
_NEVER = {
    "waypoints": "Waypoints are exact places and would undo the noise.",
    "lat": "The true position is what is hidden.",
    "lon": "The true position is what is hidden.",
}


_POSITIONS_TEXT = (
    "lat lats latitude latitudes lon lons lng long longitude longitudes northing easting utm mgrs geohash "
    "wkt wkb geom geometry position coordinate coordinates coord coords latlon latlng lonlat location "
    "point shape h3 s2 plus "
)
_POSITIONS = frozenset(_POSITIONS_TEXT.split())


def names_position(name: str) -> bool:
    """Whether a field's name says that it is a position: ``latitude``, ``start_lat``, ``lon_e7``."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = [word.lower() for word in re.findall(r"[A-Za-z]+[0-9]?", spaced)]
    stems = {re.sub(r"(e[67]|deg|degrees|wgs)$", "", word) for word in words} | set(words)
    return bool(stems & _POSITIONS) or plain(name) in ("x", "y", "xcoord", "ycoord")


def plain(name: str) -> str:
    """Lower case letters and digits only: ``"Latitude (deg)"`` and ``"latitude_deg"`` are one name."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def canonical(name: str) -> str:
    """The one word used here for what files call ``hr``, ``HeartRateBpm``, ``heart_rate`` ..., or the name itself."""
    return _CANONICAL.get(plain(name), name)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the caller asked for: the zone of naive times, columns by role, and what to keep."""

    zone: str | tzinfo | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: frozenset[str] = frozenset()
    keep_if_there: bool = False
    one_person: bool = False

    @classmethod
    def asked(
        cls,
        zone: str | tzinfo | None,
        columns: Mapping[str, str] | None,
        keep: Iterable[str],
        keep_if_there: bool = False,
        one_person: bool = False,
    ) -> Reading:
        if isinstance(keep, str):
            keep = (keep,)
        words = frozenset(canonical(str(name)) for name in keep)
        for word in words:
            if word in _NEVER:
                raise InputError(f"{word} cannot be kept.", _NEVER[word])
            if names_position(word):
                raise InputError("A position cannot be kept.", _NEVER["lat"])
        zone_named(zone)  # a name that does not exist is refused even where no time needs it
        return cls(zone, dict(columns or {}), words, keep_if_there, one_person)


class Draft:
    """Collects one track's points; :meth:`to_trace` checks them."""

    __slots__ = ("dropped", "identity", "kept", "lat", "lon", "reading", "segment", "texts", "times")

    def __init__(self, reading: Reading, identity: str = "") -> None:
        self.reading = reading
        self.identity = identity
        self.lat: list[float] = []
        self.lon: list[float] = []
        self.times: list[object] = []
        self.segment: list[int] = []
        self.kept: dict[str, dict[int, float]] = {}
        self.texts: dict[str, str] = {}
        self.dropped: dict[str, None] = {}

    def add(self, lat: float, lon: float, time: object, segment: int = 0) -> None:
        """One point; ``time`` is an ISO text, a number since 1970, or None where the file has none."""
        self.lat.append(lat)
        self.lon.append(lon)
        self.times.append(time)
        self.segment.append(segment)

    def saw(self, name: str, value: object = None) -> None:
        """Something other than position and time: kept for the last point (or the track) if asked, else noted."""
        word = canonical(name)
        if word not in self.reading.keep:
            self.dropped[word] = None
        elif word in TEXTS:
            self.texts.setdefault(word, str(value or "").strip())
        elif self.lat:
            number = _number(value)
            if number is not None:
                self.kept.setdefault(word, {})[len(self.lat) - 1] = number

    def to_trace(self, *, asked: bool = True) -> Trace:
        """The checked trace; ``asked`` = complain when something to keep was not in the file."""
        if not self.lat:
            raise InputError("The file has no points with a position.", "Give a track with at least one point.")
        if asked:
            require_kept(self.reading, {*self.kept, *self.texts}, self.dropped)
        times = mixed_times(self.times, self.reading.zone)
        columns: dict[str, FloatArray] = {}
        for name, sparse in self.kept.items():
            column = np.full(len(self.lat), math.nan)
            column[list(sparse)] = list(sparse.values())
            columns[name] = column
        refuse_positions(columns, np.array(self.lat), np.array(self.lon))
        return Trace(
            np.array(self.lat, dtype=np.float64),
            np.array(self.lon, dtype=np.float64),
            times,
            np.array(self.segment, dtype=np.int64),
            columns,
            tuple(self.dropped),
            self.texts,
        )

    def sort_by_time(self) -> None:
        """For logs that promise no order: points by time, ties in file order, one segment."""
        times = mixed_times(self.times, self.reading.zone)
        order = np.argsort(times, kind="stable")
        where = {int(old): new for new, old in enumerate(order)}
        self.lat = [self.lat[place] for place in order]
        self.lon = [self.lon[place] for place in order]
        self.times = times[order].tolist()
        self.segment = [0] * len(order)
        self.kept = {
            name: {where[place]: value for place, value in sparse.items()} for name, sparse in self.kept.items()
        }


def refuse_positions(columns: Mapping[str, FloatArray], lat_deg: FloatArray, lon_deg: FloatArray) -> None:
    """Refuse to keep numbers that follow a coordinate (or a thousand, million ... times it) to a few hundred metres."""
    for name, values in columns.items():
        there = np.isfinite(values)
        if np.count_nonzero(there) < 2:
            continue
        for degrees in (lat_deg[there], lon_deg[there]):
            number = values[there]
            if any(np.mean(np.abs(number / scale - degrees) < 5e-3) > 0.5 for scale in (1.0, 1e5, 1e6, 1e7)):
                raise InputError(f"Column '{name}' holds the true position.", "It is what is hidden: leave it out.")
            moved = np.ptp(degrees) > 0 and np.ptp(number) > 0 and len(number) > 9
            if moved and abs(np.corrcoef(number, degrees)[0, 1]) > 0.9999:
                raise InputError(f"Column '{name}' follows the true position.", "It is what is hidden: leave it out.")


def require_kept(reading: Reading, found: Iterable[str], dropped: Iterable[str]) -> None:
    """Refuse to go on without something that was asked to be kept, unless it may be missing."""
    missing = [] if reading.keep_if_there else sorted(reading.keep - set(found))
    if missing:
        there = ", ".join(name for name in dropped if "(" not in name) or "nothing more"
        raise InputError(
            f"The file has no {missing[0]} to keep, or not one number per point.",
            f"Besides positions and times it has: {there}.",
        )


def merged(drafts: list[Draft]) -> Draft:
    """All tracks of a file as one draft, their segments numbered on."""
    if len(drafts) == 1:
        return drafts[0]
    whole = Draft(drafts[0].reading)
    for draft in drafts:
        offset = len(whole.lat)
        base = whole.segment[-1] + 1 if whole.segment else 0
        whole.lat += draft.lat
        whole.lon += draft.lon
        whole.times += draft.times
        whole.segment += [base + number for number in draft.segment]
        for name, sparse in draft.kept.items():
            whole.kept.setdefault(name, {}).update({place + offset: value for place, value in sparse.items()})
        whole.dropped.update(draft.dropped)
        for name, text in draft.texts.items():
            whole.texts.setdefault(name, text)
    return whole


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # anything: what is not a number is not kept
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
