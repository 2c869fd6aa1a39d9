"""Whoever knows where you truly were at some moments (a day, your workplace) sees the bare noise there.

Given Z = X + G everywhere and X at the known moments: one Gaussian posterior of both, dense, for at most so many
moments; the rest is interpolated between them. Over hours people may be anywhere in a town, so a known place does not
pin the others.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit, between_looks, likeliest_prior
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.priors.kernels import Constant, Matern32

MOST, MOST_KNOWN = 400, 150
_ANYWHERE = Matern32(7200.0, 20_000.0) + Constant(1e5)


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean; None where nothing is known."""
    if told.known_s is None or told.known_m is None or not len(told.known_s):
        return None
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    at, noise, prior = evenly(times.size, MOST), told.noise(seen), likeliest_prior(seen, told) + _ANYWHERE
    known = evenly(len(told.known_s), MOST_KNOWN)
    s, truth = told.known_s[known], told.known_m[known]
    shown = np.isin(seen.slot_s, s)  # what was released in the ten minutes around known moments
    t = np.concatenate([times[at], seen.slot_s[shown]])
    z, middle = np.vstack([seen.path_m[first][at], seen.slots_m[shown]]), seen.path_m.mean(axis=0)
    across, own = prior.covariance(t, s), prior.covariance(t)
    total = np.block([[own + noise.covariance(t), across], [across.T, prior.covariance(s)]])
    total += (1.0 + 1e-4 * noise.variance_m2) * np.eye(len(total))
    values = np.vstack([z - middle, truth - middle])
    mean = np.hstack([own, across])[: len(at)] @ cho_solve(cho_factor(total, lower=True), values) + middle
    free = best_fit(seen, told)
    return between_looks(times, times[at], mean, (seen.path_m if free is None else free)[first])[back]
