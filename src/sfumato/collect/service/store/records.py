"""What the store takes and gives: plain values, and rows of the tables as such."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Select, Update, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.collect.service.models.kept import (
    CampaignState,
    ChannelFacts,
    DistrictFacts,
    EstimateFacts,
    Record,
    Specification,
    State,
)
from sfumato.collect.service.store.schema import TableRow, channel_log, cycles, estimates, ticket_keys

LATE = 2
"""Late reports are tallied as kinds 2 (through tickets) and 3 (relayed)."""
_ARRAYS = ("probabilities", "low", "high", "this_cycle", "without_suspicious", "areas")
Kept = TypeVar("Kept", bound=Record)


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """One campaign: its number in the store, its name and what the operator asked for."""

    id: int
    name: str
    specification: Specification
    created_at_s: int
    state: CampaignState = "running"


@dataclass(frozen=True, slots=True, eq=False)
class StoredCycle:
    """One cycle: the channel it published, how far it has come, and since when."""

    campaign_id: int
    number: int
    version: str
    payload: str
    signature: str
    facts: ChannelFacts
    state: State
    opened_at_s: int
    due_at_s: int | None
    closed_at_s: int | None
    merged_periods: int
    tickets: int
    relayed_reports: int
    excluded: int = 0

    @property
    def reports(self) -> int:
        """Every report of the cycle: one for each spent ticket, and the relayed ones."""
        return self.tickets + self.relayed_reports


@dataclass(frozen=True, slots=True)
class CycleProgress:
    """How far a cycle that is not closed has come: a cheap look."""

    campaign_id: int
    number: int
    version: str
    state: State
    tickets: int
    due_at_s: int | None


@dataclass(frozen=True, slots=True)
class LoggedVersion:
    """One entry of the public log of versions."""

    position: int
    cycle: int
    version: str
    previous: str
    entry: str
    signature: str


@dataclass(frozen=True, slots=True, eq=False)
class NewCycle:
    """A cycle about to be opened, with its entry in the public log."""

    number: int
    version: str
    payload: str
    signature: str
    facts: ChannelFacts
    opened_at_s: int
    due_at_s: int | None
    previous: str
    entry: str
    entry_signature: str
    ticket_key: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StoredEstimate:
    """What one closed cycle published: numbers and arrays over the cells."""

    cycle: int
    facts: EstimateFacts
    probabilities: FloatArray
    """The average over the pooled cycles."""
    low: FloatArray
    high: FloatArray
    this_cycle: FloatArray | None = None
    """The cycle's own map; None for cycles closed before it was kept."""
    without_suspicious: FloatArray | None = None
    """The average without the cycles that raised the alarm; None where none did, or nothing is left."""
    areas: FloatArray | None = None
    """Row, column, rows, columns, share, low and high of each area, one after the other; None where there are none."""
    districts: DistrictFacts | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """How many reports of one cycle named each cell: through tickets, relayed, and late (after it was handed over)."""

    cycle: int
    payload: str
    direct: IntArray
    relayed: IntArray
    opened_at_s: int = 0
    closed_at_s: int | None = None
    """When it was handed over; None while it is open."""
    late: IntArray | None = None

    @property
    def everything(self) -> IntArray:
        """All of them."""
        return self.direct + self.relayed + (0 if self.late is None else self.late)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where reports are counted, and under which rules; ``scope`` is 0 where each device reports once, the epoch's
    number where it reports once per epoch.

    ``late``: the cycle was handed over already; its reports are tallied apart, under the channel they were drawn from.
    """

    campaign_id: int
    cycle: int
    scope: int
    relayed_cap: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One report on its way to the tally: a cell, a key, a spent ticket's nonce; nothing else."""

    cell: int
    key: bytes
    nonce: bytes


@dataclass(frozen=True, slots=True)
class RelayedBatch:
    """Many reports that somebody relays, under one key: (cell, reports) pairs."""

    cells: tuple[tuple[int, int], ...]
    reports: int
    key: bytes


