"""Lengths and durations as people write them: ``200m``, ``1.5km``, ``10min``, ``6h``."""

from __future__ import annotations

import math
import re

from sfumato.base.errors import InputError

LENGTHS_M = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "mi": 1609.344}
DURATIONS_S = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "week": 604800.0,
    "w": 604800.0,
    "year": 31557600.0,
}

_QUANTITY = re.compile(r"^\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*$")


def _parse(text: str | float, units: dict[str, float], kind: str, example: str, default: str) -> float:
    match = _QUANTITY.match(str(text))
    unit = (match.group(2) or default) if match else ""
    if match is None or unit not in units:
        raise InputError(f"'{text}' is not a {kind}.", f"Write it like {example}; units: {', '.join(units)}.")
    return float(match.group(1)) * units[unit]


def length_m(text: str | float) -> float:
    """``"200m"``, ``"1.5 km"`` or a bare number of metres, in metres."""
    return _parse(text, LENGTHS_M, "length", "200m or 1.5km", "m")


def duration_s(text: str | float) -> float:
    """``"10min"``, ``"6h"`` or a bare number of seconds, in seconds."""
    return _parse(text, DURATIONS_S, "duration", "30s, 10min or 6h", "s")


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """A number of things, as one says it: ``"1 file"``, ``"2 files"``; ``nouns`` where an s does not do."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def plain_number(value: float, figures: int = 3) -> str:
    """A number for people, rounded to so many figures and never with an exponent: ``"100"``, ``"0.25"``, ``"1200"``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = figures - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    text = f"{rounded:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_length(metres: float) -> str:
    """Metres for people: ``"200 m"``, ``"1.5 km"``."""
    rounded = float(plain_number(metres))
    return f"{plain_number(metres / 1000)} km" if rounded >= 1000 else f"{plain_number(metres)} m"


def length_option(metres: float) -> str:
    """A length as an option takes it, two figures, never more than it is: ``"100m"``, ``"0.34m"``."""
    if metres <= 0:
        return "0m"
    step = 10.0 ** (math.floor(math.log10(metres)) - 1)
    return f"{plain_number(math.floor(metres / step * (1 + 1e-12)) * step)}m"


def format_duration(seconds: float) -> str:
    """Seconds for people: ``"10 s"``, ``"6 h"``, ``"1 week"``."""
    for name, size in (("year", 31557600.0), ("week", 604800.0), ("day", 86400.0)):
        if seconds >= size:
            count = plain_number(seconds / size)
            return f"{count} {name}" if count == "1" else f"{count} {name}s"
    for name, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{plain_number(seconds / size)} {name}"
    return f"{plain_number(seconds)} s"


def bounds_deg(text: str) -> tuple[float, float, float, float]:
    """``south,west,north,east`` in degrees."""
    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError("--bounds is not four numbers.", "Give south,west,north,east in degrees.") from error
    if not all(map(math.isfinite, (south, west, north, east))):
        raise InputError("--bounds holds a number that is none.", "Give south,west,north,east in degrees.")
    return south, west, north, east


def two_digits(count: float) -> int:
    """A number that is said to be enough, rounded up to two digits."""
    step: int = 10 ** max(0, math.floor(math.log10(max(1.0, count))) - 1)
    return math.ceil(count / step - 1e-9) * step
