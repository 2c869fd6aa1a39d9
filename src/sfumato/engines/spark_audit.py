"""Everybody of a release attacked on Spark, each person where their rows are: the local audit's numbers.

The attack is :func:`sfumato.adversary.audit.audit`, with the original at hand, so all of it is private. What comes back
is one small row for each person.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.adversary.audit import Audit, audit
from sfumato.adversary.fleet import MOST_POINTS, FleetAudit, PersonAudit, PersonLoss, person_losses
from sfumato.certificates.verify import Document
from sfumato.engines.spark_groups import GROUP, quietly
from sfumato.engines.spark_sums import matched
from sfumato.errors import InputError, MissingExtra
from sfumato.traces import Trace

try:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

_FOUND = "person string, audit string, loss string"


def audit_people(
    original: DataFrame,
    released: DataFrame,
    certificate: Document,
    *,
    person: str,
    time: str = "time",
    lat: str = "lat",
    lon: str = "lon",
    prior: str = "fit",
) -> FleetAudit:
    """Attack everybody, the first points of each, as ``audit_fleet`` does with some of them on one machine.

    ``certificate`` is that of the noise (a dataset's has it as "noise"); people's points are matched by time.
    """
    both = matched(original, released, (person, time, lat, lon)).where("lat_true is not null")
    seconds = sql.unix_micros(sql.col("time").cast("timestamp")).alias("us")
    group = sql.xxhash64("person").alias(GROUP)
    rows = both.select(sql.col("person").cast("string"), seconds, "lat_true", "lon_true", "lat_seen", "lon_seen", group)
    work = partial(_attacked, certificate=dict(certificate), prior=prior)
    found = rows.groupBy(GROUP).applyInArrow(lambda table: quietly(partial(work, table)), _FOUND).collect()
    if not found:
        raise InputError(
            "No released point has an original of the same person and time.",
            "Give the dataset that this release was made from, released with its times.",
        )
    found.sort(key=lambda row: str(row["person"]))
    persons = tuple(PersonAudit(row["person"], Audit(**json.loads(row["audit"]))) for row in found)
    losses = tuple(PersonLoss(**json.loads(row["loss"])) for row in found)
    longest = max(one.points for one in losses)
    notes = (f"Of tracks of more than {MOST_POINTS} points the first {MOST_POINTS} were attacked.",)
    return FleetAudit(len(persons), losses, persons, notes if longest > MOST_POINTS else ())


def _attacked(table: pa.Table, certificate: Document, prior: str) -> pa.Table:
    found = list(_people(table, certificate, prior))
    names = ("person", "audit", "loss")
    return pa.table({name: pa.array([row[k] for row in found], pa.string()) for k, name in enumerate(names)})


def _people(table: pa.Table, certificate: Document, prior: str) -> Iterator[tuple[str, str, str]]:
    for person in table.column("person").unique().to_pylist():  # two whose hashes meet
        own = table.filter(pc.equal(table.column("person"), person)).sort_by("us")
        times_s = own.column("us").to_numpy() / 1e6
        true, seen = (
            Trace(own.column(f"lat_{end}").to_numpy(), own.column(f"lon_{end}").to_numpy(), times_s)
            for end in ("true", "seen")
        )
        (loss,) = person_losses([(person, seen)], certificate)
        first = slice(0, MOST_POINTS)
        one, other = (Trace(t.lat_deg[first], t.lon_deg[first], t.times_s[first]) for t in (true, seen))
        done = audit(one, other, certificate, prior=prior, held_out=False)
        said = {name: getattr(loss, name) for name in PersonLoss.__dataclass_fields__}
        yield person, json.dumps(done.to_dict()), json.dumps(said)
