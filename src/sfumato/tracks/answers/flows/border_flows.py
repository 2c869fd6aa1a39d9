"""Flows where the noise is small against the cells: only what lies along a border may have been released beyond it.

The latent cells are the reporting cells themselves (and one around), so ten thousand of them are no more work than ten.
A trip's likelihood of the pair of cells (a, b) is that of its released ends (z, y), averaged over where in a and b
trips of this pair begin and end:

    L_t(a, b) = Σ_{i in a, j in b} K_t(z - i, y - j) s_i e_j g(j - i)  /  Σ_{i in a, j in b} s_i e_j g(j - i).

i and j are as fine as the noise; s and e are the maps of starts and of ends
(:mod:`~sfumato.tracks.answers.maps.deconvolution`), K_t is the noise of both ends with their correlation, and g says
how much more often than by chance an end lies so far from its start. Neighbouring cells need it: trips between them are
mostly short, so they begin and end near the border. g is found from the trips by expectation-maximisation, too; between
cells that are no neighbours it is the same over both, and falls out.

A trip can come from a handful of pairs only, so all trips together are a sparse matrix of trips by pairs, and a step of
expectation-maximisation is one pass over it; P ⊗ P is never formed. Pairs that no trip can come from have no share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.tracks.answers.flows.trips import REACH, TripBlocks, Trips, noise_blocks
from sfumato.tracks.answers.maps.cells import LARGEST_WINDOW, Window
from sfumato.tracks.answers.maps.deconvolution import Spread, density
from sfumato.tracks.answers.received import NoiseLaw

WIDE = 4.0  # noises along a cell: from here on only borders mix
DENSITY_STEPS = 8
WAY_STEPS = 8
MOST_TO_ASK = 20_000  # trips that say how far an end lies from its start
AT_ONCE = 20_000  # trips
FINEST, MOST_WORK = 2, 3e9  # fine cells along a noise; as many as make no more products than that
_NOTHING = 1e-4  # of a trip's likeliest pair
_EVEN = 0.005  # of people stand anywhere, whatever the fine map says


@compile_loop(fastmath=True)
def said_of_pairs(
    one: FloatArray, other: FloatArray, first: IntArray, maps: FloatArray, way: FloatArray, finer: int, by_ends: bool
) -> FloatArray:
    """Σ_{i in a, j in b} K_t s_i e_j g(j - i) of each trip: (trips, row of a, row of b, column of a, column of b).

    ``first`` is the first fine row of start and end, then the first fine column; cells are counted from theirs. ``way``
    is g by rows and columns apart; between cells that are no neighbours it is 1.
    """
    side = one.shape[1]
    most = (side + finer - 2) // finer + 1
    out = np.zeros((len(one), most, most, most, most))
    for t in range(len(one)):
        r0, s0, c0, d0 = first[t]
        for i in range(side):
            for j in range(side):
                if not by_ends and one[t, i, j] < 1e-4:
                    continue
                a, b = (r0 + i) // finer, (s0 + j) // finer
                rows = abs(r0 + i - s0 - j)
                for k in range(side):
                    if by_ends and one[t, i, k] < 1e-4:
                        continue
                    begin = maps[0, r0 + i, c0 + k]
                    c = (c0 + k) // finer
                    for m in range(side):
                        d = (d0 + m) // finer
                        both = one[t, i, k] * other[t, j, m] if by_ends else one[t, i, j] * other[t, k, m]
                        if abs(a - b) <= 1 and abs(c - d) <= 1:
                            both *= way[rows, abs(c0 + k - d0 - m)]
                        both *= begin * maps[1, s0 + j, d0 + m]
                        out[t, a - r0 // finer, b - s0 // finer, c - c0 // finer, d - d0 // finer] += both
    return out


@compile_loop(fastmath=True)
def ways_of_trips(
    one: FloatArray, other: FloatArray, first: IntArray, maps: FloatArray, way: FloatArray, by_ends: bool
) -> FloatArray:
    """Σ_t of the trips' posteriors by rows and columns apart, under s_i e_j g(j - i), up to the edge of ``way``."""
    out = np.zeros_like(way)
    farthest = len(way)
    side = one.shape[1]
    here = np.zeros((2 * side, 2 * side))
    for t in range(len(one)):
        r0, s0, c0, d0 = first[t]
        here[:] = 0.0
        total = 0.0
        for i in range(side):
            for j in range(side):
                rows = abs(r0 + i - s0 - j)
                for k in range(side):
                    for m in range(side):
                        columns = abs(c0 + k - d0 - m)
                        both = one[t, i, k] * other[t, j, m] if by_ends else one[t, i, j] * other[t, k, m]
                        both *= maps[0, r0 + i, c0 + k] * maps[1, s0 + j, d0 + m]
                        if rows < farthest and columns < farthest:
                            both *= way[rows, columns]
                            here[j - i + side, m - k + side] += both
                        total += both
        for j in range(1, 2 * side):
            for m in range(1, 2 * side):
                if here[j, m] > 0.0:
                    out[abs(s0 - r0 + j - side), abs(d0 - c0 + m - side)] += here[j, m] / total
    return out


