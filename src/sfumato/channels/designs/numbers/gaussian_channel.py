"""Gaussian noise on a Gaussian quantity with an (epsilon, delta) promise; the user must say which honest one.

There is no promise for every value: delta tends to 1 for values far from the mean, whatever the noise. ``range``
promises values within r of the mean, ``average`` the average over values, ``mass`` events of at least a given
probability. There is no default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.gaussian_quantity import delta_at, delta_average, delta_mass
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.guarantees import Guarantee

Promise = Literal["range", "average", "mass"]


@dataclass(frozen=True, slots=True)
class GaussianChannel:
    """Y = X + N(0, noise_variance) for X ~ N(mean, prior_variance), with the promise that was chosen."""

    prior_variance: float
    noise_variance: float
    epsilon: float
    promise: Promise
    radius: float | None = None
    least_mass: float | None = None
    mean: float = 0.0

    def __post_init__(self) -> None:
        positive(self.prior_variance, "prior_variance")
        positive(self.noise_variance, "noise_variance")
        positive(self.epsilon, "epsilon", at_most=700)
        finite(self.mean, "mean")
        _checked_promise(self.promise, self.radius, self.least_mass)

    def deltas(self) -> tuple[float, float]:
        """(delta_low, delta_up) of the chosen promise."""
        return _deltas(
            self.promise, self.prior_variance, self.noise_variance, self.epsilon, self.radius, self.least_mass
        )

    def release(self, values: npt.ArrayLike, rng: Random = None) -> FloatArray:
        """The values with fresh noise."""
        x = finite(values, "The values")
        noise = randomness(rng).normals(x.shape if x.ndim else (1,)).reshape(x.shape)
        out: FloatArray = np.asarray(x + math.sqrt(self.noise_variance) * noise)
        return out

    def guarantee(self) -> Guarantee:
        """What is promised, and that nothing is promised for every value."""
        low, up = self.deltas()
        outside = math.erfc(self.radius / math.sqrt(2 * self.prior_variance)) if self.radius is not None else None
        covers = {
            "range": f"values within {self.radius} of the mean",
            "average": "the average over values; all but a share k of them have delta at most the average over k",
            "mass": f"events about the value of prior probability at least {self.least_mass}",
        }[self.promise]
        return Guarantee(
            notion=f"(epsilon, delta) local information privacy, {self.promise}",
            parameters={
                "epsilon_nats": self.epsilon,
                "delta_low": low,
                "delta_up": up,
                "radius": self.radius,
                "least_mass": self.least_mass,
                "noise_variance": self.noise_variance,
                "probability_outside_range": outside,
            },
            assumes=(f"the value is Gaussian with variance {self.prior_variance:g} (not truncated)",),
            covers=(covers, "one report"),
            not_covered=(
                "every single value: delta tends to 1 far from the mean for any noise",
                "several reports: no composition rule is known for (epsilon, delta)-LIP",
            ),
        )


def calibrated(
    *,
    prior_variance: float,
    epsilon: float,
    delta: float,
    promise: Promise,
    radius: float | None = None,
    least_mass: float | None = None,
    mean: float = 0.0,
) -> GaussianChannel:
    """The least noise variance whose larger delta is at most ``delta``; the result is checked on the safe side."""
    _checked_promise(promise, radius, least_mass)
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}.", "It lies strictly between 0 and 1.")
    sx2 = positive(prior_variance, "prior_variance")

    def excess(log_ratio: float) -> float:
        return max(_deltas(promise, sx2, sx2 * math.exp(log_ratio), epsilon, radius, least_mass)) - delta

    low, high = math.log(1e-4), math.log(10.0)
    while excess(high) > 0:
        high += math.log(10.0)
        if high > math.log(1e14):
            raise InputError("No noise up to 1e14 times the prior variance is enough.", "Ask for a larger delta.")
    if excess(low) <= 0:
        raise InputError("Hardly any noise is needed.", "Ask for a smaller epsilon or delta.")
    root = float(brentq(excess, low, high, xtol=1e-14, rtol=1e-15))
    step = 1e-13
    while excess(root) > 0:
        root += step
        step *= 2
    return GaussianChannel(sx2, sx2 * math.exp(root), epsilon, promise, radius, least_mass, mean)


def _deltas(
    promise: Promise, sx2: float, s2: float, epsilon: float, radius: float | None, least_mass: float | None
) -> tuple[float, float]:
    if promise == "range":
        assert radius is not None
        return delta_at(radius, prior_variance=sx2, noise_variance=s2, epsilon=epsilon)
    if promise == "average":
        low, up, _ = delta_average(prior_variance=sx2, noise_variance=s2, epsilon=epsilon)
        return low, up
    assert least_mass is not None
    return delta_mass(prior_variance=sx2, noise_variance=s2, epsilon=epsilon, least_mass=least_mass)


def checked_promise(name: str) -> Promise:
    """The promise of that name, or InputError."""
    names: dict[str, Promise] = {"range": "range", "average": "average", "mass": "mass"}
    if name not in names:
        raise InputError(
            f"The promise is '{name}'.",
            "Choose range (with radius), average, or mass (with least_mass): none is safe for every value.",
        )
    return names[name]


def _checked_promise(promise: str, radius: float | None, least_mass: float | None) -> None:
    if promise not in ("range", "average", "mass"):
        raise InputError(
            f"The promise is '{promise}'.",
            "Choose range (with radius), average, or mass (with least_mass): none is safe for every value.",
        )
    if promise == "range" or radius is not None:
        positive(radius if radius is not None else math.nan, "radius")
    if promise == "mass" or least_mass is not None:
        positive(least_mass if least_mass is not None else math.nan, "least_mass", at_most=1.0)
