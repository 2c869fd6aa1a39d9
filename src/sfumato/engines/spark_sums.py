"""Sums that Spark makes and sfumato reads: tallies of reports, heat maps of points, and how far a release lies off.

Each is one aggregation whose result is as small as the grid or a few numbers; the estimates themselves
(:func:`sfumato.estimation.joint.joint`, :func:`sfumato.estimate_heatmap`) take it from there on the driver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.arrays import IntArray
from sfumato.engines.spark_groups import GROUP
from sfumato.errors import MissingExtra
from sfumato.estimation.tally import Tally
from sfumato.frames import differences_m
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import GridChannel

try:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error


def tally(reports: DataFrame, channel: GridChannel, *, cell: str = "cell") -> Tally:
    """How often each cell was reported; a cell that is none of the grid's is refused, as by every collector."""
    counted = reports.where(sql.col(cell).isNotNull()).groupBy(sql.col(cell).alias("cell")).count().collect()
    counts: IntArray = np.zeros(channel.cells, dtype=np.int64)
    places = np.array([row["cell"] for row in counted], dtype=np.int64)
    if places.size and (places.min() < 0 or places.max() >= channel.cells):
        counts = np.zeros(0, dtype=np.int64)  # refused below, in the words of every tally
    else:
        counts[places] = [row["count"] for row in counted]
    return Tally(channel, counts)


def heat_map(points: DataFrame, grid: Grid, *, lat: str = "lat", lon: str = "lon") -> IntArray:
    """How many points lie in each cell (outside the grid: in none), counted where the points are."""

    def cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = np.zeros(grid.cells, dtype=np.int64)
        for batch in batches:
            lats, lons = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("lat", "lon"))
            there = np.isfinite(lats) & np.isfinite(lons)
            found = grid.locate(lats[there], lons[there])
            counts += np.bincount(found[found >= 0], minlength=grid.cells)
        places = np.flatnonzero(counts)
        yield pa.RecordBatch.from_arrays([pa.array(places), pa.array(counts[places])], names=["cell", "points"])

    chosen = points.select(sql.col(lat).cast("double").alias("lat"), sql.col(lon).cast("double").alias("lon"))
    summed = chosen.mapInArrow(cells, "cell long, points long").groupBy("cell").agg(sql.sum("points").alias("points"))
    out: IntArray = np.zeros(grid.cells, dtype=np.int64)
    for row in summed.collect():
        out[row["cell"]] = row["points"]
    return out


@dataclass(frozen=True, slots=True)
class Offsets:
    """How far released points lie from the true ones, over ``points`` points of ``people`` people (private)."""

    people: int
    points: int
    rms_east_m: float
    rms_north_m: float
    largest_m: float
    least_moved_m: float
    """The smallest root-mean-square distance of one person: near 0, somebody was not moved."""


def offsets(
    original: DataFrame, released: DataFrame, *, person: str, time: str = "time", lat: str = "lat", lon: str = "lon"
) -> Offsets:
    """An audit of the noise itself, point by point: matched by person and time, summed person by person."""

    def named(frame: DataFrame, end: str) -> DataFrame:
        where = [sql.col(name).cast("double").alias(f"{role}{end}") for name, role in ((lat, "lat"), (lon, "lon"))]
        return frame.select(sql.col(person).alias("person"), sql.col(time).alias("time"), *where)

    def moved(table: pa.Table) -> pa.Table:
        where = [table.column(name).to_numpy() for name in ("lat_true", "lon_true", "lat_seen", "lon_seen")]
        codes = table.column("person").combine_chunks().dictionary_encode()
        codes = (pa.concat_arrays(codes.chunks) if isinstance(codes, pa.ChunkedArray) else codes).indices.to_numpy()
        east, north = differences_m(*where).T
        squared, points = east**2 + north**2, np.bincount(codes)
        sums = {"points": points, "east": np.bincount(codes, east**2), "north": np.bincount(codes, north**2)}
        farthest = np.zeros(points.size)
        np.maximum.at(farthest, codes, squared)
        return pa.table({**sums, "largest": farthest})

    both = named(original, "_true").dropna().join(named(released, "_seen"), ["person", "time"])
    group = both.withColumn(GROUP, sql.pmod(sql.xxhash64("person"), sql.lit(200)))
    people = group.groupBy(GROUP).applyInArrow(moved, "points long, east double, north double, largest double")
    row = people.agg(
        sql.count("points").alias("people"),
        sql.sum("points").alias("points"),
        sql.sum("east").alias("east"),
        sql.sum("north").alias("north"),
        sql.max("largest").alias("largest"),
        sql.min((sql.col("east") + sql.col("north")) / sql.col("points")).alias("least"),
    ).collect()[0]
    points = int(row["points"] or 0)
    return Offsets(
        int(row["people"]),
        points,
        math.sqrt((row["east"] or 0.0) / max(points, 1)),
        math.sqrt((row["north"] or 0.0) / max(points, 1)),
        math.sqrt(row["largest"] or 0.0),
        math.sqrt(row["least"] or 0.0),
    )
