"""A table in, a protected table out, on this machine: one person, or many told apart by an id column.

What is done is a :class:`~sfumato.tracks.plan.Plan`. The table comes back as it was laid out: the same names and types
for id, time and position and for what the plan keeps, the same rows in the same order, and nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.folders.rows.dataset import DatasetReading
from sfumato.tracks.io.draft import plain
from sfumato.tracks.io.tables.fleet_file import fleet_table, write_fleet
from sfumato.tracks.people.kinds import as_arrow, like
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import TableNoise
from sfumato.tracks.people.protecting import ProtectedRows, protect_rows
from sfumato.tracks.people.protection import choose
from sfumato.tracks.people.rows import Rows, counted, fault_words, read_rows
from sfumato.tracks.people.rows_loops import by_person
from sfumato.tracks.people.streams import protect_stream
from sfumato.tracks.plan import DEFAULT_MECHANISM, Plan

__all__ = ["fleet_table", "protect_table", "write_fleet"]


def protect_table(
    table: pa.Table,
    plan: Plan | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    one_person: bool = False,
    strict: bool = False,
    rng: Random = None,
    key: bytes | None = None,
    into: str | Path | None = None,
) -> tuple[pa.Table, dict[str, Any]]:
    """The released table, of the kind and laid out as the one given, and its certificate.

    Arrow, DuckDB, polars (lazy too), pandas, GeoPandas and its kin (:mod:`sfumato.tracks.people.kinds`). Without a
    plan, the defaults of :class:`~sfumato.tracks.plan.Plan`. ``columns`` names columns by role ({"id": "user_id"});
    ``one_person`` says that all rows are one person's. Rows that cannot be used (no position, off the globe, nobody's,
    a second one of a person at one time) are left out with a warning that counts them, or refused where ``strict``.
    ``rng`` is for simulations; ``key`` (32 bytes) is for engines that protect parts of one table in several places,
    which must all draw from one key.

    ``into`` is for tables larger than memory (:mod:`sfumato.tracks.people.streams`): a folder that is filled as by
    ``sfumato protect dataset/``; the table that comes back is lazy and over its files, and the certificate is the
    dataset's.
    """
    plan = plan or Plan()
    if into is not None:
        if key is not None:
            raise InputError("A folder is filled under a key of its own.", "Leave the key out, or the folder.")
        reading = DatasetReading(columns, zone, one_person)
        lazy, filled = protect_stream(table, Path(into), plan, reading=reading, strict=strict, rng=rng)
        if filled.skipped:
            warnings.warn(fault_words(filled.skipped, filled.rows), stacklevel=2)
        return lazy, filled.document
    _, done, noise = protect_arrow(
        as_arrow(table),
        plan,
        columns=columns,
        zone=zone,
        one_person=one_person,
        strict=strict,
        rng=rng,
        key=key,
    )
    released = like(table, done.table, np.flatnonzero(done.faults == 0))
    return released, with_seal(certificate_body(noise.terms(), done.released()))


def protect_arrow(
    whole: pa.Table,
    plan: Plan,
    *,
    columns: Mapping[str, str] | None,
    zone: str | None,
    one_person: bool,
    strict: bool,
    rng: Random,
    key: bytes | None = None,
    kept: tuple[NoiseState | str | Path, str | None, bool] | None = None,
) -> tuple[Rows, ProtectedRows, TableNoise]:
    """An Arrow table as read, as released, and the noise; ``kept``: a state, its passphrase, whether to save it."""
    if whole.num_rows == 0:
        raise InputError("The table has no points.", "Give at least one row with a position and a time.")
    layout = _layout(whole, plan, columns, zone, one_person)
    layout.refuse_date(plan.times)
    rows = read_rows(whole, layout)
    traces = _traces(rows) if plan.mechanism != DEFAULT_MECHANISM else ()
    state = None
    if kept is not None:
        held, passphrase, save = kept
        named = layout.person is not None
        state = choose(plan, [], held, named=named, passphrase=passphrase, save_state=save, rng=rng).state
    noise = TableNoise.of(plan, traces=traces, rng=rng, key=key, state=state)
    done = protect_rows(whole, layout, noise, rows=rows)
    faults = counted(done.faults)
    if faults:
        if strict or not len(done.labels):
            raise InputError(fault_words(faults, whole.num_rows), "Repair them, or leave strict out.")
        warnings.warn(fault_words(faults, whole.num_rows), stacklevel=3)
    return rows, done, noise


def _layout(
    table: pa.Table, plan: Plan, columns: Mapping[str, str] | None, zone: str | None, one_person: bool
) -> Layout:
    layout = Layout.of(table.schema, columns=columns, keep=plan.keep, zone=zone, one_person=one_person)
    name = layout.person
    if name is None or "id" in (columns or {}) or plain(name) not in ("id", "uid", "tid"):
        return layout
    if len(table.column(name).unique()) < table.num_rows or table.num_rows == 1:
        return layout
    # A number per row is no name.
    return Layout.of(table.schema, columns=columns, keep=plan.keep, zone=zone, one_person=True)


def _traces(rows: Rows) -> list[Trace]:
    """Everybody's trace, in order of time, for mechanisms that are fitted to them."""
    good = rows.good
    order, starts = by_person(rows.codes[good], len(rows.labels))
    out = []
    for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        at = good[order[first:end]]
        at = at[np.argsort(rows.times_ms[at], kind="stable")]
        if at.size:
            out.append(Trace(rows.lat_deg[at], rows.lon_deg[at], rows.times_ms[at] / 1000.0))
    return out
