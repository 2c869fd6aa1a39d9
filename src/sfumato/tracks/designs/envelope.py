"""Noise of the prior's own shape that fades away from the secret times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.tracks.priors.kernels import Kernel


def envelope_noise(
    times_s: FloatArray,
    prior: Kernel,
    secrets: Sequence[IntArray],
    size_m: float,
    width_s: float | None,
    white_share: float,
) -> FloatArray:
    """size²·[(1-φ)·DKD + φ·D²]; ``width_s`` None is no envelope."""
    reach = envelope(times_s, secrets, width_s)
    shape = (1 - white_share) * prior.covariance(times_s) / prior.variance_m2
    shape.flat[:: times_s.size + 1] += white_share
    shape *= size_m**2 * reach
    shape *= reach[:, None]
    return np.asarray(shape)


def envelope(times_s: FloatArray, secrets: Sequence[IntArray], width_s: float | None) -> FloatArray:
    """exp(-½(distance to the nearest secret time/width)²), 1 everywhere for no width."""
    if width_s is None:
        return np.ones(times_s.size)
    chosen = times_s[np.unique(np.concatenate(secrets))]
    after = np.searchsorted(chosen, times_s)
    left = np.abs(times_s - chosen[np.clip(after - 1, 0, chosen.size - 1)])
    right = np.abs(chosen[np.clip(after, 0, chosen.size - 1)] - times_s)
    return np.asarray(np.exp(-0.5 * (np.minimum(left, right) / width_s) ** 2))
