"""The same protection on Apache Spark: rows go to groups by person, and each group through the local engine.

Noise is a function of (key, person, times), so it does not matter which machine draws it, in how many groups the people
are, or how often Spark computes a part again after it lost a worker or an executor: the bytes are those of
:func:`sfumato.tracks.folders.streams.protect_table` with the same key.

A group is all rows of the people whose ids have one hash. Rows arrive in any order, and are first put into the order of
what is in them: numbers given to a frame's rows as they come would be others when a part of it is computed again.

*Whom the key is shown to.* It is made on the driver and travels inside the pickled function to the executors, over the
same channel and to the same processes as the true positions; whoever may read those (the cluster's operators) can read
it too, and nobody else needs to be trusted with more. It is written to no file and no log of ours, and is gone when the
application ends; evaluating the returned frame again draws the same noise, calling :func:`protect` again does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import pyarrow as pa

from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.randomness import Random
from sfumato.tracks.certificates.build import ReleasedFiles, certificate_body
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.person_ids import merging_id, refuse_contacts
from sfumato.tracks.folders.spark.blocks import quietly
from sfumato.tracks.people.engine import ProtectedRows, protect_rows
from sfumato.tracks.people.layout import AskedOfReading, Layout, TableReading
from sfumato.tracks.people.noise import Noise, choose_for_people
from sfumato.tracks.people.rows import FAULTS, count_faults, fault_words
from sfumato.tracks.plan import Plan, Times

try:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as sql
    from pyspark.sql.types import LongType, StringType, StructField, StructType
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

GROUP, REASON = "_sfumato_group", "reason"
SUMMED = "group long, people long, points long, sha256 string"
GROUPS_PER_PART = 8  # people are dealt by hashes: several groups make parts more alike


def deal_by_person(frame: DataFrame, names: Sequence[str], layout: Layout, parts: int) -> DataFrame:
    """Rows dealt out by person into groups, the groups into ``parts`` tasks; where all are one person's, one group.

    The columns called ``names`` come under their numbers: Spark's Arrow functions stumble over dots in names.
    """
    columns = [column_named(name).alias(f"c{place}") for place, name in enumerate(names)]
    if layout.person is None:
        return frame.select(*columns, sql.lit(0).cast("long").alias(GROUP)).repartition(1)
    groups = sql.lit(GROUPS_PER_PART * parts)
    number = sql.pmod(sql.xxhash64(column_named(layout.person)), groups).cast("long")
    return frame.select(*columns, number.alias(GROUP)).repartition(parts, GROUP)


def column_named(column: str) -> Column:
    """A column by its very name, dots and all."""
    return sql.col("`" + column.replace("`", "``") + "`")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """What a worker does with the rows of some people; pickled with the key, whose text is never shown.

    ``names`` are those of the columns, which come under their numbers.
    """

    names: tuple[str, ...]
    layout: Layout
    noise: Noise
    strict: bool = False

    def __repr__(self) -> str:
        return "<a group of people, the key not shown>"

    def release(self, table: pa.Table) -> pa.Table:
        """The rows that may be released, person by person, in their order in the source."""
        return quietly(lambda: _plain(self._done(table)[0].table))

    def reject(self, table: pa.Table) -> pa.Table:
        """The rows that cannot be used as they came, with the reason."""

        def bad_rows() -> pa.Table:
            done, source = self._done(table)
            kept = source.drop_columns([GROUP]).filter(pa.array(done.faults > 0))
            return _plain(kept.append_column(REASON, _reasons(done)))

        return quietly(bad_rows)

    def sums(self, table: pa.Table) -> pa.Table:
        """One row: how many people and points, and the digest of what is released."""

        def sums() -> pa.Table:
            done = self._done(table)[0]
            digest = done.content().digest() if len(done.labels) else ""
            values = (table.column(GROUP)[0].as_py(), len(done.labels), len(done.lat_deg), digest)
            return pa.table([[value] for value in values], names=["group", "people", "points", "sha256"])

        return quietly(sums)

    def _done(self, table: pa.Table) -> tuple[ProtectedRows, pa.Table]:
        # Shuffled rows come in any order; which of two at one moment is kept must not depend on it.
        source = _in_order(table.combine_chunks().rename_columns([*self.names, GROUP]), self.layout)
        done = protect_rows(source, self.layout, self.noise, by_people=True)
        if self.noise.plan.ids is None:
            refuse_contacts(done.labels)
        if self.strict and (done.faults > 0).any():
            raise InputError(
                fault_words(count_faults(done.faults), source.num_rows), "Repair them, or leave strict out."
            )
        return done, source


def _in_order(table: pa.Table, layout: Layout) -> pa.Table:
    names = dict.fromkeys([layout.roles.by_role["time"], *layout.needed])
    plain = [name for name in names if not pa.types.is_nested(table.schema.field(name).type)]
    return table.sort_by([(name, "ascending") for name in plain])


def _reasons(done: ProtectedRows) -> pa.Array:
    return pa.array([FAULTS[fault] for fault in done.faults[done.faults > 0].tolist()], pa.string())


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def refuse_two_spellings(frame: DataFrame, person: str) -> None:
    """Refuse ids that are one person's as far as noise can tell: they could be in two groups, with two noises."""
    ids = frame.select(column_named(person).alias("id")).where("id is not null").distinct()
    twice = ids.mapInArrow(_told_apart, "name string").groupBy("name").count().where("count > 1")
    if twice.limit(1).collect():
        raise InputError(
            "Two ids are the same up to upper and lower case, spaces or the way letters and numbers are written.",
            "If they are one person, write the id in one way; if not, give them ids that differ in more.",
        )


