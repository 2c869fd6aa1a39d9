"""Rows of many people, written as a dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def rows(count: int = 3000, people: int = 17, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user_id": pa.array([f"u{who}" for who in rng.integers(0, people, count)]),
            "time": pa.array(1_700_000_000_000 + np.arange(count) * 7000).cast(pa.timestamp("ms", "UTC")),
            "lat": 48.5 + rng.normal(size=count) * 0.01,
            "lon": 2.5 + rng.normal(size=count) * 0.01,
            "speed": rng.uniform(0, 9, count),
        }
    )


def written(folder: Path, table: pa.Table, files: int = 5, **options: object) -> Path:
    folder.mkdir(parents=True)
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    for number in range(files):
        part = table.slice(edges[number], edges[number + 1] - edges[number])
        pq.write_table(part, folder / f"f{number:02}.parquet", row_group_size=150, **options)
    return folder


def by_person(table: pa.Table) -> dict[object, pa.Table]:
    return {
        person: table.filter(pc.equal(table.column("user_id"), person)).combine_chunks()
        for person in pc.unique(table.column("user_id")).to_pylist()
    }
