"""Answers as files: CSV, Parquet, GeoParquet, JSON or GeoJSON by the ending of the name; and as a picture (SVG).

Whole or not at all. What a reader must know goes with it: as the column ``notes`` (the same in every row; in a table of
more than 10,000 rows in its first), as ``notes`` of JSON, and in the picture's description. The picture shows cells,
darker where more people are, or the strongest flows. It asks nobody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.arrays import FloatArray, IntArray, jsonable
from sfumato.base.drawing.svg import MapSheet, depth, element, line_data, scale_bar, sheet_around
from sfumato.base.drawing.svg import picture as whole_picture
from sfumato.base.errors import InputError
from sfumato.base.files import write_text, write_whole
from sfumato.base.things.areas import wkb
from sfumato.base.things.estimated_map import MapCells
from sfumato.tracks.answers.maps.cells import Rings, beside, geometry, line_wkb, outlines

NOTES = "notes"
NOTED_ROWS = 10_000
ENDINGS = (".csv", ".parquet", ".geoparquet", ".json", ".geojson")
PLACES = ("lat", "lon", "from_lat", "from_lon", "to_lat", "to_lon")  # said by the geometry


class Tabled(Protocol):
    """What has a table, and says how it was made."""

    def to_table(self) -> pa.Table:
        """Its rows."""

    def to_dict(self) -> dict[str, object]:
        """How it was made."""


def notes_of_answer(answer: object) -> tuple[str, ...]:
    """What a reader must know of an answer of any kind; nothing where it says nothing."""
    said: tuple[str, ...] = getattr(answer, NOTES, ())
    return said


def _noted(table: pa.Table, notes: Sequence[str]) -> pa.Table:
    """The table with its notes as a column, where there are any."""
    if not notes or not table.num_rows:
        return table
    first = 1 if table.num_rows > NOTED_ROWS else table.num_rows
    column = pa.array([" ".join(notes)] * first + [None] * (table.num_rows - first), pa.string())
    return table.append_column(NOTES, column)


def write_answer(answer: Tabled, path: str | Path) -> None:
    """Write an answer; GeoJSON and GeoParquet draw cells as polygons and flows as lines, and know no other answers."""
    target, notes = Path(path), notes_of_answer(answer)
    writers: Mapping[str, Callable[[Path], None]] = {
        ".csv": lambda beside: pyarrow.csv.write_csv(_noted(answer.to_table(), notes), beside),
        ".parquet": lambda beside: pyarrow.parquet.write_table(_noted(answer.to_table(), notes), beside),
        ".geoparquet": lambda beside: pyarrow.parquet.write_table(with_geometry(answer), beside),
        ".json": lambda beside: _text(beside, _document(answer)),
        ".geojson": lambda beside: _text(beside, _features(answer)),
    }
    check_ending(target)
    write_whole(target, writers[target.suffix])


def read_answer(path: Path) -> pa.Table:
    """The rows of a file that :func:`write_answer` wrote, without notes (of GeoJSON without places: its geometry)."""
    table = _rows_of(path)
    return table.drop_columns([NOTES]) if NOTES in table.column_names else table


def _rows_of(path: Path) -> pa.Table:
    check_ending(path)
    try:
        if path.suffix == ".csv":
            return pyarrow.csv.read_csv(path)
        if path.suffix in (".parquet", ".geoparquet"):
            with pyarrow.parquet.ParquetFile(path) as file:
                return file.read()
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = found["rows"] if path.suffix == ".json" else [one["properties"] for one in found["features"]]
        return pa.Table.from_pylist(rows)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path.name} holds no answer that can be read.", "It may be cut off or damaged.") from None


def check_ending(path: str | Path | None) -> None:
    """Refuse a name whose ending no answer is written with: before the work, and not after it."""
    if path is not None and Path(path).suffix not in ENDINGS:
        raise InputError(f"Answers are not written as '{Path(path).suffix}'.", f"Use {', '.join(ENDINGS)}.")


def _text(path: Path, value: object) -> None:
    path.write_text(json.dumps(jsonable(value), allow_nan=False), encoding="utf-8")


def _document(answer: Tabled) -> dict[str, object]:
    return {**answer.to_dict(), NOTES: list(notes_of_answer(answer)), "rows": answer.to_table().to_pylist()}


def _features(answer: Tabled) -> dict[str, object]:
    notes = notes_of_answer(answer)
    rows = _noted(answer.to_table(), notes).to_pylist()
    if _is_of_pairs(answer):
        drawn = [_line(*_ends(row)) for row in rows]
    else:
        drawn = [geometry(shape) for shape in outlines(_cells_of(answer))]
    made = [
        {"type": "Feature", "geometry": one, "properties": {name: row[name] for name in row if name not in PLACES}}
        for one, row in zip(drawn, rows, strict=True)
    ]
    return {"type": "FeatureCollection", NOTES: list(notes), "features": made}


def with_geometry(answer: Tabled) -> pa.Table:
    """GeoParquet 1.0: the table and a column ``geometry`` of well-known binary."""
    table = _noted(answer.to_table(), notes_of_answer(answer))
    if _is_of_pairs(answer):
        blobs, kinds = [line_wkb(*_ends(row)) for row in table.to_pylist()], ["LineString", "Point"]
    else:
        blobs, kinds = [wkb(shape) for shape in outlines(_cells_of(answer))], ["Polygon", "MultiPolygon"]
    about = {"encoding": "WKB", "geometry_types": kinds}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": about}}
    made = table.append_column("geometry", pa.array(blobs, pa.binary()))
    return made.replace_schema_metadata({b"geo": json.dumps(geo).encode("utf-8")})


def _is_of_pairs(answer: object) -> bool:
    return getattr(answer, "pairs", None) is not None and getattr(answer, "cells", None) is not None


def _cells_of(answer: object) -> MapCells:
    cells: MapCells | None = getattr(answer, "cells", None)
    if cells is None:
        raise InputError("This answer has no place on a map.", "Write it as .csv, .parquet or .json.")
    return cells


def _line(start: tuple[float, float], end: tuple[float, float]) -> dict[str, object]:
    if start == end:
        return {"type": "Point", "coordinates": list(start)}
    return {"type": "LineString", "coordinates": [list(start), list(end)]}


def _ends(row: Mapping[str, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    return (row["from_lon"], row["from_lat"]), (beside(row["to_lon"], row["from_lon"]), row["to_lat"])


WIDTH = 720.0
MOST_FLOWS, MOST_OUTLINES = 200, 4000
_INK = np.array([44.0, 82.0, 130.0])


class Pictured(Protocol):
    """Cells that are drawn, darker where ``drawn`` is more, or the strongest of their ``pairs``."""

    @property
    def cells(self) -> MapCells | None:
        """The cells; None where there are no places."""

    @property
    def drawn(self) -> FloatArray:
        """What is drawn: of each cell, or of each pair."""

    @property
    def drawn_from(self) -> str:
        """What the numbers are, in one sentence."""


def write_picture(answer: Pictured, path: str | Path) -> None:
    """Write the SVG."""
    if Path(path).suffix != ".svg":
        raise InputError(f"Pictures are not written as '{Path(path).suffix}'.", "Use .svg.")
    write_text(Path(path), picture(answer) + "\n")


def picture(answer: Pictured) -> str:
    """The SVG's text."""
    cells = getattr(answer, "asked", None) or _cells_of(answer)
    shapes, pairs = outlines(cells), getattr(answer, "pairs", None)
    every = np.concatenate([ring for shape in shapes for rings in shape for ring in rings])
    sheet = sheet_around(every[:, 1], every[:, 0], width=WIDTH, margin=10.0, least_m=1.0, even=True)
    values = answer.drawn / max(float(answer.drawn.sum()), 1e-300)
    if pairs is None:
        top, title = float(values.max(initial=0.0)), "Where people are"
        body = [_cell(sheet, shape, float(share), top) for shape, share in zip(shapes, values, strict=True)]
    else:
        grid = [_cell(sheet, shape, 0.0, 1.0) for shape in shapes] if len(shapes) <= MOST_OUTLINES else []
        body = grid + _arrows(sheet, cells, pairs, values)
        title = "From where to where"
    height = sheet.height + 24
    return whole_picture(
        WIDTH,
        height,
        element("rect", width="100%", height="100%", fill="white"),
        *body,
        scale_bar(10, height - 10, sheet.metres_per_px, WIDTH / 4),
        title=title,
        about=" ".join([f"{answer.drawn_from}; darker is more.", *notes_of_answer(answer)]),
        xmlns="http://www.w3.org/2000/svg",
        font_family="sans-serif",
        font_size=12,
    )


