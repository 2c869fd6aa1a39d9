"""Named areas: polygons of degrees, districts of a file (GeoJSON, shapefile, GeoPackage), and who lies in which."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, finite
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.base.things.map_layers import ENDINGS, read_layer

_NAMES = ("name", "id", "label", "district", "NAME")


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """Rings of (lon, lat) vertices in degrees; a point is inside by the even-odd rule, so inner rings are holes."""

    rings: tuple[FloatArray, ...]

    def holds(self, lat_deg: FloatArray, lon_deg: FloatArray) -> BoolArray:
        """Which points lie inside; longitudes are unrolled around the polygon, so the antimeridian is harmless."""
        inside = np.zeros(len(lat_deg), dtype=np.bool_)
        origin = float(self.rings[0][0, 0])
        x = _unrolled(np.asarray(lon_deg, dtype=np.float64), origin)
        y = np.asarray(lat_deg, dtype=np.float64)
        for ring in self.rings:
            ring_x, ring_y = _unrolled(ring[:, 0], origin), ring[:, 1]
            next_x, next_y = np.roll(ring_x, -1), np.roll(ring_y, -1)
            for x1, y1, x2, y2 in zip(ring_x, ring_y, next_x, next_y, strict=True):
                if y1 == y2:
                    continue
                crosses = (y1 > y) != (y2 > y)
                inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        return inside


def _unrolled(lon_deg: FloatArray, origin_deg: float) -> FloatArray:
    return np.asarray((lon_deg - origin_deg + 180.0) % 360.0 - 180.0, dtype=np.float64)


def read_geojson(source: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """The object in a GeoJSON file, or the polygons of a shapefile or GeoPackage as one; an object passes through."""
    if isinstance(source, Mapping):
        return source
    if Path(source).suffix.lower() in ENDINGS:
        return read_layer(source)
    try:
        found = json.loads(Path(source).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror}.", "Give a GeoJSON file with areas.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON.", "Give a GeoJSON file with areas.") from error
    if not isinstance(found, dict):
        raise InputError(f"{source} is not GeoJSON.", "Its top must be an object with a 'type'.")
    return found


def polygon(rings: Sequence[Sequence[Sequence[float]]]) -> Polygon:
    """A polygon of GeoJSON: rings of (lon, lat), closed."""
    arrays = tuple(finite([point[:2] for point in ring], "A ring of an area", dimensions=2) for ring in rings)
    if not arrays or any(len(ring) < 4 for ring in arrays):
        raise InputError("An area has a ring of fewer than four points.", "Close the polygon.")
    return Polygon(arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas with names, each of one or more polygons. A place in several of them counts for the first."""

    kind: ClassVar[str] = "areas"
    names: tuple[str, ...]
    shapes: tuple[tuple[Polygon, ...], ...]

    @classmethod
    def read(cls, source: str | Path | Mapping[str, object], *, name_field: str | None = None) -> Areas:
        """A file's areas, or a GeoJSON object's: a feature for each, named by ``name_field`` (``name``, ``id``)."""
        document = read_geojson(source)
        features = document.get("features") if document.get("type") == "FeatureCollection" else [document]
        if not isinstance(features, list) or not features:
            raise InputError("The GeoJSON has no features.", "Give a FeatureCollection of polygons.")
        shapes = tuple(_shape(feature) for feature in features)
        names = tuple(_name(feature, number, name_field) for number, feature in enumerate(features, start=1))
        if len(set(names)) != len(names):
            raise InputError("Two areas have the same name.", "Name each feature once (properties.name).")
        return cls(names, shapes)

    @property
    def cells(self) -> int:
        """How many areas there are."""
        return len(self.names)

    def to_geojson(self, *, step_deg: float = 0.0) -> dict[str, object]:
        """A FeatureCollection with ``name``; of vertices nearer than ``step_deg`` to the one before, one is kept."""
        features = [
            {
                "type": "Feature",
                "properties": {"name": name},
                "geometry": {"type": "MultiPolygon", "coordinates": [_fewer_corners(one, step_deg) for one in shape]},
            }
            for name, shape in zip(self.names, self.shapes, strict=True)
        ]
        return {"type": "FeatureCollection", "features": features}

    def cells_of(self, grid: Grid) -> IntArray:
        """The area that each cell's centre lies in, -1 for none."""
        return self.locate(*grid.centres_deg())

    def labels(self) -> tuple[str, ...]:
        """Their names."""
        return self.names

    def together(self, groups: Sequence[Sequence[int]]) -> Areas:
        """One area for each group of them."""
        names = tuple(" + ".join(self.names[one] for one in group) for group in groups)
        return Areas(names, tuple(tuple(part for one in group for part in self.shapes[one]) for group in groups))

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


def wkb(shape: Sequence[Sequence[npt.ArrayLike]]) -> bytes:
    """Polygons, each of rings of (lon, lat), as little-endian well-known binary."""
    polygons = [
        struct.pack("<BII", 1, 3, len(rings))
        + b"".join(struct.pack("<I", len(np.asarray(ring))) + np.asarray(ring, dtype="<f8").tobytes() for ring in rings)
        for rings in shape
    ]
    return polygons[0] if len(polygons) == 1 else struct.pack("<BII", 1, 6, len(polygons)) + b"".join(polygons)


def _fewer_corners(one: Polygon, step_deg: float) -> list[list[list[float]]]:
    """The rings with fewer vertices, to the metre; a ring that is nothing without them keeps four."""
    rings = []
    for ring in one.rings:
        kept = [ring[0]]
        for vertex in ring[1:-1]:
            if np.abs(vertex - kept[-1]).max() > step_deg:
                kept.append(vertex)
        points = np.array([*kept, ring[-1]]) if len(kept) >= 3 else ring
        rings.append(points.round(5).tolist())
    return rings


def _shape(feature: object) -> tuple[Polygon, ...]:
    """The polygons of a feature (or of a bare geometry), in degrees."""
    geometry = feature.get("geometry", feature) if isinstance(feature, Mapping) else None
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind not in ("Polygon", "MultiPolygon"):
        raise InputError("An area is not a polygon.", "Give polygons or multipolygons, a feature each.")
    assert isinstance(geometry, Mapping)
    try:
        every = [geometry["coordinates"]] if kind == "Polygon" else geometry["coordinates"]
        found = tuple(polygon(rings) for rings in every)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise InputError("An area's coordinates are malformed.", "Give GeoJSON with closed rings.") from error
    if not found:
        raise InputError("An area has no outline.", "Give polygons or multipolygons, a feature each.")
    if any(
        np.abs(ring).max(axis=0)[1] > 90 or np.abs(ring).max(axis=0)[0] > 360 for one in found for ring in one.rings
    ):
        raise InputError(
            "The areas' coordinates are not degrees.", "Save the file in WGS 84 (EPSG:4326), longitude first."
        )
    return found


def _name(feature: Mapping[str, object], number: int, field: str | None) -> str:
    known = feature.get("properties")
    about: Mapping[str, object] = known if isinstance(known, Mapping) else {}
    if field is None:
        return str(next((about[key] for key in _NAMES if about.get(key) is not None), feature.get("id", number)))
    if about.get(field) is None:
        there = ", ".join(sorted(about)) or "none"
        raise InputError(f"Area {number} has no '{field}'.", f"Its fields are: {there}.")
    return str(about[field])
