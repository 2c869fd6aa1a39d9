"""Tables of points, one row each: columns found by their common names, or given; one trace, or a fleet by id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.errors import InputError
from sfumato.tracks.io.draft import Reading, canonical, degrees, looks_like_position, plain, require_kept
from sfumato.tracks.io.tables.wkb import is_empty, points_from_texts, points_from_wkb
from sfumato.tracks.io.times import mixed_times, parse_epochs, parse_times, zone_named


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The noise is one process per person, so a person's name comes before a trip's.
PEOPLE = _words(
    "userid user uid personid person participantid participant subjectid individualid agentid animalid "
    "ownerid entityid vehicleid vehicle deviceid cabid cab taxiid taxi driverid driver mmsi"
)
_TRIPS = _words("tripid triplegid trajectoryid trajid trackid traceid rideid tid")
TRIPS = (*_TRIPS, *_words("trip ride journey journeyid session sessionid"))  # of a person who is known
# Plain names (lower case, letters and digits) in the order of preference.
NAMES: dict[str, tuple[str, ...]] = {
    "lat": _words(
        "lat latitude latdeg latitudedeg latdegrees gpslat gpslatitude positionlat locationlat latwgs84 y "
        "ycoord late7 latitudee7 late6 latitudee6 latitudens"
    ),
    "lon": _words(
        "lon lng long longitude londeg longitudedeg londegrees gpslon gpslng gpslongitude positionlong "
        "positionlon locationlong lonwgs84 x xcoord lone7 longitudee7 lnge7 lone6 longitudee6 longitudeew"
    ),
    "time": _words(
        "time timestamp datetime timeutc utctime utc trackedat recordedat timestamputc datetimeutc gpstime "
        "localtime times dateandtime eventtime tst times timems timestampms unixtime epoch fixtime devicetime "
        "datetimeoriginal takenat recordtime when lastupdated lastchanged lu lc starttime arrived t date"
    ),
    "ns": _words("ns northsouth latitudehemisphere lathemisphere latitudedirection latdir gpslatituderef"),
    "ew": _words("ew eastwest longitudehemisphere lonhemisphere longitudedirection londir gpslongituderef"),
    "segment": ("segment", "segmentid", "seg", "trkseg", "tracksegid"),
    "id": (*PEOPLE, *_TRIPS, "id"),
    "geometry": _words(
        "geometry geom wkbgeometry thegeom shape wkt wktgeom wktgeometry geomwkt geometrywkt pointwkt ewkt wkb geog "
        "geography lonlat lnglat point"
    ),
}
_BOTH = ("lat", "lon")
# On which side of the equator and of Greenwich a position without a sign lies, and the letter for minus.
_SIDES = (("lat", "ns", "S"), ("lon", "ew", "W"))
_SCALES = {"e7": 1e-7, "e6": 1e-6}


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column plays which part: lat, lon, time, date, segment, id, geometry; None where there is none."""

    by_role: Mapping[str, str]
    keep: Mapping[str, str]
    dropped: tuple[str, ...]

    def names_nobody(self, reading: Reading) -> bool:
        """Whether nobody said, and no known name says, who is who; a trip's id says nothing about its person."""
        known = plain(self.by_role.get("id", "")) in (*PEOPLE, "id")
        return not (reading.one_person or "id" in reading.columns or known)

    @property
    def needed(self) -> list[str]:
        return list(dict.fromkeys([*self.by_role.values(), *self.keep.values()]))


