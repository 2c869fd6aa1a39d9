"""What a published map gives away about one person: a proved upper limit on its odds between two near places.

n people report once each through a channel K. The reader of the map knows how people are distributed, so the law q = K'
theta of everybody else's report, and sees the tally of the n reports or anything made from it. One person is at x or at
x'. Their report may be any of the n, so that with Y_1 .. Y_n drawn from q the tally has, against that law, the density

    Z_x = (1/n) sum_i K_x(Y_i) / q(Y_i),

and for every tau the most that the two places differ is a call option on a mean of n independent bounded numbers:

    delta(tau) = sup over events S of P_x(S) - tau P_x'(S) = E [ (1/n) sum_i w(Y_i) ]+ ,   w = (K_x - tau K_x') / q.

*Odds after any coarsening.* Whoever sums cells, rounds, or looks at the map in any other way has odds above T with
P_x(odds > T) = P_x(S) for some event S with P_x(S) > T P_x'(S). As P_x(S) - tau P_x'(S) <= delta(tau),

    P_x(odds > T) <= delta(tau) / (1 - tau / T)   for every tau < T,     so   T = tau / (1 - delta(tau) / alpha)

is passed at most alpha of the time. (At the best tau that is alpha over the smallest P_x'(S) with P_x(S) = alpha; the
odds of the tally itself, unlike this, are passed more often once cells are summed.)

*An upper limit, whatever n is.* w is put on a lattice by giving each value to its two neighbours so that its mean
stays: a convex function's expectation only grows. The law of the sum of n then comes from one Fourier transform; the
tail beyond the lattice is bounded by Bernstein's inequality, rounding by a margin. Gaussian approximations choose tau,
which may be any, and nothing else. No limit is above exp(epsilon d), which holds against a reader who knows everybody
else. Against simulated maps: ``benchmarks/evidence_map_odds.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.fft import next_fast_len, rfft
from scipy.special import ndtr, ndtri

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel

WITHIN_M = 1000.0
SELDOM = 0.01
"""How often the odds may be passed: 1 time in 100."""
_PEOPLED = 0.99
_SKEW = 0.3
"""From so long odds on (mu of the Gaussian formula) tau is looked for."""
_LARGEST = 2_500
"""Cells up to which pairs are computed; beyond, every pair has the local promise."""
_MOST_PAIRS, _SEARCHED = 6_000, 2_000
_MOST_RARE = 1e40
_NATS = 27.0
"""What is left beyond the lattice has probability exp(-27)."""
_FINEST, _FINER, _STEPS, _LONGEST = 0.25, 10.0, 700.0, 1 << 18
_SILENT = 1e-30
"""Frequencies of the law that are less are left out, and their sum is added to the limit."""
_ROUNDING = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class MapOdds:
    """Odds of two places ``distance_m`` apart, 99 times in 100, of people of whom ``people`` reported in one round."""

    people: int
    distance_m: float
    average: float
    """Over people, each with the worse of the places that far away, or in a narrower map of the farthest there are."""
    worst: float
    """For 99 in 100 people: over the fullest places that hold so many."""
    local: float
    """Against a reader who knows where everybody else is, always; and above neither of the others is."""


def map_odds(channel: GridChannel, shares: npt.ArrayLike, people: int, *, within_m: float = WITHIN_M) -> MapOdds:
    """Upper limits on the odds that a map of ``people`` reports gives, were people distributed by ``shares``."""
    theta, grid = checked_probabilities(shares, channel.cells), channel.grid
    count = int(positive(people, "The number of people"))
    within = max(within_m, grid.cell_height if grid.rows > 1 else 0.0, grid.cell_width if grid.columns > 1 else 0.0)
    if 1 < grid.cells <= _LARGEST:
        here, there, within = pairs_apart(grid, within)
    local = math.exp(min(700.0, channel.certain_epsilon() * grid.ground_stretch * within)) if grid.cells > 1 else 1.0
    odds = np.full(grid.cells, local)
    if 1 < grid.cells <= _LARGEST:
        # Never all rows at once, only those of the places around: closing a large map is held to 500 MB.
        reported = np.zeros(grid.cells)
        for x in range(grid.cells):
            reported += theta[x] * channel.row(x)
        row = lru_cache(maxsize=2 * int(np.abs(here - there).max()) + 2)(channel.row)
        # Where there are too many pairs, those of the fewest people keep the local promise.
        least = np.sort(theta[here])[-_MOST_PAIRS] if here.size > _MOST_PAIRS else 0.0
        known, search = theta[here] >= least, here.size <= _SEARCHED
        for x in np.unique(here[known]).tolist():
            others = there[here == x]
            odds[x] = max(
                odds_of_pair(row(x), row(int(y)), reported, count, local=local, search=search) for y in others
            )
    fullest = np.argsort(-theta, kind="stable")
    peopled = theta >= theta[fullest[min(grid.cells - 1, int(np.searchsorted(np.cumsum(theta[fullest]), _PEOPLED)))]]
    worst = float(odds[peopled].max())
    return MapOdds(count, within, min(local, float(theta @ odds)), worst, local)


def pairs_apart(grid: Grid, within: float) -> tuple[IntArray, IntArray, float]:
    """Ordered pairs of cells as far apart as may be, and how far that is: at most ``within``, to half a cell less.

    A cell that has none so far away, in a map narrower than that, has the farthest there are.
    """
    side = min(grid.cell_height, grid.cell_width)
    row, column = np.divmod(np.arange(grid.cells), grid.columns)

    def apart(cell: int) -> FloatArray:
        """Distances from a cell, 0 beyond ``within``."""
        far = np.hypot((row - row[cell]) * grid.cell_height, (column - column[cell]) * grid.cell_width)
        return np.where(far <= within * (1 + 1e-9), far, 0.0)

    reached = float(apart(0).max())  # from a corner every step that the map has room for is taken
    from_each = (apart(cell) for cell in range(grid.cells))
    there = [np.flatnonzero(far > min(reached - side / 2, far.max() * (1 - 1e-9))) for far in from_each]
    return np.repeat(np.arange(grid.cells), [others.size for others in there]), np.concatenate(there), reached


def odds_of_pair(
    here: FloatArray, there: FloatArray, reported: FloatArray, people: int, *, local: float, search: bool = True
) -> float:
    """The upper limit T for somebody at one place against another, from the two rows of the channel.

    Without ``search`` only the tau that is best for many people is tried, which is as good but for few.
    """
    with np.errstate(divide="ignore", over="ignore"):
        rarest = float((np.maximum(here, there) / reported).max())
    if not (rarest < _MOST_RARE and local < _MOST_RARE):
        return local  # what hardly anybody reports, or odds beyond words: nothing to gain, and no number to hold it
    spread = math.sqrt(float(np.sum((here - there) ** 2 / reported)) / people)
    quantile = float(ndtri(SELDOM))

    def limit(tau: float) -> float:
        left = 1 - expected_gain((here - tau * there) / reported, reported, people) / SELDOM
        return tau / left if left > 0 else math.inf

    # Where all is nearly Gaussian this tau is the best; elsewhere it is looked for, up and down from here.
    middle = math.exp(min(700.0, spread**2 / 2 - quantile * spread))
    if middle >= local:
        return local
    best, step = limit(middle), 1 + max(0.01, 0.25 * spread)
    usual = SELDOM / float(ndtr(quantile - spread))
    if search and (best > 1.01 * usual or spread > _SKEW):
        for factor in (step, 1 / step):
            tau = middle * factor
            while 1 < tau < min(best, local) and (found := limit(tau)) < best:
                best, tau = found, tau * factor
            if tau != middle * factor:
                break
    return min(best, local)


def expected_gain(gains: FloatArray, chances: FloatArray, people: int) -> float:
    """At least E [ mean of ``people`` independent gains ]+, each with these ``chances``; see the module."""
    mean = float(chances @ gains)
    away = gains - mean
    sd = math.sqrt(float(chances @ away**2))
    if sd == 0.0:
        return max(0.0, mean)
    up, down = (_reach(float(end), people, sd) for end in (away.max(), -away.min()))
    # Few outcomes that weigh much leave a skew sum, whose tail a coarse lattice would spoil.
    skew = abs(float(chances @ away**3)) / (sd**3 * math.sqrt(people))
    step = max(sd * max(_FINEST, math.sqrt(people) / _STEPS) / (1 + _FINER * skew), (up + down) / _LONGEST)
    size = next_fast_len(math.ceil((up + down) / step) + 3, real=True)
    places = away / step
    below = np.floor(places)
    part, cell = places - below, below.astype(np.int64)
    cell[cell < 0] += size
    law = np.bincount(cell, chances * (1 - part), size + 1) + np.bincount(cell + 1, chances * part, size + 1)
    law[0] += law[size]
    spectrum = rfft(law[:size])
    heard = 1 + int(np.flatnonzero(spectrum.real**2 + spectrum.imag**2 >= _SILENT ** (2 / people))[-1])
    powers = _power(spectrum[:heard], people)
    top = math.ceil(up / step)
    first = max(math.ceil(-people * mean / step), top + 1 - size)
    gained = _sum_on(powers, size, first, top, people * mean + step * first, step) if first <= top else 0.0
    highest = max(0.0, people * mean + step * top) + step
    beyond = highest * ((1 + 1 / _NATS) * math.exp(-_NATS) + size * _SILENT)
    return (gained + beyond) / people + (2 + 5 / people) * _ROUNDING * float(np.abs(powers).sum()) * highest


def _sum_on(spectrum: npt.NDArray[np.complex128], size: int, first: int, last: int, value: float, step: float) -> float:
    """sum_i v_i law_i over places ``first`` .. ``last`` of a lattice of ``size``, v rising by ``step`` from ``value``.

    By parts, sum_i v_i z^i = [v_last z^(last+1) - v_first z^first - step (z^(last+1) - z^(first+1)) / (z-1)] / (z-1):
    of a law with few frequencies far fewer numbers than places.
    """
    turns = (2j * math.pi / size) * np.arange(1, len(spectrum))
    begin, end = np.exp(turns * first), np.exp(turns * (last + 1))
    less = 2j * np.sin(turns.imag / 2) * np.exp(turns / 2)  # z - 1, exactly however near 1
    highest, count = value + step * (last - first), last - first + 1
    waves = (highest * end - value * begin - step * (end - begin * (1 + less)) / less) / less
    twice = np.full(len(waves), 2.0)
    if size % 2 == 0 and len(spectrum) > size // 2:
        twice[-1] = 1.0
    level = float(spectrum[0].real) * count * (value + highest) / 2
    return (level + float((twice * spectrum[1:] * waves).real.sum())) / size


def _power(values: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    """values ** exponent by squaring, several times quicker than numpy's; off by about ``exponent`` units."""
    out = values if exponent & 1 else np.ones_like(values)
    while exponent := exponent >> 1:
        values = values * values
        if exponent & 1:
            out = out * values
    return out


def _reach(end: float, people: int, sd: float) -> float:
    """What the sum of so many centred numbers, at most ``end`` each, passes with probability exp(-27) at most."""
    third = end * _NATS / 3
    return third + math.sqrt(third**2 + 2 * people * sd**2 * _NATS)
