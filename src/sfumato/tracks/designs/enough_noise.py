"""Noise scaled until its targets are met: by root finding, then by losses that are certainly not too small."""

from __future__ import annotations

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.tracks.designs.noise_design import losses_of
from sfumato.tracks.losses.certain_loss import losses_at_most


def just_enough(
    noise: FloatArray, priors: tuple[FloatArray, ...], secrets: tuple[IntArray, ...], targets: FloatArray
) -> tuple[FloatArray, float]:
    """``noise`` scaled to meet the targets exactly, rounded toward privacy, and its trace."""

    def excess(log_scale: float) -> float:
        return float(np.log(np.max(losses_of(priors, noise * np.exp(log_scale), secrets) / targets)))

    low, high = -1e-6, 1e-6
    while excess(high) > 0:
        high = high * 8 + 1e-9
    while excess(low) < 0 and low > -20:
        low *= 8
    root = scipy.optimize.brentq(excess, low, high, xtol=1e-13)
    while excess(root) > 0:  # round toward privacy
        root += 1e-12 + 1e-9 * abs(root)
    scaled = noise * np.exp(root)
    return scaled, float(np.trace(scaled))


def met(
    noise: FloatArray, priors: tuple[FloatArray, ...], secrets: tuple[IntArray, ...], targets: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """The noise as it will be drawn, enlarged until its losses certainly meet the targets, and those losses.

    The last operation on the noise is here, and the check after it. None where no loss is certain (a prior without
    nugget): the closed form then stands, and what is drawn gets a jitter (``NoiseDesign.certified``).
    """
    scale = 1.0
    for _ in range(60):
        drawn = read_only(scale * (noise + noise.T) / 2)
        losses = losses_at_most(priors, drawn, secrets)
        over = float(np.max(losses / targets))
        if over <= 1:
            return drawn, read_only(losses)
        if not over < 1.5:
            break
        scale *= 1 + 2 * (over - 1) + 1e-15
    return read_only((noise + noise.T) / 2), None
