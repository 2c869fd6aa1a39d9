"""How sure a map is: intervals for every cell and for any region, with the target named.

The estimate that predicts best is smoothed, hence biased, and a percentile bootstrap around it covers too little. So
the interval is made from a linear function of the counts: unbiased whatever map it is linearised at, its cumulants in
closed form.

Let q_s = theta C_s at some theta, W_s = C_s diag(1/q_s), B_s = W_s C_s' and H = sum_s n_s B_s. One scoring step

    theta~ = theta + (H + P)^-1 (sum_s W_s n_s - n),         P = tau n diag(1/theta),

has expectation theta* (the truth) for P = 0 and *any* theta: the score is linear in the counts, and its mean is H
theta*. So theta need only be near enough for good weights, and must not depend on single counts: the log-smooth map,
not an early-stopped or converged one, which is 0 where people are. P is a faint pull back (its standard deviation is
1/sqrt(tau) = 100 times that of a multinomial); the bias it can cause, were every share wrong by 100 %, is added to the
variance.

A sum a'theta~ is sum_s sum_y L_s(y) n_s(y) + constant with L_s = a'(H + P)^-1 W_s, and people report independently.
Given the people, each person at x adds the variance v(x) = E L^2 - (E L)^2, so that the variance is *linear in where
people are* and changes with the share asked about. The interval holds every share R under which an estimate like ours
would not be unusual:

    (1 - level) / 2  <=  P_R(error <= estimate - R)  <=  (1 + level) / 2,

a score interval as Wilson's with the exact law (:mod:`.tails`) in the place of the normal one: few people in a cell,
little noise from them, in skew steps of whole people. Measured coverage: benchmarks/evidence_intervals.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from sfumato.accountant.compose import Reporting, checked_reporting
from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.collect.estimation.joint import Estimate
from sfumato.collect.estimation.smooth_map import log_smooth
from sfumato.collect.estimation.tails import Law, Part, Sums, law_of
from sfumato.collect.estimation.tally import Tally, alike, checked_tallies, inverse_normaliser, merge
from sfumato.collect.grids.distance_kernel import GridKernel, matrix_from_table
from sfumato.collect.grids.grid_channel import GridChannel

Target = Literal["reporters", "population"]
_TAU = 1e-4
UNEVEN = 0.15
"""Variance of the part of a cell's people that are inside, where the part w of its ground is: so much of w (1 - w)."""
_ROWS_AT_ONCE = 128
"""Cells whose loadings are held at once: memory stays that of the inverse."""
_EACH_UP_TO, _GROUPS = 20_000, 5
"""Cells times distinct channels up to which each channel is weighed by itself; beyond, this many groups of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Of several sums of cells, one entry each: what their estimates are and how they vary."""

    centre: FloatArray
    expected: FloatArray
    """The sum at the map that was linearised at."""
    variance: FloatArray
    law: Law
    """How they err, as a function of the share."""


@dataclass(frozen=True, slots=True, eq=False)
class _Through:
    """One distinct channel: products with W and C by products with K; ``per_person`` reports of each person."""

    kernel: GridKernel
    inverse_z: FloatArray
    inverse_spread: FloatArray
    """1 / K(theta / Z): c cancels from W."""
    output_weights: FloatArray
    reported: FloatArray
    counts: FloatArray
    total: float
    per_person: float

    @classmethod
    def of(cls, tally: Tally, theta: FloatArray, per_person: float) -> _Through:
        kernel, inverse_z = tally.channel.kernel, inverse_normaliser(tally.channel)
        spread = kernel.product(theta * inverse_z)
        weights = tally.channel.output_weights
        counts = tally.counts.astype(np.float64)
        return cls(kernel, inverse_z, 1 / spread, weights, weights * spread, counts, float(tally.total), per_person)

    def add_information(self, system: FloatArray, kernel: FloatArray, half: FloatArray) -> FloatArray:
        """The lower half of ``system`` + n B, in its memory; ``kernel`` is K as a matrix, ``half`` room for another."""
        np.multiply(kernel, self.inverse_z[:, None], out=half)
        half *= np.sqrt(self.total * self.output_weights * self.inverse_spread)[None, :]
        out: FloatArray = dsyrk(1.0, half.T, beta=1.0, c=system, trans=1, lower=1, overwrite_c=1)
        return out

    def score(self) -> FloatArray:
        """W n."""
        return self.inverse_z * self.kernel.product(self.counts * self.inverse_spread)

    def loadings(self, rows: FloatArray) -> FloatArray:
        """L = rows W, for rows (k, cells)."""
        return self.kernel.signed_rows(rows * self.inverse_z) * self.inverse_spread

    def reports_of_loadings(self, loadings: FloatArray) -> FloatArray:
        """rows C, where L = rows W is known: the product with K is in it."""
        return loadings * (self.output_weights / self.inverse_spread)

    def reports_of(self, rows: FloatArray, first: int | None) -> FloatArray:
        """rows C: how the people in ``rows`` report; row i holds nothing but cell ``first`` + i where that is given."""
        if first is not None:
            cells = np.arange(first, first + len(rows))
            weights = rows[np.arange(len(rows)), cells] * self.inverse_z[cells]
            out: FloatArray = weights[:, None] * _near(self.kernel, first, first + len(rows)) * self.output_weights
            return out
        return self.kernel.signed_rows(rows * self.inverse_z) * self.output_weights

    def mean_of(self, loadings: FloatArray) -> FloatArray:
        """E[L | x] for every x: L C'."""
        return self.kernel.signed_rows(loadings * self.output_weights) * self.inverse_z


