"""Hide places in tracks: everything in the zones withheld, the rest exact or blurred, times as asked.

A frame in is a frame out; several traces in are several out, and which of them disappeared only their owner sees. Of a
whole archive, what is left is attacked before it is shared.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_text, write_whole
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, length_m
from sfumato.base.version import __version__
from sfumato.tracks.certificates.build import certificate_body, rounded_times
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.manifest import family_of, private_folder
from sfumato.tracks.folders.rides.protect_archive import chosen_noise
from sfumato.tracks.folders.rides.ride_job import ArchiveResult, Job, Said, Treatment, fill_archive
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.staging import SEEN_NAME, ZONES_NAME, file_sha256, withheld_words
from sfumato.tracks.io import read_trace
from sfumato.tracks.people.noise import Noise
from sfumato.tracks.places.ends import RideEnds
from sfumato.tracks.places.given_tables import is_table, like, traces_of_table
from sfumato.tracks.places.leak_test import Numbers, PlaceLeak, RidesSeen, leak_test
from sfumato.tracks.places.places_file import Place, Places
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import Withholding
from sfumato.tracks.plan import Plan, Times

_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Hiding:
    """What is done to every ride: zones cut out, kept columns, blur (one noise process for all rides), times."""

    places: Places
    times: Times = field(default_factory=Times)
    keep: tuple[str, ...] = ()
    blur: tuple[Plan, Noise] | None = None
    ends: RideEnds | None = None

    def __post_init__(self) -> None:
        if not self.places.active:
            raise InputError("The places file names no place.", "Add one: sfumato places add home 48.85,2.35.")

    @property
    def zones(self) -> tuple[Withholding, ...]:
        """What is withheld."""
        return self.places.zones

    def publish(self, trace: Trace) -> Trace | None:
        """One ride as it would be published; None where nothing is left of it."""
        keep = [name for name in self.keep if name in trace.columns or name in trace.texts]
        ends = [] if self.ends is None else [place.withheld for place in self.ends.of(trace)]
        left = withhold(trace, [*self.zones, *ends], keep=keep).trace
        if left is not None and self.blur is not None:
            left = self.blur[1].track(rounded_times(left), keep=keep, times=self.times)
        return None if left is None else self.times.apply(left, self.places.derive("times"))

    def wish(self) -> str:
        """What the output depends on beside the ride, as one hash for the private manifest."""
        parts: dict[str, Any] = {
            "zones": [repr((_shape(zone), zone.key.hex())) for zone in self.zones],
            "times": str(self.times),
            "keep": sorted(self.keep),
            "blur": None if self.blur is None else self.blur[0].to_dict(),
        }
        if self.ends is not None:
            parts["ends"] = self.ends.radius_m
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _shape(zone: Withholding) -> object:
    rings = getattr(zone, "rings", None)
    if rings is not None:
        return [ring.tolist() for ring in rings]
    return (zone.around.lat_deg, zone.around.lon_deg, zone.reach_m)


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
    given: Any
    if is_table(tracks):
        given = traces_of_table(tracks, keep=hiding.keep)
    elif isinstance(tracks, Mapping):
        given = tracks.items()
    else:
        given = enumerate([tracks] if isinstance(tracks, Trace) else tracks)
    trips: list[tuple[Any, Trace, Trace | None]] = [(name, trace, hiding.publish(trace)) for name, trace in given]
    leaks = leak_test([(trace, left) for _, trace, left in trips], owner)
    if isinstance(tracks, Trace):
        return Hidden(trips[0][2], leaks)
    found = [(name, left) for name, _, left in trips if left is not None]
    if is_table(tracks):
        return Hidden(like(tracks, found), leaks)
    return Hidden(dict(found) if isinstance(tracks, Mapping) else [left for _, left in found], leaks)


def hide_archive(
    sources: Sequence[str | Path],
    out: Path,
    places: Places,
    how: Sharing | None = None,
    *,
    times: Times | None = None,
    blur: Plan | None = None,
    ends: RideEnds | None = None,
) -> ArchiveResult:
    """Every ride of the sources without what lies in the zones, in ``out``; see the rules in ``docs/places.md``.

    ``how.faces.tested`` gets the leak test of everything that would be public, rides shared before included, and may
    raise: then nothing is put in place.
    """
    how = how or Sharing()
    hiding, done = Hiding(places, times or Times(), how.reading.keep, ends=ends), how.faces.certified

    def begin(private: Path) -> Treatment:
        _zones_before(private, places)
        chosen = None if blur is None else chosen_noise(sources, blur, private, how)
        mine = hiding if blur is None or chosen is None else replace(hiding, blur=(blur, chosen))
        tested = _Tested(mine, how, private, (blur and blur.noise_m) or 0.0)
        return Treatment(
            places.derive("names"),
            places.derive("owner").hex(),
            mine.wish(),
            mine.times,
            mine.publish,
            tested.conclude,
            tested,
            noisy=blur is not None,
            grows=True,
        )

    def write_down(document: FolderDocument) -> None:
        if done is not None:
            done(document)
        zones = _zones_before(private_folder(out), places) | _marks(places if ends is None else ends.places)
        said = {"zones": sorted(zones), "ends_m": None if ends is None else ends.radius_m}
        write_text(private_folder(out) / ZONES_NAME, json.dumps(said), private=True)

    return fill_archive(sources, out, replace(how, faces=replace(how.faces, certified=write_down)), begin)


def _marks(places: Places) -> set[str]:
    """A word for each zone of a places file, those given up and rides' ends included; it says nothing without it."""
    key = places.derive("zones")
    return {hmac.digest(key, place.withheld.key, "sha256")[:10].hex() for place in places.places}


