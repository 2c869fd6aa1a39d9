"""The default mechanism: multiscale noise of a stated size, fresh for one release or continuing under a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray, positive
from sfumato.errors import InputError, NotCertified
from sfumato.leakage.exact_losses import largest_loss
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.multiscale.bound import UniversalBound, universal_bound
from sfumato.mechanisms.traces.multiscale.continuing import continuing_path
from sfumato.mechanisms.traces.multiscale.ladder import Ladder, sample_path
from sfumato.priors.classes import PriorClass
from sfumato.priors.kernels import Constant, Kernel, Matern32, Sum, White
from sfumato.randomness import Random

BOUND_TOLERANCE = 1e-6  # of the factorisation behind an exact loss; anything above it is a broken bound


@dataclass(frozen=True, slots=True, eq=False)
class MultiscaleNoise(TraceNoise):
    """``noise_m`` times the unit process of ``ladder``, certified over ``prior_class``.

    ``redraws`` = k says that this is one of k releases with independently drawn noise, whose losses add up; a
    ``key`` makes the noise continue instead, and then k is 1 for ever.
    """

    ladder: Ladder
    size_m: float
    prior_class: PriorClass
    redraws: int = 1
    key: bytes | None = None

    name: ClassVar[str] = "multiscale"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        if int(self.redraws) != self.redraws or not 1 <= self.redraws <= 1_000_000:
            raise InputError(f"redraws is {self.redraws}.", "It must be a whole number from 1.")
        if self.key is not None and self.redraws != 1:
            raise InputError("Continuing noise is never redrawn.", "Leave out the number of redraws.")

    @property
    def noise_m(self) -> float:
        return self.size_m

    def sized(self, noise_m: float) -> MultiscaleNoise:
        """The same mechanism with another noise level."""
        return replace(self, size_m=noise_m)

    def keyed(self, key: bytes | None) -> MultiscaleNoise:
        """The same mechanism under a person's key."""
        return replace(self, key=key)

    def bound(self) -> UniversalBound:
        """The universal bound × o of the very ladder that is drawn."""
        return universal_bound(self.ladder, self.prior_class)

    def kernel(self) -> Kernel:
        """The covariance of the noise per coordinate, in m²."""
        parts: list[Kernel] = [
            Matern32(float(scale), self.size_m * float(np.sqrt(variance)))
            for scale, variance in zip(self.ladder.length_scales_s, self.ladder.variances, strict=True)
        ]
        if self.ladder.white_share:
            parts.append(White(self.size_m * float(np.sqrt(self.ladder.white_share))))
        if self.ladder.constant_share:
            parts.append(Constant(self.size_m * float(np.sqrt(self.ladder.constant_share))))
        return Sum(tuple(parts))

    def law(self) -> dict[str, Any]:
        return self.kernel().to_dict()

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.size_m,
            "ladder": self.ladder.to_dict(),
            "prior_class": self.prior_class.to_dict(),
            "redraws": self.redraws,
            "continuing": self.key is not None,
        }

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        if self.key is not None:
            return self.size_m * continuing_path(self.ladder, times_s, self.key)
        return self.size_m * sample_path(self.ladder, times_s, rng)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        variance, bound = self.size_m**2, self.bound()
        worst = bound.worst_loss * self.redraws / variance
        kernel = self.kernel()
        found = [largest_loss(times, kernel, self.prior_class) or 0.0 for times in times_s if affordable(times_s)]
        exact = max(found, default=0.0) * self.redraws
        if exact > worst * (1 + BOUND_TOLERANCE):
            raise NotCertified(
                f"The exact loss at the release's times is {exact / worst:.6g} times the universal bound.",
                "The bound is broken, so nothing is released; please report this.",
            )
        stay = None if bound.stay_loss is None else bound.stay_loss * self.redraws / variance
        warnings = []
        if self.redraws > 1:
            warnings.append(f"One of {self.redraws} releases with redrawn noise: the losses add up to those stated.")
        return Losses(
            worst_loss=worst,
            stay_loss=stay,
            loss_at_times=min(exact, worst) if exact else None,
            floor_loss=1.0 / variance,
            basis=worst,
            basis_name="worst_loss",
            warnings=tuple(warnings),
        )


def affordable(times_s: Sequence[FloatArray]) -> bool:
    """Whether exact losses at these people's times take seconds, not minutes."""
    from sfumato.leakage.exact_losses import MARKOV_POINTS

    return sum(len(times) for times in times_s) <= MARKOV_POINTS and len(times_s) <= 50