@compile_loop(fastmath=True)
def near_pairs(maps: FloatArray, way: FloatArray, finer: int) -> FloatArray:
    """(rows, columns, 3, 3): Σ_{i in a, j in b} s_i e_j g(j - i) of every cell a with itself and its neighbours b."""
    rows, columns = maps.shape[1] // finer, maps.shape[2] // finer
    out = np.zeros((rows, columns, 3, 3))
    for i in range(rows * finer):
        for k in range(columns * finer):
            a, c = i // finer, k // finer
            for b in range(max(a - 1, 0), min(a + 2, rows)):
                for d in range(max(c - 1, 0), min(c + 2, columns)):
                    total = 0.0
                    for j in range(b * finer, b * finer + finer):
                        for m in range(d * finer, d * finer + finer):
                            total += maps[1, j, m] * way[abs(i - j), abs(k - m)]
                    out[a, c, b - a + 1, d - c + 1] += maps[0, i, k] * total
    return out


@compile_loop(fastmath=True)
def step_on_pairs(
    flows: FloatArray, first: IntArray, pair: IntArray, said: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(Σ_t of the trips' posteriors, likelihood of each trip) under the flows of the pairs."""
    back, likelihood = np.zeros_like(flows), np.empty(len(weight))
    for t in range(len(weight)):
        total = 0.0
        for e in range(first[t], first[t + 1]):
            total += flows[pair[e]] * said[e]
        likelihood[t] = total
        if weight[t] > 0.0 and total > 0.0:
            for e in range(first[t], first[t + 1]):
                back[pair[e]] += weight[t] / total * said[e] * flows[pair[e]]
    return back, likelihood


@dataclass(frozen=True, slots=True, eq=False)
class PairLikelihood:
    """What all trips say of the pairs that any of them may come from; ``apart`` is a first guess of their flows."""

    pairs: IntArray  # (pairs, 2): from, to
    first: IntArray
    pair: IntArray
    said: FloatArray
    apart: FloatArray
    on_step: Callable[[], None] | None = None

    @property
    def trips(self) -> int:
        """How many."""
        return len(self.first) - 1

    def step(self, flows: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The flows after one step of expectation-maximisation, and the likelihood of each trip before it."""
        moved, likelihood = step_on_pairs(flows, self.first, self.pair, self.said, weight)
        if self.on_step is not None:
            self.on_step()
        return moved / max(float(moved.sum()), 1e-30), likelihood


@dataclass(frozen=True, slots=True, eq=False)
class _Fine:
    """Fine cells, ``finer`` along each side of a cell, with the maps of starts and of ends on them."""

    window: Window
    finer: int
    maps: FloatArray  # (2, fine rows, fine columns)

    def blocks(self, trips: Trips, of: IntArray, law: NoiseLaw, less_m2: float) -> TripBlocks:
        """What the noise says of these trips."""
        rows, columns = self.window.shape
        height, width = self.window.latent_m
        fine = height / self.finer, width / self.finer
        return noise_blocks(trips, of, law, less_m2, fine, (rows * self.finer, columns * self.finer))


def pairs_of(
    trips: Trips,
    laws: Sequence[NoiseLaw],
    window: Window,
    less_m2: Sequence[float],
    on_step: Callable[[], None] | None = None,
) -> PairLikelihood:
    """The likelihood of every trip; ``window`` has the reporting cells and one around, not finer ones.

    ``less_m2`` of each law's variance is known and was taken out.
    """
    rows, columns = window.shape
    per_noise = FINEST if len(trips) * (2 * REACH * FINEST + 1) ** 4 <= MOST_WORK else 1
    most = math.isqrt(LARGEST_WINDOW // (rows * columns))
    finer = max(2, min(math.ceil(max(window.latent_m) * per_noise / min(law.noise_m for law in laws)), most))
    shape = rows * finer, columns * finer
    sizes = window.latent_m[0] / finer, window.latent_m[1] / finer
    left = [law.of_variance(law.variance_m2 - less) if less else law for law, less in zip(laws, less_m2, strict=True)]
    spreads = [Spread.of(law, *shape, *sizes) for law in left]
    maps = np.stack([_density(at, trips.law, spreads, sizes) for at in (trips.start_m, trips.end_m)])
    fine = _Fine(window, finer, maps)
    asked = list(zip(laws, less_m2, strict=True))
    way = _way(trips, asked, fine)
    near = near_pairs(maps, way, finer)
    starts, ends = maps.reshape(2, rows, finer, columns, finer).sum(axis=(2, 4))
    whose, pair, said = [], [], []
    for number, (law, less) in enumerate(asked):
        of = np.flatnonzero(trips.law == number)
        for part in np.array_split(of, max(1, math.ceil(len(of) / AT_ONCE))) if of.size else ():
            block = fine.blocks(trips, part, law, less)
            out = said_of_pairs(block.one, block.other, block.first, maps, way, finer, block.by_ends)
            corner, side = block.first // finer, out.shape[1]
            axes = [corner[:, at, None] + np.arange(side) for at in range(4)]
            for at, edge in enumerate((rows, rows, columns, columns)):
                axes[at] = np.minimum(axes[at], edge - 1)
            a, b, c, d = (
                axis.reshape(len(part), *(side if place == at else 1 for place in range(4)))
                for at, axis in enumerate(axes)
            )
            by_chance = starts[a, c] * ends[b, d]
            beside = (np.abs(a - b) <= 1) & (np.abs(c - d) <= 1)
            usual = np.where(beside, near[a, c, np.clip(b - a + 1, 0, 2), np.clip(d - c + 1, 0, 2)], by_chance)
            out /= np.maximum(usual, 1e-300)
            flat = out.reshape(len(part), -1)
            kept = flat > _NOTHING * flat.max(axis=1, keepdims=True)
            number_of = ((a * columns + c) * (rows * columns) + b * columns + d).reshape(len(part), -1)
            whose.append(np.repeat(part, kept.sum(axis=1)).astype(np.int32))
            pair.append(number_of[kept])
            said.append(flat[kept].astype(np.float32))
    trip, pairs, values = _by_trip(whose), _by_trip(pair), _by_trip(said)
    if len(laws) > 1:
        order = np.argsort(trip, kind="stable")
        pairs, values = pairs[order], values[order]
    first = np.r_[0, np.cumsum(np.bincount(trip, minlength=len(trips)))]
    known = np.unique(pairs)
    index = np.searchsorted(known, pairs).astype("i4")
    ends_of = np.column_stack(np.divmod(known, rows * columns))
    apart = _by_distance(trips, window, ends_of, starts, ends)
    return PairLikelihood(ends_of, first, index, values, apart, on_step)


def _by_trip(parts: list[np.ndarray]) -> np.ndarray:
    """The parts as one array; they are forgotten."""
    out = np.concatenate(parts)
    parts.clear()
    return out


def _density(at_m: FloatArray, law: IntArray, spreads: Sequence[Spread], sizes: tuple[float, float]) -> FloatArray:
    """Where trips begin (or end), on fine cells."""
    shape = spreads[0].rows, spreads[0].columns
    counts = [np.zeros(shape) for _ in spreads]
    at = np.minimum((at_m / np.array(sizes)).astype(np.int64), np.array(shape) - 1)
    for number, count in enumerate(counts):
        here = at[law == number]
        np.add.at(count, (here[:, 0], here[:, 1]), 1.0)
    found = density(spreads, counts, DENSITY_STEPS)
    return np.asarray((1 - _EVEN) * found / found.sum() + _EVEN / found.size)


def _way(trips: Trips, laws: Sequence[tuple[NoiseLaw, float]], fine: _Fine) -> FloatArray:
    """g by fine rows and columns apart, within two cells: trips that far over trips by chance, by rings."""
    farthest = 2 * fine.finer
    rows, columns = np.meshgrid(np.arange(farthest), np.arange(farthest), indexing="ij")
    ring = np.rint(np.hypot(rows, columns)).astype(np.int64)
    # By chance: how much lies that far apart, in any of the four directions.
    whole = fftconvolve(fine.maps[1], fine.maps[0, ::-1, ::-1])
    middle = [size - 1 for size in fine.maps.shape[1:]]
    near = whole[tuple(slice(at - farthest + 1, at + farthest) for at in middle)]
    off = np.abs(np.arange(-farthest + 1, farthest))
    by_chance = np.bincount(ring[np.ix_(off, off)].ravel(), weights=np.maximum(near, 0.0).ravel())
    far_m = np.abs(trips.end_m - trips.start_m).max(axis=1)
    asked = np.flatnonzero(far_m < 2 * min(fine.window.latent_m))
    asked = asked[:: max(1, math.ceil(len(asked) / MOST_TO_ASK))]
    parts = [(law, less, asked[trips.law[asked] == number]) for number, (law, less) in enumerate(laws)]
    blocks = [fine.blocks(trips, of, law, less) for law, less, of in parts if of.size]
    way = np.ones((farthest, farthest))
    for _ in range(WAY_STEPS if blocks else 0):
        seen = sum(ways_of_trips(one.one, one.other, one.first, fine.maps, way, one.by_ends) for one in blocks)
        count = np.bincount(ring.ravel(), weights=np.asarray(seen).ravel())
        usual = count.sum() / max(float(by_chance.sum()), 1e-300)
        found = (count + 1.0) / (usual * by_chance + 1.0)
        way = found[ring]
    return np.asarray(way)


def _by_distance(trips: Trips, window: Window, pairs: IntArray, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """The pairs' shares if an end said of its start only how many cells away it lies."""
    columns = window.shape[1]
    chance = fftconvolve(ends, starts[::-1, ::-1])
    apart = [np.arange(-size + 1, size) for size in window.shape]
    ring = np.rint(np.hypot(apart[0][:, None], apart[1][None, :])).astype(np.int64)
    by_chance = np.bincount(ring.ravel(), weights=np.maximum(chance, 0.0).ravel())
    cell = [np.floor(at / np.array(window.latent_m)) for at in (trips.start_m, trips.end_m)]
    count = np.bincount(np.rint(np.hypot(*(cell[1] - cell[0]).T)).astype(np.int64), minlength=len(by_chance))
    often = (count[: len(by_chance)] / len(trips) + 1e-9) / np.maximum(by_chance, 1e-9)
    (a, b), (c, d) = np.divmod(pairs[:, 0], columns), np.divmod(pairs[:, 1], columns)
    found = starts[a, b] * ends[c, d] * often[np.rint(np.hypot(c - a, d - b)).astype(np.int64)]
    return np.asarray(found / found.sum(), dtype=np.float32)
