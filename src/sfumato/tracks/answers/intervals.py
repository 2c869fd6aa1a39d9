"""The interval of a share over people: how far the share of people like these may lie from what these people show.

Three parts. *Chance of people*: the answers without each of up to twenty groups of people give a variance V (the
delete-a-group jackknife); points of one person are no sample. *The common shift*: what all releases lie off together,
which no group can show (:mod:`~sfumato.tracks.answers.maps.offsets`). *Smoothing*: an answer stopped early is flatter
than the truth by about b, what it loses when the whole way is walked once more.

A cell that few people visit has a skewed law and no variance worth the name, so V is expressed as a number of people,
1/φ = p (1 - p) / V, drawn towards that of all cells together where few people were in the cell, and the interval is
[Wilson1927]'s for that number: |p̂ - p| ≤ z √(φ p (1 - p)), with b² in φ (less what smoothing
takes from chance alone).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from sfumato.base.arrays import FloatArray
from sfumato.tracks.answers.maps.window import Window

OF_BIAS = 1.5
_BY_CHANCE = 0.25  # of the variance: so large is the square of what smoothing takes from chance alone
_DRAWN = 5.0  # people: a cell with so many is half its own


def people_interval(
    share: FloatArray,
    without: FloatArray,
    people: int,
    confidence: float,
    *,
    bias: FloatArray | float = 0.0,
    more: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Low and high: ``without`` each group of people, the ``bias`` of smoothing, and ``more`` variance."""
    groups = len(without)
    variance = (groups - 1) / groups * np.sum((without - without.mean(axis=0)) ** 2, axis=0) + more
    spread = share * (1 - share)
    pooled = float(np.sum(variance)) / max(float(np.sum(spread)), 1e-300)
    if not 1e-12 < pooled < 1:  # nothing told people apart
        pooled = 1.0 / people
    seen = share / pooled
    own = variance / np.maximum(spread, pooled * 1e-6)
    lost = OF_BIAS**2 * np.maximum(np.square(bias) - _BY_CHANCE * variance, 0.0)
    phi = (own * seen + pooled * _DRAWN) / (seen + _DRAWN) + lost / np.maximum(spread, pooled)
    reach = float(ndtri((1 + confidence) / 2)) ** 2 * phi
    middle, half = share + reach / 2, np.sqrt(reach * spread + reach**2 / 4)
    low, high = (middle - half) / (1 + reach), (middle + half) / (1 + reach)
    return np.clip(np.minimum(low, share), 0.0, 1.0), np.clip(np.maximum(high, share), 0.0, 1.0)


def shifted_by(
    latent: FloatArray, window: Window, variance_m2: float, shares: Callable[[FloatArray], FloatArray]
) -> FloatArray | float:
    """The variance of the shares where the whole map may lie off by so much along each axis."""
    if not variance_m2 > 0:
        return 0.0
    out: FloatArray | float = 0.0
    for axis, size in ((0, window.latent_m[0]), (1, window.latent_m[1])):
        apart = shares(np.roll(latent, 1, axis=axis)) - shares(np.roll(latent, -1, axis=axis))
        out = out + (apart / (2 * size)) ** 2 * variance_m2
    return out
