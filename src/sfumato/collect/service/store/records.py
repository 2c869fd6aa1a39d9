"""What the store takes and gives: plain values."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.collect.service.models.kept import CampaignState, ChannelFacts, EstimateFacts, Specification, State


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


def gathered(destination: Destination, reports: Sequence[Report | RelayedBatch]) -> Gathered | None:
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
