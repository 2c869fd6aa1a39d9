"""From where to where: origin-destination shares from protected trips, with the spread of the noise taken out.

The noise at a trip's start and end, T seconds apart, is correlated by ρ(T), which the certificate states, so the
likelihood of the pair of cells (a, b) is a bivariate Gaussian on each axis. Latent cells are half the reporting cells
(with latent = reporting cells the answer is worse than counting the released ends); people within a latent cell are
spread over it, which adds w²/12 to the variance. Expectation-maximisation starts where ends say nothing about one
another, which needs few steps and keeps rare pairs plausible; it is stopped by the likelihood of people left
out, and intervals are over people, as for heat maps (:mod:`~sfumato.answers.deconvolution`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.deconvolution import dealt
from sfumato.answers.people import LEAST_PEOPLE, Person, people_interval, people_of
from sfumato.answers.received import NoiseLaw, Received
from sfumato.answers.window import Bounds, Window, reporting_grid
from sfumato.arrays import FloatArray, IntArray, read_only
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.traces import Trace

REACH = 3.0  # noises
LATENT_OF_NOISE = 1.15  # and at least two latent cells along a reporting cell
MOST_STEPS = 40
MOST_GROUPS = 8
FIRST_STEPS = 6  # to know the two ends; how they go together is found from there
STEPS_FOR_ONE = 3
LARGEST = 20_000_000  # latent pairs
LEAST_TRIP_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Trips:
    """Starts and ends in metres from the window's corner (south, east), the law of each, and whose they are."""

    start_m: FloatArray
    end_m: FloatArray
    seconds: FloatArray
    law: IntArray
    person: IntArray
    outside: int

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Shares of the pairs (from cell, to cell) of a grid; they sum to 1. ``low`` and ``high`` may be NaN."""

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

    def to_table(self, *, least: float = 0.0) -> Any:
        """One row for each pair with more than ``least``: the two centres, ``share``, ``low``, ``high``."""
        lat, lon = self.grid.centres_deg()
        start, end = np.nonzero(self.share > least)
        places = {"from_lat": lat[start], "from_lon": lon[start], "to_lat": lat[end], "to_lon": lon[end]}
        shares = {name: getattr(self, name)[start, end] for name in ("share", "low", "high")}
        return pa.table({**places, **shares})

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.grid.cells,
            "cell_m": self.grid.cell_height,
            "people": self.people,
            "trips": self.trips,
            "trips_outside": self.outside,
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.low).any()),
        }


def estimate_flows(
    received: Sequence[Received],
    *,
    cell_m: float,
    bounds: Bounds | None = None,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
) -> Flows:
    """Flows between cells. A trip is one segment of a released trace, from its first to its last point."""
    if not received:
        raise InputError("There is no release.", "Give at least one, with its certificate.")
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
    people = people_of(received, each_release_a_person=each_release_a_person)
    laws = list(dict.fromkeys(one.law for one in received))
    if any(law.epsilon_per_m is not None for law in laws):
        raise InputError(
            "Flows from planar Laplace releases are not worked out: that noise does not split into the axes.",
            "Use Gaussian noise (multiscale, independent), or a heat map.",
        )
    if any(one.times == "drop" for one in received):
        raise InputError("The release has no times, so how long a trip took is not known.", "Keep or shift the times.")
    grid = reporting_grid([trace for one in received for _, trace in one.people], cell_m, bounds)
    window = _window(grid, max(law.noise_m for law in laws))
    trips = _trips(people, laws, window)
    if len(trips) == 0:
        raise InputError("There is no trip in the rectangle.", "A trip is a segment of at least two moments.")
    first, down, across = _blocks(trips, laws, window)
    groups = _groups(len(people))[trips.person]
    chosen = _choose(first, down, across, groups, window) if len(people) > 1 else None
    steps = chosen[0] if chosen else STEPS_FOR_ONE
    everybody = np.ones(len(trips))
    flows = _unrelated(first, down, across, everybody, window)
    for _ in range(steps):
        flows, _ = _step(flows, first, down, across, everybody)
    share = _reported(flows, window)
    low, high = people_interval(share, chosen[1] if chosen and len(people) >= LEAST_PEOPLE else None, confidence)
    return Flows(
        grid=grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        naive=read_only(_naive(trips, window)),
        confidence=confidence,
        people=len(people),
        trips=len(trips),
        outside=trips.outside,
        steps=steps,
        steps_by="likelihood of people left out" if chosen else "fixed: one person leaves nobody to judge by",
        latent_m=window.latent_m[0],
    )


def _window(grid: Grid, noise_m: float) -> Window:
    finer = max(2, round(grid.cell_height / (LATENT_OF_NOISE * noise_m)))
    window = Window(grid, finer, math.ceil(2 * noise_m * finer / grid.cell_height))
    if (window.shape[0] * window.shape[1]) ** 2 > LARGEST:
        raise InputError(
            f"{grid.rows} x {grid.columns} cells make {window.shape[0] * window.shape[1]} latent cells, and too many "
            "pairs of them to be worked out.",
            "Use larger cells, or a smaller rectangle (--bounds south,west,north,east).",
        )
    return window


def _ends(trace: Trace) -> tuple[IntArray, IntArray]:
    """First and last point of every segment that lasts."""
    order = np.lexsort((trace.times_s, trace.segment))
    fresh = np.r_[True, np.diff(trace.segment[order]) != 0]
    start = np.flatnonzero(fresh)
    end = np.r_[start[1:], len(order)] - 1
    lasting = trace.times_s[order[end]] - trace.times_s[order[start]] >= LEAST_TRIP_S
    return order[start[lasting]], order[end[lasting]]


def _trips(people: Sequence[Person], laws: Sequence[NoiseLaw], window: Window) -> Trips:
    found: list[tuple[FloatArray, FloatArray, FloatArray, int, int]] = []
    for place, person in enumerate(people):
        for law, trace in person.releases:
            start, end = _ends(trace)
            at = window.metres(trace.lat_deg, trace.lon_deg)
            found.append((at[start], at[end], trace.times_s[end] - trace.times_s[start], laws.index(law), place))
    start_m, end_m = np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])
    sizes = [len(one[2]) for one in found]
    height, width = window.latent_m
    edge = np.array([window.shape[0] * height, window.shape[1] * width])
    inside = ((start_m >= 0) & (start_m < edge) & (end_m >= 0) & (end_m < edge)).all(axis=1)
    return Trips(
        start_m[inside],
        end_m[inside],
        np.concatenate([one[2] for one in found])[inside],
        np.repeat([one[3] for one in found], sizes)[inside],
        np.repeat([one[4] for one in found], sizes)[inside],
        int(np.count_nonzero(~inside)),
    )


def _blocks(trips: Trips, laws: Sequence[NoiseLaw], window: Window) -> tuple[IntArray, FloatArray, FloatArray]:
    from sfumato.answers.flow_loops import trip_blocks

    sizes = window.latent_m
    side = min(math.ceil(2 * REACH * max(law.noise_m for law in laws) / min(sizes)) + 1, *window.shape)
    first = np.empty((len(trips), 4), dtype=np.int64)
    blocks = [np.empty((len(trips), side, side)), np.empty((len(trips), side, side))]
    for axis in (0, 1):
        for column, at in ((0, trips.start_m), (1, trips.end_m)):
            middle = np.floor(at[:, axis] / sizes[axis]).astype(np.int64) - side // 2
            first[:, 2 * axis + column] = np.clip(middle, 0, window.shape[axis] - side)
    for number, law in enumerate(laws):
        of = np.flatnonzero(trips.law == number)
        for axis in (0, 1):
            variance = law.variance_m2 + sizes[axis] ** 2 / 12
            rho = law.correlation(trips.seconds[of]) * law.kernel.variance_m2 / variance
            corner = np.ascontiguousarray(first[of, 2 * axis : 2 * axis + 2])
            start, end = np.ascontiguousarray(trips.start_m[of, axis]), np.ascontiguousarray(trips.end_m[of, axis])
            blocks[axis][of] = trip_blocks(start, end, rho, variance, sizes[axis], corner, side)
    return first, blocks[0], blocks[1]


def _step(
    flows: FloatArray, first: IntArray, down: FloatArray, across: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    from sfumato.answers.flow_loops import flow_step

    moved, likelihood = flow_step(flows, first, down, across, weight)
    return moved / max(float(moved.sum()), 1e-300), likelihood


def _unrelated(first: IntArray, down: FloatArray, across: FloatArray, weight: FloatArray, window: Window) -> FloatArray:
    """Where trips begin times where they end, as if one said nothing about the other: the start of the walk."""
    rows, columns = window.shape
    flows = np.full((rows, rows, columns, columns), 1.0 / (rows * columns) ** 2)
    for _ in range(FIRST_STEPS):
        flows, _ = _step(flows, first, down, across, weight)
    return np.asarray(np.einsum("ik,jl->ijkl", flows.sum(axis=(1, 3)), flows.sum(axis=(0, 2))))


def _groups(people: int) -> IntArray:
    return np.asarray(dealt(people) % MOST_GROUPS)


def _choose(
    first: IntArray, down: FloatArray, across: FloatArray, groups: IntArray, window: Window
) -> tuple[int, FloatArray]:
    """The number of steps that is best for people left out, and the answers without each group."""
    names = np.unique(groups)
    others = [(groups != group).astype(np.float64) for group in names]
    flows = [_unrelated(first, down, across, weight, window) for weight in others]
    best, most, answers = 0, -math.inf, np.empty(0)
    for taken in range(MOST_STEPS + 1):
        said, ahead = 0.0, []
        for one, weight in zip(flows, others, strict=True):
            moved, likelihood = _step(one, first, down, across, weight)
            said += float(np.log(np.maximum(likelihood[weight == 0], 1e-300)).sum())
            ahead.append(moved)
        if said <= most:
            break
        best, most, answers = taken, said, np.array([_reported(one, window) for one in flows])
        flows = ahead
    return max(best, 1), answers


def _reported(flows: FloatArray, window: Window) -> FloatArray:
    """(cells, cells): from, to."""
    m, k, rows, columns = window.margin, window.finer, window.grid.rows, window.grid.columns
    inner = flows[m : m + rows * k, m : m + rows * k, m : m + columns * k, m : m + columns * k]
    summed = inner.reshape(rows, k, rows, k, columns, k, columns, k).sum(axis=(1, 3, 5, 7))
    out = summed.transpose(0, 2, 1, 3).reshape(rows * columns, rows * columns)
    return np.asarray(out / out.sum())


def _naive(trips: Trips, window: Window) -> FloatArray:
    grid, height, width = window.grid, window.grid.cell_height, window.grid.cell_width
    cells = []
    inside = np.ones(len(trips), dtype=bool)
    for at in (trips.start_m, trips.end_m):
        row = np.floor(at[:, 0] / height - window.margin / window.finer).astype(np.int64)
        column = np.floor(at[:, 1] / width - window.margin / window.finer).astype(np.int64)
        inside &= (row >= 0) & (row < grid.rows) & (column >= 0) & (column < grid.columns)
        cells.append(row * grid.columns + column)
    out = np.zeros((grid.cells, grid.cells))
    np.add.at(out, (cells[0][inside], cells[1][inside]), 1.0)
    return np.asarray(out / max(out.sum(), 1.0))
