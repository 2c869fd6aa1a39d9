"""A .json file, told apart by its content: GeoJSON, Moving Features, a Google export, or a list of points."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from sfumato.errors import InputError
from sfumato.io import geojson, google
from sfumato.io.draft import Draft, Reading
from sfumato.io.json_text import at, load_json, objects
from sfumato.io.tables import from_arrow
from sfumato.traces import Trace


def read(path: Path, reading: Reading) -> list[Draft] | list[tuple[str, Trace]]:
    """Whatever the JSON turns out to be."""
    document = load_json(path)
    listed = objects(at(document, "locations"))
    if listed and all(row.get("type") == "Feature" for row in listed):  # Overland's batches
        return geojson.from_json({"type": "FeatureCollection", "features": listed}, reading)
    if listed and all({"lat", "lon"} <= row.keys() for row in listed):  # Polarsteps
        return _rows(listed, reading)
    if google.looks_like(document):
        return google.from_json(document, reading)
    if isinstance(document, list) and document and all(isinstance(row, dict) for row in document):
        return _rows(document, reading)
    return geojson.from_json(document, reading)


def _rows(rows: list[dict[str, object]], reading: Reading) -> list[tuple[str, Trace]]:
    try:
        table = pa.Table.from_pylist(rows)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InputError(
            "The JSON list mixes kinds of values.", "Give a list of objects with lat, lon, time."
        ) from None
    return from_arrow(table, reading)
