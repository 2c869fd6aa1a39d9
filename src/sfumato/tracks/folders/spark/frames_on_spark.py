"""The same protection on Apache Spark: rows go to groups by person, and each group through the local engine.

Noise is a function of (key, person, times), so it does not matter which machine draws it, in how many groups the people
are, or how often Spark computes a part again after it lost a worker or an executor: the bytes are those of
:func:`sfumato.tracks.folders.streams.protect_table` with the same key.

*Whom the key is shown to.* It is made on the driver and travels inside the pickled function to the executors, over the
same channel and to the same processes as the true positions; whoever may read those (the cluster's operators) can read
it too, and nobody else needs to be trusted with more. It is written to no file and no log of ours, and is gone when the
application ends; evaluating the returned frame again draws the same noise, calling :func:`protect` again does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.randomness import Random
from sfumato.tracks.certificates.build import ReleasedFiles, certificate_body
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.folders.spark.groups import (
    GROUP,
    GROUPS_PER_PART,
    REASON,
    SUMMED,
    Group,
    deal_by_person,
    refuse_two_spellings,
)
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.noise import choose_for_people
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times

try:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StringType, StructField, StructType
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error


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
        terms = self._group.noise.terms(several_files=True)
        return with_seal(certificate_body(terms, ReleasedFiles(contents, range(people))))


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

    ``groups`` (by default ``spark.sql.shuffle.partitions``) is into how many tasks people are dealt, about eight groups
    in each; a group must fit into the memory of one Python worker, about 200 bytes per row. ``strict`` fails the job
    at the first unusable row. A frame has no order: a person's rows come back by time, and of two at one moment the one
    with the smaller values is kept.
    """
    plan = plan or Plan()
    schema = frame.limit(0).toArrow().schema
    layout = TableReading(columns, zone, one_person).layout(schema, plan.keep, plan.times, declared=True)
    parts = int(groups or frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    noise = choose_for_people(plan, rng=rng, key=key, parts=GROUPS_PER_PART * parts)
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
    return StructType([schema[name] for name in names])