class Outcome(enum.Enum):
    """What became of a report."""

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    TICKET_SPENT = "ticket already spent"
    OVER_CAP = "over the cap of relayed reports"
    CYCLE_CLOSED = "cycle closed"


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of each report of a batch, and how many tickets the cycle has now."""

    outcomes: tuple[Outcome, ...]
    tickets: int
    relayed_reports: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """A batch with keys and nonces that do not repeat within it, sorted, and its tally by (relayed, cell)."""

    destination: Destination
    size: int
    relayed_reports: int
    keys: tuple[bytes, ...]
    nonces: tuple[bytes, ...]
    tally: tuple[tuple[int, int, int], ...]


def gather(destination: Destination, reports: Sequence[Report | RelayedBatch]) -> Gathered | None:
    """The batch gathered, or None if a key or nonce repeats within it."""
    keys = {report.key for report in reports}
    nonces = set()
    tally: Counter[tuple[int, int]] = Counter()
    direct = relayed_reports = 0
    for report in reports:
        if isinstance(report, Report):
            direct += 1
            nonces.add(report.nonce)
            tally[0, report.cell] += 1
        else:
            relayed_reports += report.reports
            for cell, count in report.cells:
                tally[1, cell] += count
    if len(keys) < len(reports) or len(nonces) < direct:
        return None
    rows = tuple((kind, cell, count) for (kind, cell), count in sorted(tally.items()))
    return Gathered(destination, len(reports), relayed_reports, tuple(sorted(keys)), tuple(sorted(nonces)), rows)


CYCLE_COLUMNS = [cycles.c[name] for name in StoredCycle.__dataclass_fields__]


async def open_cycle(connection: AsyncConnection, campaign_id: int, new: NewCycle) -> None:
    """Insert the cycle, its entry in the log and the key of its tickets."""
    told = ("number", "version", "payload", "signature", "opened_at_s", "due_at_s")
    fresh = {"state": "open", "merged_periods": 0, "tickets": 0, "relayed_reports": 0}
    values = {name: getattr(new, name) for name in told} | fresh | {"facts": new.facts.model_dump_json()}
    await connection.execute(insert(cycles).values(campaign_id=campaign_id, **values))
    entry = {"position": new.number - 1, "cycle": new.number, "version": new.version, "previous": new.previous}
    entry |= {"entry": new.entry, "signature": new.entry_signature}
    await connection.execute(insert(channel_log).values(campaign_id=campaign_id, **entry))
    if new.ticket_key is not None:
        of_cycle = {"campaign_id": campaign_id, "cycle": new.number}
        await connection.execute(insert(ticket_keys).values(**of_cycle, private=new.ticket_key))


def closed_with_estimates(campaign_id: int) -> Select[tuple[object, ...]]:
    """The closed cycles of a campaign joined with their estimates."""
    together = (estimates.c.campaign_id == cycles.c.campaign_id) & (estimates.c.cycle == cycles.c.number)
    return (
        select(*CYCLE_COLUMNS, estimates.c.facts.label("estimate_facts"), *estimates.c[3:])
        .join(estimates, together)
        .where(cycles.c.campaign_id == campaign_id)
    )


def change_cycle(cycle: StoredCycle, *conditions: ColumnElement[bool]) -> Update:
    """A change of this cycle, if these conditions hold too."""
    return update(cycles).where(cycles.c.campaign_id == cycle.campaign_id, cycles.c.number == cycle.number, *conditions)


def campaign_of(row: TableRow) -> Campaign:
    """A row of campaigns."""
    return Campaign(row.id, row.name, read_record(Specification, row.specification), row.created_at_s, row.state)


def cycle_of(row: TableRow) -> StoredCycle:
    """A row with the columns of a cycle."""
    values = {name: getattr(row, name) for name in StoredCycle.__dataclass_fields__}
    return StoredCycle(**{**values, "facts": read_record(ChannelFacts, row.facts)})


def estimate_of(row: TableRow) -> StoredEstimate:
    """A row of :func:`closed_with_estimates`."""
    kept = {name: getattr(row, name) for name in _ARRAYS}
    arrays = {name: None if one is None else read_only(np.frombuffer(one, "<f8")) for name, one in kept.items()}
    named = None if row.districts is None else read_record(DistrictFacts, row.districts)
    facts = read_record(EstimateFacts, row.estimate_facts)
    return StoredEstimate(row.number, facts, **arrays, districts=named)  # type: ignore[arg-type]


def read_record(kind: type[Kept], text: str) -> Kept:
    """A record as the store kept it; what another version wrote otherwise is refused, not guessed."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The database holds a {kind.__name__} that this version cannot read.",
            "Run the version of sfumato that wrote it, or a newer one.",
        ) from error


def counts_of(row: TableRow, counts: IntArray) -> CellCounts:
    """The tallies of one cycle, (kinds, cells)."""
    direct, relayed = read_only(counts[0], np.int64), read_only(counts[1], np.int64)
    late = read_only(counts[LATE:].sum(axis=0), np.int64)
    return CellCounts(row.number, row.payload, direct, relayed, row.opened_at_s, row.closed_at_s, late)


def estimate_columns(estimate: StoredEstimate) -> dict[str, object]:
    """An estimate as it is kept: its facts as text, its arrays as bytes."""
    arrays = {name: getattr(estimate, name) for name in _ARRAYS}
    kept = {name: None if one is None else np.ascontiguousarray(one, "<f8").tobytes() for name, one in arrays.items()}
    named = None if estimate.districts is None else estimate.districts.model_dump_json()
    return {"facts": estimate.facts.model_dump_json(), "districts": named, **kept}
