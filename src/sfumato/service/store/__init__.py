"""The only place with SQL: campaigns, cycles, tallies and the public log."""

from __future__ import annotations

from sfumato.service.store.records import Campaign, Cycle, Estimate, NewCycle, Outcome, RelayedBatch, Report, Tally
from sfumato.service.store.store import Store

__all__ = ["Campaign", "Cycle", "Estimate", "NewCycle", "Outcome", "RelayedBatch", "Report", "Store", "Tally"]
