"""Can I still be found? Every attacker, on what would be published, with the truth at hand. One record per place.

Beside what attackers reach after the cut stand the same numbers for the archive as it is, for the usual centred zone,
and for guesses without any ride. A best of many attackers is near by luck, too: ``by_luck`` is the chance that as many
blind guesses in the inner disc come as near as the best attacker did. All of it is private. No number here is an ε: it
says what these attackers reach on this archive, not what everybody will.

A place may *lie open*: points inside its zone are in what is published, because files were shared before it was named.
No fit is needed then: whoever looks takes the commonest end of rides in there (the attacker ``open``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.errors import NotCertified
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.adversary.places import Stretch, ZoneView, guesses_m, look
from sfumato.tracks.adversary.places.cuts import commonest
from sfumato.tracks.adversary.places.learned import believe
from sfumato.tracks.places.find import Departures, FoundPlace, Stops
from sfumato.tracks.places.globe import Around, distances_m, surface
from sfumato.tracks.places.places_file import SAME_PLACE_M, Place, Places
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import Withholding, Zone, centred_zone

UNLUCKY = 0.05  # the best of as many blind guesses comes as near less often than this: it was no luck
OPEN, _ENTERED = "open", "entered"
OFTEN_ENDS, NIGHT_H = 3, 2.0  # what makes a place one that its owner would want to know of
_GATES_M = 300.0  # so near a zone, files begin and end because of it
Numbers = dict[str, FloatArray]  # what was gathered of rides, as tables by name
_NOISES = 4.0  # so many of them deep inside a zone, a point was not carried there by noise
_FOUND = "This is nearer than luck explains: leave out the rides that lead there, or share fewer of them."


@dataclass(frozen=True, slots=True, eq=False)
class PlaceLeak:
    """What attackers find of one place, in metres from it; None where there is nothing to go by.

    ``errors_m`` holds every attacker's error, ``best`` names the nearest. ``odds``: how much likelier the true place is
    than the average place of the zone, for the learned attacker.
    ``open_points`` of ``open_files`` are published inside the zone, from ``open_since_s`` (the first of their times).
    ``ride_end``: nobody named it, rides begin or end there.
    """

    name: str
    radius_m: float | None
    gates: int
    errors_m: Mapping[str, float]
    best: str | None
    best_m: float | None
    by_luck: float | None
    unprotected_m: float | None
    centred: str | None
    centred_m: float | None
    without_rides_m: float | None
    odds: float | None
    open_points: int = 0
    open_files: int = 0
    open_since_s: float | None = None
    departures: str = ""
    ride_end: bool = False

    @property
    def lies_open(self) -> bool:
        """Whether points inside the zone are published."""
        return self.open_points > 0

    @property
    def found(self) -> bool:
        """Whether it lies open, or the best attacker came nearer than luck explains: roads lead there."""
        return self.lies_open or (self.by_luck is not None and self.by_luck < UNLUCKY)

    def sentence(self) -> str:
        """One line for the owner."""
        return f"{self._found_words()} {self.departures}".strip()

    def _found_words(self) -> str:
        if self.lies_open:
            files = count_of(self.open_files, "file that was shared before", "files that were shared before")
            nearest = "" if OPEN not in self.errors_m else f"; rides end {self.errors_m[OPEN]:.0f} m from it"
            return (
                f"{self.name}: STILL FOUND. {self.open_points} points inside its zone lie open in {files}{nearest}. "
                "Who has them keeps them; --again builds the folder anew and says which files to delete."
            )
        if self.radius_m is None:
            return f"{self.name}: withheld as drawn; its outline shows, and nothing hides where it is."
        before = "no ride ends there" if self.unprotected_m is None else f"found to {self.unprotected_m:.0f} m before"
        before = f"STILL FOUND; {before}" if self.found else before
        if self.best_m is None or self.best is None:
            return f"{self.name}: {before}; no published ride comes near its zone, so nothing points to it."
        usual = "" if self.centred_m is None else f", to {self.centred_m:.0f} m with a centred zone"
        return (
            f"{self.name}: {before}{usual}; now the best of {len(self.errors_m)} attackers ({self.best}) misses it by "
            f"{self.best_m:.0f} m, a guess without rides by {self.without_rides_m:.0f} m (as many blind guesses come "
            f"as near with a chance of {self.by_luck:.0%}); the learned attacker holds it {self.odds:.1f} times as "
            "likely as an average place of the zone."
        ) + (f" {_FOUND}" if self.found else "")


@dataclass(slots=True)
class _Seen:
    """What was gathered for one place: gates after the cut, gates of a centred zone, ends of rides."""

    after: list[ZoneView] = field(default_factory=list)
    centred: list[ZoneView] = field(default_factory=list)
    ends_m: list[FloatArray] = field(default_factory=list)
    open_ends_m: list[FloatArray] = field(default_factory=list)
    open_points: int = 0
    open_files: int = 0
    open_since_s: float = np.inf

    def numbers(self) -> Numbers:
        """All of it, as tables."""
        first = self.open_since_s if self.open_files else 0.0
        out = {"counts": np.array([self.open_points, self.open_files, first])}
        out |= {name: np.array(rows) for name, rows in (("ends", self.ends_m), ("open", self.open_ends_m)) if rows}
        views = (("after", self.after), ("centred", self.centred))
        return out | {name: np.concatenate([view.rows for view in seen]) for name, seen in views if seen}

    def take(self, numbers: Numbers, zone: Zone | None) -> None:
        """Those of another."""
        for name, views in (("after", self.after), ("centred", self.centred)):
            if zone is not None and name in numbers:
                sizes = {"radius_m": zone.radius_m, "inner_radius_m": zone.inner_radius_m}
                views.append(ZoneView.of_rows(numbers[name], **sizes))
        self.ends_m.extend(numbers.get("ends", ()))
        self.open_ends_m.extend(numbers.get("open", ()))
        points, files, first = numbers["counts"].tolist()
        self.open_points += int(points)
        self.open_files += int(files)
        self.open_since_s = min(self.open_since_s, first if files else np.inf)


class LeakTest:
    """Takes an archive ride by ride, keeps only what lies at the gates, and answers at the end."""

    def __init__(self, places: Places | Sequence[Place], *, noise_m: float = 0.0) -> None:
        self.places = places.active if isinstance(places, Places) else tuple(places)
        self.noise_m = noise_m
        self._zones: tuple[Withholding, ...] = tuple(place.withheld for place in self.places)
        self._seen = [_Seen() for _ in self.places]

    def add(self, original: Trace | None, published: Trace | None) -> None:
        """One ride: as it was recorded (None: not at hand), and as it is or would be published (it disappeared)."""
        points = None if published is None else surface(published.lat_deg, published.lon_deg)
        for number, (place, seen) in enumerate(zip(self.places, self._seen, strict=True)):
            if published is not None and points is not None:
                self._look_inside(place, seen, published, points)
            zone = place.zone
            if zone is None:
                continue
            if published is not None:
                seen.after.append(_look(zone, published, self.noise_m))
            if original is None:
                continue
            truth = _around_place(place, original)
            away = np.hypot(*truth.T)
            ends = truth[[0, -1]]
            seen.ends_m.extend(ends[away[[0, -1]] < zone.radius_m])
            if away.min() < 2 * zone.radius_m:
                usual = centred_zone(place.lat_deg, place.lon_deg, radius_m=zone.radius_m)
                others = [other for k, other in enumerate(self._zones) if k != number]
                left = withhold(original, [usual, *others]).trace
                if left is not None:
                    seen.centred.append(_look(usual, left))

    def _look_inside(self, place: Place, seen: _Seen, published: Trace, points: FloatArray) -> None:
        """What of a published ride lies in the zone, deeper than noise carries points."""
        inside = place.withheld.holds(points)
        if inside.any() and self.noise_m > 0:
            inside &= place.withheld.beyond_m(points) < -_NOISES * self.noise_m
        if not inside.any():
            return
        seen.open_points += int(np.count_nonzero(inside))
        seen.open_files += 1
        seen.open_since_s = min(seen.open_since_s, float(published.times_s[inside].min()))
        first = np.diff(published.segment, prepend=published.segment[0] - 1) != 0
        ends = np.flatnonzero(inside & (first | np.append(first[1:], True)))
        there = ends if len(ends) else np.flatnonzero(inside)  # a log that never ends: where most of it is
        seen.open_ends_m.extend(_around_place(place, published)[there[evenly(len(there), 200)]])

    def numbers(self) -> Numbers:
        """All that was gathered so far."""
        every = (seen.numbers().items() for seen in self._seen)
        return {f"{number} {name}": table for number, one in enumerate(every) for name, table in one}

    def take(self, numbers: Numbers) -> None:
        """Add what a test of the same places gathered."""
        for number, (place, seen) in enumerate(zip(self.places, self._seen, strict=True)):
            mine = f"{number} "
            seen.take({name.removeprefix(mine): numbers[name] for name in numbers if name.startswith(mine)}, place.zone)

    @property
    def open_points(self) -> int:
        """Published points inside zones so far."""
        return sum(seen.open_points for seen in self._seen)

    def results(self) -> tuple[PlaceLeak, ...]:
        """One record per place, in their order."""
        return tuple(self._result(place, seen) for place, seen in zip(self.places, self._seen, strict=True))

    def _result(self, place: Place, seen: _Seen) -> PlaceLeak:
        zone = place.zone
        since_s = seen.open_since_s if seen.open_files else None
        if zone is None:
            nothing = PlaceLeak(place.name, None, 0, {}, None, None, None, None, None, None, None, None)
            return replace(nothing, open_points=seen.open_points, open_files=seen.open_files, open_since_s=since_s)
        truth = zone.around.to_metres(place.lat_deg, place.lon_deg)[0]
        view = ZoneView.join(seen.after) if seen.after else None
        errors = _errors(view, truth)
        if (near := _commonest_end_m(seen.open_ends_m)) is not None:
            errors[OPEN] = near
        best, best_m = _least(errors)
        centred_view = ZoneView.join(seen.centred) if seen.centred else None
        usual, usual_m = _least(_errors(centred_view, np.zeros(2), but="centre"))
        belief = None if view is None else believe(view)
        luck = None if best_m is None else 1.0 - (1.0 - min(best_m / zone.inner_radius_m, 1.0) ** 2) ** len(errors)
        unprotected = _commonest_end_m(seen.ends_m)
        return PlaceLeak(
            place.name, zone.radius_m, 0 if view is None else len(view.gates_m), errors, best, best_m, luck,
            unprotected, usual, usual_m, float(np.hypot(*truth)), None if belief is None else belief.odds(truth),
            seen.open_points, seen.open_files, since_s,
        )  # fmt: skip


class RidesSeen:
    """The leak test of some rides, and what else their owner wants to know of them. ``timed``: times are shared."""

    def __init__(self, places: Places, *, noise_m: float = 0.0, timed: bool = True) -> None:
        self.zones = places.zones
        self.test, self.stops, self.shown = LeakTest(places, noise_m=noise_m), Stops(), Stops()
        self.departures = [Departures(place) for place in places.active] if timed else []
        self.entered = np.zeros(len(self.zones))

    def look(self, trace: Trace, published: Trace | None) -> None:
        """One ride more, as it was recorded and as it is shared."""
        self.test.add(trace, published)
        self.stops.add(trace)
        for leaving in self.departures:
            leaving.add(trace, published)
        points = surface(trace.lat_deg, trace.lon_deg)
        self.entered += [zone.holds(points).any() for zone in self.zones]

    def look_at_file(self, published: Trace) -> None:
        """A file whose ride is not at hand: what it shows by itself."""
        self.test.add(None, published)
        self.shown.add(published)

    def list_uncovered(self, zones: Sequence[Withholding]) -> list[FoundPlace]:
        """Places outside every zone where rides begin or end again and again, or where somebody spent a night.

        Files alone begin and end at the borders of zones, too, so what only they show counts farther away.
        """
        found, every = _uncovered(self.stops.places(), zones), Stops()
        for stops in (self.stops, self.shown):
            every.take(stops.numbers())
        for one in _uncovered(every.places(), zones):
            at = surface(one.lat_deg, one.lon_deg)
            if all(zone.beyond_m(at)[0] > _GATES_M for zone in zones):
                found = [known for known in found if _apart_m(known, one) >= SAME_PLACE_M]
                found.append(one)
        return sorted(found, key=lambda one: -one.track_ends)

    def numbers(self) -> dict[str, Numbers]:
        """All that was gathered, as tables."""
        leaving = {f"leaving {number}": each.numbers() for number, each in enumerate(self.departures)}
        return {
            "test": self.test.numbers(),
            "stops": self.stops.numbers(),
            "shown": self.shown.numbers(),
            _ENTERED: {_ENTERED: self.entered},
        } | leaving

    def take(self, numbers: dict[str, Numbers]) -> None:
        """Add what was gathered of other rides, around the same places."""
        self.test.take(numbers["test"])
        self.stops.take(numbers["stops"])
        self.shown.take(numbers["shown"])
        for number, each in enumerate(self.departures):
            each.take(numbers[f"leaving {number}"])
        self.entered += numbers[_ENTERED][_ENTERED]


def _uncovered(found: Sequence[FoundPlace], zones: Sequence[Withholding]) -> list[FoundPlace]:
    """Places outside every zone where rides begin or end again and again, or where somebody spent a night."""
    often = [one for one in found if one.track_ends >= OFTEN_ENDS or one.night_h >= NIGHT_H]
    return [one for one in often if not any(zone.holds(surface(one.lat_deg, one.lon_deg))[0] for zone in zones)]


def _apart_m(one: FoundPlace, other: FoundPlace) -> float:
    return float(distances_m(one.lat_deg, one.lon_deg, other.lat_deg, other.lon_deg)[0])


def leak_test(rides: Iterable[tuple[Trace, Trace | None]], places: Places | Sequence[Place]) -> tuple[PlaceLeak, ...]:
    """:class:`LeakTest` for (recorded, would-be-published) pairs that fit in memory."""
    test = LeakTest(places)
    for original, published in rides:
        test.add(original, published)
    return test.results()


def refuse_if_found(leaks: Iterable[PlaceLeak], within_m: float = 150.0) -> None:
    """:class:`~sfumato.base.errors.NotCertified` if the best attacker comes nearer to any place than ``within_m``.

    Refusing, and then changing the zone until nobody finds the place, is itself a leak: withhold more rides instead, or
    do not share.
    """
    found = [leak for leak in leaks if leak.best_m is not None and leak.best_m < within_m]
    if found:
        names = ", ".join(f"{leak.name} (to {leak.best_m:.0f} m, {leak.best})" for leak in found)
        raise NotCertified(
            f"An attacker comes nearer than {within_m:g} m to {names}.",
            "Nothing was written. Leave rides out that stop at the zone's edge, or share fewer; do not draw the zone "
            "again, two zones of one place intersect.",
        )


def stretches(zone: Zone, trace: Trace, ride: int = 0) -> list[Stretch]:
    """The segments of a published trace in metres around the zone's centre, as attackers take them."""
    positions = zone.around.to_metres(trace.lat_deg, trace.lon_deg)
    starts = np.flatnonzero(np.diff(trace.segment, prepend=trace.segment[0] - 1))
    return [
        Stretch(part, times, ride)
        for part, times in zip(np.split(positions, starts[1:]), np.split(trace.times_s, starts[1:]), strict=True)
    ]


def _look(zone: Zone, trace: Trace, noise_m: float = 0.0) -> ZoneView:
    pieces = stretches(zone, trace)
    return look(pieces, radius_m=zone.radius_m, inner_radius_m=zone.inner_radius_m, noise_m=noise_m)


def _around_place(place: Place, trace: Trace) -> FloatArray:
    return Around(place.lat_deg, place.lon_deg).to_metres(trace.lat_deg, trace.lon_deg)


def _commonest_end_m(ends_m: list[FloatArray]) -> float | None:
    if not ends_m:
        return None
    few = np.array(ends_m)[evenly(len(ends_m), 2000)]
    return float(np.hypot(*commonest(few)))


def _errors(view: ZoneView | None, truth_m: FloatArray, *, but: str = "") -> dict[str, float]:
    if view is None or not view.seen:
        return {}
    return {name: float(np.hypot(*(guess - truth_m))) for name, guess in guesses_m(view).items() if name != but}


def _least(errors: Mapping[str, float]) -> tuple[str | None, float | None]:
    if not errors:
        return None, None
    name = min(errors, key=lambda key: errors[key])
    return name, errors[name]