def _told_apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = [str(one) for one in batch.column(0).to_pylist() if one == one]
        names = [merging_id(one) for one in texts if one.strip()]
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string())], names=["name"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkRelease:
    """``frame`` is what may be released, ``rejects`` (private) the rows left out, with reasons; both are lazy.

    Neither is kept: persist ``frame``, or write it, before using it twice.
    """

    frame: DataFrame
    rejects: DataFrame
    _grouped: DataFrame
    _group: Group

    def certificate(self) -> dict[str, object]:
        """The certificate over everybody: one pass that draws every group again and keeps counts and digests."""
        group = self._group
        rows = self._grouped.groupBy(GROUP).applyInArrow(lambda table: group.sums(table), SUMMED).collect()
        found = sorted((row for row in rows if row["points"]), key=lambda row: int(row["group"]))
        if not found:
            raise InputError("None of the rows can be released.", "Look at the rejects for the reasons.")
        contents = tuple((int(row["points"]), str(row["sha256"])) for row in found)
        people = sum(int(row["people"]) for row in found)
        ids = group.layout.stated_ids(new=group.noise.new_ids)
        terms = replace(group.noise.terms(several_files=True), ids=ids, columns=tuple(self.frame.columns))
        return with_seal(certificate_body(terms, ReleasedFiles(contents, range(people))))


def protect(
    frame: DataFrame,
    plan: Plan | None = None,
    *,
    strict: bool = False,
    groups: int | None = None,
    rng: Random = None,
    key: bytes | None = None,
    **read: Unpack[AskedOfReading],
) -> SparkRelease:
    """Every usable row of ``frame`` with its person's noise, laid out as it came; see ``protect_table`` for the rest.

    ``groups`` (by default ``spark.sql.shuffle.partitions``) is into how many tasks people are dealt, about eight groups
    in each; a group must fit into the memory of one Python worker, about 200 bytes per row. ``strict`` fails the job
    at the first unusable row. A frame has no order: a person's rows come back by time, and of two at one moment the one
    with the smaller values is kept.
    """
    plan = plan or Plan()
    schema = frame.limit(0).toArrow().schema
    layout = TableReading(**read).layout(schema, plan.keep, plan.times, declared=True)
    parts = int(groups or frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    noise = choose_for_people(plan, rng=rng, key=key, parts=GROUPS_PER_PART * parts)
    noise = replace(noise, new_ids=plan.ids == "random")
    if layout.person is not None:
        refuse_two_spellings(frame, layout.person)
    grouped, whole = (deal_by_person(frame, names, layout, parts) for names in (layout.needed, frame.columns))
    group, every = (Group(tuple(names), layout, noise, strict) for names in (layout.needed, frame.columns))
    rejected = StructType([*frame.schema.fields, StructField(REASON, StringType())])
    return SparkRelease(
        grouped.groupBy(GROUP).applyInArrow(lambda table: group.release(table), released_schema(group, frame.schema)),
        whole.groupBy(GROUP).applyInArrow(lambda table: every.reject(table), rejected),
        grouped,
        group,
    )


def released_schema(group: Group, schema: StructType) -> StructType:
    """The columns of what may be released, with the types of ``schema``."""
    layout, shown = group.layout, Times.parse(group.noise.plan.times).shown
    names = [name for name in layout.released if shown or name != layout.roles.by_role["time"]]
    held = {name: schema[name] for name in names}
    person = layout.person
    if group.noise.new_ids and person in held and not isinstance(held[person].dataType, LongType):
        held[person] = StructField(person, StringType())
    return StructType(list(held.values()))
