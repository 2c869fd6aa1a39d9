"""From where to where: origin-destination shares from protected trips, with the spread of the noise taken out.

The noise at a trip's start and end, T seconds apart, is correlated by ρ(T), which the certificate states, so the
likelihood of the pair of cells (a, b) is a bivariate Gaussian on each axis. Latent cells are half the reporting cells
(with latent = reporting cells the answer is worse than counting the released ends); people within a latent cell are
spread over it, which adds w²/12 to the variance. Expectation-maximisation starts where one end says about the other
only how far and in which direction it lies (m_a m_b g(b - a), with g from the release, too), which needs few steps and
keeps rare pairs plausible; releases are laid on one another first (:mod:`~sfumato.tracks.answers.maps.offsets`). It is
stopped by the likelihood of people left out, after one step at least, and raked to where trips begin and end, which is
known better (:mod:`~sfumato.tracks.answers.flows.trip_ends`). Intervals are over people, as for heat maps
(:mod:`~sfumato.tracks.answers.intervals`; what smoothing takes is told by walking twice as far).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.base.things.grid import Grid
from sfumato.tracks.answers.flows.trip_ends import rake, trip_ends
from sfumato.tracks.answers.flows.trips import TripLikelihood, Trips, likelihood_of, trips_of
from sfumato.tracks.answers.intervals import people_interval
from sfumato.tracks.answers.maps.areas import Areas
from sfumato.tracks.answers.maps.cells import Bounds, Cells, Reporting, Window, asked_for
from sfumato.tracks.answers.maps.offsets import Aligned, align, units_of
from sfumato.tracks.answers.received import (
    NoiseLaw,
    Pair,
    Person,
    Received,
    check_confidence,
    groups_of,
    largest_share,
    laws_of,
    people_of,
    received_all,
)

LATENT_OF_NOISE = 1.15  # and at least two latent cells along a reporting cell
MOST_STEPS = 10  # farther, and it makes up for people who do not stand evenly over a latent cell
MOST_WORK = 9_000_000  # trips times steps, over all groups
MOST_GROUPS = 8
ONE_START = 30_000  # trips: so many tell where to start, and no group of people changes it
FIRST_STEPS = 6  # to know the two ends; how they go together is found from there
GRAVITY_STEPS = 3
STEPS_FOR_ONE = 3
OF_AGAIN = 1.5  # walking once more tells this part of what smoothing takes from starts and ends
LEAST_STEPS = 1  # the start alone says too little about these people
USUAL_STEPS = (MOST_GROUPS + 1) * (FIRST_STEPS + GRAVITY_STEPS + 3)  # for a progress bar
LARGEST = 20_000_000  # latent pairs


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Shares of the pairs (from cell, to cell); they sum to 1. ``low`` and ``high`` may be NaN."""

    cells: Cells
    grid: Grid
    share: FloatArray
    low: FloatArray
    high: FloatArray
    naive: FloatArray
    confidence: float
    people: int
    trips: int
    outside: int
    steps: int
    steps_by: str
    latent_m: float
    largest_person: float

    def to_table(self, *, least: float = 0.0) -> pa.Table:
        """One row for each pair with more than ``least``: the two centres, ``share``, ``low``, ``high``."""
        lat, lon = self.cells.centres_deg()
        start, end = np.nonzero(self.share > least)
        places = {"from_lat": lat[start], "from_lon": lon[start], "to_lat": lat[end], "to_lon": lon[end]}
        shares = {
            name: pa.array(getattr(self, name)[start, end], from_pandas=True) for name in ("share", "low", "high")
        }
        if isinstance(self.cells, Grid):
            return pa.table({**places, **shares})
        names = self.cells.labels()
        ends = {"from": [names[one] for one in start], "to": [names[one] for one in end]}
        return pa.table({**ends, **places, **shares})

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.cells.cells,
            "cell_m": self.grid.cell_height if isinstance(self.cells, Grid) else None,
            "people": self.people,
            "share_of_the_largest_person": self.largest_person,
            "trips": self.trips,
            "trips_outside": self.outside,
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.low).any()),
        }


