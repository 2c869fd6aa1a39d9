"""Smoothing: the exact Gaussian posterior of the path, with the law of the noise and a prior for the movement.

The *population* attacker believes what fits most people (Matérn-3/2, 900 s, 4 km); the *fitted* one takes the likeliest
Matérn-3/2 for this release: of a short grid of length scales and sizes, by the likelihood of movement and noise
together. Where no law of the noise is stated, independent noise as large as the track is rough is assumed; the
*correlated* attacker tries noise that continues for half a minute to eight minutes. In all the place is unknown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.posterior import believe
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack, once
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern12, Matern32, White
from sfumato.tracks.priors.statespace import is_markov, markov_form, sorted_log_likelihood

WIDE = Matern32(900.0, 4000.0)
LENGTHS_S, SIZES = (30.0, 120.0, 480.0, 1800.0), (0.3, 1.0, 3.0)
NOISE_S, NOISE_M = (30.0, 120.0, 480.0), (60.0, 150.0, 300.0, 700.0)
_ANYWHERE_M, RUN, LOOKS_S = 1e5, 150, 60.0


def population(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean under the prior that suits most people."""
    return posterior_path(seen, told, WIDE)


def best_fit(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean under the prior that suits this release best."""
    return posterior_path(seen, told, likeliest_prior(seen, told))


def unknown_law(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The same where no law is stated, under the likeliest noise that continues for a while."""
    if told.law is not None:
        return None
    rough = told.noise(seen)
    laws = [Matern12(length, size) + rough for length, size in product(NOISE_S, NOISE_M)]
    fits = [(law, *likeliest_fit(seen, law)) for law in laws]
    law, prior, _ = max(fits, key=lambda fit: fit[2])
    return posterior_path(seen, replace(told, law=law), prior)


def posterior_path(seen: SeenTrack, told: Knowledge, prior: Kernel) -> FloatArray | None:
    """The posterior mean at every moment."""
    return _smoothed(seen, told.noise(seen), prior)


@once
def _smoothed(seen: SeenTrack, noise: Kernel, prior: Kernel) -> FloatArray | None:
    if not is_markov(noise):
        return None
    around = seen.path_m.mean(axis=0)
    belief = believe(seen.times_s, seen.path_m - around, prior=prior + Constant(_ANYWHERE_M), noise=noise)
    return np.asarray(belief.mean_m + around)


def between_looks(times_s: FloatArray, looks_s: FloatArray, found_m: FloatArray, free_m: FloatArray) -> FloatArray:
    """What was found at some moments, straight on between those a minute apart at most; elsewhere the free path."""
    whole = np.column_stack([np.interp(times_s, looks_s, column) for column in found_m.T])
    after = np.clip(np.searchsorted(looks_s, times_s), 1, max(len(looks_s) - 1, 1))
    near = np.isin(times_s, looks_s)
    if len(looks_s) > 1:
        near |= looks_s[after] - looks_s[after - 1] <= LOOKS_S
    return np.where(near[:, None], whole, free_m)


def likeliest_prior(seen: SeenTrack, told: Knowledge) -> Kernel:
    """Of the grid, by three runs of the release; sizes are multiples of what these move beyond the noise."""
    return likeliest_fit(seen, told.noise(seen))[0]


@once
def likeliest_fit(seen: SeenTrack, noise: Kernel) -> tuple[Kernel, float]:
    """The prior, and how likely the release is under both."""
    times, first = np.unique(seen.times_s, return_index=True)
    if times.size < 3 or not is_markov(noise):
        return WIDE, -math.inf
    starts = sorted({0, max(0, (times.size - RUN) // 2), max(0, times.size - RUN)})
    runs = [(times[k : k + RUN], seen.path_m[first][k : k + RUN]) for k in starts]
    runs = [(when, path - path.mean(axis=0)) for when, path in runs]
    moved = float(np.mean([np.mean(path**2) for _, path in runs])) - noise.variance_m2
    extent = math.sqrt(max(moved, 0.01 * noise.variance_m2, 25.0))
    tried = [Matern32(length, size * extent) for length, size in product(LENGTHS_S, SIZES)]
    noisy = noise + White(1.0) + Constant(_ANYWHERE_M)
    forms = [markov_form(prior + noisy) for prior in tried]
    scores = [sum(sorted_log_likelihood(when, path, form) for when, path in runs) for form in forms]
    best = int(np.argmax(scores))
    return tried[best], float(scores[best])
