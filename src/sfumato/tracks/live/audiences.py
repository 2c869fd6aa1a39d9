"""Who sees what, when and until when: the one file of ``sfumato live``, read strictly.

    [bridge]                       [person.anna]                       [audience.friends]
    folder = "live"                places = "anna.places"              sees = "blurred"
    time_zone = "Europe/Paris"     devices.phone = "sha256:..."        noise = "900m"

Nothing is guessed: an unknown word, a missing size or a zone without places is refused with what to write instead.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sfumato.base.errors import InputError
from sfumato.base.units import duration_s, length_m
from sfumato.tracks.live.chain import Chain

KINDS = ("exact", "blurred", "zone", "town", "nothing")
TOWN_NOISE = "2km"
LEAST_NOISE_M = 10.0
LEAST_DELAY_S, MOST_DELAY_S = 300.0, 604_800.0
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_HOURS = re.compile(r"(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))?\s+)?(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")
_TOKEN = re.compile(r"sha256:[0-9a-f]{64}")
SENDS = ("mqtt", "owntracks", "traccar")
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Days of the week and minutes of the day in which positions were measured that may be seen."""

    days: frozenset[int]
    start_min: int
    end_min: int
    words: str

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """``Mon-Fri 8:00-18:00``; past midnight where the end is not after the start."""
        found = _HOURS.fullmatch(text.strip())
        if found is None:
            raise InputError(f"'{text}' is no schedule.", 'Write it like hours = "Mon-Fri 8:00-18:00".')
        first, last, *clock = found.groups(default="")
        first, last = first.lower(), last.lower()
        if (first and first not in DAYS) or (last and last not in DAYS):
            raise InputError(f"'{text}' names no such day.", f"Days are {', '.join(day.title() for day in DAYS)}.")
        from_h, from_min, to_h, to_min = map(int, clock)
        start, end = 60 * from_h + from_min, 60 * to_h + to_min
        if max(start, end) > 1440 or max(from_min, to_min) > 59 or start == end:
            raise InputError(f"'{text}' has no such hours.", "Hours run from 0:00 to 24:00.")
        low = DAYS.index(first) if first else 0
        high = DAYS.index(last) if last else (low if first else 6)
        days = frozenset((low + step) % 7 for step in range((high - low) % 7 + 1))
        return cls(days, start, end, text.strip())

    def holds(self, at: datetime) -> bool:
        """Whether a local time lies in it; the hours after midnight belong to the day they began on."""
        minute, day = 60 * at.hour + at.minute, at.weekday()
        if self.start_min < self.end_min:
            return day in self.days and self.start_min <= minute < self.end_min
        return (day in self.days and minute >= self.start_min) or ((day - 1) % 7 in self.days and minute < self.end_min)


