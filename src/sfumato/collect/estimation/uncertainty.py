"""How sure a map is: intervals for every cell and for any region, with the target named.

The estimate that predicts best is smoothed, hence biased, and a percentile bootstrap around it covers too little. So
the interval is made from the linear estimate of :mod:`.linear`, which is unbiased, linearised at the log-smooth map.
(Linearised at an early-stopped one it is false wherever that has driven a cell with people to 0.)

The interval holds every share R under which an estimate like ours would not be unusual:

    (1 - level) / 2  <=  P_R(error <= estimate - R)  <=  (1 + level) / 2,

a score interval as Wilson's with the exact law (:mod:`.tails`) in the place of the normal one: few people in a cell,
little noise from them, in skew steps of whole people. Measured coverage: benchmarks/evidence_intervals.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Reporting, checked_reporting
from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError
from sfumato.collect.estimation.joint import Estimate
from sfumato.collect.estimation.linear import Linearised, Moments, Target, linearise
from sfumato.collect.estimation.smooth_map import log_smooth
from sfumato.collect.estimation.tally import Tally, checked_tallies
from sfumato.collect.grids.grid_channel import GridChannel

LARGEST_COVARIANCE = 2_500
"""Cells up to which intervals are made."""
CELLS_FROM_PEOPLE = 1_000
"""People from whom on intervals of single cells are shown. Below, they may cover too little; those of areas that are
cut without looking at the reports hold from 50 people on (docs/collection.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Lower and upper ends per cell at ``level``, for the share of the ``target`` ("reporters" or "population")."""

    lower: FloatArray
    upper: FloatArray
    centre: FloatArray
    """The estimate without its smoothing; it may be slightly negative."""
    target: Target
    level: float
    cycles: int
    """Over how many cycles the share is an average."""
    unclipped: tuple[FloatArray, FloatArray]
    """Lower and upper ends before they are cut at 0 and 1: what coverage is measured with."""
    linear: Linearised
    """What the interval of any sum of cells is made from."""

    @property
    def words(self) -> str:
        """What the intervals are of, for a page."""
        return describe_target(self.target, self.cycles, self.level)


def describe_target(target: Target, cycles: int, level: float) -> str:
    """One sentence: whose share, of which period, at which level."""
    when = "in this cycle" if cycles == 1 else f"in these {cycles} cycles, averaged"
    whose = (
        f"the people who reported {when}"
        if target == "reporters"
        else f"everybody of whom those who reported {when} are a random sample"
    )
    return f"{100 * level:g} % intervals for the share of {whose}."


def intervals(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    smooth: Estimate | None = None,
    target: Target = "reporters",
    reporting: Reporting = "once",
    level: float = 0.95,
) -> Intervals:
    """Intervals for every cell, up to 2,500 of them.

    ``reporting`` says whether a person reports once or in every cycle: it decides what varies. ``smooth`` is the
    log-smooth map of these tallies where it is known already.
    """
    filled = checked_tallies(tallies)
    _checked(target, reporting, level)
    if filled[0].channel.cells > LARGEST_COVARIANCE:
        raise InputError(f"Intervals of {filled[0].channel.cells} cells at once are too many.", "Use larger cells.")
    linear = linearise(filled, _linearised_at(smooth, filled), reporting)
    moments = linear.cells(target)
    low, high = interval_ends(moments, level)
    return Intervals(
        read_only(np.clip(low, 0.0, 1.0)),
        read_only(np.clip(high, 0.0, 1.0)),
        read_only(moments.centre),
        target,
        level,
        len(filled),
        (read_only(low), read_only(high)),
        linear,
    )


def interval_ends(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Every share that the estimate does not refuse at ``level``, not cut at 0 and 1."""
    centre, expected, law = moments.centre, moments.expected, moments.law
    return law.end(centre, expected, 0.5 + level / 2), law.end(centre, expected, 0.5 - level / 2)


def _linearised_at(smooth: Estimate | None, tallies: Sequence[Tally]) -> FloatArray:
    if smooth is None:
        return log_smooth(tallies).probabilities
    cells = tallies[0].channel.cells
    if smooth.probabilities.size != cells:
        raise InputError(
            f"The smooth estimate has {smooth.probabilities.size} cells and the tallies {cells}.",
            "Give the log-smooth estimate of these tallies, or none.",
        )
    return smooth.probabilities


def _checked(target: str, reporting: str, level: float) -> None:
    if target not in ("reporters", "population"):
        raise InputError(f"The target is '{target}'.", "Name it: 'reporters' or 'population'.")
    checked_reporting(reporting)
    if not 0 < level < 1:
        raise InputError(f"The level is {level}.", "It lies between 0 and 1, for example 0.95.")
