"""Where people are, estimated from obfuscated reports: one channel, all cycles jointly, with uncertainty."""

from __future__ import annotations

from sfumato.collect.estimation.earth_mover import EarthMovers, earth_movers, earth_movers_distance
from sfumato.collect.estimation.joint import Estimate, ibu, joint
from sfumato.collect.estimation.rings import impossible_excess
from sfumato.collect.estimation.smooth_map import blended_map, changed_map, log_smooth
from sfumato.collect.estimation.tally import Tally, tally_reports
from sfumato.collect.estimation.uncertainty import Intervals, intervals

__all__ = ["EarthMovers", "Estimate", "Intervals", "Tally", "blended_map", "changed_map", "earth_movers"]
__all__ += ["earth_movers_distance", "ibu", "impossible_excess", "intervals", "joint", "log_smooth", "tally_reports"]