def _remembered(private: Path) -> tuple[set[str], float | None]:
    """The zones that a folder was ever hidden with, and the radius around rides' ends that its last run had."""
    try:
        said = json.loads((private / ZONES_NAME).read_text("utf-8"))
        return set(map(str, said["zones"])), None if said["ends_m"] is None else float(said["ends_m"])
    except FileNotFoundError:
        return set(), None
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{private / ZONES_NAME} is damaged.", "Restore it from a copy.") from None


def ends_asked(out: Path, places: Places, asked: str | None, *, noise_m: float = 0.0) -> RideEnds | None:
    """The zones around rides' ends as asked for; unasked as in the folder before; none, where that is said."""
    if asked == "none":
        return None
    radius_m = _remembered(private_folder(out))[1] if asked is None else length_m(asked)
    return None if radius_m is None else RideEnds(places, radius_m, noise_m=noise_m)


def _zones_before(private: Path, places: Places) -> set[str]:
    """The zones that a folder was ever hidden with; refused where the places file lacks one: it is an older copy."""
    before = _remembered(private)[0]
    if lost := before - _marks(places):
        raise InputError(
            f"This places file lacks {count_of(len(lost), 'zone')} that this folder was hidden with: an older copy, or "
            "another machine's.",
            "Use the newest copy: with this one, places would lie open or get a second zone. (To give a place up: "
            "sfumato places remove.) If the newest copy is lost for good, nothing brings its zones back: take the "
            "shared files down wherever they are, then hide all rides into a new folder. Whoever kept the old files "
            "sees two zones of each place that you name again, and the place lies where they meet.",
        )
    return before


class SeenBefore:
    """What was seen of each ride, by a name that says which; a sealed file for ``about``: other zones, another file."""

    def __init__(self, private: Path, key: bytes, about: str) -> None:
        self.path, self.key, self.about = private / SEEN_NAME, key, hashlib.sha256(about.encode()).digest()
        self._before = self._opened()
        self._now: dict[str, dict[str, dict[str, object]]] = {}

    def _opened(self) -> dict[str, dict[str, dict[str, object]]]:
        try:
            sealed = self.path.read_bytes()
            text = AESGCM(self.key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self.about)
        except (OSError, InvalidTag, ValueError):
            return {}
        opened: dict[str, dict[str, dict[str, object]]] = json.loads(gzip.decompress(text))
        return opened

    def recall(self, name: str) -> dict[str, Numbers] | None:
        """What was seen of a ride before."""
        if (found := self._before.get(name)) is None:
            return None
        self._now[name] = found
        tables = {
            part: {key: np.asarray(rows, dtype=np.float64) for key, rows in one.items()} for part, one in found.items()
        }
        return tables

    def keep(self, name: str, numbers: dict[str, Numbers]) -> None:
        """For the next run."""
        self._now[name] = {part: {key: rows.tolist() for key, rows in one.items()} for part, one in numbers.items()}

    def save(self) -> None:
        """What this run recalled or kept, and nothing else; whole, or as it was."""
        if self._now == self._before:
            return
        text = gzip.compress(json.dumps(self._now, separators=(",", ":")).encode(), 1)
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + AESGCM(self.key).encrypt(nonce, text, self.about)
        write_whole(self.path, lambda file: file.write_bytes(sealed), private=True)


