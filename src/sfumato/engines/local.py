"""A table in, a protected table out, on this machine: one person, or a fleet told apart by an id column.

What is done is a :class:`~sfumato.plan.Plan`. Noise is drawn in chunks, so a million points stay well under a
gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from sfumato.engines.people import columns_by_person
from sfumato.errors import InputError
from sfumato.io import output_format, read_traces
from sfumato.plan import Plan
from sfumato.protection import protect_by, protect_fleet
from sfumato.randomness import Random
from sfumato.traces import Trace


def protect_table(
    table: pa.Table, plan: Plan | None = None, *, zone: str | None = None, rng: Random = None
) -> tuple[pa.Table, dict[str, Any]]:
    """The released Arrow table (id when there are several people, lat, lon, time, segment) and its certificate.

    A table of pandas or polars is taken too. Without a plan, the defaults of :class:`~sfumato.plan.Plan`.
    """
    plan = plan or Plan()
    names = getattr(table, "column_names", None) or list(getattr(table, "columns", []))
    people = read_traces(table, zone=zone, columns=columns_by_person([str(name) for name in names]) or None)
    if len(people) == 1:
        done = protect_by(plan, people[0][1], rng=rng)
        return done.release.to_table(), done.certificate
    fleet = protect_fleet(plan, people, rng=rng)
    return fleet_table(fleet.releases), fleet.certificate


def fleet_table(people: Sequence[tuple[str, Trace]]) -> pa.Table:
    """Several people's traces as one Arrow table with a column ``id``."""
    if not people:
        raise InputError("There is nobody in this fleet.", "Give at least one trace.")
    parts = []
    for person, trace in people:
        table = trace.to_table()
        parts.append(table.add_column(0, "id", pa.array([person] * len(trace), pa.string())))
    return pa.concat_tables(parts)


def write_fleet(people: Sequence[tuple[str, Trace]], path: str | Path, *, format: str | None = None) -> None:
    """Several people's traces as Parquet or CSV."""
    chosen = output_format(path, format).name
    table = fleet_table(people)
    if chosen == "parquet":
        pq.write_table(table, path, compression="zstd", use_dictionary=["id", "segment"])
    elif chosen == "csv":
        text = pc.strftime(table.column("time").cast(pa.timestamp("ms", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")
        index = table.column_names.index("time")
        pc_csv.write_csv(table.set_column(index, "time", text), path)
    else:
        raise InputError("A fleet cannot be written in this format.", "Use .parquet or .csv.")
