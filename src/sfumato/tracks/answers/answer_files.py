"""Answers as files: CSV, Parquet, GeoParquet, JSON or GeoJSON by the ending of the name; and as a picture (SVG).

Whole or not at all. The picture shows cells, darker where more people are, or the strongest flows. It asks nobody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.arrays import jsonable
from sfumato.base.drawing.svg import MapSheet, depth, element, line_data, scale_bar, sheet_around
from sfumato.base.drawing.svg import picture as whole_picture
from sfumato.base.errors import InputError
from sfumato.base.files import write_text, write_whole
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.tracks.answers.flows.pair_shares import Flows
from sfumato.tracks.answers.maps.cells import Rings, beside, geometry, line_wkb, outlines, wkb

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


def check_ending(path: str | Path | None) -> None:
    """Refuse a name whose ending no answer is written with: before the work, and not after it."""
    if path is not None and Path(path).suffix not in ENDINGS:
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


WIDTH = 720.0
MOST_FLOWS = 200
_INK = np.array([44.0, 82.0, 130.0])


def write_picture(answer: EstimatedMap | Flows, path: str | Path) -> None:
    """Write the SVG."""
    if Path(path).suffix != ".svg":
        raise InputError(f"Pictures are not written as '{Path(path).suffix}'.", "Use .svg.")
    write_text(Path(path), picture(answer) + "\n")


def picture(answer: EstimatedMap | Flows) -> str:
    """The SVG's text."""
    shapes = outlines(answer.cells)
    every = np.concatenate([ring for shape in shapes for rings in shape for ring in rings])
    sheet = sheet_around(every[:, 1], every[:, 0], width=WIDTH, margin=10.0, least_m=1.0, even=True)
    if isinstance(answer, EstimatedMap):
        top, title = float(answer.share.max()), "Where people are"
        body = [_cell(sheet, shape, float(share), top) for shape, share in zip(shapes, answer.share, strict=True)]
    else:
        body = [_cell(sheet, shape, 0.0, 1.0) for shape in shapes] + _arrows(sheet, answer)
        title = "From where to where"
    height = sheet.height + 24
    return whole_picture(
        WIDTH,
        height,
        element("rect", width="100%", height="100%", fill="white"),
        *body,
        scale_bar(10, height - 10, sheet.metres_per_px, WIDTH / 4),
        title=title,
        about="From protected releases with the blur of the noise taken out; darker is more.",
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


def _arrows(sheet: MapSheet, answer: Flows) -> list[str]:
    at = sheet.pixels(*answer.cells.centres_deg()).tolist()
    top = float(answer.shares.max())
    out = []
    for place in np.argsort(answer.shares)[::-1][:MOST_FLOWS][::-1]:
        start, end = answer.pairs[place].tolist()
        share = float(answer.shares[place])
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
