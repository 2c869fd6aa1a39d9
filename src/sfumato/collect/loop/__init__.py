"""Incremental collection: people report obfuscated cells, the map sharpens, and the channel follows it."""

from __future__ import annotations

from sfumato.collect.loop.areas import Sharpness, ToldAreas, areas, cut, sharpness, told_apart
from sfumato.collect.loop.calendar import Calendar, CycleClasses
from sfumato.collect.loop.cycle_verdict import CycleVerdict, judge_cycle, suspicious_cycles
from sfumato.collect.loop.defences import ResidualTest, capped_weights, residual_test
from sfumato.collect.loop.elastic import Elasticity, elasticity
from sfumato.collect.loop.influence import Influence, fake_report_influence
from sfumato.collect.loop.loop import (
    ClosedCycle,
    Promise,
    Rules,
    checked_promise,
    close_cycle,
    cohorts,
    first_channel,
    next_channel,
)
from sfumato.collect.loop.rhythm import Rhythm, checked_rhythm, epoch_number

__all__ = [
    "Calendar",
    "ClosedCycle",
    "CycleClasses",
    "CycleVerdict",
    "Elasticity",
    "Influence",
    "Promise",
    "ResidualTest",
    "Rhythm",
    "Rules",
    "Sharpness",
    "ToldAreas",
    "areas",
    "capped_weights",
    "checked_promise",
    "checked_rhythm",
    "close_cycle",
    "cohorts",
    "cut",
    "elasticity",
    "epoch_number",
    "fake_report_influence",
    "first_channel",
    "judge_cycle",
    "next_channel",
    "residual_test",
    "sharpness",
    "suspicious_cycles",
    "told_apart",
]
