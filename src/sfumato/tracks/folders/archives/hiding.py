"""Hide places in tracks: everything in the zones withheld, the rest exact or blurred, times as asked.

A frame in is a frame out; several traces in are several out, and which of them disappeared only their owner sees.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import rounded_times
from sfumato.tracks.folders.archives.job import RideOutcome
from sfumato.tracks.people.protection import Chosen
from sfumato.tracks.places import Place, PlaceLeak, Places, leak_test, withhold
from sfumato.tracks.places.given_tables import is_table, like, traces_of_table
from sfumato.tracks.places.zones import Withholding
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times


@dataclass(frozen=True, slots=True, eq=False)
class Blur:
    """Noise on what remains: one process for the whole archive, by a state's key."""

    plan: Plan
    chosen: Chosen


@dataclass(frozen=True, slots=True, eq=False)
class Hiding:
    """What is done to every ride: zones cut out, kept columns, blur, times."""

    places: Places
    times: Times = field(default_factory=Times)
    keep: tuple[str, ...] = ()
    blur: Blur | None = None

    def __post_init__(self) -> None:
        if not self.places.active:
            raise InputError("The places file names no place.", "Add one: sfumato places add home 48.85,2.35.")

    @property
    def zones(self) -> tuple[Withholding, ...]:
        """What is withheld."""
        return self.places.zones

    def outcome(self, trace: Trace) -> RideOutcome:
        """One ride as it would be published."""
        keep = [name for name in self.keep if name in trace.columns or name in trace.texts]
        left = withhold(trace, self.zones, keep=keep).trace
        if left is None:
            return RideOutcome(None, times=self.times.shown)
        if self.blur is not None:
            left = self.blur.chosen.released(rounded_times(left), None, _keeping(self.blur.plan, keep))
        return RideOutcome(self.times.apply(left, self.places.derived("times")), times=self.times.shown)

    def wish(self) -> str:
        """What the output depends on beside the ride, as one hash for the private manifest."""
        parts: dict[str, Any] = {
            "zones": [repr((_shape(zone), zone.key.hex())) for zone in self.zones],
            "times": str(self.times),
            "keep": sorted(self.keep),
            "blur": None if self.blur is None else self.blur.plan.to_dict(),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _shape(zone: Withholding) -> object:
    rings = getattr(zone, "rings", None)
    if rings is not None:
        return [ring.tolist() for ring in rings]
    return (zone.around.lat_deg, zone.around.lon_deg, zone.reach_m)


def _keeping(plan: Plan, keep: list[str]) -> Plan:
    return replace(plan, keep=tuple(keep))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hidden:
    """What may be shared (``shared``, laid out as the input was) and, for the owner, the leak test."""

    shared: Any
    leaks: tuple[PlaceLeak, ...]

    def __repr__(self) -> str:
        return f"<Hidden, {count_of(len(self.leaks), 'place')} tested>"


def hide(
    tracks: Any,
    places: Places | Place | Iterable[Place],
    *,
    times: str | Times = "keep",
    keep: Iterable[str] = (),
) -> Hidden:
    """Tracks without what lies in the places' zones, and what attackers still find (``places.leak_test``).

    ``tracks`` is a :class:`~sfumato.base.things.traces.Trace`, several (a list, or a mapping by name), or a table that
    speaks Arrow; ``shared`` is laid out the same way. A trace of which nothing is left is None in place, absent from a
    list or mapping; a table loses its rows.
    """
    owner = places if isinstance(places, Places) else Places.none()
    if not isinstance(places, Places):
        for place in (places,) if isinstance(places, Place) else places:
            owner = owner.add(place)
    hiding = Hiding(owner, Times.parse(times), tuple(keep))
    if is_table(tracks):
        trips = [
            (name, trace, hiding.outcome(trace).published) for name, trace in traces_of_table(tracks, keep=hiding.keep)
        ]
        shared = like(tracks, [(name, left) for name, _, left in trips if left is not None])
        return Hidden(shared, leak_test([(trace, left) for _, trace, left in trips], owner))
    if isinstance(tracks, Trace):
        left = hiding.outcome(tracks).published
        return Hidden(left, leak_test([(tracks, left)], owner))
    if isinstance(tracks, Mapping):
        named = {name: (trace, hiding.outcome(trace).published) for name, trace in tracks.items()}
        by_name = {name: left for name, (_, left) in named.items() if left is not None}
        return Hidden(by_name, leak_test(named.values(), owner))
    pairs = [(trace, hiding.outcome(trace).published) for trace in tracks]
    return Hidden([left for _, left in pairs if left is not None], leak_test(pairs, owner))
