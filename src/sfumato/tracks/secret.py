"""Which times of a trace must stay hidden: single times, times together, windows, places and stays.

A *secret* S is a set of indices into a trace: one index is a basic secret (where were you then?), several are a
compound one (where were you at all those times together: a direction, a shape, an order) [Meehan2021, Sec. 2.2].
Some secrets are written down directly; others are found in a trace by a rule. Both answer ``at(times_s, ...)``.
A design that depends on a rule tells the protected *times* to whoever knows the mechanism; ``every_point`` does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from pyproj import Geod

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.areas import Polygon, polygon, read_geojson
from sfumato.base.units import duration_s

TIMES_ARE_PUBLIC = (
    "The noise was shaped for chosen times, so whoever knows the mechanism can tell which times are protected. "
    "Protecting every point hides nothing by omission."
)


@dataclass(frozen=True, slots=True, eq=False)
class Secret:
    """The indices that must stay hidden together, with their own radius and target loss where they differ.

    ``target_loss`` is the largest λ_max(J_S) allowed, per squared unit of the positions; None = the design's own.
    """

    indices: IntArray
    label: str = ""
    radius_m: float | None = None
    target_loss: float | None = None

    def __post_init__(self) -> None:
        indices = np.unique(np.asarray(self.indices, dtype=np.int64).ravel())
        if indices.size == 0:
            raise InputError("A secret without times was given.", "Name at least one index.")
        if indices[0] < 0:
            raise InputError(f"A secret has the negative index {indices[0]}.", "Indices count from 0.")
        if self.radius_m is not None:
            positive(self.radius_m, "A secret's radius_m")
        if self.target_loss is not None:
            positive(self.target_loss, "A secret's target_loss")
        object.__setattr__(self, "indices", read_only(indices, np.int64))

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """This secret, if the trace is long enough to have it."""
        count = len(times_s)
        if int(self.indices[-1]) >= count:
            raise InputError(
                f"The secret {self.label or self.indices.tolist()} names index {int(self.indices[-1])}, "
                f"but the trace has {count} points.",
                f"Use indices from 0 to {count - 1}.",
            )
        return (self,)


class SecretRule(Protocol):
    """Anything that says which secrets a trace holds."""

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """The secrets of a trace with these times (and, for rules about places, positions)."""
        ...


def basic(index: int, *, radius_m: float | None = None, target_loss: float | None = None) -> Secret:
    """One time."""
    return Secret(np.array([index]), f"point {index}", radius_m, target_loss)


def compound(
    indices: Sequence[int] | IntArray,
    *,
    label: str = "",
    radius_m: float | None = None,
    target_loss: float | None = None,
) -> Secret:
    """Several times that must stay hidden together."""
    chosen = np.asarray(indices, dtype=np.int64)
    return Secret(chosen, label or "points " + ",".join(map(str, chosen.tolist())), radius_m, target_loss)


def every_point(count: int | None = None) -> tuple[Secret, ...] | EveryPoint:
    """Every time on its own: the default, which hides nothing by omission. With ``count``, the secrets themselves."""
    return EveryPoint() if count is None else tuple(basic(i) for i in range(count))


@dataclass(frozen=True, slots=True, eq=False)
class EveryPoint:
    """Every time of whatever trace comes, each on its own."""

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """One basic secret per point."""
        return tuple(basic(i) for i in range(len(times_s)))


@dataclass(frozen=True, slots=True, eq=False)
class EveryWindow:
    """All points of each stretch of ``duration_s`` together; stretches start every ``step_s`` (default: half)."""

    duration_s: float
    step_s: float | None = None

    def __post_init__(self) -> None:
        positive(self.duration_s, "duration_s")
        if self.step_s is not None:
            positive(self.step_s, "step_s")

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """One compound secret per window that holds a point, windows contained in another one left out."""
        times = finite(times_s, "times_s", dimensions=1)
        if times.size == 0:
            raise InputError("A trace without points has no windows.")
        step = self.step_s or self.duration_s / 2
        starts = np.arange(times[0], max(times[-1] - self.duration_s, times[0]) + step, step)
        first = np.searchsorted(times, starts, side="left")
        stop = np.searchsorted(times, starts + self.duration_s, side="left")
        stop = np.where(starts + self.duration_s >= times[-1], times.size, stop)
        kept: list[tuple[int, int]] = []
        for low, high in zip(first.tolist(), stop.tolist(), strict=True):
            if kept and kept[-1][0] == low and kept[-1][1] <= high:
                kept.pop()  # the earlier window lies inside this one
            if high > low and not (kept and kept[-1][0] <= low and high <= kept[-1][1]):
                kept.append((low, high))
        found = [Secret(np.arange(low, high), f"window of points {low} to {high - 1}") for low, high in kept]
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """A disc on the ground."""

    lat_deg: float
    lon_deg: float
    radius_m: float

    def holds(self, lat_deg: FloatArray, lon_deg: FloatArray) -> BoolArray:
        """Which points lie inside, by geodesic distance."""
        count = len(lat_deg)
        centre_lon, centre_lat = np.full(count, self.lon_deg), np.full(count, self.lat_deg)
        _, _, distance_m = Geod(ellps="WGS84").inv(centre_lon, centre_lat, lon_deg, lat_deg)
        return np.asarray(np.asarray(distance_m) <= self.radius_m, dtype=np.bool_)


def _positions(lat_deg: FloatArray | None, lon_deg: FloatArray | None, who: str) -> tuple[FloatArray, FloatArray]:
    if lat_deg is None or lon_deg is None:
        raise InputError(f"{who} need positions, and none were given.", "Pass lat_deg and lon_deg.")
    return lat_deg, lon_deg


@dataclass(frozen=True, slots=True, eq=False)
class SecretAreas:
    """The times spent inside any of some areas: each time on its own, or each visit as one compound secret."""

    areas: Sequence[Circle | Polygon]
    together: bool = False

    def __post_init__(self) -> None:
        if not self.areas:
            raise InputError("No secret place was given.", "Give a circle, a polygon or a GeoJSON with one.")

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """The secrets found; none when the trace never enters an area."""
        lat_deg, lon_deg = _positions(lat_deg, lon_deg, "Secret places")
        inside = np.zeros(len(times_s), dtype=np.bool_)
        for area in self.areas:
            inside |= area.holds(lat_deg, lon_deg)
        return _visits(inside, "place", together=self.together)


def areas_from_geojson(value: Mapping[str, Any], *, radius_m: float = 200.0) -> tuple[Circle | Polygon, ...]:
    """Areas of a GeoJSON object: polygons as they are, points as circles (``properties.radius_m`` or ``radius_m``)."""
    kind = value.get("type")
    try:
        if kind == "FeatureCollection":
            return tuple(a for feature in value["features"] for a in areas_from_geojson(feature, radius_m=radius_m))
        if kind == "Feature":
            own = float((value.get("properties") or {}).get("radius_m", radius_m))
            return areas_from_geojson(value["geometry"], radius_m=own)
        if kind == "GeometryCollection":
            return tuple(a for part in value["geometries"] for a in areas_from_geojson(part, radius_m=radius_m))
        if kind == "Point":
            return (_circle(value["coordinates"], radius_m),)
        if kind == "MultiPoint":
            return tuple(_circle(point, radius_m) for point in value["coordinates"])
        if kind == "Polygon":
            return (polygon(value["coordinates"]),)
        if kind == "MultiPolygon":
            return tuple(polygon(rings) for rings in value["coordinates"])
    except InputError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(f"The GeoJSON {kind or 'object'} is malformed.", "Check its coordinates.") from error
    raise InputError(f"GeoJSON of type {kind!r} is not an area.", "Use Point, MultiPoint, Polygon or MultiPolygon.")


def _circle(point: Sequence[float], radius_m: float) -> Circle:
    lon_deg, lat_deg = float(point[0]), float(point[1])
    if not (-90 <= lat_deg <= 90 and np.isfinite(lon_deg)):
        raise InputError("A secret place has a latitude outside -90 to 90.", "GeoJSON writes longitude first.")
    return Circle(lat_deg, lon_deg, positive(radius_m, "radius_m of a secret place"))


@dataclass(frozen=True, slots=True, eq=False)
class Stays:
    """Times of staying within ``within_m`` of where one was, for at least ``at_least_s``, found in the trace itself."""

    at_least_s: float = 600.0
    within_m: float = 100.0
    together: bool = False

    def __post_init__(self) -> None:
        positive(self.at_least_s, "at_least_s")
        positive(self.within_m, "within_m")

    def at(
        self, times_s: FloatArray, *, lat_deg: FloatArray | None = None, lon_deg: FloatArray | None = None
    ) -> tuple[Secret, ...]:
        """The stays found, by a forward scan from each unassigned point."""
        lat_deg, lon_deg = _positions(lat_deg, lon_deg, "Stays")
        times = finite(times_s, "times_s", dimensions=1)
        inside = np.zeros(times.size, dtype=np.bool_)
        if times.size:
            places_m = _on_sphere(lat_deg, lon_deg)
            start = 0
            while start < times.size:
                stop = start + 1
                while stop < times.size and np.linalg.norm(places_m[stop] - places_m[start]) <= self.within_m:
                    stop += 1
                if times[stop - 1] - times[start] >= self.at_least_s:
                    inside[start:stop] = True
                    start = stop
                else:
                    start += 1
        return _visits(inside, "stay", together=self.together)


def _on_sphere(lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
    """Points in space on a sphere of the Earth's mean radius: chords of a few hundred metres are right to 0.5%."""
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    return 6_371_008.8 * np.stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)), axis=1)


