"""Traces of GeoLife's people in two halves: one to choose things on, one that no choice has looked at.

The people of ../shared/data are all development people of the project. *Held out* here means: every second person (in
the order of their ids), for what was chosen on the others. Needs ../shared/data.
"""

from __future__ import annotations

import numpy as np

from evidence_geolife import SHARED, _columns, _pieces
from sfumato.base.things.traces import Trace

HERE = SHARED.exists()


def people_in_halves(each: int = 3, *, seed: int = 11, fewest: int = 10) -> tuple[list[tuple[str, Trace]], ...]:
    """(chosen on, held out): up to ``each`` random traces of every person, with at least ``fewest`` moments."""
    rng = np.random.default_rng(seed)
    people: dict[str, list[tuple[str, Trace]]] = {}
    for name, trace in _pieces(_columns("geolife/geolife_traces.parquet"), ["user_id", "trajectory_id"]):
        if len(np.unique(trace.times_s)) >= fewest:
            people.setdefault(name.split("/")[0], []).append((name, trace))
    halves: tuple[list[tuple[str, Trace]], ...] = ([], [])
    for number, person in enumerate(sorted(people)):
        own = people[person]
        halves[number % 2].extend(own[i] for i in rng.permutation(len(own))[:each])
    return halves
