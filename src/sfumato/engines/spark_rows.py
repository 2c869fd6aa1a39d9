"""The rows of a Parquet dataset as Spark reads and writes them: numbered, counted, hashed, and those left out named.

A row's number is its file's, in the order of names below the folder, times 2^40 and its own there: the order in which
the local engine reads them, whatever the order in which Spark does.
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote, urlsplit

from sfumato.engines.spark_groups import LEFT_OUT, ROW, Group, each_task, named
from sfumato.errors import InputError, MissingExtra
from sfumato.tables.layout import Layout

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as sql
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

_ROW_BITS = 40


def files_of(given: DataFrame) -> tuple[list[str], int]:
    """The files that have rows, in the order of their names below the folder, and how many rows there are."""
    counts = given.groupBy(sql.col("_metadata.file_path").alias("name")).count().collect()
    names = sorted((str(row["name"]) for row in counts), key=lambda name: _path(name).split("/"))
    return names, sum(int(row["count"]) for row in counts)


def _path(address: str) -> str:
    return unquote(urlsplit(address).path)


def below(names: list[str], root: str) -> list[str]:
    """The names of files below the dataset's folder."""
    start = root.rstrip("/") + "/"
    return [path.removeprefix(start) if path.startswith(start) else path.split("/")[-1] for path in map(_path, names)]


def numbered(given: DataFrame, names: list[str], layout: Layout) -> DataFrame:
    """The columns that are needed, every row with its number."""
    files = given.sparkSession.createDataFrame(list(enumerate(names)), "number long, path string")
    rows = given.select("_metadata.file_path", "_metadata.row_index", *map(named, layout.needed))
    joined = rows.join(sql.broadcast(files), rows["file_path"] == files["path"])
    number = sql.shiftleft(joined["number"], _ROW_BITS).bitwiseOR(joined["row_index"])
    return joined.select(number.alias(ROW), *map(named, layout.needed))


def write_frame(frame: DataFrame, folder: str) -> None:
    """As Parquet, without Hadoop's own mark beside the parts."""
    frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(folder)


def counted_parts(released: DataFrame, layout: Layout) -> tuple[dict[str, int], Counter[int]]:
    """Points of every part, and how many people have how many points, counted in what was written."""
    by_file = released.groupBy(sql.col("_metadata.file_name").alias("name")).count().collect()
    counts = {str(row["name"]): int(row["count"]) for row in by_file}
    if layout.person is None:
        return counts, Counter({sum(counts.values()): 1})
    rows = released.select(named(layout.person).alias("person"), sql.col("_metadata.file_name").alias("name"))
    in_parts = rows.groupBy("person", "name").agg(sql.count("*").alias("points"))
    people = in_parts.groupBy("person").agg(sql.sum("points").alias("points"), sql.count("*").alias("parts"))
    spread = people.groupBy("points", "parts").count().collect()
    if any(row["parts"] > 1 for row in spread):  # then they could have two noises
        raise InputError("One person's rows came into two parts.", "Nothing is released; report this.")
    return counts, Counter({int(row["points"]): int(row["count"]) for row in spread})


def write_left_out(tasks: DataFrame, group: Group, shown: list[str], folder: str) -> Counter[str]:
    """The rows that were left out, written by file, number and reason, and counted by reason."""
    spark = tasks.sparkSession
    left = each_task(tasks, LEFT_OUT, group.left_out)
    files = spark.createDataFrame(list(enumerate(shown)), "number long, file string")
    split = left.withColumn("number", sql.shiftright("row", _ROW_BITS))
    row = split["row"].bitwiseAND((1 << _ROW_BITS) - 1)
    out = split.join(sql.broadcast(files), "number").select("file", row.alias("row"), "reason")
    write_frame(out.coalesce(1).sortWithinPartitions("file", "row"), folder)
    counts = spark.read.schema("file string, row long, reason string").parquet(folder).groupBy("reason").count()
    return Counter({str(one["reason"]): int(one["count"]) for one in counts.collect()})


def digests(spark: SparkSession, folder: str) -> dict[str, str]:
    """The SHA-256 of every part by its name, computed where it lies."""
    files = spark.read.format("binaryFile").load(folder)
    name, digest = sql.element_at(sql.split("path", "/"), -1), sql.sha2("content", 256)
    return {
        str(row["name"]): str(row["sha"]) for row in files.select(name.alias("name"), digest.alias("sha")).collect()
    }
