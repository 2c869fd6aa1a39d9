"""A table in, a protected table out, on this machine: one person, or a fleet told apart by an id column.

What is done is a :class:`~sfumato.plan.Plan`. Noise is drawn in chunks, so a million points stay well under a
gigabyte.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.engines.people import columns_by_person
from sfumato.io import read_traces
from sfumato.io.fleet import fleet_table, write_fleet
from sfumato.plan import Plan
from sfumato.protection import protect_by, protect_fleet
from sfumato.randomness import Random

__all__ = ["fleet_table", "protect_table", "write_fleet"]


def protect_table(
    table: pa.Table,
    plan: Plan | None = None,
    *,
    zone: str | None = None,
    one_person: bool = False,
    rng: Random = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """The released Arrow table (id when there are several people, lat, lon, time, segment) and its certificate.

    A table of pandas or polars is taken too. Without a plan, the defaults of :class:`~sfumato.plan.Plan`.
    ``one_person`` says that all rows are one person's, whatever columns there are.
    """
    plan = plan or Plan()
    names = getattr(table, "column_names", None) or list(getattr(table, "columns", []))
    columns = None if one_person else columns_by_person([str(name) for name in names]) or None
    people = read_traces(table, zone=zone, columns=columns, one_person=one_person)
    if len(people) == 1:
        done = protect_by(plan, people[0][1], rng=rng)
        return done.release.to_table(), done.certificate
    fleet = protect_fleet(plan, people, rng=rng)
    return fleet_table(fleet.releases), fleet.certificate
