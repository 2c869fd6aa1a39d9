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

from sfumato.base.arrays import ComplexArray, FloatArray
from sfumato.collect.estimation.tail_loops import ends, law_waves

NEAREST = 24
FREQUENCIES = 128
_REACH = 4.5
"""Standard deviations within which ends are looked for: levels up to 99.999 %."""
_PERIOD = 7.0
_HALVINGS = 16
_LEFT = np.array([0.1, 4.0])
"""The least and the most that is left of the others' part."""
_ODD = 2.0 * np.arange(FREQUENCIES) + 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """How the estimates of several sums err, one row each, as a function of the share R."""

    first: FloatArray
    """The first frequency; the others are 3, 5, 7, ... times it."""
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

    def end(self, centre: FloatArray, expected: FloatArray, probability: float) -> FloatArray:
        """The share R with P(D <= estimate - R) = ``probability``: D is the smaller the larger R is."""
        out: FloatArray = np.empty(centre.size)
        ends(*self.shape(), expected, centre + self.shift, *self.within, probability, _HALVINGS, out)
        return out

    def shape(self) -> tuple[ComplexArray, ComplexArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """As the loops take it: with what the uniform does to each frequency, over that frequency."""
        spread = np.sinc(self.first[:, None] * _ODD * (self.step / (2 * np.pi))[:, None]) / (0.5 * _ODD)
        return self.others, self.inside, spread, self.first, self.left, _LEFT

    @classmethod
    def joined(cls, parts: Sequence[Law]) -> Law:
        """All rows of these."""
        return cls(
            np.concatenate([part.first for part in parts]),
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
    within, first = _reach(sums.centre, sums.expected, sums.variance, sums.growth)
    u = first[:, None] * _ODD
    others = (-0.5 * u**2 * sums.blurred[:, None]).astype(np.complex128)
    together: ComplexArray = np.zeros(u.shape, dtype=np.complex128)
    mean, width, weight = (np.zeros(len(u)) for _ in range(3))
    outer, inner = (np.empty(u.shape, dtype=np.complex128) for _ in range(2))
    moments = np.empty((len(u), 5))
    share = sums.expected
    for part in parts:
        p = part.per_person
        law_waves(first, part.loadings, part.reported, part.inside, share, NEAREST, outer, inner, moments)
        others += people * p * (outer - moments[:, :1] - 1j * u * moments[:, 1:2])
        mean += p * moments[:, 2]
        together += p * (inner if once else np.log(inner))
        weight += p * moments[:, 3]
        width += p * moments[:, 4]
    log = np.asarray(np.log(together) if once else together, dtype=np.complex128)
    each = np.asarray(np.expm1(log) if drawn else log, dtype=np.complex128)
    inside = np.asarray(people * (each - 1j * u * mean[:, None]), dtype=np.complex128)
    step = np.sqrt(width / np.maximum(weight, 1e-300))
    rest = np.maximum(sums.variance - sums.growth * share, 1e-12 * sums.variance + 1e-300)
    left = (sums.profile - sums.growth) / rest
    low, high = within
    return Law(first, others, inside, step, step * (uniforms - 0.5), left, (low - step, high + step))


def _reach(
    centre: FloatArray, expected: FloatArray, variance: FloatArray, growth: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """(where ends can lie, the first of the frequencies that tell errors apart there)."""
    spread = np.sqrt(variance)
    fixed = np.maximum(variance - growth * expected, 0.0)
    half = _REACH * growth / 2
    high = centre + _REACH * half + _REACH * np.sqrt(np.maximum(fixed + growth * centre + half**2, 0.0))
    high = np.maximum(high, centre + _REACH * spread)
    low = centre - _REACH * np.maximum(spread, np.sqrt(np.maximum(fixed + growth * np.maximum(centre, 0.0), 0.0)))
    widest = np.sqrt(np.maximum(variance, fixed + growth * np.maximum(high, 0.0)))
    tick = np.pi / (_PERIOD * np.maximum(widest, 1e-15))
    return (low, high), 0.5 * tick
