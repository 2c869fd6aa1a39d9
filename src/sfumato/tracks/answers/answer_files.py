"""Answers as files: CSV, Parquet, GeoParquet, JSON or GeoJSON by the ending of the name; and as a picture (SVG).

Whole or not at all. The picture shows cells, darker where more people are, or the strongest flows. It asks nobody.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.arrays import FloatArray, jsonable
from sfumato.base.errors import InputError
from sfumato.base.files import write_text, write_whole
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.grid import metres_per_degree
from sfumato.base.units import format_length
from sfumato.tracks.answers.flows.origin_destination import Flows
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


WIDTH = 720.0
MOST_FLOWS = 200
_INK = np.array([44.0, 82.0, 130.0])


def write_picture(answer: EstimatedMap | Flows, path: str | Path) -> None:
    """Write the SVG."""
    if Path(path).suffix != ".svg":
        raise InputError(f"Pictures are not written as '{Path(path).suffix}'.", "Use .svg.")
    write_text(Path(path), picture(answer))


def picture(answer: EstimatedMap | Flows) -> str:
    """The SVG's text."""
    shapes = outlines(answer.cells)
    sheet = _Sheet(shapes)
    if isinstance(answer, EstimatedMap):
        top, title = float(answer.share.max()), "Where people are"
        body = [_cell(sheet, shape, float(share), top) for shape, share in zip(shapes, answer.share, strict=True)]
    else:
        body = [_cell(sheet, shape, 0.0, 1.0) for shape in shapes] + _arrows(sheet, answer)
        title = "From where to where"
    bar_m, bar = sheet.scale_bar()
    height = sheet.height + 34
    about = f"{title}, from protected releases with the blur of the noise taken out; darker is more."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title><desc>{about}</desc>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}'
        f'<path d="M10 {height - 12:.1f}h{bar:.1f}" stroke="#333" stroke-width="2"/>'
        f'<text x="{16 + bar:.1f}" y="{height - 8:.1f}" fill="#333">{format_length(bar_m)}</text></svg>\n'
    )


class _Sheet:
    """Degrees to the picture's own units, unrolled around the first cell."""

    def __init__(self, shapes: list[list[Rings]]) -> None:
        every = np.concatenate([ring for shape in shapes for rings in shape for ring in rings])
        self._lon = float(every[0, 0])
        north, east = metres_per_degree(float(every[:, 1].mean()))
        self._metres = np.array([east, -north])
        at = self._plane(every)
        self._low, span = at.min(axis=0), np.maximum(np.ptp(at, axis=0), 1.0)
        self._scale = float((WIDTH - 20) / span[0])
        self.height = float(min(span[1] * self._scale, 4 * WIDTH)) + 20

    def _plane(self, ring: FloatArray) -> FloatArray:
        across = (ring[:, 0] - self._lon + 180.0) % 360.0 - 180.0
        return np.asarray(np.column_stack([across, ring[:, 1]]) * self._metres)

    def points(self, ring: FloatArray) -> FloatArray:
        """Places on the picture."""
        return np.asarray((self._plane(ring) - self._low) * self._scale + 10)

    def scale_bar(self) -> tuple[float, float]:
        """A round length of at most a quarter of the width: metres, and its length on the picture."""
        most = WIDTH / 4 / self._scale
        power = 10.0 ** math.floor(math.log10(most))
        metres = next(step * power for step in (5.0, 2.0, 1.0) if step * power <= most)
        return metres, metres * self._scale


def depth(share: float, top: float) -> float:
    """How dark a cell is, 0 to 1: by the square root, so that small shares can be told apart."""
    return math.sqrt(max(share, 0.0) / top) if top > 0 else 0.0


def _cell(sheet: _Sheet, shape: list[Rings], share: float, top: float) -> str:
    red, green, blue = (255 + (_INK - 255) * depth(share, top)).astype(int)
    rings = [ring for one in shape for ring in one]
    path = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in sheet.points(ring)[:-1]) + "Z" for ring in rings)
    return (
        f'<path d="{path}" fill="rgb({red},{green},{blue})" fill-rule="evenodd" stroke="#ddd" stroke-width=".4">'
        f"<title>{100 * share:.3g} %</title></path>"
    )


def _arrows(sheet: _Sheet, answer: Flows) -> list[str]:
    lat, lon = answer.cells.centres_deg()
    at = sheet.points(np.column_stack([lon, lat]))
    top = float(answer.share.max())
    out = []
    for place in np.argsort(answer.share, axis=None)[::-1][:MOST_FLOWS][::-1]:
        start, end = divmod(int(place), len(at))
        share = float(answer.share[start, end])
        if not share > 0:
            continue
        wide = 0.6 + 7 * math.sqrt(share / top)
        words = f"<title>{100 * share:.3g} %</title>"
        (x, y), (to_x, to_y) = at[start], at[end]
        if start == end:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{wide:.1f}" fill="#2c5282">{words}</circle>')
            continue
        bend_x, bend_y = (x + to_x) / 2 + 0.12 * (to_y - y), (y + to_y) / 2 - 0.12 * (to_x - x)
        out.append(
            f'<path d="M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}" fill="none" stroke="#2c5282" '
            f'stroke-opacity=".45" stroke-width="{wide:.1f}" stroke-linecap="round">{words}</path>'
        )
    return out
