"""Trips of a release and what each says about where it began and ended: blocks of likelihood on the latent cells.

Gaussian noise splits into the axes (the two ends of one axis are correlated). Planar Laplace noise does not, but is
independent from moment to moment, so it splits into the two ends. Either way a trip's likelihood is a product of two,
and beyond a few noises it is nothing: each trip carries two small blocks, (``side`` x ``side``), whose corner is
``first``: row of the start and of the end, column of the start and of the end. Compiled loops walk over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.maps.cells import Cells, Window
from sfumato.tracks.answers.received import NoiseLaw, Person

NOTHING = 1e-4  # of the likeliest pair of rows


@compile_loop(fastmath=True)  # sums may be reordered, which moves them by a rounding
def step_by_axes(
    flows: FloatArray, first: IntArray, down: FloatArray, across: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(Σ_t of the trips' posteriors, likelihood of each trip) under flows[i, j, k, l]: from row i to j, column k to l.

    ``first`` is (trips, 4): first row of the start and of the end, first column of the start and of the end; ``weight``
    is 0 for trips that only get a likelihood.
    """
    back = np.zeros_like(flows)
    likelihood = np.empty(len(first))
    side = down.shape[1]
    for t in range(len(first)):
        i0, j0, k0, l0 = first[t]
        total = 0.0
        for i in range(side):
            for j in range(side):
                if down[t, i, j] < NOTHING:
                    continue
                plane = flows[i0 + i, j0 + j]
                partial = 0.0
                for k in range(side):
                    for m in range(side):
                        partial += plane[k0 + k, l0 + m] * across[t, k, m]
                total += partial * down[t, i, j]
        likelihood[t] = total
        if weight[t] > 0.0 and total > 0.0:
            share = weight[t] / total
            for i in range(side):
                for j in range(side):
                    scaled = share * down[t, i, j]
                    if down[t, i, j] >= NOTHING:
                        plane = back[i0 + i, j0 + j]
                        for k in range(side):
                            for m in range(side):
                                plane[k0 + k, l0 + m] += scaled * across[t, k, m]
    return back * flows, likelihood


@compile_loop(fastmath=True)  # sums may be reordered, which moves them by a rounding
def trip_blocks(
    start: FloatArray, end: FloatArray, rho: FloatArray, variance: float, cell: float, first: IntArray, side: int
) -> FloatArray:
    """(trips, side, side): the bivariate Gaussian density at the cells' centres, scaled to 1 at its peak."""
    out = np.empty((len(start), side, side))
    for t in range(len(start)):
        r = rho[t]
        scale = -0.5 / (variance * (1 - r * r))
        for i in range(side):
            u = start[t] - (first[t, 0] + i + 0.5) * cell
            for j in range(side):
                v = end[t] - (first[t, 1] + j + 0.5) * cell
                out[t, i, j] = math.exp(scale * (u * u - 2 * r * u * v + v * v))
    return out


@compile_loop(fastmath=True)
def end_blocks(at: FloatArray, epsilon: float, height: float, width: float, first: IntArray, side: int) -> FloatArray:
    """(trips, side, side): planar Laplace density around one end, averaged over 5 x 5 places of each cell."""
    out = np.empty((len(at), side, side))
    for t in range(len(at)):
        for i in range(side):
            for k in range(side):
                total = 0.0
                for a in range(5):
                    u = at[t, 0] - (first[t, 0] + i + (a + 0.5) / 5) * height
                    for b in range(5):
                        v = at[t, 1] - (first[t, 1] + k + (b + 0.5) / 5) * width
                        total += math.exp(-epsilon * math.sqrt(u * u + v * v))
                out[t, i, k] = total / 25
    return out


