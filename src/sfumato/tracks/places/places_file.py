"""A place somebody wants hidden, with the one zone that was drawn for it; and the private file of all of them.

The file is 0600 or sealed with a passphrase. Whoever reads it knows every place. Whoever loses it would draw second
zones, and two zones of one place intersect: keep a copy. It is written beside and renamed, under a lock, and refuses
what it does not know (another version, an unknown field, a change made by hand).
"""

from __future__ import annotations

import base64
import hmac
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.files import lock_file, write_text
from sfumato.base.randomness import Random, randomness
from sfumato.base.sealing import seal, unseal
from sfumato.tracks.places.areas import Area
from sfumato.tracks.places.globe import Around, distances_m, surface
from sfumato.tracks.places.zones import (
    DEFAULT_RADIUS_M,
    INNER_SHARE,
    KEY_BYTES,
    Withholding,
    Zone,
    draw_zone,
    public_radius_m,
)

FORMAT = 1
_WARNING = "Keep this file secret and keep a copy: it says where you live, and a second zone would help to find it."
_PURPOSE, _NOUN = "sfumato places", "places file"
REMOVAL_MEANS = (
    "From now on nothing is withheld around this place: rides shared later show it. What was shared before stays as it "
    "is. The zone is remembered, so that naming the place again does not draw a second one."
)


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

    def covers(self, lat_deg: float, lon_deg: float, extent_m: float = 0.0) -> bool:
        """Whether a point, and so many metres around it, is this place: near enough, and within what is withheld.

        A zone of 400 m does not hold every point 200 m from its place: one that it lacks needs a zone of its own.
        """
        if self.distance_m(lat_deg, lon_deg) >= SAME_PLACE_M + self.extent_m + extent_m:
            return False
        point = surface(lat_deg, lon_deg)
        if self.zone is None:
            return bool(self.withheld.holds(point)[0])
        return bool(self.zone.beyond_m(point)[0] <= -extent_m)

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Places:
    """All places of one person. ``key`` is a secret of this file, from which others are derived."""

    places: tuple[Place, ...]
    key: bytes
    simulation: bool = False

    def __repr__(self) -> str:
        return f"<Places, {len(self.active)} of them, not shown where>"

    @classmethod
    def none(cls, rng: Random = None) -> Places:
        """A new person's: no place yet, and a fresh key."""
        draw = randomness(rng)
        return cls((), draw.words(KEY_BYTES // 8).tobytes(), draw.simulation)

    @property
    def active(self) -> tuple[Place, ...]:
        """The places that withhold something."""
        return tuple(place for place in self.places if not place.retired)

    @property
    def zones(self) -> tuple[Withholding, ...]:
        """What is withheld, in the order of :attr:`active`."""
        return tuple(place.withheld for place in self.active)

    def derive(self, purpose: str) -> bytes:
        """32 bytes that only this file can give, one value per purpose (names of files, shifts of times)."""
        return hmac.digest(self.key, b"derive " + purpose.encode(), "sha256")

    def place_named(self, name: str) -> Place:
        """The active place of that name."""
        for place in self.active:
            if place.name == name:
                return place
        known = ", ".join(place.name for place in self.active) or "none yet"
        raise InputError(f"There is no place called {name}.", f"Places: {known}.")

    def add(self, place: Place) -> Places:
        """With one more place; refused where a zone that holds it was drawn before. A retired one takes that back."""
        if any(known.name == place.name for known in self.active):
            raise InputError(
                f"There is already a place called {place.name}.",
                "A home you moved to is a new place: give it a new name, and keep the old one.",
            )
        for known in self.places:
            if not known.covers(place.lat_deg, place.lon_deg, place.extent_m):
                continue
            if not known.retired:
                raise InputError(
                    f"That is the place called {known.name}, less than {SAME_PLACE_M:g} m away, which has its zone.",
                    "Two zones of one place intersect and help to find it. Keep the one it has.",
                )
            again = replace(place, withheld=known.withheld)  # attackers are measured from where it is said to be
            return replace(self, places=tuple(again if other is known else other for other in self.places))
        return replace(self, places=(*self.places, place), simulation=self.simulation or place.simulation)

    def remove(self, name: str) -> Places:
        """Without the place (:data:`REMOVAL_MEANS`)."""
        gone = self.place_named(name)
        return replace(self, places=tuple(place.retire() if place is gone else place for place in self.places))


def load_places(path: str | Path, *, passphrase: str | None = None) -> Places:
    """Read a places file; refused when others may read it unsealed, when it was edited, or when it is not one."""
    file = Path(path)
    try:
        outer = json.loads(file.read_text("utf-8"))
        mode = file.stat().st_mode
    except OSError as error:
        raise InputError(
            f"Cannot read the places file {file}: {error.strerror}.",
            "Check its name; `sfumato places add home 48.85,2.35 --places me.places` makes one.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not a places file.", "Give the file that `sfumato places add` wrote.") from error
    version = outer.get("sfumato_places") if isinstance(outer, dict) else None
    if version != FORMAT:
        said = "is not a places file" if version is None else f"is a places file of format {version}, not {FORMAT}"
        raise InputError(f"{file} {said}.", "Give the file that `sfumato places add` wrote, or update sfumato.")
    _known_fields(outer, _Outer, file)
    if "sealed" in outer:
        body = unseal(outer["sealed"], passphrase, purpose=_PURPOSE, noun=_NOUN)
    elif passphrase is not None:
        raise InputError(f"{file} is not sealed, though a passphrase is given.", "Leave the passphrase out.")
    elif os.name == "posix" and mode & 0o077:
        raise InputError(f"Others can read {file}, which says where you live.", f"Run: chmod 600 {file}")
    else:
        body = outer.get("body")
    try:
        return _places_from(body, file)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The places file {file} is damaged.", "Restore it from a copy.") from None


def save_places(path: str | Path, places: Places, *, passphrase: str | None = None) -> None:
    """Write the file whole, 0600 from its first byte, on the disk before this returns."""
    body = _body_of(places)
    outer: dict[str, object] = {"sfumato_places": FORMAT, "warning": _WARNING}
    if passphrase is None:
        outer["body"] = body
    else:
        outer["sealed"] = seal(body, passphrase, purpose=_PURPOSE, noun=_NOUN)
    write_text(path, json.dumps(outer, indent=1) + "\n", private=True, durable=True)


def change_places(
    path: str | Path, change: Callable[[Places], Places], *, passphrase: str | None = None, rng: Random = None
) -> Places:
    """Load (or begin), change and save under one lock, so that two commands never lose each other's zones."""
    file = Path(path)
    with lock_file(file):
        before = load_places(file, passphrase=passphrase) if file.exists() else Places.none(rng)
        after = change(before)
        save_places(file, after, passphrase=passphrase)
    return after


class _ZoneFields(TypedDict):
    lat: float
    lon: float
    radius_m: float
    key: str
    simulation: bool


class _AreaFields(TypedDict):
    rings: list[list[list[float]]]
    key: str
    simulation: bool


class _PlaceFields(TypedDict):
    name: str
    lat: float
    lon: float
    extent_m: float
    retired: bool
    zone: NotRequired[_ZoneFields]
    as_drawn: NotRequired[_AreaFields]


class _Outer(TypedDict, total=False):
    sfumato_places: int
    warning: str
    body: _Body
    sealed: object


class _Body(TypedDict):
    key: str
    simulation: bool
    places: list[_PlaceFields]
    check: str


def _body_of(places: Places) -> _Body:
    every = [_place_fields(place) for place in places.places]
    body: _Body = {"key": _text(places.key), "simulation": places.simulation, "places": every, "check": ""}
    return {**body, "check": _check(places.key, body)}


def _place_fields(place: Place) -> _PlaceFields:
    held, key = place.withheld, _text(place.withheld.key)
    out: _PlaceFields = {
        "name": place.name, "lat": place.lat_deg, "lon": place.lon_deg, "extent_m": place.extent_m,
        "retired": place.retired,
    }  # fmt: skip
    if isinstance(held, Zone):
        zone: _ZoneFields = {
            "lat": held.lat_deg, "lon": held.lon_deg, "radius_m": held.radius_m, "key": key,
            "simulation": held.simulation,
        }  # fmt: skip
        return {**out, "zone": zone}
    rings = [ring.tolist() for ring in held.rings]
    return {**out, "as_drawn": {"rings": rings, "key": key, "simulation": held.simulation}}


def _places_from(body: _Body, file: Path) -> Places:
    _known_fields(body, _Body, file)
    key = _bytes(body["key"])
    if len(key) != KEY_BYTES:
        raise ValueError("key")
    if not hmac.compare_digest(str(body["check"]).encode(), _check(key, body).encode()):
        raise InputError(f"The places file {file} was changed by hand.", "Restore it from a copy.")
    return Places(tuple(_place_from(item, file) for item in body["places"]), key, bool(body["simulation"]))


def _place_from(item: _PlaceFields, file: Path) -> Place:
    _known_fields(item, _PlaceFields, file)
    held: Withholding
    if "zone" in item:
        zone = item["zone"]
        _known_fields(zone, _ZoneFields, file)
        held = Zone(float(zone["lat"]), float(zone["lon"]), float(zone["radius_m"]), _bytes(zone["key"]),
                    bool(zone["simulation"]))  # fmt: skip
    else:
        drawn = item["as_drawn"]
        _known_fields(drawn, _AreaFields, file)
        rings = tuple(np.array(ring, dtype=np.float64) for ring in drawn["rings"])
        held = Area(rings, _bytes(drawn["key"]), bool(drawn["simulation"]))
    return Place(str(item["name"]), float(item["lat"]), float(item["lon"]), held, float(item["extent_m"]),
                 bool(item["retired"]))  # fmt: skip


def _known_fields(value: Iterable[str], kind: type, file: Path) -> None:
    unknown = sorted(set(value) - set(kind.__annotations__))
    if unknown:
        raise InputError(
            f"The places file {file} holds {', '.join(map(repr, unknown[:3]))}, which this version does not know.",
            "Update sfumato: what is not understood is not ignored.",
        )


def _check(key: bytes, body: _Body) -> str:
    """Finds an edit: a centre moved by hand would be a second zone. Not a thief's, who has the key."""
    plain = {name: value for name, value in body.items() if name != "check"}
    return hmac.new(key, json.dumps(plain, sort_keys=True).encode(), "sha256").hexdigest()


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)
