"""The law of a sum of few reports, from its characteristic function, and which shares it allows.

The linear estimate of a share (:mod:`.uncertainty`) is a sum of one loading per report. If the share were R, it would
err by D = estimate - R, with

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

*In loops.* Frequencies are (k + 1/2) ticks, k = 0, 1, ...: every exp(iuL) follows from that at the first by its own
square. What has died away (below exp(-37), the rounding of a number near 1) is not turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import ComplexArray, FloatArray, IntArray
from sfumato.base.compiled import compile_loop

_DEAD = -37.0
NEAREST = 24
FREQUENCIES = 128
_REACH = 4.5
"""Standard deviations within which ends are looked for: levels up to 99.999 %."""
_PERIOD = 7.0
_HALVINGS = 16
_LEFT = np.array([0.1, 4.0])
"""The least and the most that is left of the others' part."""
_ODD = 2.0 * np.arange(FREQUENCIES) + 1.0
Shape = tuple[ComplexArray, ComplexArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""Of every row: what comes from outside and inside, the uniform's part, the first frequency, ds/dR and its limits."""


@compile_loop()
def nearest(loadings: FloatArray, chosen: IntArray) -> None:
    """``chosen`` becomes where the largest absolute loadings are."""
    count = chosen.size
    for place in range(count):
        chosen[place] = place
    smallest = 0
    for place in range(1, count):
        if abs(loadings[place]) < abs(loadings[chosen[smallest]]):
            smallest = place
    least = abs(loadings[chosen[smallest]])
    for cell in range(count, loadings.size):
        if abs(loadings[cell]) > least:
            chosen[smallest] = cell
            smallest = 0
            for place in range(1, count):
                if abs(loadings[chosen[place]]) < abs(loadings[chosen[smallest]]):
                    smallest = place
            least = abs(loadings[chosen[smallest]])


@compile_loop()
def waves(
    first: float,
    loadings: FloatArray,
    reported: FloatArray,
    inside: FloatArray,
    share: float,
    most: int,
    outer: ComplexArray,
    inner: ComplexArray,
    moments: FloatArray,
) -> None:
    """sum_y w(y) exp(iuL(y)) at u = first (1, 3, 5, ...), for w = ``reported`` - ``inside`` (at least 0) in ``outer``
    and ``inside`` / ``share`` in ``inner``: exact for the ``most`` largest loadings, of the others mean and variance.

    ``moments``: the sum of the outer weights, of them times L, the same of the inner, and the inner's sums of w^2 and
    of w^2 L^2.
    """
    cells = loadings.size
    chosen = np.empty(min(most, cells), dtype=np.int64)
    nearest(loadings, chosen)
    near = np.zeros(cells, dtype=np.bool_)
    for place in range(chosen.size):
        near[chosen[place]] = True
    far = np.zeros((2, 3))
    moments[:] = 0.0
    for cell in range(cells):
        value = loadings[cell]
        out, here = max(reported[cell] - inside[cell], 0.0), inside[cell] / share
        moments[0] += out
        moments[1] += out * value
        moments[2] += here * value
        moments[3] += here * here
        moments[4] += here * here * value * value
        if not near[cell]:
            far[0, 0] += out
            far[0, 1] += out * value
            far[0, 2] += out * value * value
            far[1, 0] += here
            far[1, 1] += here * value
            far[1, 2] += here * value * value
    turn = np.exp(1j * first * loadings[chosen])
    step = turn * turn
    weights = np.empty((2, chosen.size))
    for place in range(chosen.size):
        cell = chosen[place]
        weights[0, place] = max(reported[cell] - inside[cell], 0.0)
        weights[1, place] = inside[cell] / share
    for side in range(2):
        mass = max(far[side, 0], 1e-300)
        far[side, 0] = mass
        far[side, 1] /= mass
        far[side, 2] = max(far[side, 2] / mass - far[side, 1] ** 2, 0.0)
    for k in range(outer.size):
        outer_sum, inner_sum = 0.0 + 0.0j, 0.0 + 0.0j
        for place in range(chosen.size):
            outer_sum += weights[0, place] * turn[place]
            inner_sum += weights[1, place] * turn[place]
            turn[place] *= step[place]
        u = first * (2 * k + 1)
        if 0.5 * u * u * far[0, 2] < -_DEAD:
            outer_sum += far[0, 0] * np.exp(1j * u * far[0, 1] - 0.5 * u * u * far[0, 2])
        if 0.5 * u * u * far[1, 2] < -_DEAD:
            inner_sum += far[1, 0] * np.exp(1j * u * far[1, 1] - 0.5 * u * u * far[1, 2])
        outer[k], inner[k] = outer_sum, inner_sum


@compile_loop()
def law_waves(
    first: FloatArray,
    loadings: FloatArray,
    reported: FloatArray,
    inside: FloatArray,
    share: FloatArray,
    most: int,
    outer: ComplexArray,
    inner: ComplexArray,
    moments: FloatArray,
) -> None:
    """:func:`waves` of every row."""
    for row in range(first.size):
        waves(first[row], loadings[row], reported, inside[row], share[row], most, outer[row], inner[row], moments[row])


@compile_loop()
def _below(
    others: ComplexArray,
    inside: ComplexArray,
    steps: FloatArray,
    first: float,
    scale: float,
    share: float,
    error: float,
) -> float:
    """P(D <= error) of one row by Gil-Pelaez's integral; ``steps``: what the uniform does, over the frequency."""
    total = 0.0
    for k in range(others.size):
        size = scale * others[k].real + share * inside[k].real
        if size > _DEAD:
            angle = scale * others[k].imag + share * inside[k].imag - first * (2 * k + 1) * error
            total += steps[k] * np.exp(size) * np.sin(angle)
    return 0.5 - total / np.pi


@compile_loop()
def chance_below(shape: Shape, expected: FloatArray, moved: FloatArray, share: FloatArray, out: FloatArray) -> None:
    """out[row] = P(D <= moved - share) if the share were ``share``."""
    others, inside, steps, first, left, limits = shape
    for row in range(out.size):
        scale = min(max(1 + left[row] * (share[row] - expected[row]), limits[0]), limits[1])
        at, error = max(share[row], 0.0), moved[row] - share[row]
        out[row] = _below(others[row], inside[row], steps[row], first[row], scale, at, error)


@compile_loop()
def ends(
    shape: Shape,
    expected: FloatArray,
    moved: FloatArray,
    within: tuple[FloatArray, FloatArray],
    probability: float,
    halvings: int,
    out: FloatArray,
) -> None:
    """out[row] = the share R with P(D <= moved - R) = ``probability``, by halving between the ends of ``within``."""
    least, most, middle, found = within[0].copy(), within[1].copy(), np.empty(out.size), np.empty(out.size)
    for _ in range(halvings):
        middle[:] = 0.5 * (least + most)
        chance_below(shape, expected, moved, middle, found)
        for row in range(out.size):
            if found[row] > probability:
                least[row] = middle[row]
            else:
                most[row] = middle[row]
    out[:] = 0.5 * (least + most)


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
        ends(self.shape(), expected, centre + self.shift, self.within, probability, _HALVINGS, out)
        return out

    def shape(self) -> Shape:
        """As the loops take it: with what the uniform does to each frequency, over that frequency."""
        spread = np.sinc(self.first[:, None] * _ODD * (self.step / (2 * np.pi))[:, None]) / (0.5 * _ODD)
        return self.others, self.inside, spread, self.first, self.left, _LEFT

    @classmethod
    def join(cls, parts: Sequence[Law]) -> Law:
        """All rows of these."""
        names = ("first", "others", "inside", "step", "shift", "left")
        whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        low, high = (np.concatenate([part.within[side] for part in parts]) for side in (0, 1))
        return cls(**whole, within=(low, high))


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
