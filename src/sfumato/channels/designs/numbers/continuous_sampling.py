"""Tell the truth with a small probability, otherwise a fresh draw from the prior: for a number with a density.

[Jiang2021, Prop. 2]. With probability λ the report is the value, else a draw from its prior. For atomless X and the
additive definition of (ε, δ)-LIP the smallest δ is exactly

    δ(λ) = max{ λ, 1 - e^ε (1 - λ) },

so the largest share of truth is λ = δ (the source's min{δ e^ε, 1 - e^-ε + δ e^-ε} promises more than it keeps: E6).
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

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.guarantees import IDEALISED, Guarantee
from sfumato.channels.measures.discrete import epsilon_checked

Shape = Literal["gaussian", "uniform"]


def smallest_delta(share: float, epsilon: float) -> float:
    """The exact δ of telling the truth with probability ``share``, atomless X, both sides."""
    eps = epsilon_checked(epsilon)
    if not 0 <= share <= 1:
        raise InputError(f"The share of truth is {share:g}.", "It lies in 0 .. 1.")
    return max(share, 1 - math.exp(eps) * (1 - share), 0.0)


def largest_share(epsilon: float, delta: float) -> float:
    """The largest share of truth whose δ is at most ``delta``: δ itself."""
    epsilon_checked(epsilon)
    return _delta(delta)


def printed_share(epsilon: float, delta: float) -> float:
    """min{δ e^ε, 1 - e^-ε + δ e^-ε}, as printed: its true δ is larger than the one promised (E6)."""
    eps, wanted = epsilon_checked(epsilon), _delta(delta)
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
        _delta(self.delta)
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


def _delta(delta: float) -> float:
    value = float(delta)
    if not 0 < value < 1:
        raise InputError(f"delta is {value:g}.", "It lies strictly between 0 and 1.")
    return value
