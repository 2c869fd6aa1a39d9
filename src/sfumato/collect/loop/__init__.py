"""Incremental collection: people report obfuscated cells, the map sharpens, and the channel follows it."""

from __future__ import annotations

from sfumato.base.things.estimated_map import cut
from sfumato.collect.loop.defences import (
    CycleVerdict,
    Influence,
    ResidualTest,
    capped_weights,
    fake_report_influence,
    judge_cycle,
    residual_test,
)
from sfumato.collect.loop.loop import (
    ClosedCycle,
    Promise,
    Rules,
    checked_promise,
    close_cycle,
    first_channel,
    next_channel,
)
from sfumato.collect.loop.rhythm import Calendar, CycleClasses, Rhythm, checked_rhythm, epoch_number
from sfumato.collect.loop.told_areas import Sharpness, ToldAreas, areas, sharpness, told_apart

__all__ = ["Calendar", "ClosedCycle", "CycleClasses", "CycleVerdict", "Influence", "Promise", "ResidualTest", "Rhythm"]
__all__ += ["Rules", "Sharpness", "ToldAreas", "areas", "capped_weights", "checked_promise"]
__all__ += ["checked_rhythm", "close_cycle", "cut", "epoch_number", "fake_report_influence", "first_channel"]
__all__ += ["judge_cycle", "next_channel", "residual_test", "sharpness", "told_apart"]
