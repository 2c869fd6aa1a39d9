"""Answers as files: CSV, Parquet, GeoParquet, JSON or GeoJSON by the ending of the name; written whole or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.tracks.answers.flows.flows import Flows
from sfumato.tracks.answers.maps.outlines import beside, geometry, line_wkb, outlines, wkb

ENDINGS = (".csv", ".parquet", ".geoparquet", ".json", ".geojson")
_NO_PLACE = "This answer has no place on a map."


class Tabled(Protocol):
    """What has a table, and says how it was made."""

    def to_table(self) -> pa.Table:
        """Its rows."""

    def to_dict(self) -> dict[str, object]:
        """How it was made."""


def write_answer(answer: Tabled, path: str | Path) -> None:
    """Write an answer; GeoJSON and GeoParquet draw cells as polygons and flows as lines, and know no other answers."""
    target = Path(path)
    writers: Mapping[str, Callable[[Path], None]] = {
        ".csv": lambda beside: pyarrow.csv.write_csv(answer.to_table(), beside),
        ".parquet": lambda beside: pyarrow.parquet.write_table(answer.to_table(), beside),
        ".geoparquet": lambda beside: pyarrow.parquet.write_table(_with_geometry(answer), beside),
        ".json": lambda beside: _text(beside, {**answer.to_dict(), "rows": answer.to_table().to_pylist()}),
        ".geojson": lambda beside: _text(beside, _features(answer)),
    }
    check_ending(target)
    write_whole(target, writers[target.suffix])


def check_ending(path: str | Path) -> None:
    """Refuse a name whose ending no answer is written with: before the work, and not after it."""
    if Path(path).suffix not in ENDINGS:
        raise InputError(f"Answers are not written as '{Path(path).suffix}'.", f"Use {', '.join(ENDINGS)}.")


def _text(path: Path, value: object) -> None:
    path.write_text(json.dumps(jsonable(value), allow_nan=False), encoding="utf-8")


def _features(answer: Tabled) -> dict[str, object]:
    rows = answer.to_table().to_pylist()
    if isinstance(answer, EstimatedMap):
        drawn = [geometry(shape) for shape in outlines(answer.cells)]
    elif isinstance(answer, Flows):
        drawn = [_line(*_ends(row)) for row in rows]
    else:
        raise InputError(_NO_PLACE, "Write it as .csv, .parquet or .json.")
    names = ("cell", "from", "to", "share", "low", "high")
    made = [
        {"type": "Feature", "geometry": one, "properties": {name: row[name] for name in names if name in row}}
        for one, row in zip(drawn, rows, strict=True)
    ]
    return {"type": "FeatureCollection", "features": made}


def _with_geometry(answer: Tabled) -> pa.Table:
    """GeoParquet 1.0: the table and a column ``geometry`` of well-known binary."""
    table = answer.to_table()
    if isinstance(answer, EstimatedMap):
        blobs, kinds = [wkb(shape) for shape in outlines(answer.cells)], ["Polygon", "MultiPolygon"]
    elif isinstance(answer, Flows):
        blobs, kinds = [line_wkb(*_ends(row)) for row in table.to_pylist()], ["LineString", "Point"]
    else:
        raise InputError(_NO_PLACE, "Write it as .csv, .parquet or .json.")
    about = {"encoding": "WKB", "geometry_types": kinds}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": about}}
    made = table.append_column("geometry", pa.array(blobs, pa.binary()))
    return made.replace_schema_metadata({b"geo": json.dumps(geo).encode("utf-8")})


def _line(start: tuple[float, float], end: tuple[float, float]) -> dict[str, object]:
    if start == end:
        return {"type": "Point", "coordinates": list(start)}
    return {"type": "LineString", "coordinates": [list(start), list(end)]}


def _ends(row: Mapping[str, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    return (row["from_lon"], row["from_lat"]), (beside(row["to_lon"], row["from_lon"]), row["to_lat"])
