"""Releases that might have been: places drawn from a map and a release, blurred once more by the certified law.

How far an answer about the people released lies from them cannot be seen from one release, but the law of the noise is
known. So each point gets a place x under the map found, drawn given where it was released,

    P(x | z)  ∝  f(x) K(z - x),

and noise is drawn anew around it, with the correlation in time that the certificate states. An answer worked out from
that has a truth to be held against. One field of chance serves all points of a release: points released beside one
another come from one place, as somebody's who stays (the law of every single point is as above). Of releases laid on
one another what is left of their common shift is drawn, not the whole.

*How much is corrected.* The answer is a mixture λ E + (1 - λ) N of the map E that days left out chose and of counting
released points, N. λ is 1, or the largest tried for which counting would be nearer to the truth in no more than one
draw of ten (by the mean and the standard deviation of how much nearer the answer is); where there is none, it is 0: it
counts, and says so. The answer's errors in the draws make its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.compiled import compile_loop
from sfumato.base.randomness import Randomness, randomness
from sfumato.tracks.answers.intervals import interval_of_released
from sfumato.tracks.answers.maps.cells import Unit, Window
from sfumato.tracks.answers.maps.deconvolution import Spread, Walk, near_of
from sfumato.tracks.answers.received import NoiseLaw
from sfumato.tracks.priors.kernels import Sum
from sfumato.tracks.priors.statespace import is_markov, sample

DRAWS = 8
MOST_POINTS, LEAST_POINTS = 60_000, 30  # of all releases, and of one
PLACE = 2.5  # noises: points released so near to one another are taken for one place
FEW = 0.15  # of the points
_ASKED = 60  # points of a release whose noise is asked how alike it is
_DENSE = 400  # moments of a law that cannot be walked through once


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Where people were in each draw (draws, rows, columns), and where they were released, for each law; the share of
    the points that were drawn, and what the least of all points counts, as a share of all."""

    true: FloatArray
    seen: list[FloatArray]
    kept: float
    least: float


@compile_loop()
def draw_places(
    rows: IntArray, columns: IntArray, number: int, draws: int, density: FloatArray, near: FloatArray
) -> IntArray:
    """Cells (n, draws, 2) for each cell in which something was released, by f(x) K(z - x) and one field of chance."""
    height, width = density.shape
    reach_r, reach_c = near.shape[0] // 2, near.shape[1] // 2
    out = np.empty((len(rows), draws, 2), dtype=np.int64)
    best = np.empty(draws)
    for i in range(len(rows)):
        best[:] = 0.0
        out[i, :, 0], out[i, :, 1] = rows[i], columns[i]
        for r in range(max(rows[i] - reach_r, 0), min(rows[i] + reach_r + 1, height)):
            for c in range(max(columns[i] - reach_c, 0), min(columns[i] + reach_c + 1, width)):
                weight = density[r, c] * near[r - rows[i] + reach_r, c - columns[i] + reach_c]
                for draw in range(draws):
                    word = np.uint64((number * draws + draw) * height * width + r * width + c + 1)
                    word = word * np.uint64(0x9E3779B97F4A7C15)
                    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    word = word ^ (word >> np.uint64(31))
                    chance = -math.log((float(word >> np.uint64(11)) + 0.5) / 9007199254740992.0)
                    if weight > best[draw] * chance:
                        best[draw] = weight / chance
                        out[i, draw, 0], out[i, draw, 1] = r, c
    return out


@compile_loop()
def leaders(places: FloatArray, reach: FloatArray) -> IntArray:
    """The place of each point, numbered as they come: the first whose first point was released no farther than
    ``reach`` (latent cells along each axis) from it."""
    out = np.empty(len(places), dtype=np.int64)
    first = np.empty(len(places), dtype=np.int64)
    found = 0
    for i in range(len(places)):
        at = -1
        for one in range(found):
            down = (places[i, 0] - places[first[one], 0]) / reach[0]
            across = (places[i, 1] - places[first[one], 1]) / reach[1]
            if down * down + across * across <= 1.0:
                at = one
                break
        if at < 0:
            first[found] = i
            at = found
            found += 1
        out[i] = at
    return out


