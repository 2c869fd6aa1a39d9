"""Answers as files: CSV, Parquet, JSON or GeoJSON by the ending of the name; written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet

from sfumato.answers.flows import Flows
from sfumato.answers.heatmap import EstimatedMap
from sfumato.arrays import jsonable
from sfumato.errors import InputError
from sfumato.files import write_whole

ENDINGS = (".csv", ".parquet", ".json", ".geojson")


def write_answer(answer: EstimatedMap | Flows, path: str | Path) -> None:
    """Write an answer; GeoJSON draws cells as rectangles and flows as lines."""
    target = Path(path)
    writers: Mapping[str, Callable[[Path], None]] = {
        ".csv": lambda beside: pyarrow.csv.write_csv(answer.to_table(), beside),
        ".parquet": lambda beside: pyarrow.parquet.write_table(answer.to_table(), beside),
        ".json": lambda beside: _text(beside, {**answer.to_dict(), "rows": answer.to_table().to_pylist()}),
        ".geojson": lambda beside: _text(beside, _features(answer)),
    }
    if target.suffix not in writers:
        raise InputError(f"Answers are not written as '{target.suffix}'.", f"Use {', '.join(ENDINGS)}.")
    write_whole(target, writers[target.suffix])


def _text(path: Path, value: object) -> None:
    path.write_text(json.dumps(jsonable(value), allow_nan=False), encoding="utf-8")


def _features(answer: EstimatedMap | Flows) -> dict[str, object]:
    rows = answer.to_table().to_pylist()
    draw = _cells(answer) if isinstance(answer, EstimatedMap) else [_line(row) for row in rows]
    made = [
        {"type": "Feature", "geometry": geometry, "properties": {name: row[name] for name in ("share", "low", "high")}}
        for geometry, row in zip(draw, rows, strict=True)
    ]
    return {"type": "FeatureCollection", "features": made}


def _cells(answer: EstimatedMap) -> list[dict[str, object]]:
    lat, lon = answer.grid.centres_deg()
    assert answer.grid.cell_height_deg is not None
    assert answer.grid.cell_width_deg is not None
    up, right = answer.grid.cell_height_deg / 2, answer.grid.cell_width_deg / 2
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
    return [
        {"type": "Polygon", "coordinates": [[[round(x + a * right, 7), round(y + b * up, 7)] for a, b in corners]]}
        for y, x in zip(lat, lon, strict=True)
    ]


def _line(row: Mapping[str, float]) -> dict[str, object]:
    ends = [[row["from_lon"], row["from_lat"]], [row["to_lon"], row["to_lat"]]]
    return {"type": "LineString", "coordinates": ends}
