"""What one person may add to a table: bounded for each person by themselves, so that the noise can be set for it.

Two data sets are *neighbours* where one holds one person more, with everything they ever did. A table of counts is the
sum of one vector v_p (whole numbers, one for each key) for each person p, and here v_p is a function of p's own rows
and of randomness drawn for p alone. So neighbours differ in one summand,

    |Σ_p v_p - Σ_{p ≠ q} v_p|₁ = |v_q|₁ ≤ B,

whatever q's rows are: the L1 sensitivity is B. Where v_p depends on randomness, this holds for every value of it (the
others' has the same law with and without q), so a mechanism that is ε-private for any fixed value is ε-private for
its mixture. Two ways to have |v_p|₁ ≤ B:

* :func:`at_most`: of a person's rows at most B, each subset of so many as likely as any other.
* :func:`shared_out`: every person adds exactly B, divided over keys as their rows are (largest remainders, ties to the
  earlier key). No row is lost, and everybody counts the same: a person with a million rows weighs what one with two
  does. Half of a day in a place is half a person there.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import IntArray
from sfumato.base.randomness import Randomness
from sfumato.tracks.aggregates.person_rows import PersonRows

PARTS = 1000
"""Into so many parts a person is divided by :func:`shared_out`."""


def at_most(rows: PersonRows, keys: int, bound: int, source: Randomness) -> IntArray:
    """How many rows each key has, at most ``bound`` of any person."""
    order = np.lexsort((source.uniforms(len(rows.person)), rows.person))
    kept = order[_rank(rows.person[order]) < bound]
    return np.bincount(rows.key[kept], minlength=keys).astype(np.int64)


def shared_out(rows: PersonRows, keys: int, parts: int = PARTS) -> IntArray:
    """How many parts each key has, ``parts`` of every person."""
    pair, count = np.unique(rows.person * keys + rows.key, return_counts=True)
    person, key = pair // keys, pair % keys
    if not pair.size:
        return np.zeros(keys, dtype=np.int64)
    every = np.bincount(person, weights=count).astype(np.int64)[person]
    whole, rest = np.divmod(parts * count.astype(np.int64), every)
    left = parts - np.bincount(person, weights=whole).astype(np.int64)
    order = np.lexsort((key, -(rest / every), person))
    whole[order] += _rank(person[order]) < left[person[order]]
    return np.bincount(key, weights=whole, minlength=keys).astype(np.int64)


def rows_each(rows: PersonRows) -> IntArray:
    """How many rows each person has, of those who have any."""
    return np.unique(rows.person, return_counts=True)[1].astype(np.int64)


def _rank(person: IntArray) -> IntArray:
    """0, 1, 2 ... within each run of one person."""
    if not person.size:
        return person
    fresh = np.flatnonzero(np.diff(person, prepend=person[0] - 1))
    return np.arange(person.size) - np.repeat(fresh, np.diff(np.append(fresh, person.size)))
