"""Planar Laplace noise: a random step on the plane whose density falls by e^(-epsilon) per metre, in every direction.

The density of the step z is eps^2/(2 pi) exp(-eps |z|), so the reports of two places d metres apart are within a factor
e^(eps d) of each other: eps-geo-indistinguishability [Andres2013]. The angle is uniform and the radius is Gamma(2) with
rate eps, that is minus the logarithm of the product of two uniforms divided by eps: no Lambert W is needed. The metres
are those of a plane; adding them to degrees is the work of :mod:`sfumato.base.things.frames`, never of arithmetic on
earth-centred axes (which shrinks the noise to the north by the sine of the latitude).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness

_BLOCK = 1 << 14
_MOST_POINTS = 1_000_000_000


def planar_laplace_noise(count: int, epsilon_per_m: float, rng: Random = None) -> FloatArray:
    """(count, 2) independent steps to the east and north in metres.

    Two 64-bit words a point: 42 bits for each of the two uniforms of the radius and 42 for the angle, every uniform at
    the centre of its cell (never 0 or 1), so the radius has steps of 2^-43 / eps and ends at 60 / eps.
    """
    eps = positive(epsilon_per_m, "epsilon_per_m")
    if int(count) != count or not 0 <= count <= _MOST_POINTS:
        raise InputError(f"count is {count}.", f"Give how many points to move, 0 .. {_MOST_POINTS:,}.")
    source = randomness(rng)
    out = np.empty((int(count), 2))
    for start in range(0, int(count), _BLOCK):
        # In blocks that stay in the processor's cache: fresh pages cost more than the arithmetic.
        block = out[start : start + _BLOCK]
        words = source.words(2 * block.shape[0]).reshape(2, -1)
        first, second = (words >> np.uint64(22)).astype(np.float64) + 0.5
        # The 22 low bits of the first word and 20 of the second are the angle's.
        spare = ((words[0] & np.uint64((1 << 22) - 1)) << np.uint64(20)) | (words[1] & np.uint64((1 << 20) - 1))
        angle = (spare.astype(np.float64) + 0.5) * (2.0 * math.pi * 2.0**-42)
        radius = np.multiply(first, second, out=first)
        radius *= 2.0**-84
        np.log(radius, out=radius)
        radius *= -1.0 / eps
        np.multiply(np.cos(angle, out=second), radius, out=block[:, 0])
        np.multiply(np.sin(angle, out=second), radius, out=block[:, 1])
    return out