def estimate_flows(
    received: Sequence[Received | Pair],
    *,
    cell_m: float | None = None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    on_step: Callable[[], None] | None = None,
) -> Flows:
    """Flows between cells. A trip is one segment of a released trace, from its first to its last point.

    ``on_step`` is called after every step of the search.
    """
    received = received_all(received)
    laws = laws_of(received)
    check_confidence(confidence)
    people = people_of(received, each_release_a_person=each_release_a_person)
    if any(one.times == "drop" for one in received):
        raise InputError("The release has no times, so how long a trip took is not known.", "Keep or shift the times.")
    noise_m = max(law.noise_m for law in laws)
    traces = [trace for one in received for _, trace in one.people]
    asked = asked_for(traces, noise_m, cell_m=cell_m, h3=h3, areas=areas, bounds=bounds)
    window = _window(asked.grid, noise_m, least=2 if asked.cells is asked.grid else 1)
    reporting = asked.summed_on(window)
    laid, moved_m = _laid(people, laws, asked.grid)
    trips = trips_of(people, laws, window, asked.cells, moved_m)
    if len(trips) == 0:
        raise InputError("There is no trip in the rectangle.", "A trip is a segment of at least two moments.")
    said = likelihood_of(trips, laws, window, laid.less_m2, on_step)
    groups = np.unique(_groups(len(people))[trips.person], return_inverse=True)[1]
    most, intervals = _most_steps(len(trips)), len(people) >= LEAST_PEOPLE and int(groups.max()) > 0
    start = _start(said, np.ones(len(trips)), window)
    steps, walked = _choose(said, groups, window, most, start) if int(groups.max()) > 0 else (STEPS_FOR_ONE, [])
    ends = trip_ends(trips, laid.laws, window, groups, leave_out=intervals, on_step=on_step)
    flows = said.walk(start, steps)
    share = _reported(rake(flows, ends.found), reporting)
    low, high = share * np.nan, share * np.nan
    if intervals:
        farther = _reported(rake(said.walk(flows, steps + 1), ends.found), reporting) - share
        again = _reported(rake(flows, ends.again), reporting) - share
        answers = [_reported(rake(one, both), reporting) for one, both in zip(walked, ends.without, strict=True)]
        low, high = people_interval(
            share, np.array(answers), len(people), confidence, bias=np.hypot(farther, OF_AGAIN * again)
        )
    return Flows(
        cells=asked.cells,
        grid=asked.grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        naive=read_only(_naive(trips, asked.cells.cells)),
        confidence=confidence,
        people=len(people),
        trips=len(trips),
        outside=trips.outside,
        steps=steps,
        steps_by=("likelihood of people left out" + (", as many as fit a minute" if steps == most else ""))
        if walked
        else "fixed: one person leaves nobody to judge by",
        latent_m=window.latent_m[0],
        largest_person=largest_share(trips.person),
    )


def _laid(people: Sequence[Person], laws: Sequence[NoiseLaw], grid: Grid) -> tuple[Aligned, FloatArray]:
    """Releases laid on one another by all their points, as for a heat map, and by how many metres each was moved."""
    window = Window.around(grid, min(law.noise_m for law in laws))
    laid = align(units_of(people, laws, window), laws, window)
    return laid, laid.moved * np.array(window.latent_m)


def _window(grid: Grid, noise_m: float, *, least: int) -> Window:
    finer = max(least, round(grid.cell_height / (LATENT_OF_NOISE * noise_m)))
    window = Window(grid, finer, math.ceil(2 * noise_m * finer / grid.cell_height))
    if (window.shape[0] * window.shape[1]) ** 2 > LARGEST:
        raise InputError(
            f"{grid.rows} x {grid.columns} cells make {window.shape[0] * window.shape[1]} latent cells, and too many "
            "pairs of them to be worked out.",
            "Use larger cells, or a smaller rectangle (--bounds south,west,north,east).",
        )
    return window


def _start(trips: TripLikelihood, weight: FloatArray, window: Window) -> FloatArray:
    """Where trips begin times where they end times how far apart the two lie: the start of the walk."""
    rows, columns = window.shape
    flows = np.full((rows, rows, columns, columns), 1.0 / (rows * columns) ** 2)
    for _ in range(FIRST_STEPS):
        flows, _ = trips.step(flows, weight)
    apart = np.einsum("ik,jl->ijkl", flows.sum(axis=(1, 3)), flows.sum(axis=(0, 2)))
    flows = apart
    for _ in range(GRAVITY_STEPS):
        flows, _ = trips.step(flows, weight)
        flows = _by_way(flows, apart.copy())
    return np.asarray(flows)


