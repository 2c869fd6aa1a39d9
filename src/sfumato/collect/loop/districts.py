"""Districts with names: which of them reports tell apart, their shares with intervals, and what changed in between.

A district takes from each square of the grid the part of its ground that lies inside
(:mod:`sfumato.base.numbers.area_shares`), so that its share is a weighted sum of cells, and an interval of that sum is
made from the joint estimate (:mod:`sfumato.collect.estimation.uncertainty`), never from intervals of cells. Districts
are named before anybody reports, and cannot be chosen to suit the data.

*Told apart.* Two neighbours A and B, with even shares s_A and s_B, one twice as densely peopled as the other (the
larger, which is harder to see), all else even: told apart when the fuller comes out fuller in 95 of 100 campaigns:

    z_0.95 sqrt(a' Cov a)  <=  x = a' G d,       a = 1_A / s_A - 1_B / s_B,       G = P diag(theta) P',

with P the part of each square in each district, theta the even map, d how much denser than even a district is: of a
square on the border each is given some of the other's people, so that less is seen than the difference a'd. Cov is that
of the very estimate, people drawn too, spread evenly (through the mean of channels that follow the map: up to 1 % fewer
reports). It knows the channels and the number of reports, and nothing that was reported. While two neighbours are not
told apart, the two that are hardest to tell are shown together. A plan and the map that comes of it use one function.

*Changes.* A round's own estimate of each district errs by its own reports' noise, apart from every other round's. Of a
mean over rounds, or a difference of two, sum_i c_i e_i with the intervals (l_i, u_i) of each, the interval is

    sum_i c_i e_i  -  sqrt( sum_{c_i > 0} c_i^2 (e_i - l_i)^2 + sum_{c_i < 0} c_i^2 (u_i - e_i)^2 )

and its mirror: variances recovered from the intervals, with their skew [Zou2008]. The intervals put together so are
the plain ones of each round, e_i -+ z sd, with the variance at the smooth map: the skew that score intervals of few
people owe cancels in a difference, and made from those it was 1.35 to 1.46 times as wide as the best at 150 people a
round, against 1.0 to 1.1 (``benchmarks/evidence_districts.py``). Where each person reports once, the
intervals hold for everybody of whom those who reported are a random sample, and so does a change; where the same people
report in every round, for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sfumato.accountant.compose import Reporting
from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.numbers.area_shares import Group, neighbours, parts_on, score_ends, shown_together
from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid
from sfumato.base.units import two_digits
from sfumato.collect.estimation.tally import Tally, alike
from sfumato.collect.estimation.uncertainty import LARGEST_COVARIANCE, Linearised, Target, interval_ends, linearise

MOST_DISTRICTS = 200
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Districts:
    """Which district the middle of each cell lies in, -1 where in none, and what part of each cell lies in each."""

    grid: Grid
    names: tuple[str, ...]
    of_cell: IntArray
    parts: FloatArray | None = None
    """(districts, cells); None: a district is whole cells."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_DISTRICTS:
            raise InputError(f"There are {len(self.names)} districts.", f"Give 1 to {MOST_DISTRICTS}.")
        inside = np.bincount(self.of_cell[self.of_cell >= 0], minlength=len(self.names))
        empty = [name for name, cells in zip(self.names, inside.tolist(), strict=True) if not cells]
        if empty:
            raise InputError(
                f"No square has its centre in {', '.join(empty[:5])}.",
                "Take smaller squares, an area that holds all districts, or leave these districts out.",
            )
        object.__setattr__(self, "of_cell", read_only(self.of_cell, np.int64))

    @classmethod
    def within(cls, areas: Areas, grid: Grid) -> Districts:
        """Areas as districts of this grid."""
        if grid.cells > LARGEST_COVARIANCE:
            most = f"Take larger squares (at most {LARGEST_COVARIANCE:,}), or no districts."
            raise InputError(f"Districts of a map of {grid.cells:,} squares are too many numbers.", most)
        return cls(grid, areas.names, areas.cells_of(grid), parts_on(areas, grid))

    @property
    def chosen(self) -> FloatArray:
        """The part of each cell, (districts, cells)."""
        if self.parts is not None:
            return self.parts
        out: FloatArray = (self.of_cell[None, :] == np.arange(len(self.names))[:, None]).astype(np.float64)
        return out

    @property
    def elsewhere(self) -> FloatArray:
        """The part of each cell that lies in none."""
        left: FloatArray = 1.0 - self.chosen.sum(axis=0)
        return np.where(left < 2e-3, 0.0, left)


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """What reports tell of districts: their even shares, and how their estimates vary together."""

    even: FloatArray
    seen: FloatArray
    """G: what people of one district add to the share of another, or of its own."""
    falls: FloatArray
    """The covariance of one report; it falls with their number."""
    stays: FloatArray
    neighbours: tuple[tuple[int, int], ...]

    def reports_for(self, one: Group, other: Group) -> float:
        """From how many reports on these two are told apart, each a district or several together; inf: from none."""
        sizes = [float(self.even[list(group)].sum()) for group in (one, other)]
        if sizes[0] < sizes[1]:
            return self.reports_for(other, one)
        a, denser = np.zeros((2, self.even.size))
        a[list(one)], a[list(other)] = 1 / sizes[0], -1 / sizes[1]
        density = sum(sizes) / (sum(sizes) + sizes[0])
        denser[list(one)], denser[list(other)] = 2 * density - 1, density - 1
        apart = max(float(a @ self.seen @ denser), 0.0) / float(ndtri(_CONFIDENCE))
        room = apart**2 - float(a @ self.stays @ a)
        return float(a @ self.falls @ a) / room if room > 0 else float("inf")

    def groups(self, reports: float) -> tuple[Group, ...]:
        """The districts, those together that so many reports cannot tell apart from their neighbours."""
        return shown_together(self.even.size, self.neighbours, self.reports_for, reports)


