"""Releases that might have been: places drawn from a map and a release, blurred once more by the certified law.

How far an answer about the people released lies from them cannot be seen from one release, but the law of the noise is
known. So each point gets a place x under the map found, drawn given where it was released,

    P(x | z)  ∝  f(x) K(z - x),

and noise is drawn anew around it, with the correlation in time that the certificate states. An answer worked out from
that has a truth to be held against. Points of a release beside one another come from one place, as somebody's who stays
(the law of every single point is as above). Releases that were laid on one another are drawn with their whole noise and
laid on one another again: people have places of their own, which looks like a shift, and pulls them to the crowd by
more than the posterior of the shift knows.

*How much is corrected.* The answer is a mixture λ E + (1 - λ) N of the map E that days left out chose and of counting
released points, N. λ is 1, or the largest tried for which counting would be nearer to the truth in no more than one
draw of ten (by the mean and the standard deviation of how much nearer the answer is) and the gain is clear, λ · 15 % of
what counting lies off; where there is none, it is 0: it counts, and says so. The answer's errors in the draws make its
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.compiled import compile_loop
from sfumato.base.randomness import Randomness, randomness
from sfumato.tracks.answers.intervals import interval_of_released
from sfumato.tracks.answers.maps.cells import Unit, Window
from sfumato.tracks.answers.maps.deconvolution import Spread, Walk, near_of
from sfumato.tracks.answers.received import NoiseLaw
from sfumato.tracks.priors.kernels import Constant, Sum
from sfumato.tracks.priors.statespace import is_markov, sample

DRAWS = 8
MOST_POINTS, LEAST_POINTS = 60_000, 30  # of all releases, and of one
PLACE = 2.5  # noises: points released so near to one another are taken for one place
FEW = 0.15  # of the points
_APART = 60.0  # of the longest scale: correlated by less than a rounding
_DENSE = 400  # moments of a law that cannot be walked through once


Shift = Callable[[int, FloatArray, FloatArray], FloatArray]  # of a release, by its points and what each counts


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
    rows: IntArray, columns: IntArray, chance: FloatArray, density: FloatArray, near: FloatArray
) -> IntArray:
    """Cells (n, draws, 2) for each cell in which something was released, by f(x) K(z - x) and ``chance`` (n, draws)."""
    height, width = density.shape
    reach_r, reach_c = near.shape[0] // 2, near.shape[1] // 2
    count, draws = chance.shape
    out = np.empty((count, draws, 2), dtype=np.int64)
    passed = np.empty(near.size)
    for i in range(count):
        top, left = max(rows[i] - reach_r, 0), max(columns[i] - reach_c, 0)
        bottom, right = min(rows[i] + reach_r + 1, height), min(columns[i] + reach_c + 1, width)
        total, at = 0.0, 0
        for r in range(top, bottom):
            for c in range(left, right):
                total += density[r, c] * near[r - rows[i] + reach_r, c - columns[i] + reach_c]
                passed[at] = total
                at += 1
        for draw in range(draws):
            found = min(np.searchsorted(passed[:at], chance[i, draw] * total), at - 1)
            out[i, draw, 0], out[i, draw, 1] = top + found // (right - left), left + found % (right - left)
    return out


@compile_loop()
def leaders(places: FloatArray, reach: FloatArray, release: IntArray) -> IntArray:
    """The place of each point, numbered as they come: the first of its release whose first point was released no
    farther than ``reach`` from it."""
    out = np.empty(len(places), dtype=np.int64)
    first = np.empty(len(places), dtype=np.int64)
    found, begins = 0, 0
    for i in range(len(places)):
        if i > 0 and release[i] != release[i - 1]:
            begins = found
        at = -1
        for one in range(begins, found):
            down, across = places[i, 0] - places[first[one], 0], places[i, 1] - places[first[one], 1]
            if down * down + across * across <= reach[i] * reach[i]:
                at = one
                break
        if at < 0:
            first[found] = i
            at = found
            found += 1
        out[i] = at
    return out


def _stood(places_m: FloatArray, noise_m: FloatArray, place: IntArray) -> tuple[FloatArray, FloatArray]:
    """Middles of the places as released, and how each point may lie around its own, by the noise drawn for it.

    Points lie around the middle of a place as released, less what the noise does: not at all where somebody stays.
    """
    count = np.bincount(place)
    drawn = noise_m.reshape(len(place), -1)
    middle, mean = (
        np.stack([np.bincount(place, weights=column) / count for column in of.T], axis=1) for of in (places_m, drawn)
    )
    around = places_m - middle[place]
    spread, noise = (np.bincount(place, weights=np.mean(of**2, axis=1)) / count for of in (around, drawn))
    kept = np.sqrt(np.maximum(0.0, 1 - (noise - np.mean(mean**2, axis=1)) / np.maximum(spread, 1e-9)))
    return middle, around * kept[place][:, None]


def draw_again(
    units: Sequence[Unit],
    laws: Sequence[NoiseLaw],
    left: Sequence[NoiseLaw],
    shift: Shift | None,
    window: Window,
    density: FloatArray,
) -> Drawn:
    """Everybody's points once more, :data:`DRAWS` times. No secret is drawn: the same at every run.

    ``units`` are releases laid on one another, ``left`` the laws of what is left of their noise; ``shift`` finds how
    far a release is to be moved back (None: they were not moved).
    """
    most = max(LEAST_POINTS, MOST_POINTS // len(units))
    kept = sum(min(len(unit.mass), most) for unit in units) / sum(len(unit.mass) for unit in units)
    gaps_s = [np.median(np.diff(one.times_s[evenly(len(one.mass), most)])) for one in units if len(one.mass) > most]
    step_s = float(np.median(gaps_s)) if kept < FEW else 0.0
    split = [_lasting(law, step_s) for law in laws]
    size, source = np.array(window.latent_m), randomness(0)
    rows, columns = window.shape
    there = [np.flatnonzero(window.holds(unit.places)) for unit in units]
    some = [of[evenly(len(of), most)] for of in there]
    release = np.repeat(np.arange(len(units)), [len(one) for one in some])
    of_law = np.array([unit.law for unit in units])[release]
    places_m, times_s, mass = (
        np.concatenate([getattr(unit, name)[one] for unit, one in zip(units, some, strict=True)])
        for name in ("places", "times_s", "mass")
    )
    places_m = places_m * size
    whole = np.array([unit.mass[of].sum() for unit, of in zip(units, there, strict=True)])
    mass = mass * (whole / np.maximum(np.bincount(release, mass, len(units)), 1e-300))[release]
    noise = np.empty((len(release), DRAWS, 2))
    for number, (law, _) in enumerate(split):
        noise[of_law == number] = _noise(law, times_s[of_law == number], release[of_law == number], source)
    reach = PLACE * np.array([law.noise_m for law in left])
    place = leaders(places_m, reach[of_law], release)
    middle, around = _stood(places_m, noise, place)
    at, law_of_place = np.empty((len(middle), DRAWS, 2)), of_law[np.unique(place, return_index=True)[1]]
    for number, law in enumerate(left):
        here = law_of_place == number
        chance, cells = source.uniforms((int(here.sum()), DRAWS)), np.floor(middle[here] / size).astype(np.int64)
        at[here] = draw_places(cells[:, 0], cells[:, 1], chance, density, near_of(law, *window.latent_m))
    stood = (at + source.uniforms(at.shape))[place] + (around / size)[:, None]
    noise /= size
    if shift is not None:
        noise = _laid(stood, noise, mass, release, shift)
    shape = (len(laws), DRAWS, rows, columns)
    true, seen = (
        _summed(where, mass, (of_law[:, None] * DRAWS + np.arange(DRAWS)) * (rows * columns), window, shape)
        for where in (stood, stood + noise)
    )
    every, least = (act([act(unit.mass) for unit in units]) for act in (np.sum, np.min))
    blurred = [
        one if not fast_m2 else Spread.of(law.of_variance(fast_m2), rows, columns, *window.latent_m).spread(one)
        for one, (law, fast_m2) in zip(seen, split, strict=True)
    ]
    return Drawn(true.sum(axis=0), blurred, kept, float(least / every))


def _summed(where: FloatArray, mass: FloatArray, first: IntArray, window: Window, shape: tuple[int, ...]) -> FloatArray:
    """What counts in each cell; ``first`` is the first cell of each point's law and draw."""
    cell = np.floor(where).astype(np.int64)
    inside = ((cell >= 0) & (cell < np.array(window.shape))).all(axis=2)
    flat = (cell[..., 0] * window.shape[1] + cell[..., 1] + first)[inside]
    weights = np.broadcast_to(mass[:, None], inside.shape)[inside]
    return np.asarray(np.bincount(flat, weights, math.prod(shape)).reshape(shape), dtype=np.float64)


