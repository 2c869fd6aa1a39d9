"""Everybody of a dataset on Spark, as the suite of attacks holds them: digests are made where the rows are.

Rows of the original and of the release meet by person, each in the order of its files, so that a digest comes out as
it does without Spark; the digests alone (some hundred kilobytes of a person, private) travel to the driver. People come
in the order in which the original's files name them, as the attackers' two halves do.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.things.traces import Trace, join_traces
from sfumato.tracks.attacks.truths import KEPT, AttackedPerson, person_of
from sfumato.tracks.folders.spark.blocks import FILE, INDEX, ROW_BITS, quietly
from sfumato.tracks.folders.spark.frames_on_spark import column_named
from sfumato.tracks.folders.spark.hadoop import HadoopFolder
from sfumato.tracks.folders.spark.parquet_rows import dataset_of
from sfumato.tracks.folders.spark.spark_job import session_settings, spark_words
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.tables.columns import columns_by_person, roles_of
from sfumato.tracks.io.tables.point_table import from_arrow
from sfumato.tracks.people.layout import TableReading

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as sql
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

_PERSON, _FOUND = "_sfumato_person", "first long, person binary"


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """How a worker reads the rows of one person; ``schema`` is of the files, whose columns come under their numbers."""

    schema: pa.Schema
    files: dict[int, int]
    reading: Reading

    def track(self, table: pa.Table) -> tuple[int, Trace | None]:
        """The number of a person's first row, and their track: None where no row can be used."""
        hashes, own = (table.column(name).to_numpy() for name in (FILE, INDEX))
        numbers = (np.array([self.files[key] for key in hashes.tolist()], dtype=np.int64) << ROW_BITS) + own
        if not numbers.size:
            return -1, None
        order = np.argsort(numbers)
        plain = table.select(range(len(self.schema))).rename_columns(self.schema.names).cast(self.schema).take(order)
        edges = np.flatnonzero(np.diff(numbers[order] >> ROW_BITS)) + 1
        parts, roles = [], roles_of(self.schema, self.reading)
        for start, end in zip([0, *edges], [*edges, len(order)], strict=True):
            part = plain.slice(start, end - start)
            parts += [trace for _, trace in from_arrow(part, self.reading, roles=roles, whole=False)]
        parts.sort(key=lambda trace: float(trace.times_s[0]))
        return int(numbers[order[0]]), (join_traces(parts) if parts[1:] else parts[0]) if parts else None


def people_on_spark(spark: SparkSession, original: str, release: str, reading: TableReading) -> list[AttackedPerson]:
    """Everybody of the Parquet dataset at ``original`` beside what was released of them."""
    with spark_words(), session_settings(spark):
        before, before_rows = _dealt(spark, original, reading)
        after, after_rows = _dealt(spark, release, replace(reading, zone=None))
        after = _under_given_ids(spark, after, release.rstrip("/"))

        def digest(key: tuple[pa.Scalar, ...], left: pa.Table, right: pa.Table) -> pa.Table:
            def found() -> pa.Table:
                first, own = before_rows.track(left)
                shown = after_rows.track(right)[1]
                one = None if own is None else person_of(key[0].as_py(), own, shown)
                return pa.table(
                    [pa.array([first]), pa.array([pickle.dumps(one)], pa.large_binary())], names=["first", "person"]
                )

            return quietly(found)

        grouped = before.groupBy(_PERSON).cogroup(after.groupBy(_PERSON))
        rows = sorted(grouped.applyInArrow(digest, _FOUND).collect(), key=lambda row: int(row["first"]))
    strangers = sum(row["first"] < 0 for row in rows)
    if strangers:
        raise InputError(
            f"Of {strangers} people of the release there is nobody in the original.",
            "Name the columns of people alike (--column id=...), or give the private list of ids beside the release.",
        )
    found = (pickle.loads(row["person"]) for row in rows)
    return [one for one in found if one is not None]


def _dealt(spark: SparkSession, address: str, reading: TableReading) -> tuple[DataFrame, _Rows]:
    """Rows by person, columns under their numbers, and how to read them."""
    given = spark.read.options(mergeSchema=True).parquet(address)
    dataset, files = dataset_of(given, HadoopFolder(spark, address))
    names = dataset.schema.names
    columns = columns_by_person(names, reading.columns)
    asked = Reading.of(reading.zone, columns, KEPT, keep_if_there=True)
    roles = roles_of(dataset.schema, asked)
    if roles.names_nobody(asked) or "id" not in roles.by_role:
        raise InputError("No column of the dataset is known to say whose each row is.", "Name it: --column id=user_id.")
    person = roles.by_role["id"]
    schema = pa.schema([dataset.schema.field(name) for name in roles.needed], metadata=dataset.schema.metadata)
    frame = given.select(
        *(column_named(name).alias(f"c{place}") for place, name in enumerate(roles.needed)),
        sql.xxhash64("_metadata.file_path").alias(FILE),
        sql.col("_metadata.row_index").alias(INDEX),
        sql.coalesce(column_named(person).cast("string"), sql.lit("none")).alias(_PERSON),
    )
    return frame, _Rows(schema, files, replace(asked, columns={**columns, "id": person}))


def _under_given_ids(spark: SparkSession, after: DataFrame, release: str) -> DataFrame:
    """The release under the ids that were given, where its private list (a file, or Spark's folder) lies beside it."""
    text, folder = f"{release}.ids.csv", f"{release}.ids"
    if HadoopFolder(spark, folder).has():
        listed = spark.read.parquet(folder)
    elif HadoopFolder(spark, text).has():
        listed = spark.read.csv(text, header=True)
    else:
        return after
    names = listed.select(sql.col("given").cast("string"), sql.col("released").cast("string"))
    joined = after.join(names, after[_PERSON] == names["released"], "left")
    given = sql.coalesce(sql.col("given"), sql.col(_PERSON))
    return joined.withColumn(_PERSON, given).drop("given", "released")