def find_roles(names: Iterable[str], reading: Reading, *, geometry: str | None = None) -> Roles:
    """Columns by their names; ``reading.columns`` names some outright, and an unknown role or column is refused."""
    available = [str(name) for name in names]
    if any(looks_like_position(name) for name in available):
        raise InputError(
            "A column's name holds a number that could be a position.",
            "A table needs a first line that names its columns, as in time,lat,lon.",
        )
    roles: dict[str, str] = {}
    for role, name in reading.columns.items():
        if role not in (*NAMES, "date"):
            raise InputError(
                f"'{role}' is not a role of a column.", "Roles: lat, lon, time, date, segment, id, geometry."
            )
        if name not in available:
            raise InputError(f"The table has no column '{name}'.", f"Its columns: {', '.join(available)}.")
        roles[role] = name
    by_plain = {plain(name): name for name in reversed(available)}
    for role, candidates in NAMES.items():
        found = next((by_plain[candidate] for candidate in candidates if candidate in by_plain), None)
        if role not in roles and found is not None and found not in roles.values():
            roles[role] = found
    if geometry is not None and not {"lat", "lon"} & reading.columns.keys():
        roles["geometry"] = geometry
        roles.pop("lat", None)
        roles.pop("lon", None)
    elif "lat" in roles and "lon" in roles:
        roles.pop("geometry", None)
    elif "geometry" not in roles:
        missing = "latitude" if "lat" not in roles else "longitude"
        raise InputError(
            f"The table has no {missing} column that is known by its name.",
            "Name them, as in columns={'lat': 'Y', 'lon': 'X', 'time': 'when'} "
            f"(--column lat=Y); the table's columns: {', '.join(available)}.",
        )
    if "time" not in roles:
        raise InputError(
            "The table has no time column that is known by its name.",
            f"Name it with columns={{'time': ...}}; the table's columns: {', '.join(available)}.",
        )
    if "segment" not in roles and plain(roles.get("id", "")) in PEOPLE:
        trip = next((by_plain[name] for name in _TRIPS if name in by_plain), None)
        if trip is not None and trip not in roles.values():
            roles["segment"] = trip  # one person's trips
    if "date" not in roles and "date" in by_plain and by_plain["date"] not in roles.values():
        roles["date"] = by_plain["date"]
    others = [name for name in available if name not in roles.values()]
    keep = {canonical(name): name for name in others if canonical(name) in reading.keep or name in reading.keep}
    require_kept(reading, keep, others)
    return Roles(roles, keep, tuple(name for name in others if name not in keep.values()))