def _laid(stood: FloatArray, noise: FloatArray, mass: FloatArray, release: IntArray, shift: Shift) -> FloatArray:
    """The noise of releases laid on one another as they were, with the errors of doing so; what all share stays out."""
    numbers, first = np.unique(release, return_index=True)
    weights = np.add.reduceat(mass, first)
    shared = np.average([one.mean(axis=0) for one in np.split(noise, first[1:])], axis=0, weights=weights)
    seen = stood + noise - shared
    moves = [
        np.array([shift(number, places[:, draw], each) for draw in range(DRAWS)])
        for number, places, each in zip(numbers, np.split(seen, first[1:]), np.split(mass, first[1:]), strict=True)
    ]
    moves = moves - np.average(moves, axis=0, weights=weights)
    return np.asarray(seen - stood - np.repeat(moves, np.diff(np.r_[first, len(mass)]), axis=0))


def _lasting(law: NoiseLaw, step_s: float) -> tuple[NoiseLaw, float]:
    """The noise that lasts for a quarter of a step, and the variance of the rest; of every law all for a step of 0.

    Of many points few are drawn: noise that is another at each of these was an average over many.
    """
    parts = law.kernel.parts if isinstance(law.kernel, Sum) else (law.kernel,)
    last = tuple(part for part in parts if float(np.asarray(part(step_s / 4))) > part.variance_m2 / 2)
    if law.epsilon_per_m is not None or not last or len(last) == len(parts):
        return law, 0.0
    return NoiseLaw(Sum(last), 0.0), law.variance_m2 - sum(part.variance_m2 for part in last)


