"""Releases that might have been: places drawn from a map and a release, blurred once more by the certified law.

How far an answer about the people released lies from them cannot be seen from one release, but the law of the noise is
known. So each point gets a place x under the map found, drawn given where it was released,

    P(x | z)  ∝  f(x) K(z - x),

and noise is drawn anew around it, with the correlation in time that the certificate states. An answer worked out from
that has a truth to be held against. One field of chance serves all points of a release: points released beside one
another come from one place, as somebody's who stays (the law of every single point is as above). Of releases laid on
one another what is left of their common shift is drawn, not the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.compiled import compile_loop
from sfumato.base.randomness import Randomness, randomness
from sfumato.tracks.answers.maps.alignment import Aligned
from sfumato.tracks.answers.maps.cells import Window
from sfumato.tracks.answers.maps.deconvolution import near_of
from sfumato.tracks.answers.received import NoiseLaw
from sfumato.tracks.priors.statespace import is_markov, sample

DRAWS = 8
MOST_POINTS, LEAST_POINTS = 60_000, 30  # of all releases, and of one
PLACE = 2.5  # noises: points released so near to one another are taken for one place
_ASKED = 60  # points of a release whose noise is asked how alike it is
_DENSE = 400  # moments of a law that cannot be walked through once


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Where people were in each draw (draws, rows, columns), and where they were released, for each law."""

    true: FloatArray
    seen: list[FloatArray]


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


def draw_again(laid: Aligned, laws: Sequence[NoiseLaw], window: Window, density: FloatArray) -> Drawn:
    """Everybody's points once more, :data:`DRAWS` times. No secret is drawn: the same at every run."""
    near = [near_of(law, *window.latent_m) for law in laid.laws]
    size, source = np.array(window.latent_m), randomness(0)
    rows, columns = window.shape
    most = max(LEAST_POINTS, MOST_POINTS // len(laid.units))
    true = np.zeros((len(laws), DRAWS * rows * columns))
    seen = np.zeros((len(laws), DRAWS * rows * columns))
    first_cell = np.arange(DRAWS)[None, :] * (rows * columns)
    for number, unit in enumerate(laid.units):
        there = np.flatnonzero(window.holds(unit.places))
        if not len(there):
            continue
        some = there[evenly(len(there), most)]
        mass = unit.mass[some] * (unit.mass[there].sum() / max(float(unit.mass[some].sum()), 1e-300))
        shared = laid.shared_m2[unit.law]
        left = laid.laws[unit.law].variance_m2 - laws[unit.law].variance_m2 + shared
        noise = _noise(laws[unit.law], unit.times_s[some], source, shared, max(left, 0.0)) / size
        law = laid.laws[unit.law]
        middle, around, place = _stood(laws[unit.law], law.variance_m2, unit.places[some] * size, unit.times_s[some])
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
    return Drawn(true.reshape(shape).sum(axis=0), list(seen.reshape(shape)))


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
