"""Which columns of a table are who, when and where, and which are released: under their own names and types.

Released are the id, the time, the position, the column that tells a person's trips apart, and what was asked to be
kept. Trips are numbered from 0 for each person where people get new ids, unless the column is called segment: their own
names may lead back to whoever made them.
Everything else stays behind, the file's metadata included: GeoParquet's bounding boxes are true ones.

Noise belongs to a person, so a person's column goes before a trip's: a table with both is read by person, its trips as
segments. Noise drawn trip by trip would be redrawn for every trip of the same person, and averages away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.tracks.certificates.person_ids import StatedIds
from sfumato.tracks.io.draft import Reading, plain
from sfumato.tracks.io.tables.columns import (
    NAMES,
    Roles,
    column_floats,
    columns_by_person,
    find_roles,
    geometry_column,
    with_time,
)
from sfumato.tracks.io.tables.wkb import encode_points
from sfumato.tracks.io.telltale import names_trips
from sfumato.tracks.io.times import format_times, parse_epochs

_E_SCALES = {"e7": 1e7, "e6": 1e6}
_RELEASED = ("id", "time", "segment", "lat", "lon", "geometry")
_UNITS = {"s": 1000, "ms": 1, "us": 1000, "ns": 1_000_000}  # per millisecond, but for seconds


@dataclass(frozen=True, slots=True)
class Layout:
    """Roles of columns, how they are read, and the names of those that are released, in the table's order."""

    roles: Roles
    reading: Reading
    released: tuple[str, ...]

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        *,
        columns: Mapping[str, str] | None = None,
        keep: Iterable[str] = (),
        zone: str | tzinfo | None = None,
        one_person: bool = False,
    ) -> Layout:
        """Found by names, or as ``columns`` says ({"id": "user_id", "lat": "Y"})."""
        names = [name for name in schema.names if not name.startswith("__index_level_")]
        given = columns_by_person(names, columns, one_person=one_person)
        given = with_time(schema, names, given)
        wanted = [keep] if isinstance(keep, str) else list(keep)
        part = find_roles(names, Reading.of(zone, given, (), one_person=one_person), geometry=geometry_column(schema))
        played = {part.by_role.get(role) for role in ("id", "time", "segment", "date")} & set(wanted)  # kept as it is
        reading = Reading.of(zone, given, [name for name in wanted if name not in played], one_person=one_person)
        if one_person and "id" in given:
            raise InputError("An id column and one person were asked for.", "Give one of the two.")
        roles = find_roles(names, reading, geometry=geometry_column(schema))
        shown = {roles.by_role[role] for role in _RELEASED if role in roles.by_role}
        if one_person:
            shown.discard(roles.by_role.get("id", ""))
        shown.update(roles.keep.values(), (name for name in played if name is not None))
        return cls(roles, reading, tuple(name for name in names if name in shown))

    @property
    def person(self) -> str | None:
        """The column of people; None where all rows are one person's."""
        return None if self.reading.one_person else self.roles.by_role.get("id")

    def stated_ids(self, *, new: bool, column: str | None = None) -> StatedIds | None:
        """What a certificate says of the ids; None where all rows are one person's."""
        if self.person is None:
            return None
        return StatedIds(column or self.person, kept=not new, trips=names_trips(self.person))

    @property
    def named_trips(self) -> str | None:
        """The column of trips with names of their own, which are not shown where people get new ids."""
        name = self.roles.by_role.get("segment")
        return None if name not in self.released or plain(name) in NAMES["segment"] else name

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys([*self.released, *self.roles.needed]))

    def carried_columns(self, schema: pa.Schema) -> list[str]:
        """The columns whose values a release needs beside people, positions and milliseconds as arrays."""
        roles = self.roles.by_role
        made = {roles.get(role) for role in ("lat", "lon", "geometry")} | {self.person}
        if _by_ms(schema.field(roles["time"]).type):
            made.add(roles["time"])
        wanted = (*self.released, *([roles["segment"]] if "segment" in roles else []))
        return [name for name in dict.fromkeys(wanted) if name not in made]

    def release(
        self,
        table: pa.Table,
        at: IntArray | None,
        degrees: tuple[FloatArray, FloatArray],
        moments: tuple[IntArray, IntArray],
        *,
        people: pa.DictionaryArray | None = None,
        trips: IntArray | None = None,
        schema: pa.Schema | None = None,
    ) -> pa.Table:
        """The released columns of the rows ``at`` (None: all of them), at new positions and at the times shown.

        ``moments`` are milliseconds as read and as shown; one array where they are the same. Where ``people`` are given
        (whose each released row is), ``table`` need hold the :meth:`carried_columns` only, and ``schema`` tells types;
        ``trips`` are numbers in the place of names.
        """
        roles, (lat_deg, lon_deg), places = self.roles.by_role, degrees, None if at is None else pa.array(at)
        schema = table.schema if schema is None else schema
        moved = {role: roles[role] for role in ("geometry", "lat", "lon") if role in roles}
        columns, fields = list[pa.Array](), list[pa.Field]()
        for name in self.released:
            field = schema.field(name)
            if people is not None and name == self.person:
                field = _id_field(field, people.dictionary.type)
            fields.append(field)
            if name == moved.get("geometry"):
                columns.append(_geometry(field.type, lat_deg, lon_deg))
            elif name in moved.values():
                columns.append(_degrees(field, lat_deg if name == moved["lat"] else lon_deg))
            elif name == roles["time"] and _by_ms(field.type):
                columns.append(_stamps(field.type, moments[1]))
            elif people is not None and name == self.person:
                columns.append(_people(people, field.type))
            elif trips is not None and name == self.named_trips:
                columns.append(_trips(trips, field.type))
            else:
                column = table.column(name) if places is None else table.column(name).take(places)
                columns.append(_moments(column, *moments) if name == roles["time"] else column)
        released = pa.schema(fields, metadata=_metadata(schema))
        return pa.table(columns, schema=released)

    def fleet(
        self,
        table: pa.Table,
        at: IntArray | None,
        degrees: tuple[FloatArray, FloatArray],
        shown_ms: IntArray,
        *,
        people: pa.DictionaryArray,
        segment: IntArray,
    ) -> pa.Table:
        """The same as files of several people are written: id, lat, lon, time, segment, and what is kept as numbers."""
        kept = {word: column_floats(table.column(name), name) for word, name in self.roles.keep.items()}
        columns = {
            "id": people.cast(pa.string()),
            "lat": pa.array(degrees[0]),
            "lon": pa.array(degrees[1]),
            "time": _stamps(pa.timestamp("us", tz="UTC"), shown_ms),
            "segment": pa.array(segment),
        }
        return pa.table(
            columns | {word: pa.array(values if at is None else values[at]) for word, values in kept.items()}
        )


