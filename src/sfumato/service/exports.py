"""The estimate as files: CSV, GeoJSON and GeoParquet, one row per cell with its share, interval and reports."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.service.models.kept import GridFields
from sfumato.service.models.shown import CountedCycleView


class CellRow(NamedTuple):
    """One cell: where it lies, its share with the interval (None where there is none), and its reports."""

    cell: int
    row: int
    column: int
    south: float
    west: float
    north: float
    east: float
    estimate: float
    low: float | None
    high: float | None
    reports: int

    def ring(self) -> list[tuple[float, float]]:
        """Its border, counter-clockwise, as (longitude, latitude)."""
        west, south, east, north = self.west, self.south, self.east, self.north
        return [(west, south), (east, south), (east, north), (west, north), (west, south)]


def rows(grid: GridFields, cycle: CountedCycleView) -> Iterator[CellRow]:
    """One row per cell."""
    for cell in range(grid.rows * grid.columns):
        row, column = divmod(cell, grid.columns)
        north = grid.north_deg - row * grid.cell_height_deg
        west = grid.west_deg + column * grid.cell_width_deg
        yield CellRow(
            cell=cell,
            row=row,
            column=column,
            south=north - grid.cell_height_deg,
            west=west,
            north=north,
            east=west + grid.cell_width_deg,
            estimate=cycle.estimate[cell],
            low=cycle.low[cell],
            high=cycle.high[cell],
            reports=cycle.counts[cell] + cycle.relayed_counts[cell],
        )


def to_csv(grid: GridFields, cycle: CountedCycleView) -> bytes:
    """CSV with a header line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CellRow._fields)
    writer.writerows(rows(grid, cycle))
    return text.getvalue().encode("utf-8")


def to_geojson(grid: GridFields, cycle: CountedCycleView) -> bytes:
    """A FeatureCollection with one polygon per cell, counter-clockwise as RFC 7946 asks."""
    features = [
        {
            "type": "Feature",
            "id": row.cell,
            "geometry": {"type": "Polygon", "coordinates": [row.ring()]},
            "properties": row._asdict(),
        }
        for row in rows(grid, cycle)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False).encode("utf-8")


def to_geoparquet(grid: GridFields, cycle: CountedCycleView) -> bytes:
    """GeoParquet 1.0: the same columns and a WKB polygon per cell."""
    table_rows = list(rows(grid, cycle))
    arrays = {name: pa.array([row[index] for row in table_rows]) for index, name in enumerate(CellRow._fields)}
    arrays["geometry"] = pa.array([_wkb(row.ring()) for row in table_rows], pa.binary())
    corners = [min(row.west for row in table_rows), min(row.south for row in table_rows)]
    corners += [max(row.east for row in table_rows), max(row.north for row in table_rows)]
    column = {"encoding": "WKB", "geometry_types": ["Polygon"], "orientation": "counterclockwise", "bbox": corners}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table(arrays).replace_schema_metadata({b"geo": json.dumps(geo).encode("utf-8")})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _wkb(ring: list[tuple[float, float]]) -> bytes:
    # Little endian, polygon, one ring, its points.
    head = struct.pack("<BIII", 1, 3, 1, len(ring))
    return head + b"".join(struct.pack("<dd", *point) for point in ring)
