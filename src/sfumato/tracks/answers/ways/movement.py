"""How somebody moved, as far as a release tells: a kernel fitted *to the release*, and the paths it leaves possible.

The release is Z = X + G with the law of G known. X is taken for a Matérn process around an unknown place (a constant of
a hundred kilometres or more), the same along both axes; its length scale and size are those under which Z is likeliest
(the likelihood of X + G, so the noise is not taken for movement). Then E[X | Z] is one O(n) walk
(:func:`sfumato.tracks.priors.statespace.smooth`), and a draw of X given Z is, with X⁺ and G⁺ drawn from the two laws,

    X⁺ + E[X | Z - X⁺ - G⁺],

the simulation smoother of [Durbin2002]. Where the release tells little, the model tells the rest:
:func:`told_by_release` says how much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern32, Matern52
from sfumato.tracks.priors.statespace import is_markov, log_likelihood, sample, smooth

FEWEST_MOMENTS = 10
FITTED_TO = 400  # moments at most, evenly chosen: what is shorter than their distance is noise in any release
MOSTLY_MODEL, LEAST_ALIKE = 0.5, 0.8  # of squared steps; of lengths and of stays
_PLACE_M = 1e5
_SCALES_S, _SIZES_M = (5.0, 1e7), (1.0, 1e7)
_KINDS: tuple[type[Matern32] | type[Matern52], ...] = (Matern32, Matern52)
_UNKNOWN = Matern32(3600.0, 10_000.0)


@dataclass(frozen=True, slots=True)
class Movement:
    """The kernel of each coordinate around a place unknown to ``place_m``; not ``fitted`` where points were too few."""

    kernel: Kernel
    place_m: float
    fitted: bool

    @property
    def prior(self) -> Kernel:
        """Movement and place together."""
        return self.kernel + Constant(self.place_m)


def fit_movement(times_s: FloatArray, release_m: FloatArray, noise: Kernel) -> Movement:
    """The kernel under which the release (n, 2) is likeliest, the noise being known."""
    if not is_markov(noise):
        raise InputError(
            "The noise of this release has no form that can be walked through once.",
            "Paths are told from noise made of Matérn kernels, white noise and an offset (multiscale is).",
        )
    moments, first = np.unique(times_s, return_index=True)
    path = release_m[first] - release_m[first].mean(axis=0)
    place_m = max(_PLACE_M, 10.0 * float(np.abs(path).max(initial=0.0)))
    if len(moments) < FEWEST_MOMENTS:
        return Movement(_UNKNOWN, place_m, fitted=False)
    some = evenly(len(moments), FITTED_TO)
    times, values = moments[some], path[some]
    found = [_likeliest(times, values, kind, noise + Constant(place_m)) for kind in _KINDS]
    return Movement(max(found, key=lambda one: one[0])[1], place_m, fitted=True)


def _likeliest(
    times: FloatArray, values: FloatArray, kind: type[Matern32] | type[Matern52], rest: Kernel
) -> tuple[float, Kernel]:
    low, high = (np.log([a, b]) for a, b in zip(_SCALES_S, _SIZES_M, strict=True))

    def kernel(point: FloatArray) -> Kernel:
        scale, size = np.exp(np.clip(point, low, high))
        return kind(float(scale), float(size))

    def unlikely(point: FloatArray) -> float:
        value = log_likelihood(times, values, kernel(point) + rest)
        return -value if math.isfinite(value) else 1e300

    duration = float(times[-1] - times[0])
    wide = max(float(np.sqrt(np.mean(values**2))), 10.0)
    starts = [
        np.log([scale, size])
        for scale in np.geomspace(max(_SCALES_S[0], min(60.0, duration / 10)), max(100.0, 3 * duration), 6)
        for size in (wide / 10, wide, 5 * wide)
    ]
    start = min(starts, key=unlikely)
    found = scipy.optimize.minimize(
        unlikely, start, method="Nelder-Mead", options={"xatol": 0.02, "fatol": 0.01, "maxiter": 80}
    )
    return -float(found.fun), kernel(np.asarray(found.x))


def likeliest_path(times_s: FloatArray, release_m: FloatArray, movement: Movement, noise: Kernel) -> FloatArray:
    """E[X | Z] at every time, (n, 2)."""
    centre = release_m.mean(axis=0)
    return np.asarray(smooth(times_s, release_m - centre, prior=movement.prior, noise=noise).mean_m + centre)


def possible_paths(
    times_s: FloatArray, release_m: FloatArray, movement: Movement, noise: Kernel, draws: int, rng: Randomness
) -> FloatArray:
    """Draws of X given Z at sorted times, (draws, n, 2)."""
    centre, columns = release_m.mean(axis=0), 2 * draws
    own = sample(times_s, movement.prior, coordinates=columns, rng=rng)
    other = own + sample(times_s, noise, coordinates=columns, rng=rng)
    rest = np.tile(release_m - centre, (1, draws)) - other
    drawn = own + smooth(times_s, rest, prior=movement.prior, noise=noise).mean_m + np.tile(centre, draws)
    return np.ascontiguousarray(drawn.reshape(len(times_s), draws, 2).transpose(1, 0, 2))


def first_outside(path_m: FloatArray, segment: IntArray, start: int, radius_m: float) -> int:
    """The next moment farther than this from where the path is at ``start``, or in another segment."""
    stop = start + 1
    while True:  # look at 64, 128 ... points ahead: most stays end soon, some are long
        ahead = slice(stop, stop + max(64, stop - start))
        out = np.linalg.norm(path_m[ahead] - path_m[start], axis=1) > radius_m
        out |= segment[ahead] != segment[start]
        if out.any() or not out.size:
            return stop + (int(np.argmax(out)) if out.size else 0)
        stop += out.size


def plainest_path(times_s: FloatArray, mean_m: FloatArray, draws_m: FloatArray, segment: IntArray) -> FloatArray:
    """The likeliest path with straight lines instead of what is smaller than its own uncertainty.

    A new line begins where the path is farther than twice the root mean square of a drawn coordinate from where the
    last began: the length of a coast by a ruler [Richardson1961]. Turns, stays and wiggles below that are the model's.
    """
    ruler = 2.0 * float(np.sqrt(np.mean((draws_m - mean_m) ** 2)))
    kept = [0]
    while kept[-1] < len(mean_m) - 1:
        stop = first_outside(mean_m, segment, kept[-1], ruler)
        new = stop < len(mean_m) and segment[stop] != segment[kept[-1]]
        kept += [stop - 1, stop] if new and stop - 1 > kept[-1] else [min(stop, len(mean_m) - 1)]
    return np.column_stack([np.interp(times_s, times_s[kept], mean_m[kept, axis]) for axis in (0, 1)])


def told_by_release(mean_m: FloatArray, draws_m: FloatArray) -> float:
    """The share of the squared steps that the release tells: of E[X | Z], in those of the paths drawn given Z.

    Under one half (:data:`MOSTLY_MODEL`) most of what is said about the way is the model's.
    """
    told = float(np.sum(np.diff(mean_m, axis=0) ** 2))
    drawn = float(np.sum(np.diff(draws_m, axis=1) ** 2)) / len(draws_m)
    return min(1.0, told / drawn) if drawn > 0 else 0.0


def alike(one: float, other: float) -> float:
    """The smaller of two numbers, as a share of the larger (1 where both are 0)."""
    return min(one, other) / max(one, other) if max(one, other) > 0 else 1.0
