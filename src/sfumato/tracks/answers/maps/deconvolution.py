"""The density behind blurred counts: expectation-maximisation from a flat start, stopped by people it has not seen.

With counts n_r of released points on a window, one set for each law r, and A_r the spread of that law, one step is

    λ ← λ / k · Σ_r A_rᵀ (n_r / f_r A_r λ) f_r,      k = Σ_r f_r A_rᵀ 1

(the iterative Bayesian update; with k it is unbiased though points leave the window [Vardi1985]). Too many
steps draw the noise itself, so the number of steps is the regularisation. To choose it, people's days fall into up to
twenty groups (:mod:`~sfumato.tracks.answers.received`): a map made without a group is judged by the likelihood of that
group's points, and the number that is best for all groups together is taken. It is the best for the density. Sums over
cells wider than the noise need less smoothing, because chance averages out over a cell and smoothing does not: there
up to (cell / noise) times more steps are taken, as long as the groups judge them within one standard error of the best.
Maps of as many steps, each without one group of people, give the variance over people (the delete-a-group jackknife
[Kott2001]). Steps are extrapolated along their own way [Biggs1997], which needs a tenth of them.

The spread A: a latent cell's people are spread evenly over it. Their released points fall into the cell (i, j) steps
away with the probability of a uniform step within the cell plus the noise plus where in the bin they land, i.e. of the
noise plus a triangle of the cell's width. For Gaussian noise this splits into the two axes and has a closed form,

    P(j) = H(j + 1) - 2 H(j) + H(j - 1),    H(j) = ∫ Φ = r [z Φ(z) + φ(z)],  z = j / r,  r = noise / cell,

so one spread is two small matrix products. Planar Laplace noise does not split: its cells are integrated on a finer
lattice and spread by FFT. What leaves the window is lost there, and ``share_inside`` accounts for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.special import ndtr, ndtri

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.things.estimated_map import em_factor
from sfumato.tracks.answers.maps.cells import Unit, Window, count_on
from sfumato.tracks.answers.received import NoiseLaw, day_groups, days_of, groups_of, other_by_day, split

_FINE = 16  # points per cell and axis when a density is integrated numerically


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The spread on a window of ``rows`` x ``columns`` cells; maps may be stacked along leading axes."""

    rows: int
    columns: int
    down: FloatArray
    across: FloatArray
    spectrum: npt.NDArray[np.complex128] | None
    padded: tuple[int, int]

    @classmethod
    def of(cls, law: NoiseLaw, rows: int, columns: int, height_m: float, width_m: float) -> Spread:
        """The spread of one law on one window."""
        if law.epsilon_per_m is None:
            down = _toeplitz(axis_steps(law.noise_m / height_m, rows))
            across = _toeplitz(axis_steps(law.noise_m / width_m, columns))
            return cls(rows, columns, down, across, None, (0, 0))
        padded = (next_fast_len(2 * rows - 1, real=True), next_fast_len(2 * columns - 1, real=True))
        kernel = _laplace_steps(law.epsilon_per_m, rows, columns, height_m, width_m)
        wrapped = np.zeros(padded)
        wrapped[np.ix_(np.arange(-rows + 1, rows), np.arange(-columns + 1, columns))] = kernel
        return cls(rows, columns, np.empty(0), np.empty(0), rfft2(wrapped), padded)

    def spread(self, density: FloatArray) -> FloatArray:
        """Where the released points of this density fall. The spread is symmetric, so it is its own transpose."""
        if self.spectrum is None:
            out: FloatArray = self.down @ density @ self.across
            return out
        full: FloatArray = irfft2(rfft2(density, s=self.padded) * self.spectrum, s=self.padded)
        kept = full[..., : self.rows, : self.columns]
        return np.maximum(kept, 1e-15 * float(kept.max()))  # below that it is the transform's rounding

    def share_inside(self) -> FloatArray:
        """The share of each cell's released points that stay in the window."""
        return self.spread(np.ones((self.rows, self.columns)))


def axis_steps(ratio: float, count: int) -> FloatArray:
    """P(j), j = 0 .. count - 1, for noise of ``ratio`` cells."""
    places = np.arange(-1, count + 1, dtype=np.float64)
    z = places / ratio
    h = ratio * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    out: FloatArray = np.maximum(h[2:] - 2 * h[1:-1] + h[:-2], 0.0)
    return out


