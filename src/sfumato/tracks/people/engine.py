"""Protect the rows of a table: judged, put by person and time, moved, and given back as they were laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import Released
from sfumato.tracks.certificates.person_ids import distinct_ids, new_ids
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import Noise, PeopleRows
from sfumato.tracks.people.rows import (
    FAULTS,
    SAME_TIME,
    Faults,
    Rows,
    by_person,
    by_time,
    floats_at,
    ints_at,
    read_rows,
    repeat_each,
    second_at_a_time,
)
from sfumato.tracks.plan import Times


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedRows:
    """``table`` is what may be released; ``faults`` says of every row that was given why it is not in it (0: it is).

    ``labels`` are the people in the order in which they come first, ``starts`` where each begins in ``lat_deg``,
    ``lon_deg`` and ``times_ms``, which are the released ones by person, in the order of the table. ``places`` are the
    rows of the table that these come from; None where they lie there in this order. ``given`` are the ids that the
    people came under, where they got new ones.
    """

    table: pa.Table
    faults: Faults
    labels: tuple[str | None, ...]
    starts: IntArray
    lat_deg: FloatArray
    lon_deg: FloatArray
    times_ms: IntArray
    places: IntArray | None = None
    given: tuple[str, ...] = ()

    @property
    def id_pairs(self) -> list[tuple[str, str]]:
        """Ids as given and as released, where they are new. Private."""
        return list(zip(self.given, map(str, self.labels), strict=bool(self.given)))

    def content(self) -> Released:
        """What a certificate is made from."""
        parts = [slice(a, b) for a, b in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)]
        return Released(
            people=self.labels if len(self.labels) != 1 else (None,),
            times_s=tuple(self.times_ms[part] / 1000.0 for part in parts),
            lat_deg=tuple(self.lat_deg[part] for part in parts),
            lon_deg=tuple(self.lon_deg[part] for part in parts),
        )


def protect_rows(
    table: pa.Table,
    layout: Layout,
    noise: Noise,
    *,
    by_people: bool = False,
    rows: Rows | None = None,
    schema: pa.Schema | None = None,
    fleet: bool = False,
) -> ProtectedRows:
    """Every usable row moved; in the order of the table, or each person's rows together (``by_people``).

    With ``rows`` and ``schema`` given, the table need hold no more than :meth:`Layout.carried_columns` says. What is
    released is laid out like the table, or (``fleet``, person by person) as files of several people are.
    """
    rows = read_rows(table, layout) if rows is None else rows
    good = rows.good if rows.faults.any() else None
    at, order, starts, present = _by_people(rows, good)
    labels = [rows.labels[place] for place in present.tolist()]
    names: Sequence[str | None] = [None] if layout.person is None else distinct_ids(labels)
    ids, given = None, tuple[str, ...]()
    if noise.new_ids and rows.ids is not None:
        ids, given = new_ids(noise.id_key(), names, rows.ids.type), tuple(labels)
        labels = [str(value) for value in ids.to_pylist()]
    elif (schema is not None or fleet) and rows.ids is not None:
        ids = rows.ids.take(pa.array(present))
    read_ms = rows.times_ms if at is None else ints_at(rows.times_ms, at)
    places = by_time(read_ms, starts)
    sorted_at, sorted_ms = at, read_ms
    if places.size:
        sorted_at, sorted_ms = places if at is None else ints_at(at, places), ints_at(read_ms, places)
    again = second_at_a_time(sorted_ms, starts)
    if again.size:  # positions of one moment get one noise, so the way between them would be released
        faults = rows.faults.copy()
        faults[again if sorted_at is None else sorted_at[again]] = FAULTS.index(SAME_TIME)
        less = replace(rows, faults=faults)
        return protect_rows(table, layout, noise, by_people=by_people, rows=less, schema=schema, fleet=fleet)
    if fleet:  # whose files are read again as tracks, in order of time
        at, read_ms, places = sorted_at, sorted_ms, places[:0]
    where = rows.lat_deg, rows.lon_deg
    if sorted_at is not None:
        where = floats_at(rows.lat_deg, sorted_at), floats_at(rows.lon_deg, sorted_at)
    lat, lon = noise.move(PeopleRows(*where, sorted_ms, starts, names[: len(labels)]))
    if places.size:
        lat, lon = _back(lat, places), _back(lon, places)
    shown_ms = _shown(noise, table, layout, at, read_ms, starts)
    spread = slice(None) if by_people or order is None else _inverse(order)
    shown = read_ms[spread] if shown_ms is read_ms else shown_ms[spread]
    moments = (shown, shown) if shown_ms is read_ms else (read_ms[spread], shown)
    out_at = at if by_people else good
    people = None
    if ids is not None:
        whose = repeat_each(np.arange(len(labels)), np.diff(starts))[spread]
        people = pa.DictionaryArray.from_arrays(pa.array(whose), ids)
    where = lat[spread], lon[spread]
    if fleet:
        assert people is not None
        segment = segments_of(table, layout, at, starts)
        out = layout.fleet(table, out_at, where, shown, people=people, segment=segment)
    else:
        trips = segments_of(table, layout, at, starts)[spread] if noise.new_ids and layout.named_trips else None
        out = layout.release(table, out_at, where, moments, people=people, trips=trips, schema=schema)
    if not Times.parse(noise.plan.times).shown:
        out = out.drop_columns(["time" if fleet else layout.roles.by_role["time"]])
    return ProtectedRows(out, rows.faults, tuple(labels), starts, lat, lon, shown_ms, at, given)


def _by_people(rows: Rows, good: IntArray | None) -> tuple[IntArray | None, IntArray | None, IntArray, IntArray]:
    """The usable rows person after person (None: as they lie), their places among usable ones, starts, who has any."""
    order: IntArray | None = None
    if rows.starts is None:
        codes = rows.codes if good is None else ints_at(rows.codes, good)
        order, starts = by_person(codes, len(rows.labels))
        at: IntArray | None = order if good is None else ints_at(good, order)
    else:
        at = good
        starts = rows.starts if good is None else np.searchsorted(good, rows.starts)
    present = np.flatnonzero(np.diff(starts))
    return at, order, np.append(starts[present], starts[-1]), present


def _inverse(order: IntArray) -> IntArray:
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    return back


def _back(values: FloatArray, places: IntArray) -> FloatArray:
    out = np.empty_like(values)
    out[places] = values
    return out


def _shown(
    noise: Noise, table: pa.Table, layout: Layout, at: IntArray | None, times_ms: IntArray, starts: IntArray
) -> IntArray:
    """The times released, person by person; a ride is a person's segment where a column tells segments."""
    times = Times.parse(noise.plan.times)
    if times.kind == "keep" or not times_ms.size:
        return times_ms
    if times.kind in ("shift", "coarse"):  # the same for everybody
        dummy = Trace(np.zeros(times_ms.size), np.zeros(times_ms.size), times_ms / 1000.0, np.arange(times_ms.size))
        changed = times.apply(dummy, noise.shift_key()).times_s
        return np.rint(changed * 1000.0).astype(np.int64)
    if times.kind == "drop":
        return np.zeros_like(times_ms)
    ride = segments_of(table, layout, at, starts)
    new = np.append(True, ride[1:] != ride[:-1])
    new[starts[:-1]] = True
    begins = np.flatnonzero(new)
    first = np.minimum.reduceat(times_ms, begins)
    shown: IntArray = times_ms - np.repeat(first, np.diff(np.append(begins, times_ms.size)))
    return shown


def segments_of(table: pa.Table, layout: Layout, at: IntArray | None, starts: IntArray) -> IntArray:
    """The segment of each row, person after person: 0, 1, 2 ... where a person's label changes; 0 without labels."""
    ride: IntArray = np.zeros(int(starts[-1]), dtype=np.int64)
    name = layout.roles.by_role.get("segment")
    if name is None or not ride.size:
        return ride
    encoded = table.column(name).combine_chunks().dictionary_encode()
    array = pa.concat_arrays(encoded.chunks) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)[slice(None) if at is None else at]
    ride[1:] = codes[1:] != codes[:-1]
    ride[starts[:-1]] = 0
    np.cumsum(ride, out=ride)
    return ride - np.repeat(ride[starts[:-1]], np.diff(starts))
