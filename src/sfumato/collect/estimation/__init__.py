"""Where people are, estimated from obfuscated reports: one channel, all cycles jointly, with uncertainty."""

from __future__ import annotations

from sfumato.collect.estimation.changing import Changing, changing
from sfumato.collect.estimation.earth_mover import EarthMovers, earth_movers, earth_movers_distance
from sfumato.collect.estimation.joint import Estimate, ibu, joint
from sfumato.collect.estimation.rings import impossible_excess, trimmed
from sfumato.collect.estimation.smooth import blended, log_smooth
from sfumato.collect.estimation.tally import Tally, tally_reports
from sfumato.collect.estimation.uncertainty import Intervals, intervals

__all__ = [
    "Changing",
    "EarthMovers",
    "Estimate",
    "Intervals",
    "Tally",
    "blended",
    "changing",
    "earth_movers",
    "earth_movers_distance",
    "ibu",
    "impossible_excess",
    "intervals",
    "joint",
    "log_smooth",
    "tally_reports",
    "trimmed",
]