def _stood(
    law: NoiseLaw, left_m2: float, places_m: FloatArray, times_s: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Middles of the places of one release, how each point may lie around its own, and which that is.

    Points lie around the middle of a place as released, less what the noise does: not at all where somebody stays.
    """
    number = leaders(places_m, np.full(2, PLACE * math.sqrt(left_m2)))
    count = np.bincount(number)
    middle = np.stack([np.bincount(number, weights=column) / count for column in places_m.T], axis=1)
    around = places_m - middle[number]
    spread = np.bincount(number, weights=np.sum(around**2, axis=1)) / count / 2
    some = evenly(len(times_s), _ASKED)
    member = np.eye(len(count))[number[some]]
    lags = times_s[some][:, None] - times_s[some]
    alike = np.eye(len(some)) if law.epsilon_per_m else law.correlation(lags)
    same = np.sum(member * (alike @ member), axis=0) / np.maximum(member.sum(axis=0), 1) ** 2
    noise = left_m2 * np.clip(1 - same, 0.0, 1.0)
    kept = np.sqrt(np.maximum(0.0, 1 - noise / np.maximum(spread, 1e-9)))
    return middle, around * kept[number][:, None], number


def draw_again(
    units: Sequence[Unit],
    laws: Sequence[NoiseLaw],
    left: Sequence[NoiseLaw],
    shared_m2: Sequence[float],
    window: Window,
    density: FloatArray,
) -> Drawn:
    """Everybody's points once more, :data:`DRAWS` times. No secret is drawn: the same at every run.

    ``units`` are releases laid on one another, ``left`` the laws of what is left of their noise, ``shared_m2`` the
    variances that the points of one release shared.
    """
    near = [near_of(law, *window.latent_m) for law in left]
    most = max(LEAST_POINTS, MOST_POINTS // len(units))
    kept = sum(min(len(unit.mass), most) for unit in units) / sum(len(unit.mass) for unit in units)
    gaps_s = [np.median(np.diff(one.times_s[evenly(len(one.mass), most)])) for one in units if len(one.mass) > most]
    step_s = float(np.median(gaps_s)) if kept < FEW else 0.0
    split = [_lasting(law, step_s) for law in laws]
    size, source = np.array(window.latent_m), randomness(0)
    rows, columns = window.shape
    true = np.zeros((len(laws), DRAWS * rows * columns))
    seen = np.zeros((len(laws), DRAWS * rows * columns))
    first_cell = np.arange(DRAWS)[None, :] * (rows * columns)
    for number, unit in enumerate(units):
        there = np.flatnonzero(window.holds(unit.places))
        if not len(there):
            continue
        some = there[evenly(len(there), most)]
        mass = unit.mass[some] * (unit.mass[there].sum() / max(float(unit.mass[some].sum()), 1e-300))
        law, shared = laws[unit.law], shared_m2[unit.law]
        unknown_m2 = left[unit.law].variance_m2 - law.variance_m2 + shared
        noise = _noise(split[unit.law][0], unit.times_s[some], source, shared, max(unknown_m2, 0.0)) / size
        middle, around, place = _stood(law, left[unit.law].variance_m2, unit.places[some] * size, unit.times_s[some])
        cells = np.floor(middle / size).astype(np.int64)
        at = draw_places(cells[:, 0], cells[:, 1], number, DRAWS, density, near[unit.law])
        stood = (at + source.uniforms(at.shape))[place] + (around / size)[:, None]
        for out, where in ((true, stood), (seen, stood + noise)):
            cell = np.floor(where).astype(np.int64)
            inside = ((cell >= 0) & (cell < np.array(window.shape))).all(axis=2)
            flat = cell[..., 0] * columns + cell[..., 1] + first_cell
            each = np.broadcast_to(mass[:, None], inside.shape)
            np.add.at(out[unit.law], flat[inside], each[inside])
    shape = (len(laws), DRAWS, rows, columns)
    whole, least = (act([act(unit.mass) for unit in units]) for act in (np.sum, np.min))
    blurred = [
        one if not fast_m2 else Spread.of(law.of_variance(fast_m2), rows, columns, *window.latent_m).spread(one)
        for one, (law, fast_m2) in zip(seen.reshape(shape), split, strict=True)
    ]
    return Drawn(true.reshape(shape).sum(axis=0), blurred, kept, float(least / whole))


def _lasting(law: NoiseLaw, step_s: float) -> tuple[NoiseLaw, float]:
    """The noise that lasts for a quarter of a step, and the variance of the rest; of every law all for a step of 0.

    Of many points few are drawn: noise that is another at each of these was an average over many.
    """
    parts = law.kernel.parts if isinstance(law.kernel, Sum) else (law.kernel,)
    last = tuple(part for part in parts if float(np.asarray(part(step_s / 4))) > part.variance_m2 / 2)
    if law.epsilon_per_m is not None or not last or len(last) == len(parts):
        return law, 0.0
    return NoiseLaw(Sum(last), 0.0), law.variance_m2 - sum(part.variance_m2 for part in last)


def _noise(law: NoiseLaw, times_s: FloatArray, source: Randomness, shared_m2: float, left_m2: float) -> FloatArray:
    """(points, draws, 2) of metres; of the variance that a release's points share, only what is left."""
    draws, columns = DRAWS, 2 * DRAWS
    if law.epsilon_per_m is not None:
        angle = 2 * math.pi * source.uniforms((len(times_s), draws))
        far = -np.log(np.maximum(source.uniforms((len(times_s), draws, 2)), 1e-300)).sum(axis=2) / law.epsilon_per_m
        noise = np.stack([far * np.sin(angle), far * np.cos(angle)], axis=2)
    elif is_markov(law.kernel):
        noise = sample(times_s, law.kernel, coordinates=columns, rng=source).reshape(-1, draws, 2)
    else:
        moments, back = np.unique(times_s, return_inverse=True)
        kept = evenly(len(moments), _DENSE)
        factor = np.linalg.cholesky(law.kernel.covariance(moments[kept]) + 1e-9 * law.variance_m2 * np.eye(len(kept)))
        some = (factor @ source.normals((len(kept), columns))).reshape(-1, draws, 2)
        nearest = np.clip(np.searchsorted(kept, np.arange(len(moments))), 0, len(kept) - 1)
        noise = some[nearest][back.reshape(-1)]
    if law.snap_m:
        noise = noise + law.snap_m * (source.uniforms(noise.shape) - 0.5)
    if shared_m2 > 0:
        noise = noise - (1 - math.sqrt(min(left_m2 / shared_m2, 1.0))) * noise.mean(axis=0, keepdims=True)
    return noise


COUNTED = (
    "Counted, not corrected: in releases that might have been, taking the noise out came no nearer to the people "
    "than counting released points does."
)
PARTLY = "{part:.0f} % corrected, the rest counted: more came no nearer to the people in releases that might have been."
OTHERWISE = "The picture of the cells asked for is {part:.0f} % corrected, other than the areas."
NO_SURER = (
    "Correcting moves {what} less than it lies off itself in releases that might have been: counting may be as near."
)
FEW_DRAWN = (
    "Tried on {kept} % of the points: whether counting would come a little nearer is not sure, and intervals of "
    "the busiest areas may be too narrow (of taxis, they held less often than they say)."
)
TRIED_PARTS = (1.0, 0.75, 0.5, 0.25)
ONE_IN = 10  # draws may be nearer to the truth by counting
Shares = Callable[[FloatArray], FloatArray]  # latent cells to shares of cells


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """λ, and the answer's errors (draws, cells); ``in_empty`` is the squared error where nobody was, for each unit of
    share that was released there, ``least`` what one point counts."""

    part: float
    errors: FloatArray
    in_empty: float
    least: float

    def mix(self, corrected: FloatArray, counted: FloatArray) -> FloatArray:
        """λ E + (1 - λ) N."""
        return self.part * corrected + (1 - self.part) * counted

    @property
    def off(self) -> float:
        """How far the answer lies off in the draws, on average (total variation)."""
        return 0.5 * float(np.abs(self.errors).sum(axis=-1).mean())

    def interval(
        self, share: FloatArray, counted: FloatArray, confidence: float, more: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """Low and high of the shares of the people released; ``more`` variance is what no draw shows."""
        low, high = interval_of_released(share, counted, self.errors, confidence, in_empty=self.in_empty, more=more)
        return np.where(low < self.least, 0.0, low), high  # less than a point is nobody


def amounts_of(
    spreads: Sequence[Spread],
    drawn: Drawn,
    asked: Sequence[tuple[Shares, int]],
    on_step: Callable[[], None] | None = None,
) -> list[Amount]:
    """λ for each kind of answer, (how cells are summed, after how many steps), from one walk over all draws at once.

    Where few of the points were drawn, small cells would be judged by how few these are: they do as the last kind does,
    which is corrected unless counting is nearer in every draw.
    """
    enough = drawn.kept > FEW
    judged = asked if enough else asked[-1:]
    walk, taken, found = Walk(spreads, drawn.seen), 0, {}
    for steps in sorted({steps for _, steps in judged}):
        while taken < steps:
            walk.step()
            taken += 1
            if on_step is not None:
                on_step()
        found[steps] = walk.density
    counting = np.asarray(sum(drawn.seen))
    out = [
        _amount(shares(found[steps]), shares(counting), shares(drawn.true), drawn.least, sure=enough)
        for shares, steps in judged
    ]
    return out if len(out) == len(asked) else out * len(asked)


def _amount(
    corrected: FloatArray, counted: FloatArray, truth: FloatArray, least: float, *, sure: bool = True
) -> Amount:
    reach = float(student.ppf(1 - 1 / ONE_IN, len(truth) - 1))
    for part in TRIED_PARTS:
        errors = part * corrected + (1 - part) * counted - truth
        nearer = np.abs(counted - truth).sum(axis=-1) - np.abs(errors).sum(axis=-1)
        if nearer.mean() > reach * nearer.std(ddof=1) or (not sure and nearer.max() > 0):
            break
    else:
        part, errors = 0.0, counted - truth
    empty = truth <= 0
    in_empty = float(np.sum(errors[empty] ** 2) / max(float(counted[empty].sum()), 1e-300))
    return Amount(part, errors, in_empty, least)


def doubts(
    amounts: Sequence[Amount], share: Sequence[FloatArray], counted: Sequence[FloatArray], kept: float
) -> list[str]:
    """What a reader of the picture (first) and of the areas (last) must know, by nothing but the releases.

    An answer that correcting moved by less than it lies off in the draws cannot be known to be nearer than counting.
    """
    picture, areas = amounts[0], amounts[-1]
    notes = [] if areas.part == 1 else [PARTLY.format(part=100 * areas.part) if areas.part else COUNTED]
    if picture.part != areas.part:
        notes.append(OTHERWISE.format(part=100 * picture.part))
    moved = [0.5 * float(np.abs(one - other).sum()) for one, other in zip(share, counted, strict=True)]
    close = [amount.part > 0 and far < amount.off for amount, far in zip(amounts, moved, strict=True)]
    if any(close):
        what = "the map" if all(close) else "the picture" if close[0] else "the areas"
        notes.append(NO_SURER.format(what=what))
    if kept < 1:
        notes.append(FEW_DRAWN.format(kept=math.floor(100 * kept)))
    return notes
