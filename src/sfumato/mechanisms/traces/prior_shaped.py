"""Noise shaped like the prior: Γ = (o/σ²) Σ, which attains the floor 1/o at every point, for that one prior.

With Σ = σ² K and Γ = o K the posterior is V = o/(σ²+o) Σ, so J_i = 1/V_ii − 1/Σ_ii = 1/o for every point, any number of
points and every σ; while the process continues, also over any number of releases. It is exact for the kernel it was
shaped for and fragile for smoother truths, so the certificate names the one kernel and, where the universal bound is
finite, what the noise gives away over the default class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray, distinct, positive
from sfumato.errors import InputError
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.priors.kernels import Kernel, Sum, White, kernel_from_dict
from sfumato.randomness import Random, randomness

DENSE_POINTS = 3000
FITTED_WARNING = (
    "The prior was fitted to this very trace, so the noise's shape is chosen from private data: the claim 'nothing was "
    "chosen from the trace' does not hold for this release."
)
ONE_PRIOR_WARNING = (
    "Certified for the one kernel named under 'prior' (at any sd), not for a class: a smoother truth can give away "
    "more."
)


def scaled(kernel: Kernel, variance_m2: float) -> Kernel:
    """The same shape with another total variance."""
    factor = math.sqrt(variance_m2 / kernel.variance_m2)

    def rescale(description: dict[str, Any], by: float) -> dict[str, Any]:
        if description["kernel"] == "sum":
            return {**description, "parts": [rescale(part, by) for part in description["parts"]]}
        if description["kernel"] == "product":  # one factor carries the size
            first, *rest = description["parts"]
            return {**description, "parts": [rescale(first, by), *rest]}
        return {**description, "sd_m": description["sd_m"] * by}

    return kernel_from_dict(rescale(kernel.to_dict(), factor))


def draw_gaussian(kernel: Kernel, times_s: FloatArray, rng: Random = None) -> FloatArray:
    """(n, 2) independent east and north paths of a kernel: O(n) for Markov kernels, dense for the others."""
    from sfumato.priors.statespace import is_markov, sample

    times, back = distinct(times_s)
    draw = randomness(rng)
    if is_markov(kernel):
        return np.asarray(sample(times, kernel, coordinates=2, rng=draw)[back])
    if times.size > DENSE_POINTS:
        raise InputError(
            f"This prior has no fast form and the trace has {times.size} times.",
            f"Use a Matérn prior, or at most {DENSE_POINTS} times.",
        )
    covariance = kernel.covariance(times)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray((root @ draw.normals((times.size, 2)))[back])


@dataclass(frozen=True, slots=True, eq=False)
class PriorShapedNoise(TraceNoise):
    """``noise_m`` times the unit process with the prior's own correlation; ``fitted`` to the trace, or a preset."""

    prior: Kernel
    size_m: float
    fitted: bool = False
    redraws: int = 1

    name: ClassVar[str] = "prior-shaped"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        positive(self.prior.variance_m2, "The prior's variance")

    @property
    def noise_m(self) -> float:
        return self.size_m

    def sized(self, noise_m: float) -> PriorShapedNoise:
        """The same mechanism with another noise level."""
        return replace(self, size_m=noise_m)

    def kernel(self) -> Kernel:
        """The covariance of the noise per coordinate, in m²."""
        return scaled(self.prior, self.size_m**2)

    def law(self) -> dict[str, Any]:
        return self.kernel().to_dict()

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.size_m,
            "prior": self.prior.to_dict(),
            "fitted": self.fitted,
            "redraws": self.redraws,
        }

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        return draw_gaussian(self.kernel(), times_s, rng)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        loss = self.redraws / self.size_m**2
        return Losses(
            worst_loss=loss,
            stay_loss=None,
            loss_at_times=loss,
            floor_loss=1.0 / self.size_m**2,
            basis=loss,
            basis_name="worst_loss",
            warnings=(ONE_PRIOR_WARNING, *((FITTED_WARNING,) if self.fitted else ())),
        )


def with_white(kernel: Kernel, variance_m2: float) -> Kernel:
    """A kernel and independent noise beside it."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    return Sum((*parts, White(math.sqrt(variance_m2))))
