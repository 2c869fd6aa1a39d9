"""An area withheld exactly as it was drawn: a polygon of the owner's, with a keyed margin along its border.

Its outline shows where the tracks stop, and nothing hides *where in it* a place lies but its size: the promise of a
drawn zone (:mod:`sfumato.tracks.places.zones`) does not hold. For places that are no secret, only what happens in them.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.tracks.places.globe import Around, surface

_MARGIN_M, _ARC_M, _LARGEST_M = 50.0, 100.0, 100_000.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Area:
    """Rings of (lon, lat) vertices in degrees; by the even-odd rule inner rings are holes."""

    rings: tuple[FloatArray, ...]
    key: bytes
    simulation: bool = False

    def __post_init__(self) -> None:
        rings = tuple(finite(ring, "A ring of an area", dimensions=2) for ring in self.rings)
        if not rings or any(len(ring) < 4 or ring.shape[1] != 2 for ring in rings):
            raise InputError("An area has a ring of fewer than four points.", "Close the polygon.")
        object.__setattr__(self, "rings", rings)
        if self.reach_m > _LARGEST_M:
            raise InputError("An area is wider than 200 km.", "Draw smaller ones.")

    def __repr__(self) -> str:
        return f"<Area of {sum(map(len, self.rings))} vertices, not shown>"

    @property
    def around(self) -> Around:
        """The globe as seen from the middle of the first ring."""
        points = surface(self.rings[0][:, 1], self.rings[0][:, 0])
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        lat = np.degrees(np.arctan2(middle[2], (1 - 0.006_694_379_990_141_317) * np.hypot(middle[0], middle[1])))
        return Around(float(lat), float(np.degrees(np.arctan2(middle[1], middle[0]))))

    @property
    def reach_m(self) -> float:
        """Nothing is withheld beyond this distance from the middle."""
        around = self.around
        far = [np.hypot(*around.to_metres(ring[:, 1], ring[:, 0]).T).max() for ring in self.rings]
        return float(max(far)) + _MARGIN_M

    def _edges(self) -> tuple[FloatArray, FloatArray]:
        """Starts and ends of every edge in metres around the middle."""
        starts, ends = [], []
        for ring in self.rings:
            corners = self.around.to_metres(ring[:, 1], ring[:, 0])
            starts.append(corners)
            ends.append(np.roll(corners, -1, axis=0))
        return np.concatenate(starts), np.concatenate(ends)

    def holds(self, points: FloatArray) -> BoolArray:
        """Which earth-centred points are withheld: inside, or within the border's keyed margin."""
        inside: BoolArray = np.zeros(len(points), dtype=np.bool_)
        around = self.around
        away = points - around.axes[0]
        near = np.flatnonzero(np.einsum("ij,ij->i", away, away) < self.reach_m**2)
        if near.size:
            inside[near] = self._holds_metres(around.metres_of(points[near]))
        return inside

    def _holds_metres(self, seen: FloatArray) -> BoolArray:
        x, y = seen[:, 0], seen[:, 1]
        inside: BoolArray = np.zeros(len(seen), dtype=np.bool_)
        margin: BoolArray = np.zeros(len(seen), dtype=np.bool_)
        walked = 0.0
        for (x1, y1), (x2, y2) in zip(*self._edges(), strict=True):
            if y1 != y2:
                crosses = (y1 > y) != (y2 > y)
                inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
            length2 = (x2 - x1) ** 2 + (y2 - y1) ** 2
            if length2 > 0:
                along = np.clip(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length2, 0.0, 1.0)
                distance = np.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1))
                arcs = np.floor((walked + along * length2**0.5) / _ARC_M).astype(np.int64)
                close = np.flatnonzero(distance < _MARGIN_M)
                margin[close] |= distance[close] < self._margins_m(arcs[close])
                walked += length2**0.5
        return inside | margin

    def _margins_m(self, arcs: np.ndarray) -> FloatArray:
        different, back = np.unique(arcs, return_inverse=True)
        words = [int.from_bytes(hmac.digest(self.key, b"arc %d" % arc, "sha256")[:8], "big") for arc in different]
        return np.asarray(np.array(words, dtype=np.float64)[back] * (_MARGIN_M / 2.0**64))

    def crosses(self, start: FloatArray, end: FloatArray) -> BoolArray:
        """Which straight steps between earth-centred points cut an edge."""
        through: BoolArray = np.zeros(len(start), dtype=np.bool_)
        origin = self.around.axes[0]
        reach = np.linalg.norm(start - origin, axis=1) - self.reach_m
        maybe = np.flatnonzero(np.linalg.norm(end - start, axis=1) * (np.pi / 2) >= reach)
        if maybe.size:
            a, b = (self.around.metres_of(rows[maybe]) for rows in (start, end))
            hit: BoolArray = np.zeros(len(maybe), dtype=np.bool_)
            for c, d in zip(*self._edges(), strict=True):
                hit |= (_side(a, b, c) != _side(a, b, d)) & (_side(c, d, a) != _side(c, d, b))
            through[maybe] = hit
        return through

    def beyond_m(self, points: FloatArray) -> FloatArray:
        """How far every earth-centred point lies outside the outline (0 inside)."""
        seen = self.around.metres_of(points)
        starts, ends = self._edges()
        nearest: FloatArray = np.full(len(seen), np.inf)
        for a, b in zip(starts, ends, strict=True):
            length2 = float((b - a) @ (b - a))
            along = np.clip((seen - a) @ (b - a) / length2, 0.0, 1.0) if length2 > 0 else np.zeros(len(seen))
            nearest = np.minimum(nearest, np.hypot(*(seen - a - along[:, None] * (b - a)).T))
        return nearest


def _side(a: FloatArray, b: FloatArray, c: FloatArray) -> BoolArray:
    """On which side of the line from a to b the point c lies."""
    a, b, c = (np.atleast_2d(rows) for rows in (a, b, c))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.asarray(turn > 0)
