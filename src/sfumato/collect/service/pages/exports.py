"""The estimate as files: CSV, GeoJSON and GeoParquet, one row per cell with its share, interval and reports.

CSV and GeoJSON come in pieces of a thousand cells, so that a map of 100,000 is sent while it is made and never held
whole. Where a cycle's own map was kept, it stands in a last column beside the average.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.collect.service.models.kept import GridFields, Specification
from sfumato.collect.service.pages.layout import local_time
from sfumato.collect.service.pages.words import odds_in_words
from sfumato.collect.service.store.records import CellCounts, StoredCycle, StoredEstimate

_AT_ONCE = 1_000
_CORNERS = 5


@dataclass(frozen=True, slots=True, eq=False)
class MapTable:
    """Columns over the cells: where each lies, its share with the interval (NaN where there is none), its reports."""

    grid: GridFields
    stated: str
    """What the map gives away about one person, as JSON: in the file itself, where its format has a place for it."""
    columns: dict[str, FloatArray | IntArray | npt.NDArray[np.str_]]

    @classmethod
    def of(
        cls,
        asked: Specification,
        closed: StoredCycle,
        estimate: StoredEstimate,
        counts: CellCounts,
        *,
        alone: bool = False,
    ) -> MapTable:
        """The table of one closed cycle, with what stands beside every cell: how many reported when, and the level.

        ``alone``: where an average is no answer, the estimate is the cycle's own, which has no intervals.
        """
        grid, own = asked.grid, estimate.this_cycle
        alone = alone and own is not None
        unknown = np.full(estimate.low.size, np.nan)
        cell = np.arange(grid.rows * grid.columns)
        row, column = np.divmod(cell, grid.columns)
        north = grid.north_deg - row * grid.cell_height_deg
        west = grid.west_deg + column * grid.cell_width_deg
        columns: dict[str, FloatArray | IntArray | npt.NDArray[np.str_]] = {
            "cell": cell,
            "row": row,
            "column": column,
            "south": north - grid.cell_height_deg,
            "west": west,
            "north": north,
            "east": west + grid.cell_width_deg,
            "estimate": own if alone and own is not None else estimate.probabilities,
            "low": unknown if alone else estimate.low,
            "high": unknown if alone else estimate.high,
            "reports": counts.direct + counts.relayed,
        }
        if own is not None:
            columns["this_cycle"] = own
        if asked.districts:
            columns["district"] = np.array([*(one.name for one in asked.districts), ""])[asked.district_of_cell]
        times = {"from": closed.opened_at_s, "until": closed.closed_at_s or closed.opened_at_s}
        columns["round_reports"] = np.full(cell.size, closed.reports)
        columns["averaged_rounds"] = np.full(cell.size, 1 if alone else estimate.facts.averaged_cycles)
        columns |= {name: np.full(cell.size, local_time(at, asked.time_zone)) for name, at in times.items()}
        columns["level"] = np.full(cell.size, estimate.facts.interval_level or np.nan)
        odds = estimate.facts.map_odds
        known = {} if odds is None else {"map_odds": {**odds.model_dump(), "words": odds_in_words(odds)}}
        return cls(grid, json.dumps(known) if known else "", columns)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.columns["cell"].size)

    def rows(self, first: int, last: int) -> Iterator[tuple[int | float | str | None, ...]]:
        """The rows of these cells; None where there is no number."""
        lists = []
        for name, values in self.columns.items():
            part = values[first:last].tolist()
            lists.append([None if one != one else one for one in part] if name in ("low", "high", "level") else part)
        return zip(*lists, strict=True)


def to_csv(table: MapTable) -> Iterator[bytes]:
    """CSV with a header line, in pieces."""
    yield (",".join(table.columns) + "\n").encode("utf-8")
    for first in range(0, table.size, _AT_ONCE):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(table.rows(first, first + _AT_ONCE))
        yield text.getvalue().encode("utf-8")


def to_geojson(table: MapTable) -> Iterator[bytes]:
    """A FeatureCollection with one polygon per cell, counter-clockwise as RFC 7946 asks, in pieces."""
    names = tuple(table.columns)
    stated = f'"sfumato": {table.stated}, ' if table.stated else ""
    yield f'{{"type": "FeatureCollection", {stated}"features": ['.encode()
    for first in range(0, table.size, _AT_ONCE):
        features = []
        for values in table.rows(first, first + _AT_ONCE):
            cell = dict(zip(names, values, strict=True))
            south, west, north, east = (cell[name] for name in ("south", "west", "north", "east"))
            ring = [(west, south), (east, south), (east, north), (west, north), (west, south)]
            shape = {"type": "Polygon", "coordinates": [ring]}
            features.append(
                json.dumps(
                    {"type": "Feature", "id": cell["cell"], "geometry": shape, "properties": cell}, allow_nan=False
                )
            )
        yield (", " if first else "").encode() + ", ".join(features).encode("utf-8")
    yield b"]}"


def to_geoparquet(table: MapTable) -> Iterator[bytes]:
    """GeoParquet 1.0: the same columns and a WKB polygon per cell; in one piece, because its end says where all is."""
    columns = table.columns
    arrays = {name: pa.array(values, from_pandas=name in ("low", "high", "level")) for name, values in columns.items()}
    arrays["geometry"] = _wkb(table)
    corners = [float(columns["west"].min()), float(columns["south"].min())]
    corners += [float(columns["east"].max()), float(columns["north"].max())]
    yield geoparquet(pa.table(arrays), corners, "Polygon", stated=table.stated)


def geoparquet(table: pa.Table, corners: list[float], *kinds: str, stated: str = "") -> bytes:
    """A table whose last column is WKB as GeoParquet 1.0; ``corners``: west, south, east, north."""
    about = {"encoding": "WKB", "geometry_types": kinds, "orientation": "counterclockwise", "bbox": corners}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": about}}
    out = io.BytesIO()
    metadata = {b"geo": json.dumps(geo).encode("utf-8"), b"sfumato": stated.encode("utf-8")}
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out.getvalue()


def _wkb(table: MapTable) -> pa.Array:
    """Little endian, polygon, one ring, its points: 13 bytes and five times two doubles for every cell."""
    shape = np.dtype(
        [("order", "u1"), ("kind", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("at", "<f8", (_CORNERS, 2))]
    )
    rings = np.zeros(table.size, dtype=shape)
    rings["order"], rings["kind"], rings["rings"], rings["points"] = 1, 3, 1, _CORNERS
    south, west, north, east = (table.columns[name] for name in ("south", "west", "north", "east"))
    for corner, (x, y) in enumerate(((west, south), (east, south), (east, north), (west, north), (west, south))):
        rings["at"][:, corner, 0], rings["at"][:, corner, 1] = x, y
    ends = np.arange(table.size + 1, dtype=np.int32) * shape.itemsize
    return pa.Array.from_buffers(pa.binary(), table.size, [None, pa.py_buffer(ends), pa.py_buffer(rings.tobytes())])
