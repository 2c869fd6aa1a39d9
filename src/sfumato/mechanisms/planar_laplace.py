"""Planar Laplace noise: a random step on the plane whose density falls by e^(-epsilon) per metre, in every direction.

The density of the step z is eps^2/(2 pi) exp(-eps |z|), so the reports of two places d metres apart are within a factor
e^(eps d) of each other: eps-geo-indistinguishability [Andres2013]. The angle is uniform and the radius is Gamma(2)
with rate eps, that is minus the logarithm of the product of two uniforms divided by eps: no Lambert W is needed.
The metres are those of a plane; adding them to degrees is the work of :mod:`sfumato.frames`, never of arithmetic on
earth-centred axes (which shrinks the noise to the north by the sine of the latitude).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.arrays import FloatArray, positive
from sfumato.channel import Random
from sfumato.errors import InputError
from sfumato.randomness import randomness


def planar_laplace_noise(count: int, epsilon_per_m: float, rng: Random = None) -> FloatArray:
    """(count, 2) independent steps to the east and north in metres. Radii come from 104 random bits each."""
    eps = positive(epsilon_per_m, "epsilon_per_m")
    if int(count) != count or count < 0:
        raise InputError(f"count is {count}.", "Give how many points to move, from 0.")
    source = randomness(rng)
    draws = source.uniforms((3, int(count)))
    radius = draws[0]
    radius *= draws[1]
    np.log(radius, out=radius)
    radius *= -1.0 / eps
    angle = draws[2]
    angle *= 2.0 * math.pi
    out = np.empty((int(count), 2))
    np.cos(angle, out=draws[1])
    np.multiply(draws[1], radius, out=out[:, 0])
    np.sin(angle, out=draws[1])
    np.multiply(draws[1], radius, out=out[:, 1])
    return out
