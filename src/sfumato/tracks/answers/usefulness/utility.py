"""How useful a release is: its answers beside the truth, for everybody together and for each person. Private."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer, plain_fields
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.maps.cells import Bounds
from sfumato.tracks.answers.received import Received, names_of, receive
from sfumato.tracks.answers.usefulness.measures import (
    FLOW_CELLS_M,
    HEAT_CELLS_M,
    MapsAsked,
    People,
    Quality,
    maps_counted,
    maps_measured,
    mean_measures,
    rectangle,
)
from sfumato.tracks.answers.usefulness.travel import Travel
from sfumato.tracks.certificates.build import rounded_times
from sfumato.tracks.io import read_trace, read_traces
from sfumato.tracks.io.formats import format_of
from sfumato.tracks.io.tables.columns import column_names, columns_by_person

Given = Trace | People | str | Path | object  # or a table
_TABLES = ("csv", "parquet", "geoparquet")
PRIVATE = "Private: computed from the original. Keep it to yourself."
MOST_PEOPLE, MOST_PEOPLE_QUICK = 60, 12  # of whom every person's own measures are worked out


@dataclass(frozen=True, slots=True)
class PersonUtility:
    """One person's answers (``person`` None for a single track); ``error_m`` is the median distance from the truth."""

    person: str | None
    points: int
    error_m: float
    measures: tuple[Quality, ...]

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True, repr=False)
class Utility(ShownAnswer):
    """All people together, each of (at most sixty of) them, and what a reader must know."""

    people: int
    points: int
    error_m: float
    measures: tuple[Quality, ...]
    persons: tuple[PersonUtility, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {"private": True, **plain_fields(self)}


def utility(
    original: Given,
    release: Given,
    certificate: str | Path | Mapping[str, object] | Sequence[str | Path | Mapping[str, object]] | None = None,
    *,
    heat_cells_m: Sequence[float] = HEAT_CELLS_M,
    flow_cells_m: Sequence[float] = FLOW_CELLS_M,
    bounds: Bounds | None = None,
    step: Callable[[], None] = lambda: None,
) -> Utility:
    """How far a release's answers are from the truth, naive and (with its certificate) corrected.

    ``original`` and ``release`` are a track, (id, track) of each person in the same order, a file, or a table (pandas,
    polars, Arrow). With a list of certificates ``release`` is a list of as many releases, each with its own law, of
    the original's people, who are matched by their ids. ``step`` is called after everybody together and after each
    person. Private.
    """
    people, asked = as_people(original), MapsAsked(tuple(heat_cells_m), tuple(flow_cells_m), bounds)
    if certificate is None:
        return useful(people, as_people(release), (), asked, step)
    pairs: list[tuple[Given, str | Path | Mapping[str, object]]] = []
    if isinstance(certificate, str | Path | Mapping):
        pairs = [(release, certificate)]
    else:
        if not isinstance(release, list | tuple) or len(release) != len(certificate):
            raise InputError("There are not as many releases as certificates.", "Give one certificate for each.")
        pairs = list(zip(release, certificate, strict=True))
    received = [receive(list(as_people(one)), document) for one, document in pairs]
    others = [person for one in received for person in one.people]
    return useful(in_order_of(people, others), others, received, asked, step)


def in_order_of(people: People, others: People) -> People:
    """The people in the order of others, where several are told by their ids."""
    by_name = dict(people)
    names = [name for name, _ in others]
    if len(people) < 2 or sorted(map(str, by_name)) != sorted(map(str, names)) or len(by_name) != len(people):
        return people
    return [(name, by_name[name]) for name in names]


def as_people(given: Given) -> People:
    """One track is one person without a name; the people of a file or a table are told by its id column."""
    people: list[tuple[str | None, Trace]]
    if isinstance(given, Trace):
        people = [(None, given)]
    elif not isinstance(given, str) and isinstance(given, list | tuple):
        people = list(given)
    elif isinstance(given, str | Path) and format_of(Path(given)).name not in _TABLES:
        people = [(None, read_trace(given))]
    else:
        names = column_names(Path(given)) if isinstance(given, str | Path) else names_of(given)
        people = [(name or None, trace) for name, trace in read_traces(given, columns=columns_by_person(names))]
    if not people:
        raise InputError("There is nobody here.", "Give at least one track.")
    return [(person, rounded_times(trace)) for person, trace in people]


def useful(
    people: People,
    others: People,
    received: Sequence[Received],
    asked: MapsAsked,
    step: Callable[[], None] = lambda: None,
) -> Utility:
    """:func:`utility` of people in memory, with the law of the noise at hand."""
    _check_same(people, others)
    noise_m = min((one.law.noise_m for one in received), default=0.0)
    chosen, notes = rectangle([trace for _, trace in people], asked, noise_m)
    travel = Travel(people, others, received, quick=asked.quick)
    ways, whose = travel.everybody()
    whole = (*ways, *maps_measured(people, others, received, chosen))
    notes += whose
    step()
    each: list[PersonUtility] = []
    some = shown_people(len(people), quick=asked.quick)
    for k in some if len(people) > 1 else ():
        one, other = [people[k]], [others[k]]
        rows = (*travel.person(k), *maps_counted(one, other, chosen))
        each.append(PersonUtility(people[k][0], len(people[k][1]), error_m(one, other), rows))
        step()
    if len(each) and len(some) < len(people):
        notes.append(f"{len(some)} of {len(people)} people, evenly chosen, are shown one by one.")
    points = sum(len(trace) for _, trace in people)
    return Utility(len(people), points, error_m(people, others), whole, tuple(each), tuple(notes))


def shown_people(people: int, *, quick: bool = False) -> list[int]:
    """Which people are shown one by one: evenly chosen."""
    most = MOST_PEOPLE_QUICK if quick else MOST_PEOPLE
    return [int(k) for k in evenly(people, most)]


def error_m(people: People, others: People) -> float:
    """The median distance of released points from the true ones."""
    apart = [
        np.linalg.norm(differences_m(one.lat_deg, one.lon_deg, other.lat_deg, other.lon_deg), axis=1)
        for (_, one), (_, other) in zip(people, others, strict=True)
    ]
    return float(np.median(np.concatenate(apart)))


def mean_utility(draws: Sequence[Utility]) -> Utility:
    """The mean over several releases of the same people."""
    persons = tuple(
        PersonUtility(
            rows[0].person,
            rows[0].points,
            float(np.mean([row.error_m for row in rows])),
            mean_measures([row.measures for row in rows]),
        )
        for rows in zip(*(draw.persons for draw in draws), strict=True)
    )
    first, error = draws[0], float(np.mean([draw.error_m for draw in draws]))
    return Utility(
        first.people, first.points, error, mean_measures([one.measures for one in draws]), persons, first.notes
    )


def _check_same(people: People, others: People) -> None:
    if [person for person, _ in people] != [person for person, _ in others] and len(people) != 1:
        raise InputError("The original and the release hold different people.", "Give the release of this original.")
    if len(people) != len(others) or any(len(a) != len(b) for (_, a), (_, b) in zip(people, others, strict=True)):
        raise InputError(
            "The original and the release differ in their number of points.", "Give the release of this original."
        )
