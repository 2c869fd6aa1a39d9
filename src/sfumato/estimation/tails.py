"""The law of a sum of few reports, from its characteristic function, and the shares that it cannot refuse.

The linear estimate of a share (:mod:`.linear`) is a sum of one loading per report. If the share were R, it would err by
D = estimate - R, with

    log E exp(iuD)  =  s(R) n [ sum_y (q(y) - r(y)) (exp(iuL(y)) - 1) ]  +  n R log M(u)  -  iu (its mean),

where q is how everybody reports, r how those inside do (M(u) their mean of exp(iuL), a sure number of people: a
logarithm; for a population they are drawn too: M - 1), and the others are so many that each is rare (Poisson). The
nearest 24 loadings are taken exactly, the small rest by their variance. P(D <= d) follows by Gil-Pelaez's integral, for
every shape: skew, heavy-tailed, or steps of whole people, where an expansion in cumulants is no quantile any more.

*Who moves when R does.* With R larger than expected, people came from next door, where the smooth map had put them: the
profile of the likelihood moves them along d = (H + P)^-1 a / (a'(H + P)^-1 a), which changes the reports least. s(R) is
what that leaves of the others' variance. (Left at 1, intervals next to a hot cell were too wide.)

*Whole people.* Through a nearly exact channel a cell's estimate moves in steps of one report, and no fixed interval
covers 80 % if one outcome has 88 %. So the estimate is moved within its own step by a uniform of that width, and the
law knows it (randomised intervals: [Stevens1950], [Geyer2005]). The uniform is a hash of the counts: the same reports
give the same interval, and it is worth less than one report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import BoolArray, ComplexArray, FloatArray

NEAREST = 24
FREQUENCIES = 128
_REACH = 4.5
"""Standard deviations within which ends are looked for: levels up to 99.999 %."""
_PERIOD = 7.0
_HALVINGS = 16
_LEAST_LEFT, _MOST_LEFT = 0.1, 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """How the estimates of several sums err, one row each, as a function of the share R."""

    frequencies: FloatArray
    others: ComplexArray
    """The logarithm of the characteristic function of all that come from outside."""
    inside: ComplexArray
    """The same of one unit of share inside."""
    step: FloatArray
    """The width of one report of the sum itself."""
    shift: FloatArray
    """Where within its step the estimate was moved to."""
    left: FloatArray
    """ds/dR: how the others' part changes with R."""
    within: tuple[FloatArray, FloatArray]
    """Ends are looked for between these."""

    def below(self, share: FloatArray, error: FloatArray, expected: FloatArray) -> FloatArray:
        """P(D <= error) if the shares were ``share``."""
        scale = np.clip(1 + self.left * (share - expected), _LEAST_LEFT, _MOST_LEFT)
        log = scale[:, None] * self.others + np.maximum(share, 0.0)[:, None] * self.inside
        turned = np.exp(log - 1j * self.frequencies * error[:, None])
        turned *= np.sinc(self.frequencies * (self.step / (2 * np.pi))[:, None])
        sums = turned.imag @ (1 / (np.arange(FREQUENCIES) + 0.5))
        out: FloatArray = 0.5 - sums / np.pi
        return out

    def end(self, centre: FloatArray, expected: FloatArray, probability: float) -> FloatArray:
        """The share R with P(D <= estimate - R) = ``probability``: D is the smaller the larger R is."""
        moved = centre + self.shift
        low, high = (end.copy() for end in self.within)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            more = self.below(middle, moved - middle, expected) > probability
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        out: FloatArray = 0.5 * (low + high)
        return out

    @classmethod
    def joined(cls, parts: Sequence[Law]) -> Law:
        """All rows of these."""
        return cls(
            np.concatenate([part.frequencies for part in parts]),
            np.concatenate([part.others for part in parts]),
            np.concatenate([part.inside for part in parts]),
            np.concatenate([part.step for part in parts]),
            np.concatenate([part.shift for part in parts]),
            np.concatenate([part.left for part in parts]),
            (np.concatenate([part.within[0] for part in parts]), np.concatenate([part.within[1] for part in parts])),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One channel's part of several sums: loadings (k, cells), how everybody reports and how those inside do."""

    per_person: float
    loadings: FloatArray
    reported: FloatArray
    inside: FloatArray
    """(k, cells), summing to each share."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What is known of several sums before their law: (k,) each."""

    centre: FloatArray
    expected: FloatArray
    variance: FloatArray
    growth: FloatArray
    """How the variance changes per unit of share when people come from nowhere."""
    profile: FloatArray
    """The same when they come from where the profile of the likelihood takes them."""
    blurred: FloatArray
    """The part of the variance that stands for the bias of the pull."""


def law_of(sums: Sums, parts: Sequence[Part], uniforms: FloatArray, *, people: float, once: bool, drawn: bool) -> Law:
    """The law of these sums; ``once``: a person is in one part by chance; ``drawn``: people are a random sample."""
    within, u = _reach(sums.centre, sums.expected, sums.variance, sums.growth)
    others = (-0.5 * u**2 * sums.blurred[:, None]).astype(np.complex128)
    together: ComplexArray = np.zeros(u.shape, dtype=np.complex128)
    mean = np.zeros(len(u))
    width, weight = np.zeros(len(u)), np.zeros(len(u))
    share = sums.expected
    for part in parts:
        p, loadings = part.per_person, part.loadings
        outside = np.maximum(part.reported - part.inside, 0.0)
        here = part.inside / share[:, None]
        far_mean = people * p * np.einsum("ij,ij->i", outside, loadings)
        from_outside, moved = _waves(u, loadings, outside, here)
        others += people * p * (from_outside - outside.sum(axis=1)[:, None])
        others -= 1j * u * far_mean[:, None]
        mean += p * np.einsum("ij,ij->i", here, loadings)
        together += p * (moved if once else np.log(moved))
        width += p * np.einsum("ij,ij,ij,ij->i", here, here, loadings, loadings)
        weight += p * np.einsum("ij,ij->i", here, here)
    log = np.asarray(np.log(together) if once else together, dtype=np.complex128)
    each = np.asarray(np.expm1(log) if drawn else log, dtype=np.complex128)
    inside = np.asarray(people * (each - 1j * u * mean[:, None]), dtype=np.complex128)
    step = np.sqrt(width / np.maximum(weight, 1e-300))
    rest = np.maximum(sums.variance - sums.growth * share, 1e-12 * sums.variance + 1e-300)
    left = (sums.profile - sums.growth) / rest
    low, high = within
    return Law(u, others, inside, step, step * (uniforms - 0.5), left, (low - step, high + step))


def _reach(
    centre: FloatArray, expected: FloatArray, variance: FloatArray, growth: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """(where ends can lie, the frequencies that tell errors apart there)."""
    spread = np.sqrt(variance)
    fixed = np.maximum(variance - growth * expected, 0.0)
    half = _REACH * growth / 2
    high = centre + _REACH * half + _REACH * np.sqrt(np.maximum(fixed + growth * centre + half**2, 0.0))
    high = np.maximum(high, centre + _REACH * spread)
    low = centre - _REACH * np.maximum(spread, np.sqrt(np.maximum(fixed + growth * np.maximum(centre, 0.0), 0.0)))
    widest = np.sqrt(np.maximum(variance, fixed + growth * np.maximum(high, 0.0)))
    tick = np.pi / (_PERIOD * np.maximum(widest, 1e-15))
    return (low, high), (np.arange(FREQUENCIES) + 0.5) * tick[:, None]


def _nearest(loadings: FloatArray) -> BoolArray:
    """True at each row's largest loadings."""
    if loadings.shape[1] <= NEAREST:
        return np.ones(loadings.shape, dtype=bool)
    largest = np.argpartition(np.abs(loadings), -NEAREST, axis=1)[:, -NEAREST:]
    chosen = np.zeros(loadings.shape, dtype=bool)
    np.put_along_axis(chosen, largest, True, axis=1)
    return chosen


def _waves(frequencies: FloatArray, loadings: FloatArray, *weights: FloatArray) -> list[ComplexArray]:
    """sum_y w(y) exp(iuL(y)) for each w: exact for the nearest loadings, of the others mean and variance."""
    near = _nearest(loadings)
    rows = np.arange(len(loadings))[:, None]
    columns = np.nonzero(near)[1].reshape(len(loadings), -1)
    turns = _turns(frequencies[:, 0], loadings[rows, columns])
    out = []
    for weight in weights:
        exact: ComplexArray = (turns @ weight[rows, columns][:, :, None])[:, :, 0]
        far = np.where(near, 0.0, weight)
        mass = np.maximum(far.sum(axis=1), 1e-300)
        mean = np.einsum("ij,ij->i", far, loadings) / mass
        variance = np.maximum(np.einsum("ij,ij,ij->i", far, loadings, loadings) / mass - mean**2, 0.0)
        exact += mass[:, None] * np.exp(1j * frequencies * mean[:, None] - 0.5 * frequencies**2 * variance[:, None])
        out.append(exact)
    return out


def _turns(first: FloatArray, loadings: FloatArray) -> ComplexArray:
    """exp(iuL) of every frequency (1, 3, 5, ... times the first) and loading: powers by doubling."""
    out = np.empty((len(loadings), FREQUENCIES, loadings.shape[1]), dtype=np.complex128)
    out[:, 0] = np.exp(1j * first[:, None] * loadings)
    step = out[:, 0] ** 2
    known = 1
    while known < FREQUENCIES:
        np.multiply(out[:, :known], step[:, None], out=out[:, known : 2 * known])
        step, known = step * step, 2 * known
    return out
