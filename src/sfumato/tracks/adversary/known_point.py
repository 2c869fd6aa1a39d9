"""Somebody who knows where you truly were at one moment: from there they know the noise, and the moments around it.

With X(t₀) known the release shows G(t₀), so prior and noise are both conditioned on one value, Σ' = Σ − σσᵀ/Σ₀₀ and
Γ' = Γ − γγᵀ/Γ₀₀, and the loss at t₀ + lag is that of Σ' and Γ' at all moments around. It has no bound over a class: for
a smooth path the known point leaves only its direction unknown, which the whole rest of the trace tells.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.priors.kernels import Kernel


def known_point_loss(noise: Kernel, prior: Kernel, lag_s: float, *, reach_s: float = 3600.0) -> float:
    """The loss per m² at ``lag_s`` after a moment whose true position is known."""
    around = np.concatenate([np.arange(1.0, 24.0), np.geomspace(24.0, max(reach_s / lag_s, 30.0), 60)]) * lag_s
    times = np.concatenate([-around[::-1], around])
    at = int(np.flatnonzero(times == lag_s)[0])
    return float(basic_losses(_given(prior, times), _given(noise, times))[at])


def _given(kernel: Kernel, times: FloatArray) -> FloatArray:
    across = kernel.covariance(times, np.zeros(1))[:, 0]
    covariance = kernel.covariance(times) - np.outer(across, across) / kernel.variance_m2
    return np.asarray(covariance + 1e-12 * kernel.variance_m2 * np.eye(times.size))