class _Tested:
    """The leak test of everything that would be public; rides that were seen before are not read again.

    Where ends are cut, or noise goes on over all rides, every ride is read each time.
    """

    def __init__(self, hiding: Hiding, how: Sharing, private: Path, noise_m: float) -> None:
        self.hiding, self.how, self.noise_m = hiding, how, noise_m
        self.all, self.one = self._none(), self._none()
        about = [__version__, hiding.wish(), [[one.lat_deg, one.lon_deg] for one in hiding.places.active]]
        said = json.dumps([*about, noise_m, repr(how.reading)])
        fresh = hiding.ends is not None or hiding.blur is not None
        self.kept = None if fresh else SeenBefore(private, hiding.places.derive("seen"), said)

    def _none(self) -> RidesSeen:
        timed = self.hiding.times.kind in ("keep", "coarse")
        return RidesSeen(self.hiding.places, noise_m=self.noise_m, timed=timed)

    def look(self, trace: Trace, published: Trace | None) -> None:
        self.one.look(trace, published)
        if self.hiding.ends is not None:
            self.hiding.ends.look(trace, published)

    def recall(self, name: str) -> bool:
        seen = None if self.kept is None else self.kept.recall(name)
        if seen is not None:
            self.all.take(seen)
        return seen is not None

    def settle(self, name: str | None) -> None:
        seen, self.one = self.one.numbers(), self._none()
        self.all.take(seen)
        if self.kept is not None and name is not None:
            self.kept.keep(name, seen)

    def _recall_rest(self, job: Job, rest: set[str]) -> set[str]:
        """The files of sources that are not given today, of which is known what was seen when they were recorded."""
        found, given = set[str](), {row.source for row in job.rows}
        for record in job.manifest.records.values():
            first = record.part == 1 and record.source not in given
            family = family_of(job.manifest.records, record.source) if first else []
            names = {one.output or "" for one in family} & rest
            if names and all(map(job.is_as_shared, family)) and self.recall(job.seen_as(family)):
                found |= names
        return found

    def _look_at_files(self, job: Job, names: set[str]) -> bool:
        """What files show whose rides are not known, those that do not come from here included; whether one is shut."""
        unread = False
        for name in sorted(names.union(job.strangers())):
            digest = file_sha256(job.where(name))
            if self.recall(digest):
                continue
            try:
                self.one.look_at_file(read_trace(job.where(name)))
            except SfumatoError:
                unread = True  # no times, or no track: nobody can say that nothing lies open in it
            else:
                self.settle(digest)
        return unread

    def conclude(self, job: Job) -> Said:
        hiding = self.hiding
        rest = {name for name, _ in job.outputs} - job.looked_at  # of sources that are not given today
        unread = self._look_at_files(job, rest - self._recall_rest(job, rest))
        leaks, departures = self.all.test.results(), self.all.departures
        if departures:
            told = [leaving.sentence() for leaving in departures]
            leaks = tuple(replace(leak, departures=words) for leak, words in zip(leaks, told, strict=True))
        active = hiding.places.active
        unvisited = tuple(place.name for place, count in zip(active, self.all.entered, strict=True) if not count)
        leaks += () if hiding.ends is None else hiding.ends.found()
        if self.how.faces.tested is not None:
            self.how.faces.tested(leaks, unvisited)
        if self.how.faces.unnamed is not None:
            ends = () if hiding.ends is None else hiding.ends.zones
            self.how.faces.unnamed(self.all.list_uncovered((*hiding.zones, *ends)))
        noise = None
        if hiding.blur is not None and job.outputs:
            terms = replace(hiding.blur[1].terms(), times=str(hiding.times), kept=hiding.keep, several_files=True)
            noise = certificate_body(terms, job.released)
        simulation = hiding.places.simulation or (noise is not None and bool(noise["simulation"]))
        whole = hiding.ends is not None and not (  # every ride in the folder without its ends
            any(leak.ride_end and leak.lies_open for leak in leaks)
            or any(one.output in rest and one.wish != job.wish for one in job.manifest.records.values())
        )
        lies_open = unread or any(leak.lies_open for leak in leaks) or (hiding.ends is not None and not whole)
        withheld = withheld_words(before=lies_open, ends=whole)
        if self.kept is not None:
            self.kept.save()
        return Said(noise, simulation, leaks, unvisited, withheld, self.all.stops.places())
