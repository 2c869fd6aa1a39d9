"""The only place with SQL: campaigns, cycles, tallies and the public log."""

from __future__ import annotations

from sfumato.collect.service.store.records import (
    Campaign,
    CellCounts,
    CycleProgress,
    Destination,
    LoggedVersion,
    NewCycle,
    Outcome,
    RelayedBatch,
    Report,
    StoredCycle,
    StoredEstimate,
)
from sfumato.collect.service.store.store import Store

__all__ = [
    "Campaign",
    "CellCounts",
    "CycleProgress",
    "Destination",
    "LoggedVersion",
    "NewCycle",
    "Outcome",
    "RelayedBatch",
    "Report",
    "Store",
    "StoredCycle",
    "StoredEstimate",
]
