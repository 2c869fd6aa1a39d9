"""Where people are: shares of areas from protected releases, with the spread of the noise taken out.

Each released point is its true place plus noise of the certified law. Releases are laid on one another
(:mod:`~sfumato.tracks.answers.maps.alignment`), and the map that explains all points best is found on cells finer than
those reported (:mod:`~sfumato.tracks.answers.maps.deconvolution`). *How much* of it is taken, beside counting, is what
comes nearest in releases that might have been (:mod:`~sfumato.tracks.answers.maps.amount`).

*Whose map it is*: that of the people released, their share of points, of seconds, or everybody counting the same. Its
interval says how far the noise may have moved it. *People like these*, of whom the released are a sample, have a wider
one (:mod:`~sfumato.tracks.answers.intervals`). Numbers are for areas that can be told apart
(:mod:`~sfumato.tracks.answers.maps.area_width`); the cells asked for are a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.areas import Areas
from sfumato.base.things.estimated_map import LEAST_PEOPLE, EstimatedMap, Weight
from sfumato.base.things.grid import Grid
from sfumato.base.units import count_of, format_length
from sfumato.tracks.answers.intervals import interval_of_released, people_interval
from sfumato.tracks.answers.maps.alignment import Unit, align, count_on, units_of
from sfumato.tracks.answers.maps.amount import Amount, choose_amounts
from sfumato.tracks.answers.maps.area_width import width_told_apart
from sfumato.tracks.answers.maps.cells import AskedCells, Bounds, Reporting, Window, asked_for, wide_enough
from sfumato.tracks.answers.maps.deconvolution import Spread, density, fit_density
from sfumato.tracks.answers.maps.simulated import draw_again
from sfumato.tracks.answers.received import (
    DAY_GROUPS,
    NoiseLaw,
    Pair,
    Received,
    check_confidence,
    crowd_notes,
    day_groups,
    days_of,
    groups_of,
    largest_share,
    laws_of,
    other_by_day,
    people_of,
    received_all,
    release_notes,
    split,
)

STEPS_FOR_ONE = 50
USUAL_STEPS = 60  # for a progress bar
BY_DRAWS = "error in releases that might have been"
COUNTED = (
    "Counted, not corrected: taking the noise out of these releases might come out farther from their people than "
    "counting released points does."
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
    """The heat map of one or several releases, each with its own law. See the module for what the intervals say.

    ``on_step`` is called after every step of the search.
    """
    received = received_all(received)
    if weight not in ("points", "people", "time"):
        raise InputError(
            f"There is no weight '{weight}'.",
            "Count points, people (all the same), or the time they stand for.",
        )
    check_confidence(confidence)
    laws = laws_of(received)
    people = people_of(received, each_release_a_person=each_release_a_person)
    noise_m = min(law.noise_m for law in laws)
    traces = [trace for one in received for _, trace in one.people]
    asked = asked_for(traces, noise_m, cell_m=cell_m, h3=h3, areas=areas, bounds=bounds)
    window = Window.around(asked.grid, noise_m)
    reporting = asked.summed_on(window)
    units = units_of(people, laws, window, weight=weight)
    outside = sum(int(np.count_nonzero(~window.holds(unit.places))) for unit in units)
    if not sum(float(unit.mass[window.holds(unit.places)].sum()) for unit in units) > 0:
        raise InputError("No released point lies in the rectangle.", "Name another rectangle.")
    width = width_told_apart(units, laws, asked.whole_m2, asked.side_m)
    shown = wide_enough(reporting, width)
    laid = align(units, laws, window)
    spreads = [Spread.of(law, *window.shape, *window.latent_m) for law in laid.laws]
    days, by_people = _left_out(laid.units, laid.laws, window, len(people))
    found = fit_density(spreads, days, None, reporting.shares, steps_for_one=STEPS_FOR_ONE, on_step=on_step)
    answers = [shown.shares] if shown is reporting else [shown.shares, reporting.shares]
    amounts = choose_amounts(spreads, draw_again(laid, laws, window, found.density), answers, on_step)
    amount, of_picture = amounts[0], amounts[-1]
    counts, seen = [group.sum(axis=0) for group in days], sum(count_on(units, i, window)[0] for i in range(len(laws)))
    naive, counted = shown.shares(np.asarray(seen)), reporting.shares(np.asarray(seen))
    latent = density(spreads, counts, amount.steps)
    share = amount.mix(shown.shares(latent), naive)
    picture = share
    if shown is not reporting:
        finer = latent if of_picture.steps == amount.steps else density(spreads, counts, of_picture.steps)
        picture = of_picture.mix(reporting.shares(finer), counted)
    low, high, low_alike, high_alike = (np.full(len(share), np.nan) for _ in range(4))
    if len(people) >= LEAST_PEOPLE:
        common = _shifted_by(latent, window, laid.common_m2, shown.shares)
        low, high = interval_of_released(share, naive, amount.errors, confidence, in_empty=amount.in_empty, more=common)
        without = _without(spreads, counts, by_people, amount, shown)
        bias = np.abs(amount.errors.mean(axis=0))
        alike = people_interval(share, without, len(people), confidence, bias=bias, more=common)
        low_alike, high_alike = np.minimum(alike[0], low), np.maximum(alike[1], high)
    untold = np.zeros(len(share), dtype=bool) if shown.told is None else ~shown.told
    share = np.where(untold, np.nan, share)
    for one in (low, high, low_alike, high_alike):
        one[untold] = np.nan
    largest = largest_share([unit.person for unit in units], [float(unit.mass.sum()) for unit in units])
    notes = release_notes(received) + crowd_notes(len(people), largest, "points", outside)
    if shown is not reporting:
        notes.append(_merged(asked, shown, width, int(untold.sum()), len(people)))
    if not amount.part:
        notes.append(COUNTED)
    return EstimatedMap(
        cells=shown.cells,
        asked=asked.cells,
        grid=asked.grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        low_alike=read_only(low_alike),
        high_alike=read_only(high_alike),
        naive=read_only(naive),
        picture=read_only(picture),
        counted=read_only(counted),
        corrected=amount.part,
        confidence=confidence,
        weight=weight,
        people=len(people),
        points=sum(one.points for one in received),
        outside=outside,
        steps=amount.steps,
        steps_by=BY_DRAWS,
        latent_m=window.latent_m[0],
        noise_m=tuple(law.noise_m for law in laws),
        largest_person=largest,
        notes=tuple(notes),
    )


def _without(
    spreads: Sequence[Spread],
    counts: Sequence[FloatArray],
    groups: Sequence[FloatArray],
    amount: Amount,
    shown: Reporting,
) -> FloatArray:
    """The same answer without each group of people."""
    others = [together - group for together, group in zip(counts, groups, strict=True)]
    corrected = shown.shares(density(spreads, others, amount.steps))
    return amount.mix(corrected, shown.shares(np.asarray(sum(others))))


def _merged(asked: AskedCells, shown: Reporting, width_m: float | None, untold: int, people: int) -> str:
    """What was done with cells too small to be told apart."""
    if isinstance(asked.cells, Areas):
        return f"{untold} of {asked.cells.cells} areas are too small to be told apart, and have no numbers."
    if width_m is None:
        return (
            f"Not even halves of the map are told apart by {count_of(people, 'person', 'people')}: cells are a picture."
        )
    kind = "cells" if isinstance(asked.cells, Grid) else "hexagons"
    return (
        f"{kind.capitalize()} about {format_length(asked.side_m)} wide cannot be told apart and are a picture. Numbers "
        f"are for {shown.cells.cells} areas about {format_length(width_m)} wide, cut without looking at the map."
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
        few = split(groups_of(people, DAY_GROUPS)[person], lengths)
        return [count_on(units, law, window, few) for law in range(len(laws))], by_person
    of_day = split(day_groups(days, people), lengths)
    return [count_on(units, law, window, of_day) for law in range(len(laws))], by_person
