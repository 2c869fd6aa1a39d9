"""Where people are, from the reports of a collection: the channel is the law of the noise, the cells are its grid's.

The collector's own estimate (:func:`~sfumato.collect.loop.loop.average_map`) with its intervals, in the shape in which
the map of releases comes, so that it is written, drawn and compared alike. Reports through different channels of one
grid (cycles, or campaigns of another level) count through the channel each was drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import read_only
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import EstimatedMap, GridAreas, MapCells, cut, whose_map
from sfumato.base.units import count_of
from sfumato.collect.estimation.tally import Tally, checked_tallies
from sfumato.collect.estimation.uncertainty import intervals
from sfumato.collect.loop.loop import average_map
from sfumato.collect.loop.rhythm import Rhythm, as_reporting
from sfumato.collect.loop.told_areas import DRAWN_UP_TO, areas, sharpness, told_apart

AREAS_FROM_PEOPLE = 50  # of fewer they may hold too rarely (docs/collection.md)


def estimate_reports(tallies: Sequence[Tally], *, reporting: Rhythm = "once", confidence: float = 0.9) -> EstimatedMap:
    """The map of one or several tallies of reports of one grid, with numbers for the areas that they tell apart.

    Intervals are for who reported, and for people like them; none of fewer than 50, or of more than 1,000 cells.
    """
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
    filled = checked_tallies(tallies)
    grid, reports = filled[0].channel.grid, sum(tally.total for tally in filled)
    if grid.north_deg is None:
        raise InputError("The channel's grid has no place on the earth.", "Use one made from degrees.")
    shown, smooth = average_map(filled)
    picture, rhythm = shown.probabilities, as_reporting(reporting)
    cells: MapCells = grid
    people = max(tally.total for tally in filled) if rhythm == "every-cycle" else reports
    share, level, notes = picture, None, tuple[str, ...]()
    low, high, low_alike, high_alike = (np.full(grid.cells, np.nan) for _ in range(4))
    counts = np.sum([tally.counts for tally in filled], axis=0) / reports
    naive = counts
    if grid.cells <= DRAWN_UP_TO and people >= AREAS_FROM_PEOPLE:
        found = [
            intervals(filled, smooth=smooth, target=target, reporting=rhythm, level=confidence)
            for target in ("reporters", "population")
        ]
        level = confidence
        width = sharpness(told_apart(filled, rhythm), math.sqrt(grid.cell_height * grid.cell_width), reports).width
        merged = GridAreas(grid, cut(grid, width))
        told, alike = (areas(grid, merged.boxes, picture, one) for one in found)
        share, naive = told.share, merged.sums(counts)
        low, high, low_alike, high_alike = told.low, told.high, alike.low, alike.high
        if merged.cells < grid.cells:
            cells = merged
            notes = (f"Cells are a picture: numbers are for {cells.cells} areas that these reports tell apart.",)
    everybody = np.full(grid.cells, 1.0 / grid.cells)
    return EstimatedMap(
        cells=cells,
        asked=grid,
        grid=grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        low_alike=read_only(np.minimum(low, low_alike)),
        high_alike=read_only(np.maximum(high, high_alike)),
        naive=read_only(naive),
        picture=read_only(picture),
        counted=read_only(counts),
        corrected=1.0,
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
        notes=(whose_map(f"the {count_of(people, 'person', 'people')} who reported", level), *notes),
    )