def _toeplitz(steps: FloatArray) -> FloatArray:
    index = np.arange(len(steps))
    out: FloatArray = steps[np.abs(index[:, None] - index[None, :])]
    return out


def _laplace_steps(epsilon: float, rows: int, columns: int, height_m: float, width_m: float) -> FloatArray:
    """Masses of all steps (2 rows - 1, 2 columns - 1) of planar Laplace noise plus a triangle on each axis."""
    offsets = (np.arange(-_FINE + 1, _FINE) / _FINE, np.arange(-_FINE + 1, _FINE) / _FINE)
    weight = (1 - np.abs(offsets[0])) / _FINE
    out = np.zeros((2 * rows - 1, 2 * columns - 1))
    north = np.arange(-rows + 1, rows)[:, None] * height_m
    east = np.arange(-columns + 1, columns)[None, :] * width_m
    for a, up in zip(weight, offsets[0] * height_m, strict=True):
        for b, right in zip(weight, offsets[1] * width_m, strict=True):
            out += a * b * np.exp(-epsilon * np.hypot(north + up, east + right))
    out *= epsilon**2 / (2 * math.pi) * height_m * width_m
    return out


_REACH = 3.0


def near_of(law: NoiseLaw, height_m: float, width_m: float) -> FloatArray:
    """The masses of the steps of a law, (2 r + 1, 2 c + 1) around none, as far as three times its noise."""
    rows, columns = (math.ceil(_REACH * law.noise_m / size) + 1 for size in (height_m, width_m))
    if law.epsilon_per_m is not None:
        return _laplace_steps(law.epsilon_per_m, rows, columns, height_m, width_m)
    down, across = (
        axis_steps(law.noise_m / size, count)[np.abs(np.arange(-count + 1, count))]
        for size, count in ((height_m, rows), (width_m, columns))
    )
    return down[:, None] * across[None, :]


MOST_STEPS = 150
_PATIENCE = 1.5  # go on half as long again after the best step before believing it
_LEAST = 1e-300
_MOST_TIMES = 4.0
_AHEAD = 0.8  # farther, and the way to the map becomes as rough as the noise


@dataclass(frozen=True, slots=True, eq=False)
class StepsChosen:
    """How many steps for each wish; what unseen groups said at each step (log-likelihood per point); the answers to the
    last wish without each group."""

    steps: tuple[int, ...]
    held_out: FloatArray
    without: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FittedDensity:
    """The density, its steps, and whether anything unseen judged them; for intervals, the answers without each group of
    people, and the density that as many steps find if this one is the truth and nothing chance."""

    density: FloatArray
    steps: int
    judged: bool
    without: FloatArray
    again: FloatArray


def density(spreads: Sequence[Spread], counts: Sequence[FloatArray], steps: int) -> FloatArray:
    """The density after ``steps`` steps; counts may be stacked along leading axes, alike for every law."""
    return densities(spreads, counts, (steps,))[0]


def densities(spreads: Sequence[Spread], counts: Sequence[FloatArray], steps: Sequence[int]) -> list[FloatArray]:
    """The density after each of these numbers of steps, on one walk."""
    walk, found = Walk(spreads, counts), {}
    for taken in range(max(steps) + 1):
        if taken in steps:
            found[taken] = walk.density
        if taken < max(steps):
            walk.step()
    return [found[one] for one in steps]


def fit_density(
    spreads: Sequence[Spread],
    days: Sequence[FloatArray],
    people: Sequence[FloatArray] | None,
    answer: Callable[[FloatArray], FloatArray],
    *,
    steps_for_one: int,
    cells_of_noise: Sequence[float] = (1.0,),
    on_step: Callable[[], None] | None = None,
) -> list[FittedDensity]:
    """The density of all counts together, (groups, rows, columns) for each law, by ``days`` and by ``people``.

    One for each size of cells, counted in noises; the last has the ``answer`` without each group. One group of days
    leaves nothing to judge by: ``steps_for_one`` are taken. Without ``people`` nobody is left out.
    """
    counts = [group.sum(axis=0) for group in days]
    judged = len(days[0]) > 1
    chosen = choose_steps(spreads, days, answer, cells_of_noise=cells_of_noise, on_step=on_step) if judged else None
    steps = chosen.steps if chosen else (steps_for_one,) * len(cells_of_noise)
    found = densities(spreads, counts, steps)
    out = [FittedDensity(one, taken, judged, np.empty(0), one) for one, taken in zip(found, steps, strict=True)]
    if people is None:
        return out
    if chosen is not None and people is days:
        without = chosen.without
    else:
        others = [together - group for together, group in zip(counts, people, strict=True)]
        without = answer(density(spreads, others, steps[-1]))
    again = density(spreads, _expected(spreads, counts, found[-1]), steps[-1])
    return [*out[:-1], replace(out[-1], without=without, again=again)]


