"""A trace being read: points as the file gives them, what was asked to be kept, and the names of what was left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.traces import EARLIEST_S, LATEST_S, Trace
from sfumato.tracks.io.telltale import names_position, refuse_positions
from sfumato.tracks.io.times import mixed_times, zone_named

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
KNOWN = frozenset(_WORDS)
# Words about the whole track that a writer can carry; everything else that is kept is one number per point.
TEXTS = frozenset({"name", "description"})
_DATA = re.compile(r"\d[.,]\d{3}|\d{6}|\d\s*[°º]|\b(?:POINT|LINESTRING)\s*\(", re.IGNORECASE)
_SIDED = re.compile(
    r"""([NSEW]?)\s*([-+]?\d+\.?\d*)\s*°?\s*(?:(\d+\.?\d*)\s*['′]\s*)?(?:(\d+\.?\d*)\s*["″]\s*)?([NSEW]?)""",
    re.IGNORECASE,
)
_NEVER = {
    "waypoints": "Waypoints are exact places and would undo the noise.",
    "lat": "The true position is what is hidden.",
    "lon": "The true position is what is hidden.",
}


def plain(name: str) -> str:
    """Lower case letters and digits only: ``"Latitude (deg)"`` and ``"latitude_deg"`` are one name."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def number(value: object) -> float | None:
    """A number, or a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def degrees(value: object) -> float | None:
    """A coordinate; None where there is none, NaN where it is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    found = number(value)
    if found is None and isinstance(value, str) and (match := _SIDED.fullmatch(value.strip())):
        before, whole, minutes, seconds, after = match.groups()
        found = abs(float(whole)) + float(minutes or 0) / 60.0 + float(seconds or 0) / 3600.0
        if whole.startswith("-") or (before or after).upper() in ("S", "W"):
            found = -found
    return math.nan if found is None else found


def looks_like_position(name: str) -> bool:
    """Whether a name is data: it has a number in it that could be a coordinate, and must not be repeated."""
    return _DATA.search(name) is not None


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
    def of(
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
        if zone is not None:
            zone_named(zone)  # a name that does not exist is refused even where no time needs it
        return cls(zone, dict(columns or {}), words, keep_if_there, one_person)


class Draft:
    """Collects one track's points; :meth:`to_trace` checks them."""

    __slots__ = ("dropped", "identity", "kept", "lat", "lon", "reading", "segment", "skipped", "texts", "times")

    def __init__(self, reading: Reading, identity: str = "") -> None:
        self.reading = reading
        self.identity = identity
        self.lat: list[float | None] = []
        self.lon: list[float | None] = []
        self.times: list[object] = []
        self.segment: list[int] = []
        self.kept: dict[str, dict[int, float]] = {}
        self.texts: dict[str, str] = {}
        self.dropped: dict[str, None] = {}
        self.skipped: dict[str, int] = {}

    def skip(self, reason: str, count: int = 1) -> None:
        """Leave points out, and count them."""
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def absorb(self, other: Draft) -> None:
        """Count what another draft left out."""
        for reason, count in other.skipped.items():
            self.skip(reason, count)

    def add(self, lat: float | None, lon: float | None, time: object, segment: int = 0) -> None:
        """One point: None where the file has no position, NaN where it is no number.

        ``time`` is an ISO text, a number since 1970, or None where the file has none.
        """
        self.lat.append(lat)
        self.lon.append(lon)
        self.times.append(time)
        self.segment.append(segment)

    def saw(self, name: str, value: object = None) -> None:
        """Something other than position and time: kept for the last point (or the track) if asked, else noted."""
        word = canonical(name)
        if word not in self.reading.keep:
            known = word in KNOWN
            self.dropped[word if known or not looks_like_position(word) else "a field whose name is a number"] = None
        elif word in TEXTS:
            self.texts.setdefault(word, str(value or "").strip())
        elif self.lat:
            found = number(value)
            if found is not None and math.isfinite(found):
                self.kept.setdefault(word, {})[len(self.lat) - 1] = found

    def to_trace(self, *, asked: bool = True) -> Trace:
        """The checked trace; ``asked`` = complain when something to keep was not in the file."""
        if not self.lat:
            raise InputError("The file has no points with a position.", "Give a track with at least one point.")
        if asked:
            require_kept(self.reading, {*self.kept, *self.texts}, self.dropped)
        self.settle()
        lat, lon, times = (np.array(values, dtype=np.float64) for values in (self.lat, self.lon, self.times))
        columns: dict[str, FloatArray] = {}
        for name, sparse in self.kept.items():
            column = np.full(len(self.lat), math.nan)
            column[list(sparse)] = list(sparse.values())
            columns[name] = column
        if columns:
            refuse_positions(columns, lat, lon, times, KNOWN)
        segment = np.array(self.segment, dtype=np.int64)
        return Trace(lat, lon, times, segment, columns, tuple(self.dropped), self.texts, self.skipped)

    def settle(self) -> None:
        """Read the times, and leave out the points that cannot be used; they are counted by reason."""
        times = mixed_times(self.times, self.reading.zone)
        lat, lon = (np.array(values, dtype=np.float64) for values in (self.lat, self.lon))
        missing, untimed = np.zeros(len(lat), dtype=bool), np.zeros(len(lat), dtype=bool)
        if None in self.lat or None in self.lon:
            missing = np.array([a is None or b is None for a, b in zip(self.lat, self.lon, strict=True)])
        if np.isnan(times).any():
            untimed = np.array([time is None or time != time or time == "" for time in self.times])
        unusable = unusable_points(lat, lon, times, missing, untimed)
        self.times = times.tolist()
        if not unusable:
            return
        for reason, mask in unusable.items():
            self.skip(reason, int(mask.sum()))
        self._take(np.flatnonzero(~np.any(list(unusable.values()), axis=0)))

    def _take(self, order: IntArray) -> None:
        """The points at these places, in this order."""
        places = order.tolist()
        where = {old: new for new, old in enumerate(places)}
        self.lat, self.lon = [self.lat[place] for place in places], [self.lon[place] for place in places]
        self.times, self.segment = [self.times[place] for place in places], [self.segment[place] for place in places]
        self.kept = {
            name: {where[place]: value for place, value in sparse.items() if place in where}
            for name, sparse in self.kept.items()
        }

    def sort_by_time(self) -> None:
        """For logs that promise no order: points by time, ties in file order, one segment."""
        self.settle()
        self._take(np.argsort(np.array(self.times, dtype=np.float64), kind="stable"))
        self.segment = [0] * len(self.lat)


NO_POSITION, NO_TIME = "points without a position", "points without a time"
NO_NUMBER, OFF_GLOBE = "points whose position is not a number", "points off the globe"
BAD_TIME = "points whose time cannot be read"


def point_faults(
    lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray, missing: BoolArray, untimed: BoolArray
) -> dict[str, BoolArray]:
    """Which points cannot be used, by reason; each under one.

    ``missing`` and ``untimed`` mark points that have no position or no time at all.
    """
    no_number = ~missing & ~(np.isfinite(lat_deg) & np.isfinite(lon_deg))
    with np.errstate(invalid="ignore"):
        off = ~missing & ~no_number & ((np.abs(lat_deg) > 90.0) | (np.abs(lon_deg) > 360.0))
        unread = ~(np.isfinite(times_s) & (times_s >= EARLIEST_S) & (times_s <= LATEST_S))
    seen = missing | no_number | off
    masks = {
        NO_POSITION: missing,
        NO_NUMBER: no_number,
        OFF_GLOBE: off,
        NO_TIME: ~seen & untimed,
        BAD_TIME: ~seen & unread & ~untimed,
    }
    return {reason: mask for reason, mask in masks.items() if mask.any()}


def unusable_points(
    lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray, missing: BoolArray, untimed: BoolArray
) -> dict[str, BoolArray]:
    """:func:`point_faults` of one file: refused where nothing is left, or where half of the points that have a position
    cannot be used, because then something else is wrong with it.
    """
    masks = point_faults(lat_deg, lon_deg, times_s, missing, untimed)
    refuse_mostly_unusable({reason: int(mask.sum()) for reason, mask in masks.items()}, len(lat_deg))
    return masks


def refuse_mostly_unusable(why: Mapping[str, int], points: int) -> None:
    """Refuse where half of the points that have a position cannot be used; ``why`` counts those by reason."""
    usable = points - sum(why.values())
    if 2 * usable <= points - why.get(NO_POSITION, 0):
        words = ", ".join(f"{reason} ({count})" for reason, count in why.items()) or "it has no points"
        few = f"Of {points} points only {usable}" if usable else f"None of {points} points"
        raise InputError(f"{few} can be used: {words}.", _advice(why))


def _advice(why: Mapping[str, int]) -> str:
    worst = max(why, key=lambda reason: why[reason], default="")
    if worst == NO_TIME:
        return "A trace needs a time for every point: use a file that has them, or name the column of times."
    if worst == BAD_TIME:
        return "Write times as 2024-05-01T12:00:00Z (ISO 8601), or as numbers since 1970."
    return "Positions are degrees; check that latitude and longitude are not swapped, and which columns they are."


def require_kept(reading: Reading, found: Iterable[str], dropped: Iterable[str]) -> None:
    """Refuse to go on without something that was asked to be kept, unless it may be missing."""
    missing = [] if reading.keep_if_there else sorted(reading.keep - set(found))
    if missing:
        there = ", ".join(name for name in dropped if "(" not in name) or "nothing more"
        raise InputError(
            f"The file has no {missing[0]} to keep, or not one number per point.",
            f"Besides positions and times it has: {there}.",
        )


def merge_drafts(drafts: list[Draft]) -> Draft:
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
        whole.absorb(draft)
        whole.dropped.update(draft.dropped)
        for name, text in draft.texts.items():
            whole.texts.setdefault(name, text)
    return whole
