"""A .json file, told apart by its content: GeoJSON, Moving Features, exports of Google or OwnTracks, rows of points.

Rows are looked for a few levels down, and a row's position may lie one level below it: Polarsteps and Traccar write
lists, Dawarich lists by account and device, Immich photos with an ``exifInfo``, Home Assistant states with
``attributes``, a list for each thing that it watches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, number, plain
from sfumato.tracks.io.json import geojson, google, owntracks
from sfumato.tracks.io.json.json_text import at, load_json, objects
from sfumato.tracks.io.tables.columns import NAMES, PEOPLE
from sfumato.tracks.io.tables.point_table import from_arrow

_LAT, _LON = frozenset(NAMES["lat"]) - {"y"}, frozenset(NAMES["lon"]) - {"x"}
_TIMES, _WHO = NAMES["time"], frozenset(PEOPLE)
_DEEPEST = 5
_ONE_LOG = frozenset({"entityid", "datetimeoriginal"})  # rows that say whose they are, or one account's photos

Row = dict[str, object]


def read(path: Path, reading: Reading) -> list[Draft] | list[tuple[str, Trace]]:
    """Whatever the JSON turns out to be."""
    document = load_json(path)
    listed = objects(document) or objects(at(document, "locations"))
    if listed and all(row.get("type") == "Feature" for row in listed):  # Overland's batches, GeoJSON a line
        return geojson.from_json({"type": "FeatureCollection", "features": listed}, reading)
    if geojson.looks_like(document):
        return geojson.from_json(document, reading)
    if google.looks_like(document) and not any(_has_position(row) and "latitudeE7" not in row for row in listed):
        return google.from_json(document, reading)
    tables = list(_tables(document, _DEEPEST))
    if not tables:
        raise InputError(
            "The JSON holds no list of points with a latitude and a longitude.",
            "Settings, flights and statistics are no tracks; if it is one, name its format with --format.",
        )
    if len(tables) > 1 and not all(_ONE_LOG & {plain(name) for name in row} for rows in tables for row in rows if row):
        raise InputError(
            f"The JSON holds {len(tables)} lists of points.",
            "Whether they are one person's cannot be told: give one list per file.",
        )
    rows = [row for table in tables for row in table]
    if any(row.get("_type") == "location" for row in rows):
        return owntracks.from_messages(rows, reading)
    return _traces(rows, reading)


def _has_position(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    names = {plain(name) for name in value}
    return bool(names & _LAT) and bool(names & _LON)


def _row(value: object) -> Row:
    """The object with its position in it; of one whose position lies a level below who and when, and what lies there.

    Empty for anything else: two positions (of a flight) are none.
    """
    if not isinstance(value, dict) or _has_position(value):
        return value if isinstance(value, dict) else {}
    below = [inner for inner in value.values() if isinstance(inner, dict) and _has_position(inner)]
    if len(below) != 1:
        return {}
    return {name: here for name, here in value.items() if plain(name) in _WHO or plain(name) in _TIMES} | below[0]


def _tables(value: object, deep: int) -> Iterator[list[Row]]:
    """Lists of which most objects have a latitude and a longitude, a few levels down; {} where one has none."""
    if isinstance(value, list):
        rows = [_row(item) for item in value]
        if 2 * sum(map(_has_position, rows)) > len(rows):
            yield rows
            return
    if isinstance(value, dict | list) and deep:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _tables(inner, deep - 1)


def _traces(rows: list[Row], reading: Reading) -> list[tuple[str, Trace]]:
    found, why = [row for row in rows if row], dict[str, int]()
    kept = [row for row in found if not str(row.get("entity_id", "")).startswith("zone.")]
    why = {"entries that are no points": len(rows) - len(found), "zones": len(found) - len(kept)}
    if "time" not in reading.columns:
        kept = _with_one_time(kept)
    if all(row.keys() == {"lat", "lon", "time"} and number(row["time"]) is not None for row in kept):
        kept.sort(key=lambda row: number(row["time"]) or 0.0)  # Polarsteps, whose logs promise no order
    names = dict.fromkeys(name for row in kept for name in row)
    table = pa.table({name: _column([row.get(name) for row in kept]) for name in names})
    return from_arrow(table, reading, skipped={reason: count for reason, count in why.items() if count})


def _with_one_time(rows: list[Row]) -> list[Row]:
    """Rows whose time has one name, the best known of those they use; some rows may have left it out."""
    named = [{plain(name): name for name in row if row[name] not in (None, "")} for row in rows]
    used = [next((word for word in _TIMES if word in names), None) for names in named]
    best = min(filter(None, used), key=_TIMES.index, default=None)
    if best is None or all(word == best for word in used):
        return rows
    column = next(names[best] for names in named if best in names)
    return [
        row if word is None else {**row, column: row[names[word]]}
        for row, names, word in zip(rows, named, used, strict=True)
    ]


def _column(values: list[object]) -> pa.Array:
    """A column of one kind; where kinds are mixed (numbers as texts, exporters do that) a column of texts."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([value if value is None else _text(value) for value in values], pa.string())


def _text(value: object) -> str:
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace").decode()
