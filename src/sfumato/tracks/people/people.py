"""Who is who in a table: noise belongs to a person, so a person's column goes before a trip's.

A table with a user and a trip column is read by user, its trips as segments: noise drawn trip by trip would be redrawn
for every trip of the same person, and averages away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tracks.io.draft import plain

_PEOPLE = (
    *("userid", "user", "personid", "person", "participantid", "participant", "subjectid", "driverid", "driver"),
    *("vehicleid", "vehicle", "deviceid", "device", "cabid", "cab", "taxiid", "taxi", "uid"),
)
_TRIPS = ("tripid", "trajectoryid", "trajid", "trackid", "traceid", "rideid", "tid", "trip", "ride")


def columns_by_person(names: Iterable[str], columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Roles of columns, with the person as id and the trip as segment where a table has both and none was named."""
    given = dict(columns or {})
    by_plain = {plain(name): name for name in reversed(list(names))}
    person = next((by_plain[word] for word in _PEOPLE if word in by_plain), None)
    trip = next((by_plain[word] for word in _TRIPS if word in by_plain), None)
    if person is None or trip is None or "id" in given or person in given.values() or trip in given.values():
        return given
    given["id"] = person
    given.setdefault("segment", trip)
    return given


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
