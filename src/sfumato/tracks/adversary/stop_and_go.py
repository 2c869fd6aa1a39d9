"""Priors that stop and go: a member of the class whose clock stands still for a while, and the exact loss it has.

X(t) = mean + Y(τ(t)) with Y a member of the class and a clock τ that the adversary may even be told. Told the clock,
the prior is Gaussian, and telling it never lowers what they learn (the clock does not depend on where you are): the
loss is at most the largest over clocks of hᵀΓ⁻¹h, h(t) = k(τ(t) − τ(t₀)), reached as the sd tends to 0. For one stop of
length T around t₀, h is 1 during the stop and falls off on both sides as the kernel does: a place learnt for as long as
the stop lasts, beside a way that is known before and after. That one stop is the worst clock of its length is tried
(random clocks, in the tests), not proved.

So a class that stops and goes has a finite loss, and a much larger one: docs/adversary.md prints it. Noise sized for it
would be more than twice as large for stops up to an hour, for everybody; it is computed and not the default.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, positive
from sfumato.tracks.priors.kernels import Kernel, Sum, White, kernel_named
from sfumato.tracks.priors.statespace import whitened_products


def stopped_loss(noise: Kernel, stop_s: float, *, length_scale_s: float = 10.0, kernel: str = "matern32") -> float:
    """hᵀΓ⁻¹h for one stop of ``stop_s`` seconds, seen continuously (without the noise's white share), per m²."""
    scale = positive(length_scale_s, "length_scale_s")
    parts = noise.parts if isinstance(noise, Sum) else (noise,)
    smooth = tuple(part for part in parts if not isinstance(part, White))
    times = _moments(stop_s, scale)
    beyond = np.maximum(np.abs(times) - stop_s / 2.0, 0.0)
    follows = kernel_named(kernel, length_scale_s=scale, sd_m=1.0)(beyond)
    return float(whitened_products(times, follows[:, None], Sum(smooth) if smooth else noise)[0, 0])


def _moments(stop_s: float, scale: float) -> FloatArray:
    """Dense where the stop begins and ends, sparse in its middle and far away."""
    outside = np.concatenate([np.arange(0.0, 8.0 * scale, scale / 20.0), np.geomspace(8.0 * scale, 400.0 * scale, 200)])
    near = stop_s / 2.0 - np.geomspace(scale / 20.0, max(stop_s / 2.0, scale), 200)
    inside = np.concatenate([np.linspace(0.0, stop_s / 2.0, 400 if stop_s else 1), np.maximum(near, 0.0)])
    half = np.unique(np.round(np.concatenate([inside, stop_s / 2.0 + outside]), 6))
    return np.unique(np.concatenate([-half, half]))
