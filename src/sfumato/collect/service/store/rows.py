"""Rows of the tables as plain values, and back."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Row, Select, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.collect.service.models.kept import ChannelFacts, EstimateFacts, Record, Specification
from sfumato.collect.service.store.records import Campaign, CellCounts, NewCycle, StoredCycle, StoredEstimate
from sfumato.collect.service.store.reports import LATE
from sfumato.collect.service.store.schema import channel_log, cycles, estimates

CYCLE_COLUMNS = [cycles.c[name] for name in StoredCycle.__dataclass_fields__]
Kept = TypeVar("Kept", bound=Record)


async def open_cycle(connection: AsyncConnection, campaign_id: int, new: NewCycle) -> None:
    """Insert the cycle and its entry in the log."""
    await connection.execute(
        insert(cycles).values(
            campaign_id=campaign_id,
            number=new.number,
            version=new.version,
            payload=new.payload,
            signature=new.signature,
            facts=new.facts.model_dump_json(),
            state="open",
            opened_at_s=new.opened_at_s,
            due_at_s=new.due_at_s,
            merged_periods=0,
            tickets=0,
            relayed_reports=0,
        )
    )
    await connection.execute(
        insert(channel_log).values(
            campaign_id=campaign_id,
            position=new.number - 1,
            cycle=new.number,
            version=new.version,
            previous=new.previous,
            entry=new.entry,
            signature=new.entry_signature,
        )
    )


def closed_with_estimates(campaign_id: int) -> Select[Any]:
    """The closed cycles of a campaign joined with their estimates."""
    together = (estimates.c.campaign_id == cycles.c.campaign_id) & (estimates.c.cycle == cycles.c.number)
    return (
        select(*CYCLE_COLUMNS, estimates.c.facts.label("estimate_facts"), *estimates.c[3:])
        .join(estimates, together)
        .where(cycles.c.campaign_id == campaign_id)
    )


def is_cycle(cycle: StoredCycle) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The conditions that pick this cycle."""
    return cycles.c.campaign_id == cycle.campaign_id, cycles.c.number == cycle.number


def campaign_of(row: Row[Any]) -> Campaign:
    """A row of campaigns."""
    return Campaign(row.id, row.name, read_record(Specification, row.specification), row.created_at_s, row.state)


def cycle_of(row: Row[Any]) -> StoredCycle:
    """A row with the columns of a cycle."""
    values = {name: getattr(row, name) for name in StoredCycle.__dataclass_fields__}
    return StoredCycle(**{**values, "facts": read_record(ChannelFacts, row.facts)})


def estimate_of(row: Row[Any]) -> StoredEstimate:
    """A row of :func:`closed_with_estimates`."""
    arrays = (_array(row.probabilities), _array(row.low), _array(row.high))
    own = None if row.this_cycle is None else _array(row.this_cycle)
    trusted = None if row.without_suspicious is None else _array(row.without_suspicious)
    areas = None if row.areas is None else _array(row.areas)
    return StoredEstimate(row.number, read_record(EstimateFacts, row.estimate_facts), *arrays, own, trusted, areas)


def read_record(kind: type[Kept], text: str) -> Kept:
    """A record as the store kept it; what another version wrote otherwise is refused, not guessed."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The database holds a {kind.__name__} that this version cannot read.",
            "Run the version of sfumato that wrote it, or a newer one.",
        ) from error


def counts_of(row: Any, counts: IntArray) -> CellCounts:
    """The tallies of one cycle, (kinds, cells)."""
    direct, relayed = read_only(counts[0], np.int64), read_only(counts[1], np.int64)
    late = read_only(counts[LATE:].sum(axis=0), np.int64)
    return CellCounts(row.number, row.payload, direct, relayed, row.opened_at_s, row.closed_at_s, late)


def bytes_of(values: FloatArray) -> bytes:
    """An array as it is kept."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def _array(data: bytes) -> FloatArray:
    values: FloatArray = read_only(np.frombuffer(data, dtype="<f8"))
    return values