def _expected(spreads: Sequence[Spread], counts: Sequence[FloatArray], latent: FloatArray) -> list[FloatArray]:
    """What would be counted, without any chance, if the map were the truth."""
    total = sum(float(count.sum()) for count in counts)
    return [float(count.sum()) / total * spread.spread(latent) for spread, count in zip(spreads, counts, strict=True)]


def choose_steps(
    spreads: Sequence[Spread],
    groups: Sequence[FloatArray],
    answer: Callable[[FloatArray], FloatArray],
    *,
    cells_of_noise: Sequence[float] = (1.0,),
    on_step: Callable[[], None] | None = None,
) -> StepsChosen:
    """The number of steps that predicts unseen groups best; ``groups`` are (groups, rows, columns) for each law.

    Up to ``cells_of_noise`` times more are taken (four at most) while nobody can tell, for each of these sizes of
    cells. ``answer`` is what is asked of a map, and is kept for the map without each group.
    """
    walk = Walk(spreads, [group.sum(axis=0) - group for group in groups])
    total = float(sum(group.sum() for group in groups))
    judged: list[FloatArray] = []
    answers: list[FloatArray] = []
    best, times = 0, [min(max(one, 1.0), _MOST_TIMES) for one in cells_of_noise]
    while len(judged) < min(MOST_STEPS, 10 + _PATIENCE * best) or (
        len(judged) < round(max(times) * best) and _nobody_tells(judged, best, len(judged))
    ):
        walk.step()
        judged.append(walk.likelihood_of(groups) / total)
        answers.append(answer(walk.density))
        if on_step is not None:
            on_step()
        if len(judged) <= MOST_STEPS and judged[-1].sum() >= max(one.sum() for one in judged):
            best = len(judged)
    last = best
    while last < min(round(max(times) * best), len(judged)) and _nobody_tells(judged, best, last + 1):
        last += 1
    steps = tuple(min(last, round(one * best)) for one in times)
    return StepsChosen(steps, np.array([one.sum() for one in judged]), answers[steps[-1] - 1])


def _nobody_tells(judged: Sequence[FloatArray], best: int, taken: int) -> bool:
    """Whether unseen groups judge so many steps within one standard error of the best."""
    apart = judged[best - 1] - judged[taken - 1]
    return bool(apart.sum() <= math.sqrt(len(apart)) * float(np.std(apart, ddof=1)))


