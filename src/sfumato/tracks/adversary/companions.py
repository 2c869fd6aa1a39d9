"""People who travel together: k companions on one way are k looks at it; found by hashing time and space.

*Found.* Time is cut into slots of five minutes and the ground into cells of 400 m (two grids, shifted by half a cell,
so that a border parts nobody in both). Two people travel together who share at least three slots in at least two cells
200 m apart: standing at one place together is not travelling. The worst group is the largest number of people in one
slot and cell each of whom travels together with another of them. Sorting the keys is O(n log n) in the moments.

*In bounded time and memory.* A table may come in parts, each of which holds all rows of its people. Of a part at most
half a million keys are kept: where there are more, those of hours drawn by a hash (the same hours in every part), and
where one hour has more, those of people drawn by a hash. Pairs are looked for among as many people of one slot and cell
as make a million pairs in all, sixty at most; a crowd of more counts as one group if any two of those travel together.
:class:`WorstGroup` says how much was looked at.

*Group noise, and why it is not offered.* Let everybody's noise be √s S + √(1−s) I_person with one shared process S of
the same law. k companions then look through (s + (1−s)/k) Γ instead of Γ/k: at most 1/s times the loss, whatever k is.
But S is common to all: one person whose way is known (a parked vehicle, a driver on a timetable) gives it away, and k
companions are k looks through (1−s) Γ/k, which is *more* than without sharing. Sharing S only among companions would
choose the noise from the private traces, and the release would show who travels together
(`scripts/adversaries.py` computes it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.numbers.odds import odds_words
from sfumato.tracks.adversary.routine import companions_cost

SLOT_S, CELL_M = 300.0, 400.0
FEWEST_SLOTS, MOVED_M = 3, 200.0
MOST_KEYS, MOST_PAIRS = 1 << 19, 1 << 20
_CROWD = 60  # in one slot and cell: beyond it pairs are looked for among so many of them
_SPACE_BITS, _AXIS_BITS = 40, 20
_SLOTS_OF_AN_HOUR = 12


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """How many people travel together at most, and for how long at least two of them do. Private.

    ``hours`` and ``of_people`` are the shares that were looked at: one where all were.
    """

    people: int
    together_s: float
    hours: float = 1.0
    of_people: float = 1.0

    @property
    def alone(self) -> bool:
        """Whether nobody was found to travel with anybody."""
        return self.people < 2

    def sample_words(self) -> str:
        """What was not looked at; nothing where all was."""
        if self.hours == 1.0 and self.of_people == 1.0:
            return ""
        people = "" if self.of_people == 1.0 else f" and {100 * self.of_people:.2g} % of the people"
        return f" Looked for in {100 * self.hours:.2g} % of the hours{people}: there may be larger groups."


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Where and when people were, once for every person, slot and cell: the sorted keys, whose, and a position in it.

    Kept are hours and people whose hash is below ``hours`` and ``of_people``.
    """

    keys: IntArray
    owners: IntArray
    places_m: FloatArray
    hours: float = 1.0
    of_people: float = 1.0

    def save(self, path: Path) -> None:
        """Into a private file of a job."""
        with path.open("wb") as file:
            shares = np.array([self.hours, self.of_people])
            np.savez(file, keys=self.keys, owners=self.owners, places_m=self.places_m, shares=shares)

    @classmethod
    def load(cls, path: Path) -> Meetings:
        """What :meth:`save` wrote."""
        with np.load(path) as found:
            return cls(found["keys"], found["owners"], found["places_m"], *found["shares"].tolist())

    def at_most(self, count: int, hours: float = 1.0, of_people: float = 1.0) -> Meetings:
        """At most so many keys, and none beyond the shares of hours and people that others kept."""
        hours, of_people = min(self.hours, hours), min(self.of_people, of_people)
        if len(self.keys) <= count and (hours, of_people) == (self.hours, self.of_people):
            return self
        by_hour = _hashed(_hour_of(self.keys))
        by_person = _hashed(self.owners)
        kept = (by_hour < hours) & (by_person < of_people)
        if np.count_nonzero(kept) > count:
            least = float(by_hour[kept].min())
            hours = max(_share_of(by_hour[kept], count), float(np.nextafter(least, 1.0)))
            kept &= by_hour < hours
        if np.count_nonzero(kept) > count:  # one hour alone
            of_people = _share_of(by_person[kept], count)
            kept &= by_person < of_people
        return Meetings(self.keys[kept], self.owners[kept], self.places_m[kept], hours, of_people)


