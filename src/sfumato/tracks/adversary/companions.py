"""People who travel together: k companions on one way are k looks at it; found by hashing time and space.

*Found.* Time is cut into slots of five minutes and the ground into cells of 400 m (two grids, shifted by half a cell,
so that a border parts nobody in both). Two people travel together who share at least three slots in at least two cells
200 m apart: standing at one place together is not travelling. The worst group is the largest number of people in one
slot and cell each of whom travels together with another of them. Sorting the keys is O(n log n) in the moments.

*Group noise, and why it is not offered.* Let everybody's noise be √s S + √(1−s) I_person with one shared process S of
the same law. k companions then look through (s + (1−s)/k) Γ instead of Γ/k: at most 1/s times the loss, whatever k is.
But S is common to all: one person whose way is known (a parked vehicle, a driver on a timetable) gives it away, and k
companions are k looks through (1−s) Γ/k, which is *more* than without sharing. Sharing S only among companions would
choose the noise from the private traces, and the release would show who travels together
(:func:`group_noise_losses`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.traces import Trace

SLOT_S, CELL_M = 300.0, 400.0
FEWEST_SLOTS, MOVED_M = 3, 200.0
_CROWD = 60  # in one slot and cell: beyond it pairs are looked for among so many of them


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """How many people of a fleet travel together at most, and for how long at least two of them do. Private."""

    people: int
    together_s: float

    @property
    def alone(self) -> bool:
        """Whether nobody was found to travel with anybody."""
        return self.people < 2


def worst_group(people: Sequence[tuple[str, Trace]]) -> WorstGroup:
    """The largest group of a fleet that travels together."""
    if len(people) < 2:
        return WorstGroup(len(people), 0.0)
    keys, owners, places = _keys(people)
    order = np.argsort(keys, kind="stable")
    keys, owners, places = keys[order], owners[order], places[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    stops = np.append(starts[1:], keys.size)
    shared = [(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True) if b - a > 1]
    slots: dict[tuple[int, int], set[int]] = {}
    spots: dict[tuple[int, int], list[FloatArray]] = {}
    for first, last in shared:
        for one, other in combinations(range(first, min(last, first + _CROWD)), 2):
            pair = (int(owners[one]), int(owners[other]))
            slots.setdefault(pair, set()).add(int(keys[one] >> _SPACE_BITS) // 2)
            spots.setdefault(pair, []).append(places[one])
    pairs = {pair for pair, seen in slots.items() if len(seen) >= FEWEST_SLOTS and _moved(spots[pair])}
    if not pairs:
        return WorstGroup(1, 0.0)
    largest = 2
    for first, last in shared:
        here = owners[first:last].tolist()
        if len(here) > _CROWD:
            largest = max(largest, len(here) if any(pair[0] in here and pair[1] in here for pair in pairs) else 0)
            continue
        linked = {person for pair in combinations(here, 2) if pair in pairs for person in pair}
        largest = max(largest, len(linked))
    return WorstGroup(largest, SLOT_S * max(len(slots[pair]) for pair in pairs))


_SPACE_BITS = 40


def _keys(people: Sequence[tuple[str, Trace]]) -> tuple[IntArray, IntArray, FloatArray]:
    """Distinct (slot and grid, cell) keys, whose they are, and a position in it: sorted by person."""
    keys, owners, places = [], [], []
    origin = people[0][1]
    lat0 = float(origin.lat_deg[0])
    scale = np.cos(np.radians(lat0))
    for number, (_, trace) in enumerate(people):
        # Nearby people need a common plane: degrees scaled at the first person's latitude, good to parts in a thousand.
        metres = 111_195.0 * np.column_stack([(trace.lon_deg - origin.lon_deg[0]) * scale, trace.lat_deg - lat0])
        slot = np.floor(trace.times_s / SLOT_S).astype(np.int64)
        for grid in (0, 1):
            cell = np.floor(metres / CELL_M + 0.5 * grid).astype(np.int64) + (1 << 19)
            key = ((2 * slot + grid) << _SPACE_BITS) | (cell[:, 0] & 0xFFFFF) << 20 | (cell[:, 1] & 0xFFFFF)
            own, first = np.unique(key, return_index=True)
            keys.append(own)
            owners.append(np.full(own.size, number, dtype=np.int64))
            places.append(metres[first])
    return np.concatenate(keys), np.concatenate(owners), np.concatenate(places)


def _moved(spots: list[FloatArray]) -> bool:
    where = np.array(spots)
    return bool(np.max(np.linalg.norm(where - where[0], axis=1)) >= MOVED_M)


def group_noise_losses(companions: int, shared: float) -> dict[str, float]:
    """Losses, relative to one person's with noise of their own, for k companions whose noise shares ``shared`` = s.

    ``own``: noises of their own. ``group``: nobody's way is known. ``known``: the shared process is known, because one
    other person's way is. All exact: each is the loss through a multiple of the same Γ.
    """
    return {
        "own": float(companions),
        "group": 1.0 / (shared + (1.0 - shared) / companions),
        "known": companions / (1.0 - shared),
    }