def _visits(inside: BoolArray, word: str, *, together: bool) -> tuple[Secret, ...]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(np.int8), [0]))))
    found: list[Secret] = []
    for number, (low, high) in enumerate(edges.reshape(-1, 2).tolist(), start=1):
        if together:
            found.append(Secret(np.arange(low, high), f"{word} {number}"))
        else:
            found.extend(Secret(np.array([i]), f"{word} {number}, point {i}") for i in range(low, high))
    return tuple(found)


def resolve(
    secrets: SecretRule | Sequence[SecretRule],
    times_s: FloatArray,
    *,
    lat_deg: FloatArray | None = None,
    lon_deg: FloatArray | None = None,
    radius_m: float | None = None,
) -> tuple[Secret, ...]:
    """All secrets of one trace from rules and secrets mixed; ``radius_m`` fills in where a secret has none."""
    rules = secrets if isinstance(secrets, Sequence) else (secrets,)
    found = [s for rule in rules for s in rule.at(times_s, lat_deg=lat_deg, lon_deg=lon_deg)]
    if not found:
        raise InputError("The trace holds none of the secrets asked for.", "Check the places, or protect every point.")
    return tuple(s if s.radius_m is not None else replace(s, radius_m=radius_m) for s in found)


def parse(text: str, *, radius_m: float = 200.0) -> SecretRule:
    """``all``, ``24``, ``24,25``, ``windows:10min``, ``stays``, ``stays:10min`` or the path of a GeoJSON file."""
    word, _, rest = text.strip().partition(":")
    if word == "all" and not rest:
        return EveryPoint()
    if word == "windows":
        return EveryWindow(duration_s(rest or "10min"))
    if word == "stays":
        return Stays(duration_s(rest or "10min"))
    if text and all(part.strip().isdigit() for part in text.split(",")):
        return compound([int(part) for part in text.split(",")])
    if text.lower().endswith((".geojson", ".json")):
        return SecretAreas(areas_from_geojson(read_geojson(text), radius_m=radius_m))
    raise InputError(
        f"'{text}' does not name secrets.",
        "Write all, 24, 24,25 (together), windows:10min, stays:10min, or the name of a .geojson file.",
    )
