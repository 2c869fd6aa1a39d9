"""The estimate as files: CSV, GeoJSON and GeoParquet, one row per cell with its share, interval and reports."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.grid import Grid

COLUMNS = ("cell", "row", "column", "south", "west", "north", "east", "estimate", "low", "high", "reports")


def rows(grid: Grid, cycle: Mapping[str, Any]) -> Iterator[tuple[float, ...]]:
    """One tuple of :data:`COLUMNS` per cell."""
    assert grid.north_deg is not None
    assert grid.west_deg is not None
    assert grid.cell_height_deg is not None
    assert grid.cell_width_deg is not None
    for cell in range(grid.cells):
        row, column = divmod(cell, grid.columns)
        north = grid.north_deg - row * grid.cell_height_deg
        west = grid.west_deg + column * grid.cell_width_deg
        reports = cycle["counts"][cell] + cycle["relayed_counts"][cell]
        yield (
            cell, row, column, north - grid.cell_height_deg, west, north, west + grid.cell_width_deg,
            cycle["estimate"][cell], cycle["low"][cell], cycle["high"][cell], reports,
        )  # fmt: skip


def to_csv(grid: Grid, cycle: Mapping[str, Any]) -> bytes:
    """CSV with a header line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(grid, cycle))
    return text.getvalue().encode("utf-8")


def to_geojson(grid: Grid, cycle: Mapping[str, Any]) -> bytes:
    """A FeatureCollection with one polygon per cell, counter-clockwise as RFC 7946 asks."""
    features = [
        {
            "type": "Feature",
            "id": row[0],
            "geometry": {"type": "Polygon", "coordinates": [_ring(*row[3:7])]},
            "properties": dict(zip(COLUMNS, row, strict=True)),
        }
        for row in rows(grid, cycle)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False).encode("utf-8")


def to_geoparquet(grid: Grid, cycle: Mapping[str, Any]) -> bytes:
    """GeoParquet 1.0: the same columns and a WKB polygon per cell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table_rows = list(rows(grid, cycle))
    arrays = {name: pa.array([row[index] for row in table_rows]) for index, name in enumerate(COLUMNS)}
    arrays["geometry"] = pa.array([_wkb(_ring(*row[3:7])) for row in table_rows], pa.binary())
    corners = [min(row[4] for row in table_rows), min(row[3] for row in table_rows)]
    corners += [max(row[6] for row in table_rows), max(row[5] for row in table_rows)]
    column = {"encoding": "WKB", "geometry_types": ["Polygon"], "orientation": "counterclockwise", "bbox": corners}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table(arrays).replace_schema_metadata({b"geo": json.dumps(geo).encode("utf-8")})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _ring(south: float, west: float, north: float, east: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def _wkb(ring: list[list[float]]) -> bytes:
    # Little endian, polygon, one ring, its points.
    head = struct.pack("<BIII", 1, 3, 1, len(ring))
    return head + b"".join(struct.pack("<dd", *point) for point in ring)
