"""A table in, a protected table out, on this machine: one person, or a fleet told apart by an id column.

Options are those of :func:`sfumato.protection.protect`. Noise is drawn in chunks, so a million points stay well under a
gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.engines.people import columns_by_person
from sfumato.errors import InputError
from sfumato.io import read_traces
from sfumato.protection import Protected, ProtectedFleet, protect, protect_fleet
from sfumato.traces import Trace


def protect_table(table: Any, *, zone: str | None = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The released Arrow table (id when there are several people, lat, lon, time, segment) and its certificate."""
    names = getattr(table, "column_names", None) or list(getattr(table, "columns", []))
    people = read_traces(table, zone=zone, columns=columns_by_person([str(name) for name in names]) or None)
    if len(people) == 1:
        done: Protected = protect(people[0][1], **options)
        return done.release.to_table(), dict(done.certificate)
    fleet: ProtectedFleet = protect_fleet(people, **options)
    return fleet_table(fleet.releases), dict(fleet.certificate)


def fleet_table(people: Sequence[tuple[str, Trace]]) -> Any:
    """Several people's traces as one Arrow table with a column ``id``."""
    import pyarrow as pa

    if not people:
        raise InputError("There is nobody in this fleet.", "Give at least one trace.")
    parts = []
    for person, trace in people:
        table = trace.to_table()
        parts.append(table.add_column(0, "id", pa.array([person] * len(trace), pa.string())))
    return pa.concat_tables(parts)


def write_fleet(people: Sequence[tuple[str, Trace]], path: Any, *, format: str | None = None) -> None:
    """Several people's traces as Parquet or CSV."""
    from sfumato.io import output_format

    chosen = output_format(path, format).name
    table = fleet_table(people)
    if chosen == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd", use_dictionary=["id", "segment"])
    elif chosen == "csv":
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv as pc_csv

        text = pc.strftime(table.column("time").cast(pa.timestamp("ms", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")
        index = table.column_names.index("time")
        pc_csv.write_csv(table.set_column(index, "time", text), path)
    else:
        raise InputError("A fleet cannot be written in this format.", "Use .parquet or .csv.")