def _cell(sheet: MapSheet, shape: list[Rings], share: float, top: float) -> str:
    red, green, blue = (255 + (_INK - 255) * depth(share, top)).astype(int)
    rings = [ring for one in shape for ring in one]
    way = "".join(line_data(sheet.pixels(ring[:-1, 1], ring[:-1, 0]), closed=True) for ring in rings)
    ink = {"fill": f"rgb({red},{green},{blue})", "fill_rule": "evenodd", "stroke": "#dddddd", "stroke_width": 0.4}
    return element("path", _percent(share), d=way, **ink)


def _percent(share: float) -> str:
    return element("title", f"{100 * share:.3g} %")


def _arrows(sheet: MapSheet, cells: MapCells, pairs: IntArray, shares: FloatArray) -> list[str]:
    at = sheet.pixels(*cells.centres_deg()).tolist()
    top = float(shares.max(initial=0.0))
    out = []
    for place in np.argsort(shares)[::-1][:MOST_FLOWS][::-1]:
        start, end = pairs[place].tolist()
        share = float(shares[place])
        if not share > 0:
            continue
        wide = 0.6 + 7 * depth(share, top)
        (x, y), (to_x, to_y) = at[start], at[end]
        if start == end:
            out.append(element("circle", _percent(share), cx=x, cy=y, r=wide, fill="#2c5282"))
            continue
        bend_x, bend_y = (x + to_x) / 2 + 0.12 * (to_y - y), (y + to_y) / 2 - 0.12 * (to_x - x)
        way = f"M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}"
        ink = {"fill": "none", "stroke": "#2c5282", "stroke_opacity": 0.45, "stroke_linecap": "round"}
        out.append(element("path", _percent(share), d=way, stroke_width=wide, **ink))
    return out
