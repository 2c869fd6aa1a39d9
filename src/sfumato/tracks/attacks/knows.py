"""What attackers are said to know: a place (``place=work``), days (``day=2024-03-01``), roads (``roads=map.geojson``).

Known places and days are true positions at some moments, taken from the original: the noise at those moments is bare.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.releases.seen import SeenTrack
from sfumato.tracks.io.xml.xml import parse_xml
from sfumato.tracks.places.globe import surface

if TYPE_CHECKING:
    from sfumato.tracks.attacks.truths import AttackedPerson

_DAY_S, _NEAR_M = 86400.0, 150.0


@dataclass(frozen=True, slots=True, eq=False)
class Knows:
    """``place`` is home or work, ``days`` when they began (UTC seconds), ``roads`` ways of points, earth-centred."""

    place: str | None = None
    days: tuple[float, ...] = ()
    roads: tuple[FloatArray, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Knows:
        """``place=work,day=2024-03-01,roads=streets.geojson``."""
        place, days, roads = None, [], []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, _, value = part.partition("=")
            if name == "place" and value in ("home", "work"):
                place = value
            elif name == "day":
                days.append(_day(value))
            elif name == "roads" and value:
                roads += roads_of(Path(value))
            else:
                raise InputError(
                    f"'{part}' is nothing that can be known.",
                    "Write place=work or place=home, day=2024-03-01, roads=streets.geojson (or .graphml).",
                )
        return cls(place, tuple(days), tuple(roads))

    def moments(self, person: AttackedPerson, seen: SeenTrack) -> tuple[FloatArray | None, FloatArray | None]:
        """True positions at known moments of one person; None where nothing is known of them."""
        original = person.before
        times, where = original.slot_s, original.slots_m
        use = np.zeros(len(times), dtype=bool)
        for day in self.days:
            use |= (times >= day) & (times < day + _DAY_S)
        there = None if self.place is None else person.place(self.place)
        if there is not None:
            use |= np.hypot(*(where - there[0]).T) < _NEAR_M
        if not use.any():
            return None, None
        return times[use], where[use]

    def notes(self, people: Sequence[AttackedPerson]) -> list[str]:
        """What was asked for and is not there."""
        if self.place is None and not self.days:
            return []
        lacking = sum(self.moments(one, one.before)[0] is None for one in people)
        words = f"Of {lacking} of {len(people)} people nothing that is said to be known is recorded."
        return [words] if lacking else []


def _day(text: str) -> float:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"'{text}' is no day.", "Write it like 2024-03-01.") from error
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def roads_of(path: Path) -> list[FloatArray]:
    """The lines of a GeoJSON file, or the edges of a GraphML file whose nodes have x and y in degrees (OSMnx)."""
    try:
        if path.suffix.lower() == ".graphml":
            lines = _graphml(path)
        else:
            found = json.loads(path.read_text(encoding="utf-8"))
            lines = [line for one in found.get("features", [found]) for line in _lines(one.get("geometry", one))]
        ways = [surface([p[1] for p in line], [p[0] for p in line]) for line in lines if len(line) > 1]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{path} holds no roads that can be read.", "Give GeoJSON lines or GraphML.") from error
    if not ways:
        raise InputError(f"{path} holds no roads.", "Give GeoJSON with LineStrings, or GraphML with edges.")
    return ways


def _lines(geometry: dict[str, list[list[float]]]) -> list[list[list[float]]]:
    parts = {"LineString": [geometry["coordinates"]], "MultiLineString": geometry["coordinates"]}
    return parts.get(str(geometry["type"]), [])  # type: ignore[return-value]  # lines of points


def _graphml(path: Path) -> list[list[list[float]]]:
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    at: dict[str, list[float]] = {}
    edges: list[tuple[str, str]] = []
    inside = {"node": "", "key": ""}

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "key":
            names[attributes["id"]] = attributes.get("attr.name", "")
        elif name == "node":
            inside["node"] = attributes["id"]
            values.clear()
        elif name == "data":
            inside["key"] = names.get(attributes["key"], "")
        elif name == "edge":
            edges.append((attributes["source"], attributes["target"]))

    def end(name: str, text: str) -> None:
        if name == "data":
            values[inside["key"]] = text
        elif name == "node":
            at[inside["node"]] = [float(values["x"]), float(values["y"])]

    parse_xml(path, start, end, kind="GraphML")
    return [[at[one], at[other]] for one, other in edges]
