"""A zone: the disc in which everything is withheld, drawn once around a place and kept for ever.

*The draw.* The centre c is uniform in the disc of radius r = .8 R around the place h, by the operating system's
entropy, and never drawn again: not for the sea, not for an overlap, not for what an attacker finds.

*What the zone alone tells.* p(c | h) = 1/(π r²) for |c - h| ≤ r and 0 beyond, and R comes from a short public list,
whatever h is. So p(h | c) ∝ p(h) on the *inner disc* |h - c| ≤ r: whatever somebody believed about places of the inner
disc before, the odds between any two of them are the same after, and every other place is excluded. What the rides
around the zone tell is another matter: no theorem, a measurement (:mod:`sfumato.tracks.places.leak_test`).

*The margin.* The last point outside the disc is information at one fix per second. A point counts as inside up to
R + m, where m of 0 to 50 m is a keyed function of the border's arc it stands at: the same for every ride (drawn per
ride it would average out) and whatever the rides are. It does not hide the zone, which counts as known.
"""

from __future__ import annotations

import hmac
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.tracks.places.areas import Area
from sfumato.tracks.places.globe import Around, passes_within

RADII_M = (400.0, 800.0, 1600.0)
DEFAULT_RADIUS_M = 1600.0
INNER_SHARE = 0.8
MARGIN_M = 50.0
KEY_BYTES = 32
_ARC_M = 100.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Zone:
    """A disc of ``radius_m`` around its own random centre; ``key`` shapes the margin; a seed marks a *simulation*."""

    lat_deg: float
    lon_deg: float
    radius_m: float
    key: bytes
    simulation: bool = False

    def __post_init__(self) -> None:
        Around(self.lat_deg, self.lon_deg)
        public_radius_m(self.radius_m)
        if len(self.key) != KEY_BYTES:
            raise InputError("A zone's key has the wrong length.", "Restore the places file from a copy.")

    def __repr__(self) -> str:
        return f"<Zone of {self.radius_m:g} m, its centre not shown>"

    @property
    def around(self) -> Around:
        """The globe as seen from the zone's centre."""
        return Around(self.lat_deg, self.lon_deg)

    @property
    def inner_radius_m(self) -> float:
        """The place lies at most this far from the centre: any place there is as likely as before."""
        return INNER_SHARE * self.radius_m

    @property
    def reach_m(self) -> float:
        """Nothing is withheld beyond this distance from the centre."""
        return self.radius_m + MARGIN_M

    def margins_m(self) -> FloatArray:
        """The margin of every arc of the border, counted from east, counter-clockwise."""
        arcs = math.ceil(2 * math.pi * self.radius_m / _ARC_M)
        return keyed_margins_m(self.key, arcs)

    def holds(self, points: FloatArray) -> BoolArray:
        """Which earth-centred points (:func:`sfumato.tracks.places.globe.surface`) are withheld, margin included."""
        inside: BoolArray = np.zeros(len(points), dtype=np.bool_)
        away = points - self.around.axes[0]
        distance = np.sqrt(np.einsum("ij,ij->i", away, away))
        near = np.flatnonzero(distance < self.reach_m)
        if near.size:
            seen = self.around.metres_of(points[near])
            margins = self.margins_m()
            turn = np.arctan2(seen[:, 1], seen[:, 0]) % (2 * math.pi) / (2 * math.pi)
            arc = np.minimum((turn * len(margins)).astype(np.int64), len(margins) - 1)
            inside[near] = distance[near] < self.radius_m + margins[arc]
        return inside

    def crosses(self, start: FloatArray, end: FloatArray) -> BoolArray:
        """Which straight steps between earth-centred points lead through the disc (margin not counted)."""
        through: BoolArray = np.zeros(len(start), dtype=np.bool_)
        origin = self.around.axes[0]
        step = np.linalg.norm(end - start, axis=1)
        room = np.linalg.norm(start - origin, axis=1) + np.linalg.norm(end - origin, axis=1) - 2 * self.radius_m
        # A chord is at most π/2 times shorter than the way along the globe; what is left is decided exactly.
        maybe = np.flatnonzero(step * (math.pi / 2) >= room)
        if maybe.size:
            through[maybe] = passes_within(start[maybe], end[maybe], origin, self.radius_m)
        return through

    def beyond_m(self, points: FloatArray) -> FloatArray:
        """How far every earth-centred point lies outside the disc (negative inside)."""
        away = points - self.around.axes[0]
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", away, away)) - self.radius_m)


Withholding = Zone | Area


def public_radius_m(radius_m: float) -> float:
    """A radius from the public list; a free choice could tell where the place is."""
    if float(radius_m) not in RADII_M:
        listed = ", ".join(f"{radius:g} m" for radius in RADII_M)
        raise InputError(
            f"A zone of {float(radius_m):g} m is not on the public list ({listed}).",
            "Choose one of the list, by what you can spare, not by what is found afterwards: a radius fitted to a "
            "place tells about it.",
        )
    return float(radius_m)


def draw_zone(lat_deg: float, lon_deg: float, *, radius_m: float = DEFAULT_RADIUS_M, rng: Random = None) -> Zone:
    """A zone for a place: its centre uniform in the disc of .8 ``radius_m`` around it. Draw once, keep for ever."""
    radius_m = public_radius_m(radius_m)
    draw = randomness(rng)
    share, turn = draw.uniforms(2)
    offset = INNER_SHARE * radius_m * math.sqrt(share)
    move = [offset * math.cos(2 * math.pi * turn), offset * math.sin(2 * math.pi * turn)]
    lat, lon = Around(lat_deg, lon_deg).to_degrees(move)
    key = draw.words(KEY_BYTES // 8).tobytes()
    return Zone(float(lat[0]), float(lon[0]), radius_m, key, draw.simulation)


def centred_zone(lat_deg: float, lon_deg: float, *, radius_m: float = DEFAULT_RADIUS_M) -> Zone:
    """The usual privacy zone, whose centre *is* the place: for comparison only, three rides give it away."""
    return Zone(lat_deg, lon_deg, public_radius_m(radius_m), bytes(KEY_BYTES), simulation=True)


@lru_cache(maxsize=256)
def keyed_margins_m(key: bytes, arcs: int) -> FloatArray:
    """``arcs`` margins, uniform in 0 to 50 m, by HMAC-SHA-256 of the arc's number."""
    words = [int.from_bytes(hmac.digest(key, b"margin %d" % arc, "sha256")[:8], "big") for arc in range(arcs)]
    margins: FloatArray = read_only(np.array(words, dtype=np.float64) * (MARGIN_M / 2.0**64))
    return margins


def area_left(zones: int, *, steps: int = 20_000) -> float:
    """The mean share of one inner disc left to somebody who knows ``zones`` zones drawn separately for one place.

    The place lies in every inner disc. A point at x r from it is still possible with probability L(x)ᵏ, L the share of
    a disc that lies within r of a point at x r from its centre: ∫ L(x)ᵏ 2x dx over 0 ≤ x ≤ 2. Housemates who share
    rides should share one places file.
    """
    if zones < 1:
        raise InputError(f"{zones} zones.", "Give at least one.")
    x = (np.arange(steps) + 0.5) * (2.0 / steps)
    lens = (2.0 * np.arccos(x / 2.0) - x * np.sqrt(1.0 - x * x / 4.0)) / math.pi
    return float(np.sum(lens**zones * 2.0 * x) * (2.0 / steps))