def _hour_of(keys: IntArray) -> IntArray:
    return (keys >> (_SPACE_BITS + 1)) // _SLOTS_OF_AN_HOUR


def _hashed(numbers: IntArray) -> FloatArray:
    """Numbers in [0, 1) that look drawn (Stafford's mixing of 64 bits), the same in every part of a table."""
    words = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _share_of(hashes: FloatArray, count: int) -> float:
    """Below which at most ``count`` of them lie."""
    return float(np.partition(hashes, count)[count])


def meetings(
    lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray, owners: IntArray, *, most: int = MOST_KEYS
) -> Meetings:
    """Of the rows of some people, each person's together; ``owners`` are numbers that no two people share."""
    # Cells that mean the same in every part: degrees scaled at the nearest whole latitude, good to parts in a hundred.
    scale = 111_195.0 * np.cos(np.radians(np.rint(lat_deg)))
    metres = np.column_stack([lon_deg * scale, 111_195.0 * lat_deg])
    cells = metres / CELL_M + (1 << (_AXIS_BITS - 1))
    slot = times_ms // int(1000 * SLOT_S)
    parts = []
    for grid in (0, 1):
        cell = (cells + 0.5 * grid).astype(np.int64)  # all positive, so this rounds down
        key = ((2 * slot + grid) << _SPACE_BITS) | cell[:, 0] << _AXIS_BITS | cell[:, 1]
        new = _changes(key) | _changes(owners)
        parts.append((key[new], owners[new], metres[new]))
    keys, whose, places = (np.concatenate(found) for found in zip(*parts, strict=True))
    order = np.argsort(keys, kind="stable")  # each person's rows are together, and stay so within a key
    keys, whose, places = keys[order], whose[order], places[order]
    new = _changes(keys) | _changes(whose)
    return Meetings(keys[new], whose[new], places[new]).at_most(most)


def all_meetings(parts: Iterable[Meetings]) -> Meetings:
    """Those of a whole table, from its parts, with at most :data:`MOST_KEYS` at any time."""
    whole = Meetings(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2)))
    for part in parts:
        if not whole.keys.size and whole.hours == whole.of_people == 1.0:
            whole = part
            continue
        part, whole = (
            part.at_most(MOST_KEYS, whole.hours, whole.of_people),
            whole.at_most(MOST_KEYS, part.hours, part.of_people),
        )
        keys, owners = np.append(whole.keys, part.keys), np.append(whole.owners, part.owners)
        places = np.concatenate([whole.places_m, part.places_m])
        whole = Meetings(keys, owners, places, part.hours, part.of_people).at_most(MOST_KEYS)
    order = np.argsort(whole.keys, kind="stable")
    return Meetings(whole.keys[order], whole.owners[order], whole.places_m[order], whole.hours, whole.of_people)


