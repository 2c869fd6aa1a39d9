"""The one door for people: a trace, a table of any library, a file or a fleet in; release, certificate, warnings out.

``sf.protect(df, person="cab_id", noise_m=150)`` takes pandas, GeoPandas, polars (lazy too), DuckDB, Arrow and their kin
(:mod:`sfumato.tracks.io.tables.kinds`). ``.frame`` has the same index, names, types and ids; of other columns only
those named in ``keep`` are in it, because nobody knows what they tell. Whatever holds several people, file, frame,
table or fleet, is one Arrow table here and goes through :func:`protect_arrow`; folders and clusters give their parts to
the same :func:`~sfumato.tracks.people.engine.protect_rows`. One track is one person's, and is drawn on its own
(:func:`~sfumato.tracks.people.noise.protect_by`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar, Unpack, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body
from sfumato.tracks.certificates.person_ids import distinct_ids, refuse_contacts
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.io import read_points, read_trace
from sfumato.tracks.io.draft import refuse_mostly_unusable
from sfumato.tracks.io.formats import format_named, format_of
from sfumato.tracks.io.tables.columns import column_names, columns_by_person
from sfumato.tracks.io.tables.kinds import as_arrow, library_of, like, trips_of_library
from sfumato.tracks.io.tables.point_table import PointTable, fleet_table
from sfumato.tracks.people.engine import protect_rows
from sfumato.tracks.people.layout import AskedOfReading, TableReading
from sfumato.tracks.people.noise import DrawnFrom, Protected, choose_for_people, protect_by
from sfumato.tracks.people.results import ProtectedFleet
from sfumato.tracks.people.rows import count_faults, fault_words, read_rows
from sfumato.tracks.plan import DEFAULT_MECHANISM, Plan, Wishes, plan_of


class SpeaksArrow(Protocol):
    """A table that can hand its columns over: pandas, GeoPandas, polars, DuckDB, Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class IsCollected(Protocol):
    """A table that is not computed yet (polars)."""

    def collect(self) -> object: ...


Frame = TypeVar("Frame", bound=SpeaksArrow | IsCollected)


class AskedOfTrace(Wishes, DrawnFrom, total=False):
    """What :func:`protect` takes of a trace."""

    person: str | None


class AskedOfTable(AskedOfTrace, AskedOfReading, total=False):
    """What :func:`protect` takes of a table."""

    trip: str | None
    strict: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedFrame(ProtectedFleet, Generic[Frame]):
    """A table that can be shared (``frame``) and its certificate; everything else here is private."""

    frame: Frame = None  # type: ignore[assignment]  # always given: fields after those with a default need one


@overload
def protect(data: Trace, **asked: Unpack[AskedOfTrace]) -> Protected: ...


@overload
def protect(data: Frame, **asked: Unpack[AskedOfTable]) -> ProtectedFrame[Frame]: ...


def protect(
    data: Trace | Frame,
    *,
    person: str | None = None,
    trip: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    one_person: bool = False,
    strict: bool = False,
    state: NoiseState | str | Path | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
    **wishes: Unpack[Wishes],
) -> Protected | ProtectedFrame[Frame]:
    """A trace or table that can be shared, and a certificate of what it still gives away.

    Ask with one of ``odds`` (posterior odds between two places at most ``radius_m`` apart, at any one moment, relative
    to prior odds, are at most this 99 times in 100), ``epsilon`` (Rényi, of order ``order``), ``noise_m`` or
    ``level``; nothing means odds of 5 at 200 m. ``mechanism``, ``prior_class``, ``prior``, ``redraws``,
    ``white_share``, ``constant_share``, ``snap_m``, ``round_to_m``, ``turning``, ``times`` and ``secrets`` are those of
    :class:`~sfumato.tracks.plan.Plan`; ``keep`` names what else is released, as it is; ``ids="random"`` gives people
    new ids (a frame keeps its own otherwise, because its owner joins them).

    Of a table, ``person`` names the column that says whose each row is, ``trip`` the one that tells a person's trips
    apart (found by its name where it is called trip_id, ride, journey, session ...), and a single column of moments is
    the time whatever its name; ``columns`` names others by role ({"lat": "Y"}), ``zone`` is the time zone of times
    without one, ``one_person`` says that all rows are one person's, ``strict`` refuses rows that cannot be used instead
    of leaving them out with a warning. People who travel together are warned of. Of a trace, ``person`` is the id that
    a ``state`` keeps this person's noise under.

    A ``state`` (or its file) makes the noise continue over releases; a new one is written to its file before this
    returns, unless ``save_state`` is False. ``rng`` is for simulations only: the release says so.
    """
    plan = plan_of(wishes)
    drawn = DrawnFrom(state=state, passphrase=passphrase, save_state=save_state, rng=rng)
    if isinstance(data, Trace):
        if columns or zone or one_person or strict or trip:
            raise InputError("columns, trip, zone, one_person and strict are for tables.", "Leave them out.")
        return protect_by(plan, data, person=person, **drawn)
    if not library_of(data) and not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            "That is neither a trace nor a table of points.",
            "Read files with sf.read_trace; give pandas, GeoPandas, polars, DuckDB or Arrow tables as they are.",
        )
    if person is not None and "id" in (columns or {}):
        raise InputError("The column of people is named twice.", "Give person=..., or an id among columns=....")
    if trip is not None and "segment" in (columns or {}):
        raise InputError("The column of trips is named twice.", "Give trip=..., or a segment among columns=....")
    named = {"id": person, "segment": trip or trips_of_library(data, person)}
    roles = {**{role: name for role, name in named.items() if name is not None}, **(columns or {})}
    done = protect_arrow(as_arrow(data), plan, TableReading(roles, zone, one_person), strict=strict, **drawn)
    warn_of(done)
    frame = like(data, done.done.table, np.flatnonzero(done.done.faults == 0))
    return ProtectedFrame(**done.parts(), frame=frame)  # type: ignore[arg-type]