@dataclass(frozen=True, slots=True, eq=False)
class Linearised:
    """theta~ with all that its sums need; make it with :func:`linearise`."""

    theta: FloatArray
    people: float
    reporting: Reporting
    channels: tuple[_Through, ...]
    score: FloatArray
    """sum_s W_s n_s - n, each report through its own channel."""
    factor: FloatArray
    """Cholesky's, of H + P: the lower half."""
    grouped: bool = False
    """Whether ``channels`` are the means of groups of channels."""

    @property
    def reports(self) -> float:
        """How many reports there are."""
        return sum(channel.total for channel in self.channels)

    @property
    def pull(self) -> FloatArray:
        """The diagonal of P."""
        return _TAU * self.reports / self.theta

    def cells(self, target: Target) -> Moments:
        """Every cell by itself."""
        cells, inverse = self.theta.size, _inverse(self.factor)
        parts = []
        for first in range(0, cells, _ROWS_AT_ONCE):
            rows = inverse[first : first + _ROWS_AT_ONCE]
            parts.append(self._moments(np.eye(len(rows), cells, first), rows, target, first=first))
        return Moments(
            np.concatenate([part.centre for part in parts]),
            np.concatenate([part.expected for part in parts]),
            np.concatenate([part.variance for part in parts]),
            Law.join([part.law for part in parts]),
        )

    def sums(self, chosen: FloatArray, target: Target) -> Moments:
        """The sums over the cells chosen by each 0/1 row of (k, cells)."""
        return self._moments(chosen, self.solve(chosen), target)

    def solve(self, chosen: FloatArray) -> FloatArray:
        """``chosen`` (H + P)^-1, for rows (k, cells)."""
        found: FloatArray = dpotrs(self.factor, chosen.T, lower=1)[0].T
        return np.ascontiguousarray(found)

    def covariance(self, chosen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(what the noise adds, what does not fall with the number of reports: the pull's bias, uneven squares): of the
        sums over ``chosen``. Of many channels, and of many reports of each person, it is never too small."""
        rows = self.solve(chosen)
        mean = (chosen - rows * self.pull) / self.people
        blurred = rows * (self.pull * self.theta)
        falls = -(mean * self.theta) @ mean.T / sum(one.per_person for one in self.channels)
        for one in self.channels:
            loadings = one.loadings(rows)
            falls += one.per_person * (loadings * one.reported) @ loadings.T
        # Areas share no ground.
        uneven = np.diag(chosen @ self.theta**2) - (chosen * self.theta**2) @ chosen.T
        return self.people * falls, blurred @ blurred.T + UNEVEN * uneven

    def _moments(self, chosen: FloatArray, rows: FloatArray, target: Target, *, first: int | None = None) -> Moments:
        theta, pull, people = self.theta, self.pull, self.people
        per_person = sum(one.per_person for one in self.channels)
        share = chosen @ theta
        inside = chosen * theta
        # Of many channels the mean alone is squared: sum_s p_s E_s^2 >= (sum_s p_s E_s)^2 / p, so v is never too small.
        by_channel = self.reporting == "every-cycle" and len(self.channels) > 1 and not self.grouped
        # A(H + P) = chosen, so the mean of all of a person's loadings is chosen / people but for the pull.
        mean = (chosen - rows * pull) / people
        # The profile: where people come from when the share is larger than expected.
        along = 1 / np.einsum("ij,ij->i", rows, chosen)
        second, second_in, second_along = (np.zeros(share.size) for _ in range(3))
        square, square_in = np.zeros(share.size), np.zeros(share.size)
        parts = []
        for one in self.channels:
            part = Part(one.per_person, one.loadings(rows), one.reported, one.reports_of(inside, first))
            parts.append(part)
            power = part.loadings * part.loadings
            second += one.per_person * (power @ one.reported)
            second_in += one.per_person * np.einsum("ij,ij->i", power, part.inside)
            reports_along = one.reports_of_loadings(part.loadings)
            second_along += one.per_person * along * np.einsum("ij,ij->i", power, reports_along)
            if by_channel:
                each = one.mean_of(part.loadings) ** 2
                square += one.per_person * (each @ theta)
                square_in += one.per_person * np.einsum("ij,ij->i", each, inside)
        if not by_channel:
            each = mean**2 / per_person
            square, square_in = each @ theta, np.einsum("ij,ij->i", each, inside)
        uneven = UNEVEN * (inside * theta * (1 - chosen)).sum(axis=1)
        blurred = np.sum((rows * (pull * theta)) ** 2, axis=1) + uneven
        variance = people * (second - square) + blurred
        growth = people * (second_in - square_in) / share
        profile = people * (second_along - square_in / share)
        if target == "population":
            variance = variance + (share - share**2) / people
            growth, profile = growth + 1 / people, profile + 1 / people
        else:
            # Who of a cell that lies partly inside is inside, is not reported: with 0/1 rows nothing.
            parted = (inside * (1 - chosen)).sum(axis=1) / people
            variance = variance + parted
            growth, profile = growth + parted / share, profile + parted / share
        sums = Sums(share + rows @ self.score, share, variance, growth, profile, blurred)
        once = self.reporting == "once"
        law = law_of(sums, parts, self._uniforms(chosen), people=people, once=once, drawn=target == "population")
        return Moments(sums.centre, share, variance, law)

    def _uniforms(self, chosen: FloatArray) -> FloatArray:
        """One number in [0, 1) per sum, from the counts and the cells alone."""
        counts = hashlib.sha256(np.sum([one.counts for one in self.channels], axis=0).tobytes()).digest()
        hashes = [hashlib.sha256(counts + np.flatnonzero(row).tobytes()).digest() for row in chosen]
        out: FloatArray = np.array([int.from_bytes(one[:6], "big") for one in hashes]) / 2.0**48
        return out


def linearise(tallies: Sequence[Tally], at: FloatArray, reporting: Reporting) -> Linearised:
    """The one-step estimate of these tallies at the map ``at``."""
    theta = np.maximum(at, 1e-9 / at.size)
    theta = theta / theta.sum()
    totals = [tally.total for tally in tallies]
    people = float(max(totals) if reporting == "every-cycle" else sum(totals))
    each = [_Through.of(tally, theta, tally.total / people) for tally in merge(tallies)]
    score = np.sum([one.score() for one in each], axis=0) - sum(totals)
    grouped = len(each) > _GROUPS and len(each) * theta.size > _EACH_UP_TO
    if grouped:
        each = [_Through.of(tally, theta, tally.total / people) for tally in alike(tallies, most=_GROUPS)]
    channels = tuple(each)
    system = np.zeros((theta.size, theta.size), order="F")
    np.fill_diagonal(system, _TAU * sum(totals) / theta)
    kernel, beta = _matrix(channels[0].kernel), channels[0].kernel.beta
    half = np.empty_like(kernel)
    for one in channels:
        if one.kernel.beta != beta:
            kernel, beta = _matrix(one.kernel), one.kernel.beta
        system = one.add_information(system, kernel, half)
    del kernel, half
    factor, failed = dpotrf(system, lower=1, overwrite_a=1)
    if failed:
        raise NotCertified("The information of these reports is singular.", "Wait for more reports.")
    return Linearised(theta, people, reporting, channels, score, factor, grouped)


def _inverse(factor: FloatArray) -> FloatArray:
    """Of a positive definite matrix, from its Cholesky factor."""
    inverse, _ = dpotri(factor, lower=1)
    whole: FloatArray = inverse + inverse.T  # beside the lower half are zeros
    np.fill_diagonal(whole, inverse.diagonal())
    return whole


@lru_cache(maxsize=1)
def _near(kernel: GridKernel, first: int, last: int) -> FloatArray:
    """Rows ``first`` to ``last`` of K: of every channel of one kernel the same."""
    if kernel.form == "dense":
        return kernel.values[first:last]
    row, column = np.divmod(np.arange(kernel.grid.cells), kernel.grid.columns)
    down, across = (np.abs(one[first:last, None] - one) for one in (row, column))
    found: FloatArray = kernel.table()[down, across]
    return found


def _matrix(kernel: GridKernel) -> FloatArray:
    return kernel.values if kernel.form == "dense" else matrix_from_table(kernel.table())


LARGEST_COVARIANCE = 2_500
"""Cells up to which intervals are made."""
CELLS_FROM_PEOPLE = 1_000
"""People from whom on intervals of single cells are shown. Below, they may cover too little; those of areas that are
cut without looking at the reports hold from 50 people on (docs/collection.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Lower and upper ends per cell at ``level``, for the share of the ``target`` ("reporters" or "population")."""

    lower: FloatArray
    upper: FloatArray
    centre: FloatArray
    """The estimate without its smoothing; it may be slightly negative."""
    target: Target
    level: float
    cycles: int
    """Over how many cycles the share is an average."""
    unclipped: tuple[FloatArray, FloatArray]
    """Lower and upper ends before they are cut at 0 and 1: what coverage is measured with."""
    linear: Linearised
    """What the interval of any sum of cells is made from."""

    @property
    def words(self) -> str:
        """What the intervals are of, for a page."""
        return describe_target(self.target, self.cycles, self.level)


def describe_target(target: Target, cycles: int, level: float) -> str:
    """One sentence: whose share, of which period, at which level."""
    when = "in this cycle" if cycles == 1 else f"in these {cycles} cycles, averaged"
    whose = (
        f"the people who reported {when}"
        if target == "reporters"
        else f"everybody of whom those who reported {when} are a random sample"
    )
    return f"{100 * level:g} % intervals for the share of {whose}."


def intervals(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    smooth: Estimate | None = None,
    target: Target = "reporters",
    reporting: Reporting = "once",
    level: float = 0.95,
) -> Intervals:
    """Intervals for every cell, up to 2,500 of them.

    ``reporting`` says whether a person reports once or in every cycle: it decides what varies. ``smooth`` is the
    log-smooth map of these tallies where it is known already.
    """
    filled = checked_tallies(tallies)
    _checked(target, reporting, level)
    if filled[0].channel.cells > LARGEST_COVARIANCE:
        raise InputError(f"Intervals of {filled[0].channel.cells} cells at once are too many.", "Use larger cells.")
    linear = linearise(filled, _linearised_at(smooth, filled), reporting)
    moments = linear.cells(target)
    low, high = interval_ends(moments, level)
    return Intervals(
        read_only(np.clip(low, 0.0, 1.0)),
        read_only(np.clip(high, 0.0, 1.0)),
        read_only(moments.centre),
        target,
        level,
        len(filled),
        (read_only(low), read_only(high)),
        linear,
    )


def interval_ends(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Every share that the estimate does not refuse at ``level``, not cut at 0 and 1."""
    centre, expected, law = moments.centre, moments.expected, moments.law
    return law.end(centre, expected, 0.5 + level / 2), law.end(centre, expected, 0.5 - level / 2)


def _linearised_at(smooth: Estimate | None, tallies: Sequence[Tally]) -> FloatArray:
    if smooth is None:
        return log_smooth(tallies).probabilities
    cells = tallies[0].channel.cells
    if smooth.probabilities.size != cells:
        raise InputError(
            f"The smooth estimate has {smooth.probabilities.size} cells and the tallies {cells}.",
            "Give the log-smooth estimate of these tallies, or none.",
        )
    return smooth.probabilities


def _checked(target: str, reporting: str, level: float) -> None:
    if target not in ("reporters", "population"):
        raise InputError(f"The target is '{target}'.", "Name it: 'reporters' or 'population'.")
    checked_reporting(reporting)
    if not 0 < level < 1:
        raise InputError(f"The level is {level}.", "It lies between 0 and 1, for example 0.95.")