class AskedOfReading(TypedDict, total=False):
    """What :class:`TableReading` takes, by name."""

    columns: Mapping[str, str] | None
    zone: str | None
    one_person: bool


@dataclass(frozen=True, slots=True)
class TableReading:
    """How a table is read, said once for every door: its columns by role, the zone of its times, whose it is."""

    columns: Mapping[str, str] | None = None
    zone: str | None = None
    one_person: bool = False

    def layout(
        self, schema: pa.Schema, keep: Sequence[str] = (), times: str = "keep", *, declared: bool = False
    ) -> Layout:
        """With the times a date beside the time of day is kept; one that is kept beside times that hide it is refused.

        ``declared``: refused where nothing says whose each row is.
        """
        layout = Layout.of(schema, columns=self.columns, keep=keep, zone=self.zone, one_person=self.one_person)
        date = layout.roles.by_role.get("date")
        if times == "keep" and date is not None and date not in keep:
            return self.layout(schema, (*keep, date), times, declared=declared)
        if times != "keep" and date in layout.released:
            raise InputError(f"Column '{date}' tells what --times {times} hides.", "Leave one of the two out.")
        if declared and layout.roles.names_nobody(layout.reading):
            raise InputError(
                "No column of the dataset is known to say whose each row is.",
                "Name it (--user-column user_id, columns={'id': 'user_id'}), or say --one-person (one_person=True); "
                f"its columns: {', '.join(schema.names)}.",
            )
        return layout

    def layout_of(self, table: pa.Table, keep: Sequence[str] = (), times: str = "keep") -> Layout:
        """That of a table whose rows can be looked at: a number for each row is nobody's name."""
        layout = self.layout(table.schema, keep, times)
        name = layout.person
        if name is None or "id" in (self.columns or {}):
            return layout
        different = len(table.column(name).unique().drop_null())
        if plain(name) not in ("id", "uid", "tid") or different < table.num_rows or table.num_rows == 1:
            if names_trips(name) and different > 1:
                raise InputError(
                    f"Column '{name}' names {different} trips, and nothing says whose they are.",
                    "Noise belongs to a person: drawn anew for every trip it averages away. Name the column of people "
                    f"(person=..., --column id=...); trips are then its segments. If all of them are one person's: "
                    f"one_person=True (--one-person). If nobody knows: person='{name}' (--column id={name}), and the "
                    "certificate says that it promises for each trip by itself.",
                )
            return layout
        return replace(self, one_person=True).layout(table.schema, keep, times)


def _metadata(schema: pa.Schema) -> dict[bytes, bytes] | None:
    """GeoParquet's own, without the boxes of where everything truly was; nothing else."""
    text = (schema.metadata or {}).get(b"geo")
    if text is None:
        return None
    geo = json.loads(text)
    for column in geo["columns"].values():
        column.pop("bbox", None)
        column.pop("covering", None)
    geo["columns"] = {name: column for name, column in geo["columns"].items() if name == geo["primary_column"]}
    return {b"geo": json.dumps(geo).encode()}


def _id_field(field: pa.Field, kind: pa.DataType) -> pa.Field:
    """The column of people as it was, or of the type of new ids where it cannot hold those."""
    held = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    texts = pa.types.is_string(kind) and (pa.types.is_string(held) or pa.types.is_large_string(held))
    return field if held == kind or texts or not pa.types.is_string(kind) else field.with_type(kind)