def protect_fleet(plan: Plan, people: Sequence[tuple[str, Trace]], **drawn: Unpack[DrawnFrom]) -> ProtectedFleet:
    """Every person of a fleet by one plan, each with noise of their own."""
    names = [str(person) for person, _ in people]
    if len(set(names)) != len(names) or not names:
        raise InputError("A fleet needs at least one person, and each id once.", "Check the id column.")
    distinct_ids(names)
    table = fleet_table([(str(person), trace) for person, trace in people])
    reading = TableReading({name: name for name in ("id", "lat", "lon", "time", "segment")})
    dropped = tuple(dict.fromkeys(name for _, trace in people for name in trace.dropped))
    return replace(protect_arrow(table, plan, reading, fleet=True, **drawn), dropped=dropped)


def protect_arrow(
    table: pa.Table,
    plan: Plan,
    reading: TableReading,
    *,
    strict: bool = False,
    fleet: bool = False,
    random_ids: bool = False,
    key: bytes | None = None,
    job_key: bytes | None = None,
    **drawn: Unpack[DrawnFrom],
) -> ProtectedFleet:
    """Everybody in an Arrow table; released as it is laid out, or (``fleet``) as files of several people are.

    ``random_ids`` is what becomes of ids where the plan does not say: in memory they stay, because their owner joins
    them, unless they are e-mail addresses or telephone numbers.
    """
    if table.num_rows == 0:
        raise InputError("The table has no points.", "Give at least one row with a position and a time.")
    layout = reading.layout_of(table, plan.keep, plan.times)
    if key is not None and layout.person is None and not reading.one_person:
        raise InputError(
            "Under a key that is kept noise belongs to a person, and nothing says whose the rows are.",
            "Name the column of people; or say one_person=True, and keep this key for that person alone.",
        )
    rows = read_rows(table, layout)
    traces = rows.traces() if plan.mechanism != DEFAULT_MECHANISM else ()
    noise = choose_for_people(plan, traces, named=layout.person is not None, key=key, job_key=job_key, **drawn)
    noise = replace(noise, new_ids=random_ids if plan.ids is None else plan.ids == "random")
    if not noise.new_ids and plan.ids is None:
        refuse_contacts(rows.labels)
    done = protect_rows(table, layout, noise, rows=rows, by_people=fleet, fleet=fleet)
    faults = count_faults(done.faults)
    if faults and (strict or not len(done.labels)):
        raise InputError(fault_words(faults, table.num_rows), "Repair them, or leave strict out.")
    ids = layout.stated_ids(new=noise.new_ids, column="id" if fleet else None)
    terms = replace(noise.terms(), ids=ids, columns=tuple(done.table.column_names))
    if not (fleet or noise.new_ids) and layout.named_trips and layout.named_trips not in terms.kept:
        terms = replace(terms, kept=(*terms.kept, layout.named_trips))  # names that stay are named
    left = tuple(name for name in table.column_names if name not in layout.released)
    body = certificate_body(terms, done.content())
    return ProtectedFleet(table, layout, rows, done, body, left, terms, noise.state)


_LOOKED_AT = 20_000  # rows


