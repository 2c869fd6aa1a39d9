"""Where people are, from the reports of a collection: the channel is the law of the noise, the cells are its grid's.

The collector's own estimate (:func:`~sfumato.collect.loop.loop.average_map`) with its intervals, in the shape in which
the map of releases comes, so that it is written, drawn and compared alike. Reports through different channels of one
grid (cycles, or campaigns of another level) count through the channel each was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import read_only
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.collect.estimation.tally import Tally, checked_tallies
from sfumato.collect.estimation.uncertainty import CELLS_FROM_PEOPLE, LARGEST_COVARIANCE, intervals
from sfumato.collect.loop.loop import average_map
from sfumato.collect.loop.rhythm import Rhythm, as_reporting


def estimate_reports(tallies: Sequence[Tally], *, reporting: Rhythm = "once", confidence: float = 0.9) -> EstimatedMap:
    """The map of one or several tallies of reports of one grid; intervals are over the people who report.

    None where fewer than 1,000 reported, or where there are more cells than intervals are made for.
    """
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
    filled = checked_tallies(tallies)
    grid, reports = filled[0].channel.grid, sum(tally.total for tally in filled)
    if grid.north_deg is None:
        raise InputError("The channel's grid has no place on the earth.", "Use one made from degrees.")
    shown, smooth = average_map(filled)
    share = shown.probabilities
    low, high = np.full(grid.cells, np.nan), np.full(grid.cells, np.nan)
    people = max(tally.total for tally in filled) if as_reporting(reporting) == "every-cycle" else reports
    if people >= CELLS_FROM_PEOPLE and grid.cells <= LARGEST_COVARIANCE:
        found = intervals(
            filled, smooth=smooth, target="population", reporting=as_reporting(reporting), level=confidence
        )
        low, high = np.minimum(found.lower, share), np.maximum(found.upper, share)
    counts = sum(tally.counts for tally in filled)
    everybody = np.full(grid.cells, 1.0 / grid.cells)
    return EstimatedMap(
        cells=grid,
        grid=grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        naive=read_only(np.asarray(counts) / reports),
        confidence=confidence,
        weight="points",
        people=people,
        points=reports,
        outside=0,
        steps=shown.iterations,
        steps_by="likelihood of reports left out, as in collection",
        latent_m=grid.cell_height,
        noise_m=tuple(tally.channel.distortion(everybody) for tally in filled),
        largest_person=1.0 / people,
    )
