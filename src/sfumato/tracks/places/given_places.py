"""Places as people give them: latitude and longitude in one of many spellings, or the features of a GeoJSON file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.tracks.places.places_file import Place, area_from_rings, place_as_drawn, place_at, place_over
from sfumato.tracks.places.zones import DEFAULT_RADIUS_M
from sfumato.tracks.secret import Circle, areas_from_geojson

_PART = re.compile(
    r"""([-+]?\d*\.?\d+)\s*°?\s*(?:(\d+\.?\d*)\s*['′]\s*)?(?:(\d+\.?\d*)\s*["″]\s*)?([NSEW]?)""", re.IGNORECASE
)


def point_deg(text: str) -> tuple[float, float]:
    """Latitude and longitude as people write them: ``48.85,2.35``, ``48.85 2.35``, ``48°51'N 2°21'E``."""
    found = list(_PART.finditer(text))
    if len(found) != 2 or _PART.sub("", text).strip(" ,;"):
        raise InputError("That is no latitude,longitude.", "Write it like 48.85,2.35 or -33.9,151.2 or 48°51'N 2°21'E.")
    values = []
    for match in found:
        size = abs(float(match[1])) + float(match[2] or 0) / 60 + float(match[3] or 0) / 3600
        values.append(-size if match[1].startswith("-") or match[4].upper() in ("S", "W") else size)
    if found[0][4].upper() in ("E", "W") and found[1][4]:
        values.reverse()
    if not (-90 <= values[0] <= 90 and -180 <= values[1] <= 180):
        raise InputError("That is not on the globe.", "Latitude (-90 to 90) comes first, then longitude.")
    return values[0], values[1]


def places_from_geojson(
    name: str,
    value: Mapping[str, object],
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


def _features(value: Mapping[str, object]) -> list[tuple[str, Mapping[str, object]]]:
    """Each feature with the name it gives itself; a bare geometry has none."""
    features = value.get("features") if value.get("type") == "FeatureCollection" else None
    if not isinstance(features, list):
        features = [value]
    out = []
    for feature in features:
        if not isinstance(feature, Mapping):
            raise InputError("The GeoJSON is malformed.", "Its features must be objects.")
        about = feature.get("properties") if feature.get("type") == "Feature" else None
        own = about.get("name") if isinstance(about, Mapping) else None
        out.append((own if isinstance(own, str) else "", feature))
    return out
