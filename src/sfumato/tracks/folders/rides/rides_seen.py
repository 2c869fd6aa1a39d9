"""What rides show, gathered from each of them once: what attackers have to go by, stops, departures.

*What was seen of a ride is kept*, by the hashes of the ride and of all that was shared of it, for the same zones: next
week only new rides are read, and the leak test is still one about all that is in the folder. It tells where somebody
lives, so it is sealed with a key that the places file gives. What cannot be opened is gathered anew.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.base.files import write_whole
from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.staging import SEEN_NAME
from sfumato.tracks.places.find import Departures, Stops
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.leak_test import LeakTest, Numbers
from sfumato.tracks.places.places_file import Places

_NONCE_BYTES = 12
_ENTERED = "entered"


class RidesSeen:
    """The leak test of some rides, and what else their owner wants to know of them. ``timed``: times are shared."""

    def __init__(self, places: Places, *, noise_m: float = 0.0, timed: bool = True) -> None:
        self.zones = places.zones
        self.test, self.stops = LeakTest(places, noise_m=noise_m), Stops()
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

    def numbers(self) -> dict[str, Numbers]:
        """All that was gathered, as tables."""
        leaving = {f"leaving {number}": each.numbers() for number, each in enumerate(self.departures)}
        return {
            "test": self.test.numbers(),
            "stops": self.stops.numbers(),
            _ENTERED: {_ENTERED: self.entered},
        } | leaving

    def take(self, numbers: dict[str, Numbers]) -> None:
        """Add what was gathered of other rides, around the same places."""
        self.test.take(numbers["test"])
        self.stops.take(numbers["stops"])
        for number, each in enumerate(self.departures):
            each.take(numbers[f"leaving {number}"])
        self.entered += numbers[_ENTERED][_ENTERED]


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
