"""A place somebody wants hidden, with the one zone that was drawn for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.tracks.places.areas import Area
from sfumato.tracks.places.globe import Around, distances_m
from sfumato.tracks.places.zones import (
    DEFAULT_RADIUS_M,
    INNER_SHARE,
    KEY_BYTES,
    Withholding,
    Zone,
    draw_zone,
    public_radius_m,
)
from sfumato.tracks.secret import Circle, areas_from_geojson

# Two zones drawn for one place intersect. Nearer than this (a building, its car park, a bad fix) is the same place.
SAME_PLACE_M = 200.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Place:
    """Where it is, how far it extends around there, and what is withheld for it: a zone, or an area as drawn.

    ``retired`` places withhold nothing, but their zone is kept: were they named again, a second one would intersect it.
    """

    name: str
    lat_deg: float
    lon_deg: float
    withheld: Withholding
    extent_m: float = 0.0
    retired: bool = False

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > 80 or any(not letter.isprintable() for letter in self.name):
            raise InputError("A place's name is empty, longer than 80 letters or unprintable.", "Name it like home.")
        Around(self.lat_deg, self.lon_deg)

    def __repr__(self) -> str:
        return f"<Place {self.name!r}, not shown where>"

    @property
    def zone(self) -> Zone | None:
        """The drawn zone; None for an area withheld as drawn, which hides nothing of where the area is."""
        return self.withheld if isinstance(self.withheld, Zone) else None

    @property
    def simulation(self) -> bool:
        """True when the zone came from a seed."""
        return self.withheld.simulation

    def distance_m(self, lat_deg: float, lon_deg: float) -> float:
        """Metres from the place to a point."""
        return float(distances_m(lat_deg, lon_deg, self.lat_deg, self.lon_deg)[0])

    def retire(self) -> Place:
        """The same place, withholding nothing from now on."""
        return replace(self, retired=True)


def place_at(
    name: str, lat_deg: float, lon_deg: float, *, radius_m: float = DEFAULT_RADIUS_M, rng: Random = None
) -> Place:
    """A place at a point, with a fresh zone from the operating system's entropy."""
    return Place(name, float(lat_deg), float(lon_deg), draw_zone(lat_deg, lon_deg, radius_m=radius_m, rng=rng))


def place_over(name: str, area: Area, *, radius_m: float = DEFAULT_RADIUS_M, rng: Random = None) -> Place:
    """A place with an outline (a clinic), inside a fresh zone: wherever the centre falls, the whole outline is within.

    The outline must fit into .2 R around its middle, the least distance between a place and its zone's border.
    """
    radius_m = public_radius_m(radius_m)
    middle, extent = area.around, area.reach_m - 50.0
    room = (1.0 - INNER_SHARE) * radius_m
    if extent > room:
        raise InputError(
            f"The outline of {name} reaches {extent:.0f} m from its middle; a zone of {radius_m:g} m has room for "
            f"{room:.0f} m.",
            "Choose the next larger zone, name single points, or withhold the outline as drawn (which shows it).",
        )
    zone = draw_zone(middle.lat_deg, middle.lon_deg, radius_m=radius_m, rng=rng)
    return Place(name, middle.lat_deg, middle.lon_deg, zone, extent)


def place_as_drawn(name: str, area: Area) -> Place:
    """An area withheld exactly as drawn: its outline will show, and where it is was no secret."""
    middle = area.around
    return Place(name, middle.lat_deg, middle.lon_deg, area, area.reach_m - 50.0)


def area_from_rings(rings: Sequence[FloatArray], *, rng: Random = None) -> Area:
    """An :class:`Area` with a fresh key, from rings of (lon, lat) as GeoJSON writes them."""
    draw = randomness(rng)
    return Area(tuple(rings), draw.words(KEY_BYTES // 8).tobytes(), draw.simulation)


def places_from_geojson(
    name: str,
    value: Mapping[str, Any],
    *,
    radius_m: float = DEFAULT_RADIUS_M,
    as_drawn: bool = False,
    rng: Random = None,
) -> tuple[Place, ...]:
    """The places of a GeoJSON object: points get zones, outlines zones around them (or are withheld ``as_drawn``).

    Several are called ``name 1``, ``name 2`` ..., or by their own ``properties.name``.
    """
    draw = randomness(rng)
    named = [(own, area) for own, part in _features(value) for area in areas_from_geojson(part)]
    if not named:
        raise InputError("The GeoJSON holds no place.", "Give points or polygons.")
    out = []
    for number, (own, area) in enumerate(named, start=1):
        called = own or (name if len(named) == 1 else f"{name} {number}")
        if isinstance(area, Circle):
            out.append(place_at(called, area.lat_deg, area.lon_deg, radius_m=radius_m, rng=draw))
        elif as_drawn:
            out.append(place_as_drawn(called, area_from_rings(area.rings, rng=draw)))
        else:
            out.append(place_over(called, area_from_rings(area.rings, rng=draw), radius_m=radius_m, rng=draw))
    return tuple(out)


def _features(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Each feature with the name it gives itself; a bare geometry has none."""
    features = value.get("features") if value.get("type") == "FeatureCollection" else None
    if not isinstance(features, list):
        features = [value]
    out = []
    for feature in features:
        if not isinstance(feature, Mapping):
            raise InputError("The GeoJSON is malformed.", "Its features must be objects.")
        own = (feature.get("properties") or {}).get("name") if feature.get("type") == "Feature" else None
        out.append((own if isinstance(own, str) else "", feature))
    return out