def left_out(
    units: Sequence[Unit], laws: Sequence[NoiseLaw], window: Window, people: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What counts in each latent cell, (groups, rows, columns) for each law: groups of days, and of people."""
    lengths = [len(unit.places) for unit in units]
    person = np.repeat([unit.person for unit in units], lengths)
    days = days_of(person, np.concatenate([unit.times_s for unit in units]))
    group = groups_of(people)
    by_person = [count_on(units, law, window, split(group[person], lengths)) for law in range(len(laws))]
    if int(days.max()) + 1 == people or not other_by_day(laws):
        return by_person, by_person
    of_day = split(day_groups(days, people), lengths)
    return [count_on(units, law, window, of_day) for law in range(len(laws))], by_person


class Walk:
    """The state of the walk: the density, and the spread of it that the next step needs."""

    def __init__(self, spreads: Sequence[Spread], counts: Sequence[FloatArray]) -> None:
        totals = np.array([count.sum(axis=(-2, -1)) for count in counts])  # (laws, ...)
        self._share = totals / np.maximum(totals.sum(axis=0), _LEAST)
        self._blurs, self._counts = spreads, counts
        self._kept = sum(
            _over(share) * spread.share_inside() for share, spread in zip(self._share, spreads, strict=True)
        )
        rows, columns = spreads[0].rows, spreads[0].columns
        self.density: FloatArray = np.ones((*totals.shape[1:], rows, columns)) * _over(
            totals.sum(axis=0) / rows / columns
        )
        self._reached, self._way = self.density, np.zeros_like(self.density)
        self._seen = self._spread()

    def _spread(self) -> list[FloatArray]:
        return [_over(s) * spread.spread(self.density) for s, spread in zip(self._share, self._blurs, strict=True)]

    def step(self) -> None:
        """One step."""
        back = sum(
            _over(share) * em_factor(count, np.maximum(seen, _LEAST), spread.spread)
            for share, spread, count, seen in zip(self._share, self._blurs, self._counts, self._seen, strict=True)
        )
        at = self.density
        reached = at * back / np.maximum(self._kept, 1e-12)
        way = reached - at
        ahead = _dot(way, self._way) / np.maximum(_dot(self._way, self._way), _LEAST)
        ahead = np.clip(ahead, 0.0, _AHEAD)
        # Never to zero: a cell that is empty once stays empty.
        self.density = np.maximum(reached + ahead * (reached - self._reached), reached / 10)
        self._reached, self._way = reached, way
        self._seen = self._spread()

    def likelihood_of(self, others: Sequence[FloatArray]) -> FloatArray:
        """The log-likelihood of where each group's points fell, given that they fell into the window."""
        out = np.zeros(len(others[0]))
        for seen, count in zip(self._seen, others, strict=True):
            probability = seen / np.maximum(seen.sum(axis=(-2, -1), keepdims=True), _LEAST)
            out += np.sum(count * np.log(np.maximum(probability, _LEAST)), axis=(-2, -1))
        return out


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    out: FloatArray = np.sum(one * other, axis=(-2, -1), keepdims=True)
    return out


def _over(values: FloatArray) -> FloatArray:
    return np.asarray(values)[..., None, None]


OF_NOISE = 3.0
TOLD = float(ndtri(0.95))
_WIDER = 1.25
_ASKED = 150  # releases, and points of each, whose noise is asked how long it lasts


def width_told_apart(units: Sequence[Unit], laws: Sequence[NoiseLaw], whole_m2: float, cell_m: float) -> float | None:
    """The least width of areas on a map of ``whole_m2`` of cells of ``cell_m``; None where not even halves are told."""
    noise_m = max(law.noise_m for law in laws)
    points = own_points(units, laws)
    width = max(cell_m, OF_NOISE * noise_m)
    while width**2 <= whole_m2 / 2:
        share = width**2 / whole_m2
        if TOLD * math.sqrt(variance_of_one(width / noise_m) * share / points) <= share:
            return width
        width *= _WIDER
    return None


def variance_of_one(noises: float) -> float:
    """v / s: the variance of an area's share told by one point, less its own chance, as part of the share."""
    across = 9
    fine = max(4, math.ceil(4 * noises))
    steps = axis_steps(fine / noises, across * fine)
    chance = steps[np.abs(np.arange(across * fine)[:, None] - np.arange(across * fine)[None, :])]
    seen = chance.reshape(across * fine, across, fine).mean(axis=2)
    q = seen.mean(axis=1)
    information = seen.T @ (seen / q[:, None]) / across**2
    middle = float(np.linalg.inv(information)[across // 2, across // 2]) / across
    return middle**2 - 1.0


def own_points(units: Sequence[Unit], laws: Sequence[NoiseLaw]) -> float:
    """How many points with noise of their own these are worth, weighted as they count."""
    some = evenly(len(units), _ASKED)
    share, square = 0.0, 0.0
    for unit in (units[one] for one in some):
        mass = float(unit.mass.sum())
        times = unit.times_s[evenly(len(unit.times_s), _ASKED)]
        same = 1 / len(unit.places) if laws[unit.law].epsilon_per_m else _shared(laws[unit.law], times)
        share += mass
        square += mass**2 * same
    return share**2 / square * len(units) / len(some)


def _shared(law: NoiseLaw, times_s: FloatArray) -> float:
    return float(np.mean(law.correlation(times_s[:, None] - times_s[None, :])))
