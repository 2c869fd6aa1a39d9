"""Several people's traces in one table: written as Parquet or CSV with a column ``id``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.formats import output_format


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
    write_fleet_table(fleet_table(people), path, format=format)


def write_fleet_table(table: pa.Table, path: str | Path, *, format: str | None = None) -> None:
    """A table laid out like :func:`fleet_table`'s as Parquet or CSV."""
    chosen = output_format(path, format).name
    if chosen == "parquet":
        pq.write_table(table, path, compression="zstd", use_dictionary=["id", "segment"])
    elif chosen == "csv" and "time" not in table.column_names:
        pc_csv.write_csv(table, path)
    elif chosen == "csv":
        text = pc.strftime(table.column("time").cast(pa.timestamp("ms", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")
        index = table.column_names.index("time")
        pc_csv.write_csv(table.set_column(index, "time", text), path)
    else:
        raise InputError("A fleet cannot be written in this format.", "Use .parquet or .csv.")