def _noise(law: NoiseLaw, times_s: FloatArray, release: IntArray, source: Randomness) -> FloatArray:
    """(points, draws, 2) of metres, of each release by itself."""
    shape = (len(times_s), DRAWS, 2)
    if law.epsilon_per_m is not None:
        angle = 2 * math.pi * source.uniforms(shape[:2])
        far = -np.log(np.maximum(source.uniforms(shape), 1e-300)).sum(axis=2) / law.epsilon_per_m
        noise = np.stack([far * np.sin(angle), far * np.cos(angle)], axis=2)
    elif is_markov(law.kernel):
        noise = _walked(law, times_s, release, source).reshape(shape)
    else:
        noise = np.concatenate([_dense(law, times_s[release == one], source) for one in np.unique(release)])
    if law.snap_m:
        noise = noise + law.snap_m * (source.uniforms(noise.shape) - 0.5)
    return noise


def _walked(law: NoiseLaw, times_s: FloatArray, release: IntArray, source: Randomness) -> FloatArray:
    """All releases on one walk in time, so far apart that they share nothing but what is constant, drawn for each."""
    parts = law.kernel.parts if isinstance(law.kernel, Sum) else (law.kernel,)
    constant_m2 = sum(part.variance_m2 for part in parts if isinstance(part, Constant))
    rest = tuple(part for part in parts if not isinstance(part, Constant))
    count = int(release.max(initial=-1)) + 1
    noise = math.sqrt(constant_m2) * source.normals((count, 2 * DRAWS))[release]
    if not rest:
        return noise
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(first, release, times_s)
    np.maximum.at(last, release, times_s)
    apart_s = _APART * max(getattr(part, "length_scale_s", 1.0) for part in rest)
    begins = np.cumsum(np.where(last >= first, last - first + apart_s, 0.0))
    moments = times_s - last[release] + begins[release]
    return noise + sample(moments, Sum(rest), coordinates=2 * DRAWS, rng=source)