def unnamed_trips(done: ProtectedFleet) -> list[str]:
    """Columns left out whose values come in runs of rows, each value once for a person: where no column is of trips."""
    if "segment" in done.layout.roles.by_role:
        return []
    table, found = done.source.slice(0, _LOOKED_AT), []
    whose = (
        np.zeros(table.num_rows, dtype=np.int64) if done.layout.person is None else _codes(table, done.layout.person)
    )
    for name in done.dropped:
        if pa.types.is_floating(table.schema.field(name).type) or pa.types.is_nested(table.schema.field(name).type):
            continue
        both = whose * (table.num_rows + 1) + _codes(table, name)
        runs, values = 1 + np.count_nonzero(np.diff(both)), len(np.unique(both))
        if len(np.unique(whose)) < values == runs <= table.num_rows / 2:
            found.append(name)
    return found


def _codes(table: pa.Table, name: str) -> IntArray:
    """A number for each value of a column."""
    column = pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode")
    return np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def warn_of(done: ProtectedFleet) -> None:
    """Rows that were left out, people who travel together, and ids that look like trips."""
    if faults := done.skipped:
        warnings.warn(fault_words(dict(faults), done.source.num_rows), stacklevel=3)
    if names := unnamed_trips(done):
        warnings.warn(
            f"Everybody is one trip, and {' and '.join(map(repr, names))}, left out, may tell trips apart: if so, name "
            "it (trip='NAME').",
            stacklevel=3,
        )
    group = done.worst_group()
    if not group.alone:
        warnings.warn(done.group_words(group), stacklevel=3)
    if chained := done.chain_words():
        warnings.warn(chained, stacklevel=3)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleRead:
    """What a file holds: one person's ``track`` (with the id that a table gave), or several people's ``points``."""

    reading: TableReading
    kept: tuple[str, ...]
    track: tuple[str | None, Trace] | None = None
    points: PointTable | None = None

    @classmethod
    def of(
        cls,
        source: Path,
        reading: TableReading,
        *,
        format: str | None = None,
        keep: Sequence[str] = (),
        keep_if_there: bool = False,
        small: bool = False,
    ) -> PeopleRead:
        """Read a file; a table with an id column may hold several people, ``small`` where they are taken one by one."""
        asked: dict[str, object] = {"format": format, "zone": reading.zone, "one_person": reading.one_person}
        asked |= {"keep": keep, "keep_if_there": keep_if_there}
        if not (format_named(format) if format else format_of(source)).people:
            trace = read_trace(source, columns=reading.columns, **asked)  # type: ignore[arg-type]
            return cls(reading, (*trace.columns, *trace.texts), (None, trace))
        columns = columns_by_person(column_names(source), reading.columns, one_person=reading.one_person) or None
        found = read_points(source, columns=columns, small=small, **asked)  # type: ignore[arg-type]
        reading = replace(reading, columns=columns)
        person = reading.layout_of(found.table).person
        if person is not None and len(found.table.column(person).unique().drop_null()) > 1:
            return cls(reading, tuple(found.roles.keep), points=found)
        [(identity, trace)] = found.traces()
        return cls(reading, (*trace.columns, *trace.texts), (identity or None, trace))

    def protect(
        self,
        plan: Plan,
        *,
        person: str | None = None,
        strict: bool = False,
        **drawn: Unpack[DrawnFrom],
    ) -> Protected | ProtectedFleet:
        """One track or everybody. ``person`` is whose a track without an id is.

        A table of which half cannot be used is refused, as any file is: then something else is wrong with it.
        """
        if self.track is None:
            assert self.points is not None
            table, roles = self.points.table, self.points.roles
            done = protect_arrow(table, plan, self.reading, strict=strict, fleet=True, random_ids=True, **drawn)
            refuse_mostly_unusable(done.skipped, table.num_rows)
            return replace(done, dropped=roles.dropped, unread=self.points.skipped)
        identity, trace = self.track
        whose = None if drawn.get("state") is None else identity or person
        return protect_by(plan, trace, person=whose, **drawn)


def read_people(
    source: Path, reading: TableReading, *, keep_if_there: Sequence[str] = ()
) -> list[tuple[str | None, Trace]]:
    """Everybody's track in a file: one person, or the people of a table with an id column."""
    found = PeopleRead.of(source, reading, keep=keep_if_there, keep_if_there=True)
    if found.track is not None:
        return [found.track]
    assert found.points is not None
    return [(person or None, trace) for person, trace in found.points.traces()]


def people_one_by_one(
    source: Path, reading: TableReading, *, keep_if_there: Sequence[str] = ()
) -> tuple[list[str | None], Iterator[tuple[str | None, Trace]]]:
    """Who is in a file, and their tracks, each made when it is asked for: a large table is held once, and small."""
    found = PeopleRead.of(source, reading, keep=keep_if_there, keep_if_there=True, small=True)
    if found.track is not None:
        return [found.track[0]], iter([found.track])
    assert found.points is not None
    whose, traces = found.points.one_by_one()
    return [person or None for person in whose], ((person or None, trace) for person, trace in traces)
