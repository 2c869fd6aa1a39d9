"""Mostly prior-shaped, partly white: Γ = o [(1−φ) Σ/σ² + φ I], which also blurs the *shape* of the path.

Γ ⪰ (1−φ)(o/σ²) Σ, so every point's loss is at most 1/((1−φ) o) for any number of points and releases; the white share
takes the sharp edge off compound questions (which way, how fast) that smooth noise alone leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sfumato.arrays import FloatArray, distinct, positive
from sfumato.errors import InputError
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.prior_shaped import FITTED_WARNING, ONE_PRIOR_WARNING, draw_gaussian, scaled, with_white
from sfumato.priors.kernels import Kernel
from sfumato.randomness import Random

WHITE_SHARE = 0.1
EXACT_POINTS = 800


@dataclass(frozen=True, slots=True, eq=False)
class MixedNoise(TraceNoise):
    """``noise_m`` in all, a share ``white_share`` = φ of its variance independent from point to point."""

    prior: Kernel
    size_m: float
    white_share: float = WHITE_SHARE
    fitted: bool = False
    redraws: int = 1

    name: ClassVar[str] = "mixed"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        positive(self.prior.variance_m2, "The prior's variance")
        if not 0 < self.white_share < 1:
            raise InputError(f"The white share is {self.white_share:g}.", "It must lie strictly between 0 and 1.")

    @property
    def noise_m(self) -> float:
        return self.size_m

    def sized(self, noise_m: float) -> MixedNoise:
        """The same mechanism with another noise level."""
        return replace(self, size_m=noise_m)

    def kernel(self) -> Kernel:
        """The covariance of the noise per coordinate, in m²."""
        variance = self.size_m**2
        return with_white(scaled(self.prior, (1 - self.white_share) * variance), self.white_share * variance)

    def law(self) -> dict[str, Any]:
        return self.kernel().to_dict()

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.size_m,
            "prior": self.prior.to_dict(),
            "white_share": self.white_share,
            "fitted": self.fitted,
            "redraws": self.redraws,
        }

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        return draw_gaussian(self.kernel(), times_s, rng)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        worst = self.redraws / ((1 - self.white_share) * self.size_m**2)
        exact = None
        if sum(len(times) for times in times_s) <= EXACT_POINTS:
            exact = min(worst, max(self._exact(times) for times in times_s) * self.redraws)
        return Losses(
            worst_loss=worst,
            stay_loss=None,
            loss_at_times=exact,
            floor_loss=1.0 / self.size_m**2,
            basis=worst,
            basis_name="worst_loss",
            warnings=(ONE_PRIOR_WARNING, *((FITTED_WARNING,) if self.fitted else ())),
        )

    def _exact(self, times_s: FloatArray) -> float:
        """The largest point's loss under the stated prior at a small sd, where it is largest."""
        from sfumato.leakage.loss import basic_losses

        times, _ = distinct(times_s)
        prior = scaled(self.prior, (0.01 * self.size_m) ** 2)
        return float(basic_losses(prior.covariance(times), self.kernel().covariance(times)).max())
