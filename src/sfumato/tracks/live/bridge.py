"""From positions as they arrive to what each audience may see: one function of the batch, the key and the store.

In this order: a moment that was used is answered again or refused, the zones decide, the noise of every blurred
audience is drawn, and what each audience may see is written in one transaction. Only then is anything acknowledged, so
a process killed at any moment loses nothing that was, and whatever is taken again gets the same noise.
"""

from __future__ import annotations

import hmac
import json
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import derived_key
from sfumato.tracks.live.audiences import Audience, LiveConfig
from sfumato.tracks.live.chain import LiveNoise
from sfumato.tracks.live.gate import Fate, Gate, Passage, Track
from sfumato.tracks.live.positions import Position
from sfumato.tracks.live.store import NOTHING, LiveBatch, LiveStore, Sight
from sfumato.tracks.live.towns import nearest_town
from sfumato.tracks.places.places_file import load_places
from sfumato.tracks.places.zones import Withholding

AWAY = "away"
_FATES = list(Fate)
_TRACKS_KEPT = 20_000  # people whose last true positions are in memory


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one position: ``new``, ``again`` (its time and place are known) or ``second`` (another place)."""

    position: Position
    outcome: str
    sights: tuple[Sight, ...] = ()


class Bridge:
    """One configuration, one key, one store. Not for several threads at once."""

    def __init__(
        self,
        config: LiveConfig,
        key: bytes,
        store: LiveStore,
        *,
        passphrase: str | None = None,
        clock: Callable[[], float] = time.time,
        piped: bool = False,
    ) -> None:
        self.config, self.store, self.clock, self.piped = config, store, clock, piped
        chain = config.chain
        self._noise = None if chain is None else LiveNoise(chain, key)
        self._finest_m = chain.sizes_m[0] if chain is not None else None
        self._print_key = derived_key(key, b"live fingerprints")
        self._passphrase = passphrase
        self._gates: dict[str, Gate] = {}
        self._within: dict[int, list[int]] = {}  # of people with zones, the times of this batch in order
        self._newest: dict[int, int] = {}  # of each person's times: what is later was never used
        self._tracks: OrderedDict[str, Track] = OrderedDict()
        self._begun = {(person, size) for person, sizes in store.processes().items() for size in sizes}
        self._took = False  # since it was counted
        store.open_or_close(config.names)
        self._files = self._places_now()
        store.keep_only({one.name: self._mark(one) for one in config.audiences})
        self._pauses, self._version = store.pauses(), store.version()

    def _places_now(self) -> list[tuple[Path, int, int, int]]:
        """Which places files there are, and when each was last changed."""
        files = {self.config.places, *(person.places for person in self.config.people.values())} - {None}
        found = [(file, file.stat()) for file in sorted(filter(None, files))]
        return [(file, known.st_mtime_ns, known.st_size, known.st_ino) for file, known in found]

    def _follow_places(self) -> None:
        """Whoever moved or named one more place is not sent by the old zones, not one position."""
        try:
            now = self._places_now()
            if now == self._files:
                return
            _zones.cache_clear()
            self._gates.clear()
            self._tracks.clear()
            self.store.keep_only({one.name: self._mark(one) for one in self.config.audiences})
            self._files = now
        except (InputError, OSError) as error:
            raise RuntimeError("places cannot be read") from error

    def _mark(self, audience: Audience) -> bytes:
        """Of everything that decides what an audience may see: with another mark, what was kept is not for it.

        Places count: a position that was kept may lie in a zone that was added since.
        """
        for person in ("", *self.config.people):
            self.gate_of(person)  # a places file that cannot be read is refused before anything is taken
        files = {"": self.config.places, **{person.name: person.places for person in self.config.people.values()}}
        drawn = [
            (name, hmac.digest(self._print_key, file.read_bytes(), "sha256")) for name, file in files.items() if file
        ]
        whom = None if audience.people is None else sorted(audience.people)
        rule = (audience.sees, audience.noise_m, audience.delay_s, str(audience.hours), whom, self.config.zone.key)
        return hmac.digest(self._print_key, repr((rule, drawn)).encode(), "sha256")

    @property
    def paused(self) -> frozenset[str]:
        """Audiences for which nothing leaves, as the store says at this moment."""
        version = self.store.version()
        if version != self._version:
            self._pauses, self._version = self.store.pauses(), version
            self._newest.clear()
        return frozenset(name for name, spans in self._pauses.items() if any(until is None for _, until in spans))

    def _was_paused(self, audience: str, time_ms: int) -> bool:
        spans = self._pauses.get(audience, ())
        return any(since <= time_ms and (until is None or time_ms < until) for since, until in spans)

    def take(self, positions: Sequence[Position]) -> list[Taken]:
        """Take a batch, in the order of arrival; on return it is in the store."""
        batch = LiveBatch(last_only={one.name for one in self.config.audiences if one.keep_s is None})
        self._within.clear()
        self._follow_places()
        self.store.begin()
        try:
            paused = self.paused
            open_now = [one for one in self.config.audiences if one.name not in paused]
            outcomes, prints = [], dict[tuple[str, int], int]()
            passages: list[Passage | None] = []
            for one in positions:
                outcomes.append(self._outcome(one, prints, batch))
                passages.append(self._pass(one, batch) if outcomes[-1] == "new" else None)
            passages = _settled(positions, passages)
            for one, passage in zip(positions, passages, strict=True):
                if passage is not None:
                    # Only a pipe answers again, and nothing else has to remember who was inside.
                    mark, fate = prints[one.person, one.time_ms], _FATES.index(passage.fate) if self.piped else None
                    batch.used.append((self.store.id_of(one.person), one.time_ms, mark, fate))
            if self.piped and "again" in outcomes:  # who sends again did not get the answer
                passages = [
                    self._passed(one) if outcome == "again" else passage
                    for one, outcome, passage in zip(positions, outcomes, passages, strict=True)
                ]
            released = self._release(positions, passages)
            taken = []
            for row, (one, outcome, passage) in enumerate(zip(positions, outcomes, passages, strict=True)):
                sights: list[Sight] = []
                if passage is not None:
                    sights = self._sights(one, passage, released.get(row, {}), open_now)
                    batch.sights += sights if outcome == "new" else ()
                taken.append(Taken(one, outcome, tuple(sights)))
            self.store.commit(batch)
            self._took = self._took or bool(batch.used)
        except BaseException:
            self.store.rollback()
            self._tracks.clear()  # what was learnt from positions that are not in the store
            self._newest.clear()
            self._begun = {(person, size) for person, sizes in self.store.processes().items() for size in sizes}
            raise
        return taken

    def _outcome(self, one: Position, prints: dict[tuple[str, int], int], batch: LiveBatch) -> str:
        person = self.store.id_of(one.person)
        mark = self._fingerprint(one)
        known = prints.get((one.person, one.time_ms))
        newest = self._newest.get(person)
        if newest is None:
            newest = self.store.newest(person)
        if known is None and one.time_ms <= newest:
            known = self.store.mark_and_fate(person, one.time_ms)[0]
        self._newest[person] = max(newest, one.time_ms)
        if known is not None:
            return "again" if known == mark else "second"
        prints[one.person, one.time_ms] = mark
        if self._finest_m is not None and (one.person, self._finest_m) not in self._begun:
            self._begun.add((one.person, self._finest_m))
            batch.processes.append((person, self._finest_m, one.time_ms))
        return "new"

    def _fingerprint(self, one: Position) -> int:
        told = f"{one.person}\0{one.time_ms}\0{one.lat_deg:.9f}\0{one.lon_deg:.9f}"
        return int.from_bytes(hmac.digest(self._print_key, told.encode(), "sha256")[:8], "big", signed=True)

    # Zones.

    def gate_of(self, person: str) -> Gate:
        """The zones of a person's places file, or of the bridge's."""
        row = self.config.people.get(person)
        path = (row.places if row is not None else None) or self.config.places
        name = "" if path is None else str(path)
        if name not in self._gates:
            zones = () if path is None else _zones(name, self._passphrase)
            self._gates[name] = Gate(zones)
        return self._gates[name]

    def _pass(self, one: Position, batch: LiveBatch) -> Passage:
        gate = self.gate_of(one.person)
        if not gate.zones:
            return Passage(Fate.PASSES)
        track, person = self._track(one.person, batch), self.store.id_of(one.person)
        times, beside = self._within.setdefault(person, []), list[int]()
        at = bisect_left(times, one.time_ms)
        if track.last_ms is not None and one.time_ms <= track.last_ms:
            before, after = self.store.beside(person, one.time_ms)
            beside = [max([before, *times[max(at - 1, 0) : at]]), min([after, *times[at : at + 1]])]
        times.insert(at, one.time_ms)
        found = gate.take(track, one.time_ms, one.lat_deg, one.lon_deg, beside)
        batch.leave += [(person, at) for at in found.leave_ms]
        batch.withhold += [(person, at) for at in found.withhold_ms]
        batch.tracks[person] = json.dumps([None, track.held_ms, track.last_ms, track.late_ms]).encode()
        return found

    def _passed(self, one: Position) -> Passage | None:
        """What became of a position that is sent again, by the rules of now; None where that is not known."""
        fate = self.store.mark_and_fate(self.store.id_of(one.person), one.time_ms)[1]
        if fate is None:
            return None
        zone = self.gate_of(one.person).zone(one.lat_deg, one.lon_deg)
        found = Passage(_FATES[fate], zone)
        return found if (found.fate is Fate.INSIDE) == (zone is not None) else None

    def _track(self, person: str, batch: LiveBatch) -> Track:
        track = self._tracks.get(person)
        if track is None:
            track = Track()
            number = self.store.id_of(person)
            kept = self.store.track_of(number)
            if kept is not None:
                _, track.held_ms, track.last_ms, *late = json.loads(kept)
                # Late ones that waited: where they were is not known any more.
                batch.withhold += [(number, at) for some in late for at in some]
            # There may have been no zones when the last ones came: what is not after them is late all the same.
            newest = max(self.store.newest(number), -1 if track.last_ms is None else track.last_ms)
            track.last_ms = None if newest < 0 else newest
            self._tracks[person] = track
            if len(self._tracks) > _TRACKS_KEPT:
                self._tracks.popitem(last=False)
        return track

    # Noise, and what audiences see.

    def _release(
        self, positions: Sequence[Position], passages: Sequence[Passage | None]
    ) -> Mapping[int, Mapping[float, tuple[float, float]]]:
        """Where to say that they are, by number in the batch and size: of points that may leave now or later."""
        rows = [row for row, one in enumerate(passages) if one is not None and one.fate in (Fate.PASSES, Fate.HELD)]
        if self._noise is None or not rows:
            return {}
        some = [positions[row] for row in rows]
        lat: FloatArray = np.array([one.lat_deg for one in some])
        lon: FloatArray = np.array([one.lon_deg for one in some])
        times = np.array([one.time_ms for one in some], dtype=np.int64)
        found = self._noise.release([one.person for one in some], times, lat, lon)
        out: dict[int, dict[float, tuple[float, float]]] = {row: {} for row in rows}
        for size, there in found.items():
            for row, *place in zip(rows, *(axis.tolist() for axis in there), strict=True):
                out[row][size] = place[0], place[1]
        return out

    def _sights(
        self,
        one: Position,
        passage: Passage,
        at: Mapping[float, tuple[float, float]],
        audiences: Sequence[Audience],
    ) -> list[Sight]:
        """What each audience may see of one position; ``at`` is where to say that they are, by size."""
        measured = one.time_ms / 1000.0
        some = [a for a in audiences if a.sees_person(one.person) and a.open_at(measured, self.config.zone)]
        some = [a for a in some if not self._was_paused(a.name, one.time_ms)]
        return [sight for a in some if (sight := self._sight(one, passage, at, a)) is not None]

    def _sight(
        self, one: Position, passage: Passage, at: Mapping[float, tuple[float, float]], audience: Audience
    ) -> Sight | None:
        held, name = passage.fate is Fate.HELD, None
        lat: float | None = None
        lon: float | None = None
        if audience.sees == "zone":
            if passage.fate not in (Fate.PASSES, Fate.INSIDE):
                return None
            name = passage.zone or AWAY
        elif passage.fate not in (Fate.PASSES, Fate.HELD):
            return None
        elif audience.noise_m is None:
            lat, lon = one.lat_deg, one.lon_deg
        else:
            lat, lon = at[round(audience.noise_m, 2)]
            if audience.sees == "town":
                name, lat, lon = nearest_town(lat, lon), None, None
        due, sealed = one.time_ms + int(1000 * audience.delay_s), audience.noise_m is None and name is None
        unsent = (held or audience.delay_s > 0) if self.piped else bool(audience.send)
        return Sight(audience.name, one.person, one.time_ms, due, lat, lon, name, held, unsent, sealed)

    # Looking.

    def is_closed(self, audience: Audience) -> bool:
        """Whether an audience sees nothing now: it has ended, or is paused."""
        ended = audience.until_s is not None and self.clock() >= audience.until_s
        return ended or audience.name in self.paused

    def view(self, audience: Audience, person: str, *, most: int = 1000) -> list[Sight]:
        """What an audience may see of a person now; nothing once it has ended or while it is paused."""
        now = self.clock()
        if self.is_closed(audience) or not audience.sees_person(person):
            return []
        since = 0 if audience.keep_s is None else int(1000 * (now - audience.keep_s))
        seen = self.store.visible(audience.name, person, int(1000 * now), most=most, since_ms=since)
        return seen[-1:] if audience.keep_s is None else seen

    def due(
        self, audience: Audience | None = None, *, after: tuple[int, int, str] = NOTHING, most: int = 100
    ) -> list[Sight]:
        """What is to be sent now, of audiences that have not ended and are not paused."""
        now_ms, found = int(1000 * self.clock()), list[Sight]()
        for one in self.config.audiences if audience is None else (audience,):
            if not self.is_closed(one):
                found += self.store.due(now_ms, one.name, after=after, most=most)
        return found

    def tidy(self) -> None:
        """Forget what nobody may look back at any more; of audiences that have ended, everything; by places of now."""
        if self._took:
            self.store.count_turn()
            self._took = False
        now = self.clock()
        keep = {one.name: one.keep_s for one in self.config.audiences}
        self.store.forget_old(keep, int(1000 * now))
        for one in self.config.audiences:
            if one.until_s is not None and now >= one.until_s:
                self.store.forget(one.name)
        self._follow_places()


def _settled(positions: Sequence[Position], passages: Sequence[Passage | None]) -> list[Passage | None]:
    """The fates of points that waited for a later one of the same batch."""
    fates: dict[tuple[str, int], Fate] = {}
    for one, passage in zip(positions, passages, strict=True):
        if passage is not None:
            fates |= {(one.person, at): Fate.PASSES for at in passage.leave_ms}
            fates |= {(one.person, at): Fate.WITHHELD for at in passage.withhold_ms}
    if not fates:
        return list(passages)
    return [
        replace(passage, fate=fates.get((one.person, one.time_ms), passage.fate))
        if passage is not None and passage.fate is Fate.HELD
        else passage
        for one, passage in zip(positions, passages, strict=True)
    ]


@lru_cache(maxsize=64)
def _zones(path: str, passphrase: str | None) -> tuple[tuple[str, Withholding], ...]:
    places = load_places(path, passphrase=passphrase)
    zones = tuple((place.name, place.withheld) for place in places.active)
    if not zones:
        raise InputError(f"{path} names no place.", "Name one: sfumato places add home 48.85,2.35 --places me.places")
    return zones
