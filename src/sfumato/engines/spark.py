"""The same protection on Apache Spark: rows go to groups by person, and each group through the local engine.

Noise is a function of (key, person, times), so it does not matter which machine draws it, in how many groups the people
are, or how often Spark computes a part again after it lost a worker or an executor: the bytes are those of
:func:`sfumato.engines.local.protect_table` with the same key.

*Whom the key is shown to.* It is made on the driver and travels inside the pickled function to the executors, over the
same channel and to the same processes as the true positions; whoever may read those (the cluster's operators) can read
it too, and nobody else needs to be trusted with more. It is written to no file and no log of ours, and is gone when the
application ends; evaluating the returned frame again draws the same noise, calling :func:`protect` again does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from sfumato.certificates.build import ReleasedFiles, certificate_body
from sfumato.certificates.document import sealed
from sfumato.certificates.person_ids import merging_id
from sfumato.errors import InputError, MissingExtra
from sfumato.plan import Plan
from sfumato.randomness import Random
from sfumato.tables.layout import Layout
from sfumato.tables.noise import TableNoise
from sfumato.tables.protecting import ProtectedRows, protect_rows
from sfumato.tables.rows import FAULTS, counted, fault_words
from sfumato.times_released import Times

try:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StringType, StructField, StructType
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

GROUP, ROW, REASON = "_sfumato_group", "_sfumato_row", "reason"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkRelease:
    """``frame`` is what may be released, ``rejects`` (private) the rows left out, with reasons; both are lazy.

    Neither is kept: persist ``frame``, or write it, before using it twice.
    """

    frame: DataFrame
    rejects: DataFrame
    _grouped: DataFrame
    _group: _Group

    def certificate(self) -> dict[str, object]:
        """The certificate over everybody: one pass that draws every group again and keeps counts and digests."""
        group = self._group
        kinds = "group long, people long, points long, sha256 string"
        rows = self._grouped.groupBy(GROUP).applyInArrow(lambda table: group.summed(table), kinds).collect()
        found = sorted((row for row in rows if row["points"]), key=lambda row: int(row["group"]))
        if not found:
            raise InputError("None of the rows can be released.", "Look at the rejects for the reasons.")
        contents = tuple((int(row["points"]), str(row["sha256"])) for row in found)
        people = sum(int(row["people"]) for row in found)
        terms = self._group.noise.terms(several_files=True)
        return sealed(certificate_body(terms, ReleasedFiles(contents, range(people))))


def protect(
    frame: DataFrame,
    plan: Plan | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    one_person: bool = False,
    strict: bool = False,
    groups: int | None = None,
    rng: Random = None,
    key: bytes | None = None,
) -> SparkRelease:
    """Every usable row of ``frame`` with its person's noise, laid out as it came; see ``protect_table`` for the rest.

    ``groups`` (by default ``spark.sql.shuffle.partitions``) is into how many parts people are dealt: each must fit into
    the memory of one Python worker, about 200 bytes per row. ``strict`` fails the job at the first unusable row.
    """
    plan = plan or Plan()
    schema = frame.limit(0).toArrow().schema
    layout = Layout.of(schema, columns=columns, keep=plan.keep, zone=zone, one_person=one_person)
    if layout.roles.undeclared(layout.reading):
        raise InputError(
            "No column is known to say whose each row is.",
            f"Name it, columns={{'id': 'user_id'}}, or say one_person=True; its columns: {', '.join(schema.names)}.",
        )
    noise = TableNoise.of(plan, rng=rng, key=key)
    parts = int(groups or frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if layout.person is not None:
        _refuse_two_spellings(frame, layout.person)
    person = sql.lit(0) if layout.person is None else sql.pmod(sql.xxhash64(sql.col(layout.person)), sql.lit(parts))
    grouped = frame.withColumn(ROW, sql.monotonically_increasing_id()).withColumn(GROUP, person.cast("long"))
    group = _Group(layout, noise, strict)
    shown = Times.parse(plan.times).shown
    names = [name for name in layout.released if shown or name != layout.roles.by_role["time"]]
    released = StructType([frame.schema[name] for name in names])
    rejected = StructType([*frame.schema.fields, StructField(REASON, StringType())])
    by_group = grouped.groupBy(GROUP)
    return SparkRelease(
        by_group.applyInArrow(lambda table: group.released(table), released),
        by_group.applyInArrow(lambda table: group.rejected(table), rejected),
        grouped,
        group,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Group:
    """What a worker does with the rows of some people; pickled with the key, whose text is never shown."""

    layout: Layout
    noise: TableNoise
    strict: bool

    def __repr__(self) -> str:
        return "<a group of people, the key not shown>"

    def released(self, table: pa.Table) -> pa.Table:
        """The rows that may be released, person by person, in their order in the source."""
        return _plain(self._done(table)[0].table)

    def rejected(self, table: pa.Table) -> pa.Table:
        """The rows that cannot be used as they came, with the reason."""
        done, source = self._done(table)
        bad = pa.array(done.faults > 0)
        reasons = pa.array([FAULTS[fault] for fault in done.faults[done.faults > 0].tolist()], pa.string())
        return _plain(source.filter(bad).append_column(REASON, reasons))

    def summed(self, table: pa.Table) -> pa.Table:
        """One row: how many people and points, and the digest of what is released."""
        number = table.column(GROUP)[0].as_py()
        done = self._done(table)[0]
        digest = done.released().digest() if len(done.labels) else ""
        return pa.table(
            {"group": [number], "people": [len(done.labels)], "points": [len(done.lat_deg)], "sha256": [digest]}
        )

    def _done(self, table: pa.Table) -> tuple[ProtectedRows, pa.Table]:
        # Shuffled rows come in any order; which of two at one moment is kept must not depend on it.
        source = table.sort_by(ROW).drop_columns([ROW, GROUP]).combine_chunks()
        done = protect_rows(source, self.layout, self.noise, by_people=True)
        if self.strict and (done.faults > 0).any():
            raise InputError(fault_words(counted(done.faults), source.num_rows), "Repair them, or leave strict out.")
        return done, source


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def _refuse_two_spellings(frame: DataFrame, person: str) -> None:
    """Refuse ids that are one person's as far as noise can tell: they could be in two groups, with two noises."""
    ids = frame.select(sql.col(person).cast("string").alias("id")).where("id is not null").distinct()
    twice = ids.mapInArrow(_told_apart, "name string").groupBy("name").count().where("count > 1")
    if twice.limit(1).collect():
        raise InputError(
            "Two ids are the same up to upper and lower case, spaces or the way letters and numbers are written.",
            "If they are one person, write the id in one way; if not, give them ids that differ in more.",
        )


def _told_apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        names = [merging_id(one) for one in batch.column(0).to_pylist() if one.strip()]
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string())], names=["name"])