REACH = 3.0  # noises
LEAST_TRIP_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Trips:
    """Starts and ends in metres from the window's corner (south, east) and by cell; when, how long, law, whose."""

    start_m: FloatArray
    end_m: FloatArray
    start_cell: IntArray
    end_cell: IntArray
    times_s: FloatArray
    seconds: FloatArray
    law: IntArray
    person: IntArray
    outside: int

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class TripBlocks:
    """The likelihoods of some trips: two blocks for each, whose corner is ``first`` (see the loops)."""

    trips: IntArray
    first: IntArray
    one: FloatArray
    other: FloatArray
    by_ends: bool

    def step(self, flows: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(Σ of the trips' posteriors, likelihood of each).

        The loop takes what splits into the axes; with rows and columns of one end side by side it serves what splits
        into the two ends.
        """
        if not self.by_ends:
            return step_by_axes(flows, self.first, self.one, self.other, weight)
        ends = np.ascontiguousarray(flows.transpose(0, 2, 1, 3))
        corner = np.ascontiguousarray(self.first[:, [0, 2, 1, 3]])
        back, likelihood = step_by_axes(ends, corner, self.one, self.other, weight)
        return back.transpose(0, 2, 1, 3), likelihood


@dataclass(frozen=True, slots=True, eq=False)
class TripLikelihood:
    """All trips, law by law; ``on_step`` is called after every step."""

    blocks: tuple[TripBlocks, ...]
    trips: int
    on_step: Callable[[], None] | None = None

    def step(self, flows: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The flows after one step of expectation-maximisation, and the likelihood of each trip before it."""
        moved, likelihood = np.zeros_like(flows), np.empty(self.trips)
        for one in self.blocks:
            back, likelihood[one.trips] = one.step(flows, weight[one.trips])
            moved += back
        if self.on_step is not None:
            self.on_step()
        return moved / max(float(moved.sum()), 1e-300), likelihood


def segment_ends(trace: Trace) -> tuple[IntArray, IntArray]:
    """First and last point of every segment that lasts."""
    order = np.lexsort((trace.times_s, trace.segment))
    fresh = np.r_[True, np.diff(trace.segment[order]) != 0]
    start = np.flatnonzero(fresh)
    end = np.r_[start[1:], len(order)] - 1
    lasting = trace.times_s[order[end]] - trace.times_s[order[start]] >= LEAST_TRIP_S
    return order[start[lasting]], order[end[lasting]]


def trips_of(
    people: Sequence[Person], laws: Sequence[NoiseLaw], window: Window, cells: Cells, moved_m: FloatArray
) -> Trips:
    """A trip is one segment of a released trace; those with an end outside the window are counted and left out.

    ``moved_m`` is by how much each release was found to lie too far south and east.
    """
    locate: Callable[..., IntArray] = cells.locate
    found: list[tuple[FloatArray | IntArray, ...]] = []
    for place, person in enumerate(people):
        for law, trace in person.releases:
            start, end = segment_ends(trace)
            at = window.metres(trace.lat_deg, trace.lon_deg) - moved_m[len(found)]
            seconds = trace.times_s[end] - trace.times_s[start]
            in_cell = [locate(trace.lat_deg[ends], trace.lon_deg[ends]) for ends in (start, end)]
            of = [np.full(len(start), number) for number in (laws.index(law), place)]
            found.append((at[start], at[end], *in_cell, trace.times_s[start], seconds, *of))
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    edge = np.array(window.shape) * np.array(window.latent_m)
    inside = ((columns[0] >= 0) & (columns[0] < edge) & (columns[1] >= 0) & (columns[1] < edge)).all(axis=1)
    start_m, end_m, start_cell, end_cell, times_s, seconds, law, whose = (column[inside] for column in columns)
    outside = int(np.count_nonzero(~inside))
    return Trips(start_m, end_m, start_cell, end_cell, times_s, seconds, law, whose, outside)


def likelihood_of(
    trips: Trips,
    laws: Sequence[NoiseLaw],
    window: Window,
    less_m2: Sequence[float],
    on_step: Callable[[], None] | None = None,
) -> TripLikelihood:
    """What all trips say; ``less_m2`` of each law's variance is known and was taken out."""
    out = []
    for number, law in enumerate(laws):
        of = np.flatnonzero(trips.law == number)
        if of.size:
            out.append(noise_blocks(trips, of, law, less_m2[number], window.latent_m, window.shape))
    return TripLikelihood(tuple(out), len(trips), on_step)


def noise_blocks(
    trips: Trips, of: IntArray, law: NoiseLaw, less_m2: float, sizes: tuple[float, float], shape: tuple[int, int]
) -> TripBlocks:
    """What the noise says of these trips on cells of these sizes (of them ``shape`` rows and columns)."""
    side = min(math.ceil(2 * REACH * law.noise_m / min(sizes)) + 1, *shape)
    ends = trips.start_m[of], trips.end_m[of]
    first = np.empty((len(of), 4), dtype=np.int64)
    for axis in (0, 1):
        for column, at in enumerate(ends):
            middle = np.floor(at[:, axis] / sizes[axis]).astype(np.int64) - side // 2
            first[:, 2 * axis + column] = np.clip(middle, 0, shape[axis] - side)
    if law.epsilon_per_m is not None:
        blocks = [
            end_blocks(at, law.epsilon_per_m, *sizes, np.ascontiguousarray(first[:, column::2]), side)
            for column, at in enumerate(ends)
        ]
        return TripBlocks(of, first, blocks[0], blocks[1], by_ends=True)
    blocks = []
    for axis in (0, 1):
        variance = law.variance_m2 - less_m2 + sizes[axis] ** 2 / 12
        rho = (np.asarray(law.kernel(trips.seconds[of])) - less_m2) / variance
        corner = np.ascontiguousarray(first[:, 2 * axis : 2 * axis + 2])
        start, end = (np.ascontiguousarray(at[:, axis]) for at in ends)
        blocks.append(trip_blocks(start, end, rho, variance, sizes[axis], corner, side))
    return TripBlocks(of, first, blocks[0], blocks[1], by_ends=False)
