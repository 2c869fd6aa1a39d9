"""A .json file, told apart by its content: GeoJSON, Moving Features, a Google export, or a list or lines of points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, plain
from sfumato.tracks.io.json import geojson, google
from sfumato.tracks.io.json.json_text import at, load_json, objects
from sfumato.tracks.io.tables.columns import NAMES
from sfumato.tracks.io.tables.point_table import from_arrow

_LAT, _LON = frozenset(NAMES["lat"]) - {"y"}, frozenset(NAMES["lon"]) - {"x"}
_DEEPEST = 3  # Dawarich: by account, by device


def read(path: Path, reading: Reading) -> list[Draft] | list[tuple[str, Trace]]:
    """Whatever the JSON turns out to be."""
    document = load_json(path)
    listed = objects(document) or objects(at(document, "locations"))
    if listed and all(row.get("type") == "Feature" for row in listed):  # Overland's batches, GeoJSON a line
        return geojson.from_json({"type": "FeatureCollection", "features": listed}, reading)
    if google.looks_like(document) and not any(_is_row(row) and "latitudeE7" not in row for row in listed):
        return google.from_json(document, reading)
    tables = list(_tables(document, _DEEPEST))
    if len(tables) > 1:
        raise InputError(
            f"The JSON holds {len(tables)} lists of points.",
            "Whether they are one person's cannot be told: give one list per file.",
        )
    return _rows(tables[0], reading) if tables else geojson.from_json(document, reading)


def _is_row(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    names = {plain(name) for name in value}
    return bool(names & _LAT) and bool(names & _LON)


def _tables(value: object, deep: int) -> Iterator[list[object]]:
    """Lists of objects that have a latitude and a longitude (Polarsteps, Dawarich ...), a few levels down."""
    if isinstance(value, list):
        if sum(map(_is_row, value)) * 2 > len(value):
            yield value
    elif isinstance(value, dict) and deep and "type" not in value:
        for inner in value.values():
            yield from _tables(inner, deep - 1)


def _rows(rows: list[object], reading: Reading) -> list[tuple[str, Trace]]:
    found = objects(rows)
    names = dict.fromkeys(name for row in found for name in row)
    table = pa.table({name: _column([row.get(name) for row in found]) for name in names})
    other = len(rows) - len(found)
    return from_arrow(table, reading, skipped={"entries that are no points": other} if other else None)


def _column(values: list[object]) -> pa.Array:
    """A column of one kind; where kinds are mixed (numbers as texts, exporters do that) a column of texts."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([value if value is None else _text(value) for value in values], pa.string())


def _text(value: object) -> str:
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace").decode()
