"""Incremental collection: people report obfuscated cells, the map sharpens, and the channel follows it."""

from __future__ import annotations

from sfumato.collection.defences import (
    Influence,
    ResidualTest,
    capped_weights,
    fake_report_influence,
    residual_test,
)
from sfumato.collection.elastic import Elasticity, elasticity
from sfumato.collection.loop import (
    ClosedCycle,
    Rules,
    close_cycle,
    cohorts,
    first_channel,
    next_channel,
)

__all__ = [
    "ClosedCycle",
    "Elasticity",
    "Influence",
    "ResidualTest",
    "Rules",
    "capped_weights",
    "close_cycle",
    "cohorts",
    "elasticity",
    "fake_report_influence",
    "first_channel",
    "next_channel",
    "residual_test",
]
