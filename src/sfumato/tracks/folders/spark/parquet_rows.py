"""A Parquet dataset as Spark reads it, and the files of its release as Spark writes and counts them.

A row's number is its file's, in the order of names below the folder, times 2^40 and its own there: the order in which
the local engine reads them, whatever the order in which Spark does.

Spark knows no way to write bytes as they are, but it writes lines of text, each ended as one likes: here by the four
letters that end every Parquet file, one line to a file. So the parts are written by the local job's own function, with
its types and codec, and reach any store that Hadoop knows by Spark's own commit: all files of a task, or none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa

from sfumato.base.errors import InputError, MissingExtra
from sfumato.tracks.folders.rows.dataset import BucketNote, Dataset
from sfumato.tracks.folders.spark.blocks import (
    BLOCKS,
    ENDS_WITH,
    FILE,
    FILES,
    INDEX,
    PARTS,
    REJECTED,
    ROW_BITS,
    SAID,
    DatasetWork,
)
from sfumato.tracks.folders.spark.frames_on_spark import column_named
from sfumato.tracks.folders.spark.hadoop import HadoopFolder

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as sql
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

_SAMPLED = 64  # files whose own types are looked up


def dataset_of(given: DataFrame, root: HadoopFolder) -> tuple[Dataset, dict[int, int]]:
    """Names, types and codec, without the rows; and the number of each file by the hash of its address."""
    spark = given.sparkSession
    addresses = sorted(given.inputFiles(), key=lambda address: _path(address).split("/"))
    spelled = [(two, number) for number, one in enumerate(addresses) for two in dict.fromkeys((one, _short(one)))]
    listed = spark.createDataFrame(pa.table({"address": pa.array([one for one, _ in spelled], pa.string())}))
    hashes = [row[0] for row in listed.select(sql.xxhash64("address")).collect()]
    files = {value: number for value, (_, number) in zip(hashes, spelled, strict=True)}
    if len(files) != len(spelled):
        raise InputError("Two files have addresses of one hash.", "Rename one of the dataset's files.")
    schema, codec = _as_written(given.limit(0).toArrow().schema, addresses, root)
    start = root.path.rstrip("/") + "/"
    paths = [_path(address) for address in addresses]
    names = tuple(path.removeprefix(start) if path.startswith(start) else path.split("/")[-1] for path in paths)
    starts = np.arange(len(names) + 1, dtype=np.int64) << ROW_BITS
    return Dataset(Path(), names, (), schema, starts, (), codec, ""), files


def _path(address: str) -> str:
    return unquote(urlsplit(address).path)


def _short(address: str) -> str:
    """A file of this machine as Spark spells it beside rows, not in lists."""
    return address.replace("file:///", "file:/", 1) if address.startswith("file:///") else address


def _as_written(read: pa.Schema, addresses: list[str], root: HadoopFolder) -> tuple[pa.Schema, str]:
    """The types that the files say they hold, where Spark's own can be cast to them; and the first codec."""
    step = -(-len(addresses) // _SAMPLED) or 1
    footers = [root.footer(address) for address in addresses[::step]]
    groups = (footer.row_group(0) for footer in footers if footer.num_row_groups and footer.num_columns)
    codec = next((group.column(0).compression for group in groups), "ZSTD")
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    try:
        found = pa.unify_schemas(schemas, promote_options="permissive") if schemas else read
    except (pa.ArrowException, TypeError):
        found = read
    names = [name for name in found.names if name in read.names]
    names += [name for name in read.names if name not in names]
    fields = [_field(read.field(name), found.field(name) if name in found.names else None) for name in names]
    return pa.schema(fields, metadata=schemas[0].metadata if schemas else None), codec


def _field(read: pa.Field, found: pa.Field | None) -> pa.Field:
    if found is None:
        return read
    try:
        pa.array([], read.type).cast(found.type.value_type if pa.types.is_dictionary(found.type) else found.type)
    except (pa.ArrowException, TypeError, ValueError):
        return read
    return found


def released_files(given: DataFrame, work: DatasetWork) -> DataFrame:
    """The files of the release, one row each: rows dealt into blocks, and every bucket's blocks made into files."""
    numbered = given.select(
        sql.xxhash64("_metadata.file_path").alias(FILE),
        sql.col("_metadata.row_index").alias(INDEX),
        *(
            column_named(name).alias(f"c{place}") for place, name in enumerate(work.layout.needed)
        ),  # dots in names and all
    )
    blocks = numbered.mapInArrow(lambda batches: work.deal(batches), BLOCKS)
    groups = blocks.repartition(work.buckets, "bucket").groupBy("bucket")
    return groups.applyInArrow(lambda table: work.make_files(table), FILES)


def write_files(files: DataFrame, folder: str) -> None:
    """Each as it is, one below the other by kind; Hadoop's own mark is not left beside them."""
    settings = {"lineSep": ENDS_WITH.decode(), "compression": "none", "maxRecordsPerFile": 1}
    settings["mapreduce.fileoutputcommitter.marksuccessfuljobs"] = "false"
    lines = files.select("kind", sql.col("content").cast("string").alias("content"))
    lines.write.partitionBy("kind").options(**settings).text(folder)


def folder_of(kind: str) -> str:
    """Where files of a kind lie below the folder they are written to."""
    return f"kind={kind}"


@dataclass(frozen=True, slots=True)
class PartsSaid:
    """The parts by the number of their bucket (file, digest, points), and how many people have how many points.

    ``proposed`` is whose losses may be computed, of each bucket.
    """

    parts: Mapping[int, tuple[str, str, int]]
    spread: Counter[int]
    rejected: Counter[str]
    proposed: list[BucketNote]


def said_of(spark: SparkSession, folder: HadoopFolder, below: str) -> PartsSaid:
    """What was written, from what lies there: each part's digest is that of its bytes in the store."""
    at = {kind: f"{below}/{folder_of(kind)}" for kind in (PARTS, SAID, REJECTED)}
    parts: dict[int, tuple[str, str, int]] = {}
    spread, rejected, proposed = Counter[int](), Counter[str](), dict[int, str]()
    if folder.has(at[PARTS]):
        rows = spark.read.parquet(f"{folder.address}/{at[SAID]}").collect()
        names = {digest: name for name, digest in digests(spark, f"{folder.address}/{at[PARTS]}").items()}
        for row in rows:
            if row["sha256"] not in names:
                raise InputError("A part is not what a worker wrote.", "Nothing is released; report this.")
            spread[int(row["points"])] += int(row["people"])
            before = parts.get(row["bucket"], ("", "", 0))[2]
            points = before + int(row["points"]) * int(row["people"])
            parts[int(row["bucket"])] = (names[row["sha256"]], str(row["sha256"]), points)
            proposed[int(row["bucket"])] = row["proposed"]
        if len(parts) != len(names):
            raise InputError("A part was written twice or not at all.", "Nothing is released; report this.")
    if folder.has(at[REJECTED]):
        counts = spark.read.parquet(f"{folder.address}/{at[REJECTED]}").groupBy("reason").count()
        rejected.update({str(row["reason"]): int(row["count"]) for row in counts.collect()})
    return PartsSaid(parts, spread, rejected, [json.loads(one) for one in proposed.values()])


def digests(spark: SparkSession, folder: str) -> dict[str, str]:
    """The SHA-256 of every part by its name, computed where it lies."""
    files = spark.read.format("binaryFile").load(folder)
    name, digest = sql.element_at(sql.split("path", "/"), -1), sql.sha2("content", 256)
    return {
        str(row["name"]): str(row["sha"]) for row in files.select(name.alias("name"), digest.alias("sha")).collect()
    }
