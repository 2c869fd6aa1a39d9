"""Where and when the people of a dataset were, noted bucket by bucket until the job ends: who travels together?

One private file for each bucket, the same when it is done again, with at most so many keys that all of them together
stay small however many rows there are (:mod:`sfumato.tracks.adversary.companions`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.tracks.adversary.companions import MOST_KEYS, Meetings, WorstGroup, all_meetings, meetings, worst_of


class PeopleMet:
    """A folder of such notes."""

    def __init__(self, folder: Path, buckets: int) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._most = folder, max(1 << 12, 4 * MOST_KEYS // buckets)

    def of(self, labels: Sequence[str]) -> BucketMet:
        """The note on the bucket of these people, to be filled; each person is in one bucket."""
        name = hashlib.sha256(min(labels).encode()).digest()
        return BucketMet(self._folder / f"{name.hex()}.npz", self._most, int.from_bytes(name[:3], "big") << 32)

    def worst_group(self) -> WorstGroup:
        """The largest group over all buckets that are done, in this run or before."""
        return worst_of(all_meetings(Meetings.load(path) for path in sorted(self._folder.glob("[!.]*.npz"))))


class BucketMet:
    """Where and when the people of one bucket were, piece by piece."""

    def __init__(self, path: Path, most: int, first: int) -> None:
        self._path, self._most, self._first = path, most, first
        self._parts: list[Meetings] = []

    def add(self, lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray, codes: IntArray) -> None:
        """A piece that holds all rows of its people, together, numbered from 0."""
        if len(codes):
            self._parts.append(meetings(lat_deg, lon_deg, times_ms, codes + self._first, most=self._most))
            self._first += int(codes[-1]) + 1

    def keep(self) -> None:
        """In its file, whole or not at all."""
        beside = self._path.with_name(f".{self._path.name}")
        all_meetings(self._parts).at_most(self._most).save(beside)
        beside.replace(self._path)
