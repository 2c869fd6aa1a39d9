"""Named areas as cells: districts of a GeoJSON file, with the questions a grid answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite
from sfumato.base.errors import InputError
from sfumato.tracks.secret import Polygon, areas_from_geojson, read_geojson

_NAMES = ("name", "id", "label", "district", "NAME")


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas with names, each of one or more polygons. A place in several of them counts for the first."""

    kind: ClassVar[str] = "areas"
    names: tuple[str, ...]
    shapes: tuple[tuple[Polygon, ...], ...]

    @classmethod
    def read(cls, source: str | Path | Mapping[str, object]) -> Areas:
        """The areas of a GeoJSON file or object: a feature for each, named by ``name`` or ``id``."""
        document = read_geojson(source)
        features = document.get("features") if document.get("type") == "FeatureCollection" else [document]
        if not isinstance(features, list) or not features:
            raise InputError("The GeoJSON has no features.", "Give a FeatureCollection of polygons.")
        names, shapes = [], []
        for number, feature in enumerate(features):
            found = areas_from_geojson(feature)
            if not found or not all(isinstance(one, Polygon) for one in found):
                raise InputError("An area is not a polygon.", "Give polygons or multipolygons, a feature each.")
            about = feature.get("properties") or {}
            name = next((about[key] for key in _NAMES if about.get(key) is not None), feature.get("id", number + 1))
            names.append(str(name))
            shapes.append(cast("tuple[Polygon, ...]", found))
        if len(set(names)) != len(names):
            raise InputError("Two areas have the same name.", "Name each feature once (properties.name).")
        return cls(tuple(names), tuple(shapes))

    @property
    def cells(self) -> int:
        """How many areas there are."""
        return len(self.names)

    def labels(self) -> tuple[str, ...]:
        """Their names."""
        return self.names

    def bounds(self) -> tuple[float, float, float, float]:
        """South, west, north, east of all of them; across the date line where that is shorter."""
        rings = np.concatenate([ring for shape in self.shapes for one in shape for ring in one.rings])
        origin = float(rings[0, 0])
        across = (rings[:, 0] - origin + 180.0) % 360.0 - 180.0
        west, east = ((value + origin + 180.0) % 360.0 - 180.0 for value in (across.min(), across.max()))
        return float(rings[:, 1].min()), float(west), float(rings[:, 1].max()), float(east)

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """The middle of each area's first outline (its vertices' mean)."""
        middles = np.array([self._middle(shape[0].rings[0]) for shape in self.shapes])
        return middles[:, 0], middles[:, 1]

    @staticmethod
    def _middle(ring: FloatArray) -> tuple[float, float]:
        across = (ring[:-1, 0] - ring[0, 0] + 180.0) % 360.0 - 180.0
        return float(ring[:-1, 1].mean()), float((across.mean() + ring[0, 0] + 180.0) % 360.0 - 180.0)

    def locate(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> IntArray:
        """The area of each point, -1 outside."""
        lat, lon = finite(lat_deg, "lat_deg").ravel(), finite(lon_deg, "lon_deg").ravel()
        out: IntArray = np.full(len(lat), -1, dtype=np.int64)
        for number, shape in enumerate(self.shapes):
            for one in shape:
                near = np.flatnonzero(out < 0)
                low, high = one.rings[0][:, 1].min(), one.rings[0][:, 1].max()
                near = near[(lat[near] >= low) & (lat[near] <= high)]
                out[near[one.holds(lat[near], lon[near])]] = number
        return out