def telling(districts: Districts, tallies: Sequence[Tally], reporting: Reporting) -> Telling:
    """What reports through these channels, in these proportions, tell of the districts, were people spread evenly."""
    even = linearise(alike(tallies, most=1), np.full(districts.grid.cells, 1.0 / districts.grid.cells), reporting)
    chosen = districts.chosen
    falls, stays = even.covariance(chosen)
    share, seen = chosen @ even.theta, (chosen * even.theta) @ chosen.T
    totals = [tally.total for tally in tallies]
    each = sum(totals) / max(totals) if reporting == "every-cycle" else 1.0  # reports of one person, who is drawn once
    falls = even.reports * falls + each * (seen - np.outer(share, share))
    beside = neighbours(districts.of_cell.reshape(districts.grid.shape))
    return Telling(share, seen, falls, stays, tuple(beside))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring districts by name, and how many people tell them apart; None: no number does."""

    one: str
    other: str
    people: int | None
    told: bool

    @property
    def words(self) -> str:
        """What an operator reads before anybody is asked."""
        if self.people is None:
            return f"{self.one} from {self.other}: no, whatever the number of people."
        return f"{self.one} from {self.other}: {'yes' if self.told else 'no'}; it takes about {self.people:,} people."


def pairs_of(districts: Districts, found: Telling, *, people: int, each: int) -> list[Pair]:
    """Every two neighbours, hardest first, where each person sends so many reports."""
    needed = [(found.reports_for((one,), (other,)) / each, one, other) for one, other in found.neighbours]
    return [
        Pair(districts.names[one], districts.names[other], None if n == math.inf else two_digits(n), bool(n <= people))
        for n, one, other in sorted(needed, reverse=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Sums of cells, one entry each: the share that is shown, and its interval, which holds it."""

    share: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Unclipped:
    """Estimates without smoothing, and the ends of their intervals before they are cut at 0 and 1."""

    centre: FloatArray
    low: FloatArray
    high: FloatArray


def rows_of(districts: Districts, groups: Sequence[Group]) -> FloatArray:
    """A row for each group, and a last one for what lies in no district, where there is such."""
    chosen, elsewhere = districts.chosen, districts.elsewhere
    rows = [chosen[list(group)].sum(axis=0) for group in groups]
    out: FloatArray = np.stack([*rows, elsewhere] if elsewhere.any() else rows)
    return out


def shares(chosen: FloatArray, linear: Linearised, target: Target, level: float) -> Shares:
    """The share of every row, with its interval: not smoothed, as changes are, so that a report says one thing."""
    known = raw_shares(chosen, linear, target, level)
    share, low, high = (np.clip(one, 0.0, 1.0) for one in (known.centre, known.low, known.high))
    return Shares(read_only(share), read_only(np.minimum(low, share)), read_only(np.maximum(high, share)))


def raw_shares(chosen: FloatArray, linear: Linearised, target: Target, level: float) -> Unclipped:
    """The unbiased estimate of every row, with the ends of its interval."""
    moments = linear.sums(chosen, target)
    return Unclipped(moments.centre, *interval_ends(moments, level))


def plain_shares(chosen: FloatArray, linear: Linearised, target: Target, level: float) -> Unclipped:
    """The same estimate with z standard deviations to either side: what differences are made from."""
    moments = linear.sums(chosen, target)
    return Unclipped(moments.centre, *score_ends(moments.centre, moments.variance, 0.0, float(ndtri(0.5 + level / 2))))


def weighted_sum(parts: Sequence[Unclipped], factors: Sequence[float]) -> Unclipped:
    """sum_i c_i e_i of estimates that err apart from one another, with its interval."""
    centre, down, up = (np.zeros(parts[0].centre.size) for _ in range(3))
    for part, factor in zip(parts, factors, strict=True):
        centre = centre + factor * part.centre
        below, above = part.centre - part.low, part.high - part.centre
        down = down + factor**2 * (below if factor > 0 else above) ** 2
        up = up + factor**2 * (above if factor > 0 else below) ** 2
    return Unclipped(centre, centre - np.sqrt(down), centre + np.sqrt(up))


def mean_of(rounds: Sequence[Unclipped], reports: Sequence[int]) -> Unclipped:
    """The mean over rounds, each by its number of reports."""
    total = sum(reports)
    return weighted_sum(rounds, [count / total for count in reports])


def change(before: Unclipped, after: Unclipped) -> Unclipped:
    """``after`` - ``before``, of different rounds."""
    return weighted_sum([after, before], [1.0, -1.0])
