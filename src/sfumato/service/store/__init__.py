"""The only place with SQL: campaigns, cycles, tallies and the public log."""

from __future__ import annotations

from sfumato.service.store.records import (
    Campaign,
    CellCounts,
    Destination,
    LoggedVersion,
    NewCycle,
    Outcome,
    Progress,
    RelayedBatch,
    Report,
    StoredCycle,
    StoredEstimate,
)
from sfumato.service.store.store import Store

__all__ = [
    "Campaign",
    "CellCounts",
    "Destination",
    "LoggedVersion",
    "NewCycle",
    "Outcome",
    "Progress",
    "RelayedBatch",
    "Report",
    "Store",
    "StoredCycle",
    "StoredEstimate",
]