def with_time(schema: pa.Schema, names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """A single column of moments is the time, whatever its name, where no name says otherwise."""
    available = list(names)
    if "time" in given or any(plain(name) in NAMES["time"] for name in available):
        return dict(given)
    moments = [name for name in available if pa.types.is_timestamp(schema.field(name).type)]
    return {**given, "time": moments[0]} if len(moments) == 1 else dict(given)


def roles_of(schema: pa.Schema, reading: Reading) -> Roles:
    """:func:`find_roles` of a table that tells its types."""
    typed = replace(reading, columns=with_time(schema, schema.names, reading.columns))
    return find_roles(schema.names, typed, geometry=geometry_column(schema))


def geometry_column(schema: pa.Schema) -> str | None:
    """GeoParquet's primary geometry, after checking that it is WGS84; None for a plain table."""
    metadata = (schema.metadata or {}).get(b"geo")
    if metadata is None:
        return None
    try:
        geo = json.loads(metadata)
        name = geo["primary_column"]
        crs = geo["columns"][name].get("crs")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("The GeoParquet metadata cannot be read.", "Write the file again.") from None
    code = str(((crs or {}).get("id") or {}).get("code")) if isinstance(crs, dict) else ""
    if isinstance(crs, dict) and code not in ("4326", "CRS84", "None"):
        raise InputError("The GeoParquet file is not in WGS84 longitude and latitude.", "Reproject it to EPSG:4326.")
    return str(name)


def positions_of(table: pa.Table, roles: Roles) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Latitudes, longitudes (NaN where they are no numbers), and which rows have none at all."""
    if "geometry" in roles.by_role:
        column = _plain(table.column(roles.by_role["geometry"]))
        if not pa.types.is_string(column.type):
            lat, lon = points_from_wkb(column)
            return lat, lon, np.isnan(lat) & np.isnan(lon)
        texts = column.to_pylist()
        return *points_from_texts(texts), np.array([text is None or is_empty(text) for text in texts])
    columns = [table.column(roles.by_role[role]) for role in ("lat", "lon")]
    lat, lon = (
        column_floats(column, roles.by_role[role], some=True) for column, role in zip(columns, _BOTH, strict=True)
    )
    scale = {role: _SCALES.get(plain(roles.by_role[role])[-2:], 1.0) for role in ("lat", "lon")}
    lat, lon = (
        values if values.flags.writeable and scale[role] == 1.0 else values * scale[role]
        for values, role in zip((lat, lon), _BOTH, strict=True)
    )
    sided = {"lat": lat, "lon": lon}
    for role, side, minus in _SIDES:
        if side in roles.by_role:
            letters = pc.utf8_upper(pc.utf8_trim_whitespace(table.column(roles.by_role[side]).cast(pa.string())))
            other = pc.fill_null(pc.starts_with(letters, minus), False).to_numpy(zero_copy_only=False).astype(bool)
            sided[role] = np.where(other, -np.abs(sided[role]), sided[role])
    return sided["lat"], sided["lon"], empties_of(columns[0]) | empties_of(columns[1])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without dictionaries, and texts of one kind."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    wide = pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    return column.cast(pa.string()) if wide else column


def empties_of(column: pa.ChunkedArray) -> BoolArray:
    """Which rows of a column hold nothing."""
    column = _plain(column)
    if column.null_count == 0 and not pa.types.is_string(column.type):
        return np.zeros(len(column), dtype=bool)
    nothing = pc.is_null(column)
    if pa.types.is_string(column.type):
        nothing = pc.or_kleene(nothing, pc.equal(pc.utf8_trim_whitespace(column), ""))
    mask: BoolArray = nothing.to_numpy(zero_copy_only=False).astype(bool)
    return mask


def column_floats(column: pa.ChunkedArray, name: str, *, some: bool = False) -> FloatArray:
    """A column as numbers; ``some`` = what is none becomes NaN, unless hardly anything is one."""
    column = _plain(column)
    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), None, column)
        if not pc.any(pc.match_substring(column, ".")).as_py():
            column = pc.replace_substring(column, ",", ".")  # a decimal comma
    try:
        numbers = column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)
        values: FloatArray = numbers.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    except pa.ArrowException:
        values = np.full(len(column), np.nan)
        if some and pa.types.is_string(column.type):
            values = np.array([degrees(text) for text in column.to_pylist()], dtype=np.float64)
        if 2 * np.count_nonzero(~np.isnan(values)) <= len(column) - column.null_count:
            raise InputError(f"Column '{name}' does not hold numbers.", "Name another column or repair it.") from None
    return values


def times_of(table: pa.Table, roles: Roles, reading: Reading) -> FloatArray:
    """Seconds since 1970, NaN where there is no time that can be read."""
    column = _plain(table.column(roles.by_role["time"]))
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if column.type.tz is None and reading.zone is not None and zone_named(reading.zone) != zone_named("UTC"):
            return mixed_times(pc.strftime(micros, format="%Y-%m-%dT%H:%M:%S").to_pylist(), reading.zone)
        if column.type.tz is None and reading.zone is None:
            return parse_times(["2000-01-01T00:00:00"], None)  # refused there, with the advice
        seconds: FloatArray = micros.cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e6
        return seconds
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return parse_epochs(column_floats(column, roles.by_role["time"]))
    texts = column.cast(pa.string()).to_pylist()
    clocks = [text for text in texts[:100] if text]
    if "date" in roles.by_role and clocks and all(text[1:3].count(":") for text in clocks):  # a clock without a day
        days = table.column(roles.by_role["date"]).cast(pa.string()).to_pylist()
        texts = [text and f"{str(day).strip()}T{text.strip()}" for day, text in zip(days, texts, strict=True)]
    return mixed_times(texts, reading.zone)


def columns_by_person(
    names: Iterable[str], columns: Mapping[str, str] | None = None, *, one_person: bool = False
) -> dict[str, str]:
    """Roles of columns, with the person as id and their trips as segment, where the table has both (or one person)."""
    given = dict(columns or {})
    by_plain = {plain(name): name for name in reversed(list(names)) if name not in given.values()}
    person = given.get("id") or next((by_plain[word] for word in (*PEOPLE, "device") if word in by_plain), None)
    trip = next((by_plain[word] for word in TRIPS if word in by_plain), None)
    if trip is None or (person is None and not one_person):
        return given
    return {**({} if one_person else {"id": person}), "segment": trip, **given}  # type: ignore[dict-item]


def column_names(path: Path) -> list[str]:
    """The column names of a Parquet or CSV file; none where they cannot be read (the reader will say why)."""
    if path.suffix.lower() in (".parquet", ".pq", ".geoparquet"):
        try:
            return list(pq.read_schema(path).names)
        except (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError):  # names need not be UTF-8
            return []
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            head = file.readline(100_000).rstrip("\r\n")
    except OSError:
        return []
    delimiter = max(",;\t|", key=head.count)
    return [name.strip().strip('"') for name in head.split(delimiter)]
