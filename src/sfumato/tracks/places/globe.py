"""Distances and directions on the globe around one point, right at poles and across the date line.

Every point is taken as a vector X of the WGS84 ellipsoid (metres, earth-centred, height 0). Around an origin O with
unit vectors east E and north N, a point lies at distance |X - O| (the chord: shorter than the geodesic by 1e-9 at
1 km, 1e-5 at 100 km) in the direction ((X - O)·E, (X - O)·N). No projection, hence no seam anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.errors import InputError

_A_M = 6_378_137.0
_E2 = 0.006_694_379_990_141_317
_MEAN_RADIUS_M = 6_371_008.8


def surface(lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> FloatArray:
    """Earth-centred (n, 3) metres of points on the ellipsoid."""
    lat = np.radians(np.atleast_1d(np.asarray(lat_deg, dtype=np.float64)))
    lon = np.radians(np.atleast_1d(np.asarray(lon_deg, dtype=np.float64)))
    sine, cosine = np.sin(lat), np.cos(lat)
    normal = _A_M / np.sqrt(1.0 - _E2 * sine * sine)
    out: FloatArray = np.empty((len(lat), 3))
    np.multiply(normal * cosine, np.cos(lon), out=out[:, 0])
    np.multiply(normal * cosine, np.sin(lon), out=out[:, 1])
    np.multiply(normal * (1.0 - _E2), sine, out=out[:, 2])
    return out


def degrees(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes of earth-centred points on (or within a few metres of) the ellipsoid."""
    across = np.hypot(points[:, 0], points[:, 1])
    lat = np.degrees(np.arctan2(points[:, 2], (1.0 - _E2) * across))
    lon = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    return lat, np.where(lon >= 180.0, -180.0, lon)


def distances_m(lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, to_lat_deg: float, to_lon_deg: float) -> FloatArray:
    """Metres from every point to one."""
    away = surface(lat_deg, lon_deg) - surface(to_lat_deg, to_lon_deg)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", away, away)))


@dataclass(frozen=True, slots=True)
class Around:
    """The globe as seen from one point: metres east and north, true in distance and direction."""

    lat_deg: float
    lon_deg: float

    def __post_init__(self) -> None:
        if not (-90.0 <= self.lat_deg <= 90.0 and -360.0 <= self.lon_deg <= 360.0):
            raise InputError(
                "A place lies outside -90 .. 90 degrees of latitude or -360 .. 360 of longitude.",
                "Give latitude first, then longitude, in degrees.",
            )

    @property
    def axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The origin, and the unit vectors east and north there (at a pole: those of its meridian)."""
        lat, lon = math.radians(self.lat_deg), math.radians(self.lon_deg)
        east = np.array([-math.sin(lon), math.cos(lon), 0.0])
        north = np.array([-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)])
        return surface(self.lat_deg, self.lon_deg)[0], east, north

    def to_metres(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> FloatArray:
        """Positions as (n, 2) east, north metres: the chord's length in the tangent's direction."""
        return self.metres_of(surface(lat_deg, lon_deg))

    def metres_of(self, points: FloatArray) -> FloatArray:
        """:meth:`to_metres` of earth-centred points."""
        origin, east, north = self.axes
        away = points - origin
        flat: FloatArray = np.column_stack([away @ east, away @ north])
        length = np.sqrt(np.einsum("ij,ij->i", away, away))
        across = np.hypot(flat[:, 0], flat[:, 1])
        stretch = np.divide(length, across, out=np.ones_like(length), where=across > 0)
        return np.asarray(flat * stretch[:, None])

    def to_degrees(self, positions_m: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of (n, 2) east, north metres; the inverse of :meth:`to_metres` within 100 km.

        A chord of length s leaves the tangent plane by s²/2ρ, ρ the radius of curvature in its direction.
        """
        flat = np.asarray(positions_m, dtype=np.float64).reshape(-1, 2)
        origin, east, north = self.axes
        lat = math.radians(self.lat_deg)
        up = np.cross(east, north)
        shrink = 1.0 - _E2 * math.sin(lat) ** 2
        across_rho, along_rho = _A_M / math.sqrt(shrink), _A_M * (1.0 - _E2) / shrink**1.5
        drop = 0.5 * (flat[:, 0] ** 2 / across_rho + flat[:, 1] ** 2 / along_rho)
        length2 = np.einsum("ij,ij->i", flat, flat)
        level = np.sqrt(np.maximum(1.0 - drop**2 / np.maximum(length2, 1e-300), 0.0))
        moved = origin + (flat[:, :1] * east + flat[:, 1:] * north) * level[:, None] - drop[:, None] * up
        return degrees(moved)


def passes_within(start: FloatArray, end: FloatArray, centre: FloatArray, radius_m: npt.ArrayLike) -> BoolArray:
    """Whether the great circles from ``start`` to ``end`` (earth-centred rows) come nearer to ``centre`` than a radius.

    With unit vectors a, b, c and n = a × b / |a × b|, the circle passes c at the angle asin|n·c|, between a and b
    where (n × a)·c ≥ 0 and (b × n)·c ≥ 0 after projecting c onto the circle; else the nearer end counts.
    """
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (start, end))
    c = centre / np.linalg.norm(centre)
    normal = np.cross(a, b)
    size = np.linalg.norm(normal, axis=1)
    n = np.divide(normal, size[:, None], out=np.zeros_like(normal), where=size[:, None] > 0)
    off = np.abs(n @ c)
    between = (size > 0) & (np.cross(n, a) @ c > 0) & (np.cross(b, n) @ c > 0)
    ends = np.minimum(np.linalg.norm(start - centre, axis=1), np.linalg.norm(end - centre, axis=1))
    nearest = np.where(between, np.arcsin(np.clip(off, 0.0, 1.0)) * _MEAN_RADIUS_M, ends)
    return np.asarray(np.minimum(nearest, ends) < radius_m)
