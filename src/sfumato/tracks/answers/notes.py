"""What a reader must know of an answer: sentences that travel with it, in Python, in files, on cards, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.answers.received import Received

SEEDED = "A simulation: a release was drawn from a seed, so whoever knows it can take the noise out altogether."
MOSTLY_ONE = 0.3  # of the points
PAUSE_S = 3600.0


def release_notes(received: Sequence[Received], *, trips: bool = False) -> list[str]:
    """Of the releases: whether one was drawn from a seed, and where trips are asked for, whether they are trips."""
    return [*(pause_notes(received) if trips else []), *([SEEDED] if any(one.simulation for one in received) else [])]


def crowd_notes(people: int, largest: float, things: str, outside: int) -> list[str]:
    """Of the people on a map: too few for intervals, one who has most of the map, what lies outside."""
    said = []
    if people < LEAST_PEOPLE:
        said.append("No intervals: they are over people, and there are too few here.")
    if people > 1 and largest > MOSTLY_ONE:
        said.append(f"One person has {100 * largest:.0f} % of the {things}: the map is mostly of that person.")
    if outside:
        said.append(f"{count_of(outside, things[:-1])} outside the rectangle left out.")
    return said


def pause_notes(received: Sequence[Received]) -> list[str]:
    """A line where trips have long pauses in them: whoever gave no segments has whole weeks for trips."""
    counts = [count_pauses(trace) for one in received for _, trace in one.people]
    with_pauses, trips = (sum(one[part] for one in counts) for part in (0, 1))
    if not with_pauses:
        return []
    return [
        f"{with_pauses} of {trips} trips have a pause of more than an hour in them. A trip is one segment of a track; "
        "a table of people tells trips apart by a column called segment (protect --column segment=NAME)."
    ]


def count_pauses(trace: Trace) -> tuple[int, int]:
    """How many segments have a pause of more than an hour in them, of how many: those are hardly one trip each."""
    order = np.lexsort((trace.times_s, trace.segment))
    long = (np.diff(trace.times_s[order]) > PAUSE_S) & (np.diff(trace.segment[order]) == 0)
    return len(np.unique(trace.segment[order][1:][long])), trace.segments
