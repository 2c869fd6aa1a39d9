"""Smoothing for people who tend to turn one way round: east and north depend on each other.

With z = east + i·north, E[z_s z_t*] = 2(k + iρh)(s − t) (:mod:`sfumato.tracks.adversary.turning`), and noise 2Γ, the
posterior is the complex one: V = C − C(C + 2Γ)⁻¹C, half of it per coordinate. ρ is the likeliest of a few for the
first window. Dense, so long tracks are taken in windows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.moments.likely_path import likeliest_prior
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.adversary.turning import even_and_odd
from sfumato.tracks.priors.kernels import Kernel, Scaled

WINDOW = 150
_TRIED = (-0.95, -0.5, 0.0, 0.5, 0.95)


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean, window by window, each around its own mean."""
    prior, noise = likeliest_prior(seen, told), told.noise(seen)
    if not isinstance(prior, Scaled):
        return None
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    path, out = seen.path_m[first], np.empty((times.size, 2))
    rho = None
    for start in range(0, times.size, WINDOW):
        part = slice(start, start + WINDOW)
        middle = path[part].mean(axis=0)
        near = path[part] - middle
        law = even_and_odd(prior, times[part])
        if rho is None:
            rho = max(_TRIED, key=lambda tried: _mean_and_score(law, times[part], near, noise, tried)[1])
        out[part] = _mean_and_score(law, times[part], near, noise, rho)[0] + middle
    return out[back]


def _mean_and_score(
    prior: tuple[FloatArray, FloatArray], times_s: FloatArray, release_m: FloatArray, noise: Kernel, rho: float
) -> tuple[FloatArray, float]:
    """The mean (n, 2), and the log-likelihood of the release up to a constant."""
    law = np.asarray(2.0 * (prior[0] + 1j * rho * prior[1]), dtype=np.complex128)
    total = law + 2.0 * noise.covariance(times_s) + 1e-9 * noise.variance_m2 * np.eye(times_s.size)
    factor, _ = cho_factor(total, lower=True)
    z = release_m[:, 0] + 1j * release_m[:, 1]
    white = cho_solve((factor, True), z)
    mean = law @ white
    score = -2.0 * float(np.log(np.diag(factor).real).sum()) - float(np.vdot(z, white).real)
    return np.column_stack([mean.real, mean.imag]), score
