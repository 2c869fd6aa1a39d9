"""Tables of any library by a plan, in memory or larger than it: then run once, protected as a dataset, given back.

A person's noise goes through all of their rows, so rows have to come together before any of them can be released. A
lazy table is therefore run by its own library into a private folder beside the output (0700, removed at the end),
batch by batch, and goes through the dataset job, whose memory does not grow with the rows. What comes back is the same
kind of lazy table, over the released files: rows person by person, each person's in their order.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.tracks.certificates.person_ids import refuse_contacts
from sfumato.tracks.folders.rows.dataset import DatasetResult
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.io.tables.kinds import as_arrow, library_of, like
from sfumato.tracks.people.door import Frame, protect_arrow, warn_of
from sfumato.tracks.people.layout import AskedOfReading, TableReading
from sfumato.tracks.people.rows import fault_words, label_of
from sfumato.tracks.plan import Plan

_BATCH_ROWS = 1 << 17


def protect_table(
    table: Frame,
    plan: Plan | None = None,
    *,
    strict: bool = False,
    rng: Random = None,
    key: bytes | None = None,
    into: str | Path | None = None,
    **read: Unpack[AskedOfReading],
) -> tuple[Frame, Mapping[str, object]]:
    """The released table, of the kind and laid out as the one given, and its certificate: :func:`protect` by a plan.

    Without one, the defaults of :class:`~sfumato.tracks.plan.Plan`. ``key`` (32 bytes) is for tables
    protected in parts, today's and tomorrow's too: noise is then a function of the key, the person and the absolute
    time, so that the parts are the table protected whole. ``into`` is for tables larger than memory
    (:func:`protect_stream`): a folder that is filled as by ``sfumato protect dataset/``; the table that
    comes back is lazy and over its files, and the certificate is the dataset's.
    """
    plan, reading = plan or Plan(), TableReading(**read)
    if into is not None:
        if key is not None:
            raise InputError("A folder is filled under a key of its own.", "Leave the key out, or the folder.")
        lazy, filled = protect_stream(table, Path(into), plan, reading=reading, strict=strict, rng=rng)
        if filled.skipped:
            warnings.warn(fault_words(filled.skipped, filled.rows), stacklevel=2)
        return lazy, filled.document
    done = protect_arrow(as_arrow(table), plan, reading, strict=strict, rng=rng, key=key)
    warn_of(done)
    return like(table, done.done.table, np.flatnonzero(done.done.faults == 0)), done.certificate


def protect_stream(
    table: Frame, into: Path, plan: Plan, *, reading: TableReading, strict: bool = False, rng: Random = None
) -> tuple[Frame, DatasetResult]:
    """The table over the folder ``into`` that was filled, of the kind that was given; and what happened."""
    into = into.expanduser().resolve()
    into.parent.mkdir(parents=True, exist_ok=True)
    rows = Path(mkdtemp(prefix=f".{into.name}.rows-", dir=into.parent))
    try:
        _run(table, rows / "rows.parquet")
        if plan.ids is None:
            _refuse_contacts(rows / "rows.parquet", reading)
        plan = replace(plan, ids=plan.ids or "keep")  # whose owner joins them
        done = protect_dataset(rows, into, plan, reading=reading, strict=strict, rng=rng)
    finally:
        shutil.rmtree(rows, ignore_errors=True)
    return _over(table, into), done


def _run(table: object, path: Path) -> None:
    """All rows in one file, never all in memory where the table is lazy."""
    lazily = {"polars": "sink_parquet", "duckdb": "write_parquet"}.get(library_of(table), "")
    try:
        if (run := getattr(table, lazily, None)) is not None:
            run(str(path), row_group_size=_BATCH_ROWS)
        elif isinstance(table, pa.RecordBatchReader | ds.Dataset):
            batches = table if isinstance(table, pa.RecordBatchReader) else table.to_batches()
            with pq.ParquetWriter(path, table.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        else:
            pq.write_table(as_arrow(table), path, row_group_size=_BATCH_ROWS)
    except InputError:
        raise
    except Exception as error:  # each library has errors of its own, whose text may hold what is in a row
        raise InputError(
            f"The table could not be read to its end ({type(error).__name__}).", "Run it by itself to see why."
        ) from None


def _refuse_contacts(path: Path, reading: TableReading) -> None:
    """Refuse ids that nobody asked to keep, where they are e-mail addresses or telephone numbers."""
    person = reading.layout(pq.read_schema(path)).person
    for batch in () if person is None else ds.dataset(path).to_batches(columns=[person]):
        refuse_contacts([label_of(one) for one in batch.column(0).unique().to_pylist()])


def _over(given: Frame, folder: Path) -> Frame:
    """A table of the kind that was given, over the parts of a release."""
    kind, parts, over = library_of(given), str(folder / "*.parquet"), ds.dataset(folder, format="parquet")
    if kind == "polars":
        polars = sys.modules["polars"]
        over = (polars.scan_parquet if hasattr(given, "collect") else polars.read_parquet)(parts)
    elif kind == "duckdb":
        over = sys.modules["duckdb"].read_parquet(parts)
    frame: Frame = over
    return frame