@dataclass(frozen=True, slots=True)
class Audience:
    """What one audience sees of whom. ``noise_m`` is set where it is blurred, or told a town; ``keep_s`` None: the last
    position only, else as much history as that."""

    name: str
    sees: str
    people: frozenset[str] | None
    noise_m: float | None
    delay_s: float
    hours: Schedule | None
    until_s: float | None
    keep_s: float | None
    tokens: tuple[str, ...]
    send: tuple[str, ...]

    def sees_person(self, person: str) -> bool:
        """Whether this audience is shown that person at all."""
        return self.sees != "nothing" and (self.people is None or person in self.people)

    def open_at(self, time_s: float, zone: ZoneInfo) -> bool:
        """Whether a position measured then is for this audience."""
        if self.until_s is not None and time_s >= self.until_s:
            return False
        return self.hours is None or self.hours.holds(datetime.fromtimestamp(time_s, zone))


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One person: their places file, and the hashed tokens of their devices."""

    name: str
    places: Path | None
    devices: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LiveConfig:
    """The whole file."""

    folder: Path
    zone: ZoneInfo
    url: str
    places: Path | None
    people: Mapping[str, PersonRow]
    audiences: tuple[Audience, ...]
    mqtt_url: str
    mqtt_topics: tuple[str, ...]
    per_minute: int

    @property
    def chain(self) -> Chain | None:
        """The noise of all audiences that are blurred or told a town."""
        sizes = tuple(one.noise_m for one in self.audiences if one.noise_m is not None)
        return Chain(sizes) if sizes else None

    @property
    def names(self) -> list[str]:
        """Of all audiences."""
        return [one.name for one in self.audiences]

    def audience(self, name: str) -> Audience:
        """The audience of that name."""
        for one in self.audiences:
            if one.name == name:
                return one
        raise InputError(f"There is no audience {name}.", f"There are: {', '.join(self.names)}.")

    def person_of(self, token: str) -> str | None:
        """Whose device has this token; every hash is compared, each in constant time."""
        given, found = token_hash(token).encode(), None
        for person in self.people.values():
            for _, known in person.devices:
                if hmac.compare_digest(given, known.encode()):
                    found = person.name
        return found

    def audience_of(self, token: str) -> Audience | None:
        """Which audience has this token."""
        given, found = token_hash(token).encode(), None
        for one in self.audiences:
            for known in one.tokens:
                if hmac.compare_digest(given, known.encode()):
                    found = one
        return found


def token_hash(token: str) -> str:
    """How a token stands in the file: its SHA-256. Tokens are 32 random bytes, so no stretching is needed."""
    return f"sha256:{hashlib.sha256(token.encode('utf-8', 'replace')).hexdigest()}"


def load_config(path: str | Path) -> LiveConfig:
    """Read the file; everything in it must be known."""
    file = Path(path)
    try:
        outer = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {file}: {error.strerror}.", "Begin with: sfumato live example") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no TOML: {error}.", "Begin with: sfumato live example") from error
    _known(outer, "the file", "bridge", "mqtt", "person", "audience")
    bridge, mqtt = _table(outer, "bridge"), _table(outer, "mqtt")
    _known(bridge, "[bridge]", "folder", "time_zone", "url", "places", "positions_per_minute")
    _known(mqtt, "[mqtt]", "url", "topics")
    try:
        zone = ZoneInfo(_text(bridge, "time_zone", "UTC"))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError("There is no such time zone.", 'Write it like time_zone = "Europe/Paris".') from error
    base = file.parent
    places = _text(bridge, "places", "")
    people = {name: _person(name, row, base) for name, row in _tables(outer, "person").items()}
    audiences = tuple(_audience(name, row, people, zone) for name, row in _tables(outer, "audience").items())
    if not audiences:
        raise InputError(f"{file} names no audience.", "Begin with: sfumato live example")
    config = LiveConfig(
        base / _text(bridge, "folder", "live"),
        zone,
        _text(bridge, "url", "").rstrip("/"),
        base / places if places else None,
        people,
        audiences,
        _text(mqtt, "url", ""),
        _texts(mqtt, "topics"),
        int(_number(bridge, "positions_per_minute", 120.0)),
    )
    _refuse_unfit(config)
    return config


def _person(name: str, row: Row, base: Path) -> PersonRow:
    _known(row, f"[person.{name}]", "places", "devices")
    devices = _table(row, "devices")
    places = _text(row, "places", "")
    tokens = tuple((device, _hash(devices, device, f"person.{name}")) for device in devices)
    return PersonRow(name, base / places if places else None, tokens)


def _audience(name: str, row: Row, people: Mapping[str, PersonRow], zone: ZoneInfo) -> Audience:
    where = f"[audience.{name}]"
    _known(row, where, "sees", "people", "noise", "delay", "hours", "until", "keep", "tokens", "send")
    sees = _text(row, "sees", "")
    if sees not in KINDS:
        raise InputError(f"{where} does not say what it sees.", f"Write sees = one of {', '.join(KINDS)}.")
    noise = _text(row, "noise", TOWN_NOISE if sees == "town" else "")
    if (sees in ("blurred", "town")) != bool(noise):
        raise InputError(f"{where} is {sees}.", 'A blurred audience, and no other but town, has noise = "900m".')
    named = frozenset(_texts(row, "people")) if "people" in row else None
    if named and people and (unknown := named - set(people)):
        raise InputError(f"{where} names {min(unknown)}, who has no [person.{min(unknown)}].", "Add it.")
    delay_s = duration_s(_text(row, "delay", "0"))
    if delay_s and not LEAST_DELAY_S <= delay_s <= MOST_DELAY_S:
        raise InputError(f"{where} has a delay of {delay_s:g} s.", "Delays run from 5min to 1week; 0 is none.")
    keep = _text(row, "keep", "last")
    if keep != "last" and duration_s(keep) <= delay_s:
        raise InputError(f"{where} may look back {keep}, which is less than its delay.", "Keep more, or delay less.")
    tokens = _table(row, "tokens")
    return Audience(
        name,
        sees,
        named,
        _blur_m(noise, where) if noise else None,
        delay_s,
        Schedule.parse(hours) if (hours := _text(row, "hours", "")) else None,
        _until(row, where, zone),
        None if keep == "last" else duration_s(keep),
        tuple(_hash(tokens, token, f"audience.{name}") for token in tokens),
        tuple(_send(text, where) for text in _texts(row, "send")),
    )


def _blur_m(noise: str, where: str) -> float:
    size_m = length_m(noise)
    if size_m < LEAST_NOISE_M:
        raise InputError(
            f"{where} has noise of {noise}, which blurs nothing.", 'Write noise = "900m", or sees = "exact".'
        )
    return size_m


def _until(row: Row, where: str, zone: ZoneInfo) -> float | None:
    """The first moment that is not shown any more: a time as written, or the end of a day."""
    value = row.get("until")
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value) if len(value) > 10 else date.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=zone)).timestamp()
    if isinstance(value, date):
        return datetime.combine(value + timedelta(days=1), datetime.min.time(), zone).timestamp()
    raise InputError(f"{where} ends at no time.", "Write until = 2026-12-31 or until = 2026-12-31T18:00:00.")


def _send(text: str, where: str) -> str:
    kind, _, rest = text.partition(":")
    if kind not in SENDS or not rest:
        raise InputError(f"{where} sends to '{kind}'.", "Write mqtt:TOPIC, owntracks:URL or traccar:URL.")
    return text


def _refuse_unfit(config: LiveConfig) -> None:
    """Zones without places, topics without a broker, names that could be anything."""
    zoned = config.places is not None or any(person.places for person in config.people.values())
    for one in config.audiences:
        if one.sees == "zone" and not zoned:
            raise InputError(
                f"[audience.{one.name}] is told zones, and there is no places file.",
                'Make one: sfumato places add home 48.85,2.35 --places me.places; then places = "me.places".',
            )
        if any(text.startswith("mqtt:") for text in one.send) and not config.mqtt_url:
            raise InputError(f"[audience.{one.name}] sends by MQTT.", 'Name the broker: [mqtt] url = "mqtt://host".')


def _tables(outer: Row, name: str) -> dict[str, Row]:
    found = _table(outer, name)
    for key in found:
        if not _NAME.fullmatch(key):
            raise InputError(f"'{key}' is no name of a {name}.", "Names have small letters, digits, - and _.")
    return {key: _table(found, key) for key in found}


def _table(outer: Row, name: str) -> Row:
    value = outer.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name} is not a table.", f"Write [{name}] on a line of its own.")
    return value


def _known(row: Row, where: str, *names: str) -> None:
    if unknown := sorted(set(row) - set(names)):
        raise InputError(f"{where} says '{unknown[0]}', which means nothing here.", f"Known: {', '.join(names)}.")


def _text(row: Row, name: str, default: str) -> str:
    value = row.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name} is not a text.", f'Write {name} = "...".')
    return value


def _texts(row: Row, name: str) -> tuple[str, ...]:
    value = row.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{name} is no list of texts.", f'Write {name} = ["...", "..."].')
    return tuple(value)


def _number(row: Row, name: str, default: float) -> float:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
        raise InputError(f"{name} is no number from 0 to a million.", f"Write {name} = {default:g}.")
    return float(value)


def _hash(row: Row, name: str, where: str) -> str:
    value = _text(row, name, "")
    if not _TOKEN.fullmatch(value):
        raise InputError(f"[{where}] has no hashed token for {name}.", "Make one: sfumato live token")
    return value