def _dense(law: NoiseLaw, times_s: FloatArray, source: Randomness) -> FloatArray:
    """(points, draws, 2): one release under a law that cannot be walked through."""
    moments, back = np.unique(times_s, return_inverse=True)
    kept = evenly(len(moments), _DENSE)
    factor = np.linalg.cholesky(law.kernel.covariance(moments[kept]) + 1e-9 * law.variance_m2 * np.eye(len(kept)))
    some = (factor @ source.normals((len(kept), 2 * DRAWS))).reshape(-1, DRAWS, 2)
    nearest = np.clip(np.searchsorted(kept, np.arange(len(moments))), 0, len(kept) - 1)
    return np.asarray(some[nearest][back.reshape(-1)])


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
TOO_FINE = (
    "Noise {noises:.1f} times as wide as the cells asked for: areas are wide, and in made-up cities their intervals "
    "were up to about half as wide again as those of the best method known."
)
TRIED_PARTS = (1.0, 0.75, 0.5, 0.25)
ONE_IN = 10  # draws may be nearer to the truth by counting
CLEAR = 0.15  # of what counting lies off: real cities are less smooth than those drawn, and the gain is less
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
    which is judged by the mean over the draws.
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
    reach = float(stdtrit(len(truth) - 1, 1 - 1 / ONE_IN)) if sure else 0.0
    counting = np.abs(counted - truth).sum(axis=-1)
    for part in TRIED_PARTS:
        errors = part * corrected + (1 - part) * counted - truth
        nearer = counting - np.abs(errors).sum(axis=-1)
        if nearer.mean() > max(reach * nearer.std(ddof=1), CLEAR * part * counting.mean()):
            break
    else:
        part, errors = 0.0, counted - truth
    empty = truth <= 0
    in_empty = float(np.sum(errors[empty] ** 2) / max(float(counted[empty].sum()), 1e-300))
    return Amount(part, errors, in_empty, least)


def doubts(
    amounts: Sequence[Amount], share: Sequence[FloatArray], counted: Sequence[FloatArray], kept: float, noises: float
) -> list[str]:
    """What a reader of the picture (first) and of the areas (last) must know; the noise is ``noises`` cells wide.

    An answer that correcting moved by less than it lies off in the draws cannot be known to be nearer than counting.
    """
    picture, areas = amounts[0], amounts[-1]
    notes = [] if areas.part == 1 else [PARTLY.format(part=100 * areas.part) if areas.part else COUNTED]
    if picture.part != areas.part:
        notes.append(OTHERWISE.format(part=100 * picture.part))
    moved = [np.abs(one - other).sum() for one, other in zip(share, counted, strict=True)]
    off = [np.abs(amount.errors).sum(axis=-1).mean() for amount in amounts]
    close = [amount.part > 0 and far < lies for amount, far, lies in zip(amounts, moved, off, strict=True)]
    if any(close):
        what = "the map" if all(close) else "the picture" if close[0] else "the areas"
        notes.append(NO_SURER.format(what=what))
    if kept < 1:
        notes.append(FEW_DRAWN.format(kept=math.floor(100 * kept)))
    if noises > 1:
        notes.append(TOO_FINE.format(noises=noises))
    return notes
