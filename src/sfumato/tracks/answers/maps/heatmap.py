"""Where people are: shares of cells from protected releases, with the spread of the noise taken out.

Each released point is its true place plus noise of the certified law. Releases are laid on one another
(:mod:`~sfumato.tracks.answers.maps.offsets`), and the map that explains all points best is found on cells finer than
those reported (:mod:`~sfumato.tracks.answers.maps.deconvolution`). The interval
(:mod:`~sfumato.tracks.answers.intervals`) is for the share that a cell has among *people like these*, over the released
period: these people are taken for a sample of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import LEAST_PEOPLE, EstimatedMap, Weight
from sfumato.tracks.answers.intervals import people_interval
from sfumato.tracks.answers.maps.areas import Areas
from sfumato.tracks.answers.maps.cells import Bounds, Window, asked_for
from sfumato.tracks.answers.maps.deconvolution import Spread, fit_density
from sfumato.tracks.answers.maps.offsets import Unit, align, count_on, units_of
from sfumato.tracks.answers.notes import crowd_notes, release_notes
from sfumato.tracks.answers.received import (
    NoiseLaw,
    Pair,
    Received,
    check_confidence,
    day_groups,
    days_of,
    groups_of,
    largest_share,
    laws_of,
    other_by_day,
    people_of,
    received_all,
    split,
)

STEPS_FOR_ONE = 50
BY_DAYS, BY_PEOPLE = "likelihood of days left out", "likelihood of people left out"
FIXED = "fixed: one person's few days leave nothing to judge by"
USUAL_STEPS = 60  # for a progress bar
SMOOTHER_THAN_COUNTING = 2  # steps
SMOOTHER = (
    "People left out look so unlike the others that the map is smoother than counting: it is one of people like "
    "these; counting may come nearer to these."
)


def estimate_heatmap(
    received: Sequence[Received | Pair],
    *,
    cell_m: float | None = None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
    weight: Weight = "points",
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    on_step: Callable[[], None] | None = None,
) -> EstimatedMap:
    """The heat map of one or several releases, each with its own law. See the module for what the interval says.

    ``on_step`` is called after every step of the search.
    """
    received = received_all(received)
    if weight not in ("points", "time"):
        raise InputError(f"There is no weight '{weight}'.", "Count points, or the time they stand for.")
    check_confidence(confidence)
    laws = laws_of(received)
    people = people_of(received, each_release_a_person=each_release_a_person)
    finest = min(law.noise_m for law in laws)
    traces = [trace for one in received for _, trace in one.people]
    asked = asked_for(traces, finest, cell_m=cell_m, h3=h3, areas=areas, bounds=bounds)
    window = Window.around(asked.grid, finest)
    reporting = asked.summed_on(window)
    units = units_of(people, laws, window, by_time=weight == "time")
    outside = sum(int(np.count_nonzero(~window.holds(unit.places))) for unit in units)
    if not sum(float(unit.mass[window.holds(unit.places)].sum()) for unit in units) > 0:
        raise InputError("No released point lies in the rectangle.", "Name another rectangle.")
    naive = sum(count_on(units, i, window)[0] for i in range(len(laws)))
    laid = align(units, laws, window)
    spreads = [Spread.of(law, *window.shape, *window.latent_m) for law in laid.laws]
    days, by_people = _left_out(laid.units, laid.laws, window, len(people))
    found = fit_density(
        spreads,
        days,
        by_people if len(people) >= LEAST_PEOPLE else None,
        reporting.shares,
        steps_for_one=STEPS_FOR_ONE,
        cells_of_noise=asked.side_m / finest,
        on_step=on_step,
    )
    latent, steps = found.density, found.steps
    share = reporting.shares(latent)
    low, high = share * np.nan, share * np.nan
    if len(people) >= LEAST_PEOPLE:
        lost = reporting.shares(found.again) - share
        common = _shifted_by(latent, window, laid.common_m2, reporting.shares)
        low, high = people_interval(share, found.without, len(people), confidence, bias=lost, more=common)
    by = (BY_PEOPLE if days is by_people else BY_DAYS) if found.judged else FIXED
    largest = largest_share([unit.person for unit in units], [float(unit.mass.sum()) for unit in units])
    notes = release_notes(received) + crowd_notes(len(people), largest, "points", outside)
    if by == BY_PEOPLE and steps <= SMOOTHER_THAN_COUNTING:
        notes.append(SMOOTHER)
    return EstimatedMap(
        cells=asked.cells,
        grid=asked.grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        naive=read_only(reporting.shares(np.asarray(naive))),
        confidence=confidence,
        weight=weight,
        people=len(people),
        points=sum(one.points for one in received),
        outside=outside,
        steps=steps,
        steps_by=by,
        latent_m=window.latent_m[0],
        noise_m=tuple(law.noise_m for law in laws),
        largest_person=largest,
        notes=tuple(notes),
    )


def _shifted_by(
    latent: FloatArray, window: Window, variance_m2: float, shares: Callable[[FloatArray], FloatArray]
) -> FloatArray | float:
    """The variance of the shares where the whole map may lie off by so much along each axis."""
    if not variance_m2 > 0:
        return 0.0
    out: FloatArray | float = 0.0
    for axis, size in ((0, window.latent_m[0]), (1, window.latent_m[1])):
        apart = shares(np.roll(latent, 1, axis=axis)) - shares(np.roll(latent, -1, axis=axis))
        out = out + (apart / (2 * size)) ** 2 * variance_m2
    return out


def _left_out(
    units: Sequence[Unit], laws: Sequence[NoiseLaw], window: Window, people: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What counts in each latent cell, (groups, rows, columns) for each law: groups of days, and of people."""
    lengths = [len(unit.places) for unit in units]
    person = np.repeat([unit.person for unit in units], lengths)
    days = days_of(person, np.concatenate([unit.times_s for unit in units]))
    group = groups_of(people)
    by_person = [count_on(units, law, window, split(group[person], lengths)) for law in range(len(laws))]
    if int(days.max()) + 1 == people or not other_by_day(laws):
        return by_person, by_person
    of_day = split(day_groups(days, people), lengths)
    return [count_on(units, law, window, of_day) for law in range(len(laws))], by_person