def worst_of(met: Meetings) -> WorstGroup:
    """The largest group among people who were in the same slots and cells."""
    first, sizes = _runs(met.keys)
    crowd = _crowd(sizes)
    owners = met.owners
    if owners.size and owners.max() >= owners.size:  # numbered over many parts
        owners = np.unique(owners, return_inverse=True)[1]
    people = int(owners.max(initial=0)) + 1
    one, other, group = _pairs(first, np.minimum(sizes, crowd))
    slot = met.keys >> (_SPACE_BITS + 1)
    slot -= slot.min(initial=0)
    pair = np.minimum(owners[one], owners[other]) * people + np.maximum(owners[one], owners[other])
    met_at = pair * (int(slot.max(initial=0)) + 1) + slot[one]
    order = np.argsort(met_at)  # several times as fast as by two numbers
    pair = pair[order]
    begins, looks = _runs(pair)
    slots = np.add.reduceat(_changes(met_at[order]).astype(np.int64), begins) if begins.size else begins
    often = slots >= FEWEST_SLOTS  # few pairs are: the rest is about them
    here = np.repeat(often, looks)
    one, other, group = (values[order[here]] for values in (one, other, group))
    slots, looks = slots[often], looks[often]
    if not slots.size:
        return WorstGroup(1, 0.0, met.hours, met.of_people)
    begins = np.cumsum(looks) - looks
    apart = met.places_m[one] - np.repeat(met.places_m[one[begins]], looks, axis=0)
    together = np.maximum.reduceat(np.hypot(apart[:, 0], apart[:, 1]), begins) >= MOVED_M
    if not together.any():
        return WorstGroup(1, 0.0, met.hours, met.of_people)
    here = np.repeat(together, looks)
    members = np.sort(np.concatenate([group[here] * people + owners[end[here]] for end in (one, other)]))
    members = members[_changes(members)]  # of millions np.unique would be ten times slower: it hashes
    linked = np.bincount(members // people, minlength=sizes.size)
    linked[(sizes > crowd) & (linked > 0)] = sizes[(sizes > crowd) & (linked > 0)]
    return WorstGroup(int(linked.max()), SLOT_S * int(slots[together].max()), met.hours, met.of_people)


def _changes(values: IntArray) -> BoolArray:
    return np.append(np.ones(min(1, values.size), dtype=bool), values[1:] != values[:-1])


def _runs(values: IntArray) -> tuple[IntArray, IntArray]:
    """Where runs of equal numbers begin, and how long they are."""
    begins = np.flatnonzero(_changes(values))
    return begins, np.diff(np.append(begins, values.size))


def _crowd(sizes: IntArray) -> int:
    """How many people of one slot and cell are paired: as many as make at most a million pairs, two at least."""
    for most in range(_CROWD, 2, -1):
        paired = np.minimum(sizes, most)
        if int((paired * (paired - 1) // 2).sum()) <= MOST_PAIRS:
            return most
    return 2


def _pairs(first: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Both places of every pair within runs that begin at ``first``, and the run's number."""
    ones, others, groups = ([np.zeros(0, np.int64)] for _ in range(3))
    for size in np.unique(sizes[sizes > 1]).tolist():
        runs = np.flatnonzero(sizes == size)
        low, high = np.triu_indices(size, 1)
        ones.append((first[runs, None] + low).ravel())
        others.append((first[runs, None] + high).ravel())
        groups.append(np.repeat(runs, low.size))
    return np.concatenate(ones), np.concatenate(others), np.concatenate(groups)


def group_words(group: WorstGroup, body: Mapping[str, object]) -> str:
    """What a group of companions gives away by a certificate, in words for whoever releases."""
    if group.alone:
        return f"Nobody was found to travel together.{group.sample_words()}"
    if body["mu"] is None:
        return "This mechanism promises nothing for groups."
    odds = odds_words(group_odds(group, body)) or "any size"
    return (
        f"Worst group: {group.people} people travel together, two of them for {group.together_s / 60:.0f} minutes. Of "
        f"their common way the release gives away odds of {odds}: leave all but one of them out, or use --redraws "
        f"{group.people}, which sizes the noise for such a group.{group.sample_words()}"
    )


def group_odds(group: WorstGroup, body: Mapping[str, object]) -> float | None:
    """The odds that the common way of a group is given away with, 99 times in 100; None where nothing is promised."""
    return None if group.alone or body["mu"] is None else companions_cost(body, group.people).odds_99
