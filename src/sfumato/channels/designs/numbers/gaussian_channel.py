"""A Gaussian number reported with an (epsilon, delta) promise: by added noise, or by telling the truth now and then.

Noise: there is no promise for every value, since delta tends to 1 for values far from the mean, whatever the noise.
``range`` promises values within r of the mean, ``average`` the average over values, ``mass`` events of at least a given
probability. The user must say which; there is no default.

Truth now and then [Jiang2021, Prop. 2]: with probability λ the report is the value, else a draw from its prior. For
atomless X and the additive definition of (ε, δ)-LIP the smallest δ is exactly

    δ(λ) = max{ λ, 1 - e^ε (1 - λ) },

so the largest share of truth is λ = δ (the source's min{δ e^ε, 1 - e^-ε + δ e^-ε} is for δ inside e^ε(Pr + δ): E5).
Proof: for S_y = S_x of mass t, P(Y in S_y | X in S_x) - e^ε P(Y in S_y) = λ + (1 - λ - e^ε) t, largest as t -> 0; for
S_y disjoint from S_x, P(Y in S_y) - e^ε P(Y in S_y | X in S_x) = P(S_y)(1 - e^ε (1 - λ)), largest as P(S_y) -> 1.
The raw value is published with probability δ: discretising and designing a channel is nearly always better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from sfumato.accountant.compose import IDEALISED, Guarantee
from sfumato.base.arrays import FloatArray, finite, inside_one, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.gaussian_quantity import delta_at, delta_average, delta_mass
from sfumato.base.randomness import Random, randomness
from sfumato.channels.measures.discrete import epsilon_checked

Promise = Literal["range", "average", "mass"]
Shape = Literal["gaussian", "uniform"]


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


def calibrate(
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
    inside_one(delta, "delta")
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


calibrated = calibrate  # its name in 0.2.0


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
    checked_promise(promise)
    if promise == "range" or radius is not None:
        positive(radius if radius is not None else math.nan, "radius")
    if promise == "mass" or least_mass is not None:
        positive(least_mass if least_mass is not None else math.nan, "least_mass", at_most=1.0)


def smallest_delta(share: float, epsilon: float) -> float:
    """The exact δ of telling the truth with probability ``share``, atomless X, both sides."""
    eps = epsilon_checked(epsilon)
    if not 0 <= share <= 1:
        raise InputError(f"The share of truth is {share:g}.", "It lies in 0 .. 1.")
    return max(share, 1 - math.exp(eps) * (1 - share), 0.0)


def largest_share(epsilon: float, delta: float) -> float:
    """The largest share of truth whose δ is at most ``delta``: δ itself."""
    epsilon_checked(epsilon)
    return inside_one(delta, "delta")


def printed_share(epsilon: float, delta: float) -> float:
    """min{δ e^ε, 1 - e^-ε + δ e^-ε}, as printed: for δ inside e^ε(Pr + δ), eq. (38), not added outside as here (E5)."""
    eps, wanted = epsilon_checked(epsilon), inside_one(delta, "delta")
    return min(wanted * math.exp(eps), 1 - math.exp(-eps) + wanted * math.exp(-eps))


@dataclass(frozen=True, slots=True)
class ContinuousSampling:
    """The mechanism for a Gaussian (mean, sd) or uniform (mean ± sd √3) prior, which has no atoms."""

    mean: float
    sd: float
    epsilon: float
    delta: float
    shape: Shape = "gaussian"

    def __post_init__(self) -> None:
        finite(self.mean, "mean")
        positive(self.sd, "sd")
        epsilon_checked(self.epsilon)
        inside_one(self.delta, "delta")
        if self.shape not in ("gaussian", "uniform"):
            raise InputError(f"There is no prior '{self.shape}'.", "Use gaussian or uniform.")

    @property
    def share(self) -> float:
        """The probability of telling the truth."""
        return largest_share(self.epsilon, self.delta)

    def release(self, values: npt.ArrayLike, rng: Random = None) -> FloatArray:
        """One report per value."""
        x = finite(values, "The values")
        source = randomness(rng)
        count = max(x.size, 1)
        told = source.uniforms((count,)) < self.share
        if self.shape == "gaussian":
            drawn = self.mean + self.sd * source.normals((count,))
        else:
            drawn = self.mean + self.sd * math.sqrt(3) * (2 * source.uniforms((count,)) - 1)
        return np.asarray(np.where(told, x.ravel(), drawn).reshape(x.shape))

    def guarantee(self) -> Guarantee:
        """(ε, δ)-LIP for every event about the value, and what that δ means here."""
        return Guarantee(
            notion="(epsilon, delta) local information privacy",
            parameters={
                "epsilon_nats": self.epsilon,
                "delta": smallest_delta(self.share, self.epsilon),
                "share_of_truth": self.share,
            },
            assumes=(f"the value has the {self.shape} density with mean {self.mean:g} and sd {self.sd:g}",),
            covers=("one report of one value, every event about it",),
            not_covered=(
                f"with probability {self.share:g} the report is the value itself: that is what delta is here",
                "several reports: no composition rule is known for (epsilon, delta)-LIP",
            ),
            numerics=IDEALISED,
        )
