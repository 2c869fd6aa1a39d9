"""Who is left out in turn: days, to judge how far to walk; people, to tell what is chance.

A map is of the people who were released, so what judges it are *their* other days: a person's points of one day are
left out, and the map made without them is asked how likely they are. (People left out would judge a map of people like
these. Where everybody keeps to places of their own, such a map is nearly flat, and farther from these people than
counting.) That needs another day's noise to be another one: its constant part must have been told and taken out
(:mod:`~sfumato.tracks.answers.maps.offsets`), else two days of a person are wrong in the same way, and agree on it;
then people are left out. So they are where nobody has two days. And one person's few days say little about each other:
less than a week of one person judges nothing.

Intervals are over people, whom a larger fleet would have more of: there people are left out, all their days together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.tracks.answers.received import NoiseLaw

GROUPS = 20
DAY_GROUPS = 8  # enough to judge by; intervals need more
LEAST_DAYS = 7  # of one person alone
DAY_S = 86_400.0
_ALIKE = 0.01  # of the variance


def dealt(count: int, groups: int = GROUPS) -> IntArray:
    """The group of each person (or day), 0 .. min(count, groups) - 1: the same at every run (no secret is drawn)."""
    order = np.random.default_rng(0).permutation(count)
    group: IntArray = np.empty(count, dtype=np.int64)
    group[order] = np.arange(count) % min(count, groups)
    return group


def days_of(person: IntArray, times_s: FloatArray) -> IntArray:
    """Each point's day, numbered over all people: points of one person on one day have the same number."""
    if not len(person):
        return np.zeros(0, dtype=np.int64)
    day = np.floor(times_s / DAY_S).astype(np.int64)
    day -= day.min()
    numbered: IntArray = np.unique(person * (int(day.max()) + 1) + day, return_inverse=True)[1]
    return numbered


def split(values: IntArray, parts: Sequence[int]) -> list[IntArray]:
    """Consecutive pieces of these lengths."""
    return np.split(values, np.cumsum(parts)[:-1])


def other_by_day(laws: Sequence[NoiseLaw]) -> bool:
    """Whether the noise of the next day says nothing about today's."""
    return all(float(np.asarray(law.kernel(DAY_S))) < _ALIKE * law.variance_m2 for law in laws)


def dealt_days(days: IntArray, people: int) -> IntArray:
    """The group of each point by its day; one group where one of the ``people`` is all there are, for a few days."""
    count = int(days.max(initial=-1)) + 1
    if people == 1 and count < LEAST_DAYS:
        return np.zeros_like(days)
    return dealt(count, DAY_GROUPS)[days]


def largest_share(person: Sequence[int] | IntArray, mass: Sequence[float] | None = None) -> float:
    """What the person with most points (or trips, or seconds) has of all."""
    each = np.bincount(np.asarray(person, dtype=np.int64), weights=mass)
    return float(each.max(initial=0) / max(each.sum(), 1e-300))