def _people(people: pa.DictionaryArray, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(people.indices, people.dictionary.cast(kind.value_type)).cast(kind)
    return people.dictionary.cast(kind).take(people.indices)


def _trips(numbers: IntArray, kind: pa.DataType) -> pa.Array:
    """Numbers of trips in a column's own type."""
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        out = pa.array(numbers).cast(held)
    except pa.ArrowException:
        raise InputError("Trips are told apart by no numbers or texts.", "Leave that column out.") from None
    return out.dictionary_encode().cast(kind) if held != kind else out


def _geometry(kind: pa.DataType, lat_deg: FloatArray, lon_deg: FloatArray) -> pa.Array:
    storage = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
    if pa.types.is_struct(storage):
        by_name = {"x": lon_deg, "y": lat_deg}
        fields = list(storage)
        values = [pa.array(by_name.get(field.name, np.full(len(lat_deg), np.nan))).cast(field.type) for field in fields]
        out = pa.StructArray.from_arrays(values, fields=fields)
    elif pa.types.is_fixed_size_list(storage):
        if storage.list_size != 2:
            raise InputError("The points have more than two coordinates.", "Give points of longitude and latitude.")
        flat = pa.array(np.column_stack((lon_deg, lat_deg)).ravel()).cast(storage.value_type)
        out = pa.FixedSizeListArray.from_arrays(flat, type=storage)
    elif pa.types.is_string(storage) or pa.types.is_large_string(storage):
        texts = [f"POINT ({x:.7f} {y:.7f})" for x, y in zip(lon_deg.tolist(), lat_deg.tolist(), strict=True)]
        out = pa.array(texts, storage)
    else:
        blob = pa.py_buffer(encode_points(lat_deg, lon_deg))
        out = pa.Array.from_buffers(pa.binary(21), len(lat_deg), [None, blob]).cast(storage)
    return pa.ExtensionArray.from_storage(kind, out) if isinstance(kind, pa.ExtensionType) else out


def _degrees(field: pa.Field, degrees: FloatArray) -> pa.Array:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    scale = _E_SCALES.get(plain(field.name)[-2:])
    scaled = degrees if scale is None else degrees * scale
    if pa.types.is_integer(kind):
        out = pa.array(np.rint(scaled).astype(np.int64)).cast(kind)
    elif pa.types.is_floating(kind):
        out = pa.array(scaled) if pa.types.is_float64(kind) else pa.array(scaled).cast(kind, safe=False)
    elif pa.types.is_decimal(kind):
        out = pc.round(pa.array(scaled), min(kind.scale, 7)).cast(kind, safe=False)
    else:
        out = pa.array([f"{value:.7f}" for value in scaled.tolist()], kind)
    return out.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else out


def seven_decimals(field: pa.Field) -> bool:
    """Whether a column of positions has room for a degree's seven decimals, and so for the public grid."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    kind = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
    if pa.types.is_struct(kind):
        return all(seven_decimals(inner) for inner in kind)
    if pa.types.is_fixed_size_list(kind):
        return seven_decimals(kind.value_field)
    if pa.types.is_integer(kind):
        return plain(field.name).endswith("e7")
    return kind.scale >= 7 if pa.types.is_decimal(kind) else not pa.types.is_floating(kind) or kind.bit_width == 64


def _by_ms(kind: pa.DataType) -> bool:
    """Whether a time of this type follows from milliseconds of UTC."""
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _stamps(kind: pa.DataType, times_ms: IntArray) -> pa.Array:
    per = _UNITS[kind.unit]
    whole = times_ms // 1000 if kind.unit == "s" else times_ms if per == 1 else times_ms * per
    return pa.array(whole).view(kind)


def _moments(column: pa.ChunkedArray, read_ms: IntArray, shown_ms: IntArray) -> pa.Array:
    """Milliseconds in the column's own type; a clock without a zone moves by as much as the moment did."""
    kind = column.type
    if pa.types.is_timestamp(kind):  # a local clock: the same difference
        old, per = column.cast(pa.int64()).to_numpy(zero_copy_only=False), _UNITS[kind.unit]
        old_ms = old * 1000 if kind.unit == "s" else np.rint(old / per).astype(np.int64)
        return _stamps(kind, old_ms + (shown_ms - read_ms))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        per_s = 1.0
        for scale in (1e9, 1e6, 1e3):
            if np.array_equal(parse_epochs(numbers), numbers / scale) and numbers.any():
                per_s = scale
                break
        if pa.types.is_integer(kind):
            whole = shown_ms // 1000 if per_s == 1.0 else shown_ms * int(per_s // 1000)
            return pa.array(whole).cast(kind)
        return pa.array(shown_ms / 1000.0 * per_s).cast(kind, safe=False)
    if read_ms is shown_ms:
        return column.combine_chunks()
    return pa.array(format_times(shown_ms / 1000.0), kind)
