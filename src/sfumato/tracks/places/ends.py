"""The first and last point of every ride, wherever it is: an off-centre zone for each such place, drawn once and kept.

One remembered *length* to cut would be a centred zone, which a circle fit breaks; so an end has a zone as a named place
has, its centre uniform around it, and rides that begin or end within 200 m of each other share it, where it holds
both. It is cut only from rides that begin or end there. A ride is also what lies between two pauses of half an hour.
Ends are kept in the places file as places that withhold nothing by themselves: named later, such a place takes the zone
it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import bdtrc

from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.leak_test import UNLUCKY, LeakTest, PlaceLeak
from sfumato.tracks.places.places_file import Place, Places, change_places, place_at
from sfumato.tracks.places.zones import Withholding, public_radius_m

PAUSE_S = 1800.0


class RideEnds:
    """The zones of rides' ends, those in the places file and those ``drawn`` in this run; and their leak test."""

    def __init__(self, places: Places, radius_m: float, *, noise_m: float = 0.0, rng: Random = None) -> None:
        self.places, self.radius_m = places, public_radius_m(radius_m)
        self.drawn: list[Place] = []
        self._noise_m, self._rng = noise_m, rng
        self._tests: dict[str, LeakTest] = {}
        self._results: tuple[PlaceLeak, ...] | None = None

    @property
    def zones(self) -> tuple[Withholding, ...]:
        """Of all ends."""
        return tuple(place.withheld for place in self.places.places)

    def of(self, trace: Trace) -> list[Place]:
        """The end places of a ride that no named place covers; a zone is drawn for those that have none."""
        order = np.argsort(trace.times_s, kind="stable")
        pause = np.flatnonzero(np.diff(trace.times_s[order]) > PAUSE_S)
        found: dict[str, Place] = {}
        for at in order[np.unique(np.concatenate([[0, len(order) - 1], pause, pause + 1]))].tolist():
            lat, lon = float(trace.lat_deg[at]), float(trace.lon_deg[at])
            point = surface(lat, lon)
            if not any(zone.holds(point)[0] for zone in self.places.zones):
                place = self._place(lat, lon)
                found[place.name] = place
        return list(found.values())

    def _place(self, lat: float, lon: float) -> Place:
        for known in self.places.places:  # the first that is near and reaches it, for ever
            if known.covers(lat, lon):
                return known
        names = {place.name for place in self.places.places}
        number = next(k for k in range(1, len(names) + 2) if f"end {k}" not in names)
        new = place_at(f"end {number}", lat, lon, radius_m=self.radius_m, rng=self._rng).retire()
        self.places = replace(self.places, places=(*self.places.places, new))
        self.drawn.append(new)
        return new

    def look(self, original: Trace, published: Trace | None) -> None:
        """One ride more for the leak test of its ends."""
        self._results = None
        for place in self.of(original):
            self._tests.setdefault(place.name, LeakTest([place], noise_m=self._noise_m)).add(original, published)

    def results(self) -> tuple[PlaceLeak, ...]:
        """What attackers find of each end."""
        if self._results is None:
            every = (leak for test in self._tests.values() for leak in test.results())
            self._results = tuple(replace(leak, ride_end=True) for leak in every)
        return self._results

    def found(self) -> tuple[PlaceLeak, ...]:
        """Ends that lie open in rides shared before they had a zone, or that attackers find by roads.

        One end in twenty is as near as luck is once in twenty: those are found where there are more of them than luck
        explains, or where one is nearer than the luck of all ends together.
        """
        leaks = self.results()
        tested = sum(leak.by_luck is not None for leak in leaks)
        near = [leak for leak in leaks if not leak.lies_open and leak.found]
        if near and bdtrc(len(near) - 1, tested, UNLUCKY) > UNLUCKY:
            near = [leak for leak in near if leak.by_luck is not None and leak.by_luck < UNLUCKY / tested]
        return tuple(leak for leak in leaks if leak.lies_open or leak in near)

    def sentence(self) -> str:
        """One line for the owner."""
        leaks, found = self.results(), self.found()
        near = sorted(leak.best_m for leak in leaks if leak.best_m is not None)
        words = f"Ends of rides: {count_of(len(leaks), 'place')} with a zone of {self.radius_m:g} m each"
        if not near:
            return f"{words}; no published ride comes near them."
        opened = sum(leak.lies_open for leak in found)
        still = f"; {len(found) - opened} STILL FOUND, nearer than luck explains" if len(found) > opened else ""
        if opened:
            still += f"; {opened} LIE OPEN in files shared before, which --again builds anew"
        middle = float(np.median(near))
        return f"{words}; the best attackers miss them by {middle:.0f} m (median), {near[0]:.0f} m (nearest){still}."

    def keep(self, path: Path, *, passphrase: str | None = None) -> None:
        """What was drawn, into the places file, before a ride without it is shared."""
        if self.drawn:
            change_places(path, lambda mine: with_ends(mine, self.drawn), passphrase=passphrase)


def with_ends(places: Places, drawn: Sequence[Place]) -> Places:
    """A places file with the ends that a run drew; one that another run drew meanwhile keeps its zone."""
    for new in drawn:
        if not any(known.covers(new.lat_deg, new.lon_deg) for known in places.places):
            places = replace(places, places=(*places.places, new))
    return places
