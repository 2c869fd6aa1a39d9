"""Whose releases they are, and how much time a point stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Received

LONGEST_GAP_S = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One person's releases, each with its law."""

    releases: tuple[tuple[NoiseLaw, Trace], ...]


def people_of(received: Sequence[Received], *, each_release_a_person: bool = False) -> list[Person]:
    """People by id. Releases of one track without an id are one person's, unless each is said to be another's:
    taking one person for many would make intervals too short.
    """
    found: dict[object, list[tuple[NoiseLaw, Trace]]] = {}
    for place, one in enumerate(received):
        for identity, trace in one.people:
            key = identity if identity is not None else (place if each_release_a_person else None)
            found.setdefault(key, []).append((one.law, trace))
    return [Person(tuple(releases)) for releases in found.values()]


def recorded(gaps_s: FloatArray) -> BoolArray:
    """Which steps were recorded: not those across a pause (longer than ten minutes, and than three usual steps)."""
    usual = float(np.median(gaps_s)) if gaps_s.size else 0.0
    return np.asarray(gaps_s <= max(LONGEST_GAP_S, 3 * usual))


def time_weights(trace: Trace) -> FloatArray:
    """Seconds that each point stands for: half the way to its neighbours in time within its segment.

    A pause of more than ten minutes counts as ten: what happened in between is not known.
    """
    order = np.lexsort((trace.times_s, trace.segment))
    gap = np.minimum(np.diff(trace.times_s[order]), LONGEST_GAP_S)
    gap = np.where(np.diff(trace.segment[order]) == 0, gap, 0.0)
    seconds = np.zeros(len(order))
    seconds[:-1] += gap / 2
    seconds[1:] += gap / 2
    out: FloatArray = np.empty(len(order))
    out[order] = seconds
    return out