def _by_way(flows: FloatArray, apart: FloatArray) -> FloatArray:
    """The flows in which an end says about the other only how far and in which direction it lies: m_a m_b g(b - a)."""
    rows, columns = flows.shape[0], flows.shape[2]
    wanted, there = (_ways(one) for one in (flows, apart))
    more = wanted / np.maximum(there, 1e-300)
    across = np.arange(columns)[None, :] - np.arange(columns)[:, None] + columns - 1
    for i in range(rows):
        for j in range(rows):
            apart[i, j] *= more[j - i + rows - 1][across]
    return np.asarray(apart / apart.sum())


def _ways(flows: FloatArray) -> FloatArray:
    """How much goes each way: (2 rows - 1, 2 columns - 1)."""
    rows, columns = flows.shape[0], flows.shape[2]
    across = (np.arange(columns)[None, :] - np.arange(columns)[:, None] + columns - 1).ravel()
    out = np.zeros((2 * rows - 1, 2 * columns - 1))
    for way in range(-rows + 1, rows):
        index = np.arange(max(-way, 0), rows - max(way, 0))
        plane = flows[index, index + way].sum(axis=0)
        out[way + rows - 1] = np.bincount(across, weights=plane.ravel(), minlength=2 * columns - 1)
    return out


def _groups(people: int) -> IntArray:
    return np.asarray(groups_of(people) % MOST_GROUPS)


def _most_steps(trips: int) -> int:
    """So many that all groups together take a minute at most."""
    starts = 1 if trips > ONE_START else MOST_GROUPS + 1
    return int(np.clip((MOST_WORK / trips - starts * (FIRST_STEPS + GRAVITY_STEPS)) / 10, 2, MOST_STEPS))


def _choose(
    trips: TripLikelihood, groups: IntArray, window: Window, most_steps: int, start: FloatArray
) -> tuple[int, list[FloatArray]]:
    """The number of steps that is best for people left out, and the flows after them without each group.

    Each group's walk has a start of its own, without that group; many trips tell one ``start`` that serves all.
    """
    others = [(groups != group).astype(np.float64) for group in range(int(groups.max()) + 1)]
    one_start = trips.trips > ONE_START
    flows = [start if one_start else _start(trips, weight, window) for weight in others]
    best, most, kept = 0, -math.inf, flows
    for taken in range(max(most_steps, LEAST_STEPS) + 1):
        said, ahead = 0.0, []
        for one, weight in zip(flows, others, strict=True):
            moved, likelihood = trips.step(one, weight)
            said += float(np.log(np.maximum(likelihood[weight == 0], 1e-300)).sum())
            ahead.append(moved)
        if said <= most and taken > LEAST_STEPS:
            break
        best, most, kept = taken, said, flows
        flows = ahead
    return best, kept


def _reported(flows: FloatArray, reporting: Reporting) -> FloatArray:
    """(cells, cells): from, to."""
    window = reporting.window
    m, k, rows, columns = window.margin, window.finer, window.grid.rows, window.grid.columns
    if reporting.into is None:
        inner = flows[m : m + rows * k, m : m + rows * k, m : m + columns * k, m : m + columns * k]
        summed = inner.reshape(rows, k, rows, k, columns, k, columns, k).sum(axis=(1, 3, 5, 7))
        out = summed.transpose(0, 2, 1, 3).reshape(rows * columns, rows * columns)
    else:
        latent = window.shape[0] * window.shape[1]
        out = reporting.into @ (reporting.into @ flows.transpose(1, 3, 0, 2).reshape(latent, latent)).T
    return np.asarray(out / max(float(out.sum()), 1e-300))


def _naive(trips: Trips, cells: int) -> FloatArray:
    inside = (trips.start_cell >= 0) & (trips.end_cell >= 0)
    out = np.zeros((cells, cells))
    np.add.at(out, (trips.start_cell[inside], trips.end_cell[inside]), 1.0)
    return np.asarray(out / max(out.sum(), 1.0))
