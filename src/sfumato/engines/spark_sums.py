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
from sfumato.engines.spark_groups import GROUP, named
from sfumato.errors import InputError, MissingExtra
from sfumato.estimation.tally import Tally
from sfumato.frames import differences_m
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import GridChannel

try:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql
    from pyspark.sql.types import IntegralType
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error


_MOVED = "points long, east double, north double, largest double, new long"


def tally(reports: DataFrame, channel: GridChannel, *, cell: str = "cell") -> Tally:
    """How often each cell was reported; what is no cell of the grid is refused, as by every collector."""
    if not isinstance(reports.schema[cell].dataType, IntegralType):
        raise InputError("The reports are not whole numbers.", "A report is the index of a cell.")
    counted = reports.groupBy(named(cell).alias("cell")).count().collect()
    counts: IntArray = np.zeros(channel.cells, dtype=np.int64)
    outside = 0
    for place, count in counted:
        if place is None or not 0 <= place < channel.cells:
            outside += count
        else:
            counts[place] = count
    if outside:
        raise InputError(
            f"{outside} reports name no cell of 0 .. {channel.cells - 1}.", "Leave them out before tallying."
        )
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

    chosen = points.select(named(lat).cast("double").alias("lat"), named(lon).cast("double").alias("lon"))
    summed = chosen.mapInArrow(cells, "cell long, points long").groupBy("cell").agg(sql.sum("points").alias("points"))
    out: IntArray = np.zeros(grid.cells, dtype=np.int64)
    for row in summed.collect():
        out[row["cell"]] = row["points"]
    return out


@dataclass(frozen=True, slots=True)
class Offsets:
    """How far released points lie from the true ones, over ``points`` points of ``people`` people (private).

    ``unmatched`` released points are left out: their person has no point at that time in the original, or several.
    """

    people: int
    points: int
    unmatched: int
    rms_east_m: float
    rms_north_m: float
    largest_m: float
    least_moved_m: float
    """The smallest root-mean-square distance of one person: near 0, somebody was not moved."""


def offsets(
    original: DataFrame, released: DataFrame, *, person: str, time: str = "time", lat: str = "lat", lon: str = "lon"
) -> Offsets:
    """An audit of the noise itself, point by point: matched by person and time, summed person by person."""
    group = sql.pmod(sql.xxhash64("person"), sql.lit(200)).alias(GROUP)
    both = matched(original, released, (person, time, lat, lon)).select("*", group)
    people = both.groupBy(GROUP).applyInArrow(
        _moved, "points long, east double, north double, largest double, new long"
    )
    found = sql.col("points") > 0
    row = people.agg(
        sql.count_if(found).alias("people"),
        sql.sum("points").alias("points"),
        sql.sum("new").alias("unmatched"),
        sql.sum("east").alias("east"),
        sql.sum("north").alias("north"),
        sql.max("largest").alias("largest"),
        sql.min(sql.when(found, (sql.col("east") + sql.col("north")) / sql.col("points"))).alias("least"),
    ).collect()[0]
    points = int(row["points"] or 0)
    if not points:
        raise InputError(
            "No released point has an original of the same person and time.",
            "Give the dataset that this release was made from, released with its times.",
        )
    return Offsets(
        int(row["people"]),
        points,
        int(row["unmatched"]),
        math.sqrt(row["east"] / points),
        math.sqrt(row["north"] / points),
        math.sqrt(row["largest"]),
        math.sqrt(row["least"]),
    )


def matched(original: DataFrame, released: DataFrame, columns: tuple[str, str, str, str]) -> DataFrame:
    """Released points beside the original ones of the same person and time; nothing there unless it is exactly one."""
    person, time, *where = columns
    degrees_of = dict(zip(("lat", "lon"), where, strict=True))

    def chosen(frame: DataFrame, end: str) -> DataFrame:
        degrees = [named(name).cast("double").alias(role + end) for role, name in degrees_of.items()]
        return frame.select(named(person).alias("person"), named(time).alias("time"), *degrees)

    true = [sql.first(name).alias(name) for name in ("lat_true", "lon_true")]
    once = chosen(original, "_true").dropna().groupBy("person", "time").agg(*true, sql.count("*").alias("times"))
    return chosen(released, "_seen").join(once.where("times = 1").drop("times"), ["person", "time"], "left")


def _moved(table: pa.Table) -> pa.Table:
    """One row for each person, and one for the points that have no original."""
    there = table.filter(table.column("lat_true").is_valid())
    where = [there.column(name).to_numpy() for name in ("lat_true", "lon_true", "lat_seen", "lon_seen")]
    codes = there.column("person").dictionary_encode().combine_chunks().indices.to_numpy()
    east, north = differences_m(*where).T
    squared, points = east**2 + north**2, np.bincount(codes)
    farthest = np.zeros(points.size)
    np.maximum.at(farthest, codes, squared)
    sums = (points, np.bincount(codes, east**2), np.bincount(codes, north**2), farthest)
    new = np.zeros(points.size + 1, dtype=np.int64)
    new[-1] = table.num_rows - there.num_rows
    names = ("points", "east", "north", "largest")
    return pa.table({**{name: np.append(of, 0) for name, of in zip(names, sums, strict=True)}, "new": new})
