"""What Spark's workers do, without Spark: rows in any stretches, dealt and made, are the local job's parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from people_rows import by_person, rows

from sfumato.base.randomness import fresh_key
from sfumato.tracks.folders.rows.dataset import open_dataset
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.spark.blocks import ENDS_WITH, PARTS, REJECTED, ROW_BITS, DatasetWork
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.noise import choose_for_people
from sfumato.tracks.plan import Plan


def test_stretches_in_any_order_come_out_as_the_local_jobs_rows(tmp_path: Path) -> None:
    table, plan = rows(1200, 9), Plan(ids="keep", noise_m=200.0, keep=("speed",))
    lat = table["lat"].to_numpy().copy()
    lat[::100] = np.nan
    table = table.set_column(table.schema.get_field_index("lat"), "lat", pa.array(lat))
    (tmp_path / "in").mkdir()
    for number in range(2):
        pq.write_table(table.slice(600 * number, 600), tmp_path / "in" / f"{number}.parquet")
    done = protect_dataset(tmp_path / "in", tmp_path / "out", plan, rng=3)
    dataset = replace(open_dataset(tmp_path / "in"), starts=np.arange(3) << ROW_BITS)
    layout = TableReading().layout(dataset.schema, plan.keep, plan.times)
    noise = choose_for_people(plan, job_key=fresh_key(3), rng=1)
    work = DatasetWork(dataset, layout, noise, 3, {10: 0, 20: 1})
    row = np.arange(1200)
    given = table.select(layout.needed).add_column(0, "index", pa.array(row % 600))
    given = given.add_column(0, "file", pa.array(np.where(row < 600, 10, 20)))
    stretches = [given.take(pa.array(part)) for part in (row[900:], row[1:500:2], row[:500:2], row[500:900])]
    blocks = pa.Table.from_batches(
        [block for part in stretches for block in work.deal(iter(part.combine_chunks().to_batches()))]
    )
    files = [work.make_files(blocks.filter(pa.array(blocks["bucket"].to_numpy() == bucket))) for bucket in range(3)]
    whole = {kind: [] for kind in (PARTS, REJECTED)}
    for file in (one for table in files for one in table.to_pylist()):
        if file["kind"] in whole:
            whole[file["kind"]].append(pq.read_table(pa.BufferReader(file["content"] + ENDS_WITH)))
    found, local = by_person(pa.concat_tables(whole[PARTS])), by_person(pq.read_table(tmp_path / "out"))
    assert set(found) == set(local)
    assert all(found[person].equals(local[person]) for person in local)
    assert sum(part.num_rows for part in whole[REJECTED]) == sum(done.skipped.values()) == 12
    assert repr(work) == "<work on a dataset, the key not shown>"
