"""Mostly prior-shaped, partly white: Γ = o [(1−φ) Σ/σ² + φ I], which also blurs the *shape* of the path.

Γ ⪰ (1−φ)(o/σ²) Σ, so every point's loss is at most 1/((1−φ) o) for any number of points and releases; the white share
takes the sharp edge off compound questions (which way, how fast) that smooth noise alone leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.accountant.compose import Losses, Together
from sfumato.base.arrays import FloatArray, distinct, positive
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.noise.gaussian_noise import calibrated_noise_m
from sfumato.tracks.noise.interface import MechanismTerms, Plain
from sfumato.tracks.noise.prior_shaped import ShapedNoise, prior_for, scale_to, with_white
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import Kernel, kernel_from_dict

WHITE_SHARE = 0.1
EXACT_POINTS = 800


@dataclass(frozen=True, slots=True, eq=False)
class MixedNoise(ShapedNoise):
    """``noise_m`` in all, a share ``white_share`` = φ of its variance independent from point to point."""

    prior: Kernel
    size_m: float
    white_share: float = WHITE_SHARE
    fitted: bool = False
    redraws: int = 1

    name: ClassVar[str] = "mixed"
    summary: ClassVar[str] = "prior-shaped noise with a white share, which also blurs the shape of the path"
    takes: ClassVar[frozenset[str]] = frozenset({"prior", "redraws", "white_share"})

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        positive(self.prior.variance_m2, "The prior's variance")
        if not 0 < self.white_share < 1:
            raise InputError(f"The white share is {self.white_share:g}.", "It must lie strictly between 0 and 1.")

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        prior, fitted = prior_for(plan, traces)
        share = WHITE_SHARE if plan.white_share is None else plan.white_share
        unit = cls(prior, 1.0, share, fitted, plan.redraws)
        return unit.with_size(calibrated_noise_m(plan.target, 1.0 / (1 - share), together))

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        prior, share = kernel_from_dict(values["prior"]), float(values["white_share"])
        return cls(prior, float(values["noise_m"]), share, bool(values["fitted"]), int(values["redraws"]))

    def kernel(self) -> Kernel:
        variance = self.size_m**2
        return with_white(scale_to(self.prior, (1 - self.white_share) * variance), self.white_share * variance)

    def parameters(self) -> Plain:
        return self.describe("prior", "white_share", "fitted", "redraws")

    def options(self) -> Plain:
        return {**ShapedNoise.options(self), "white_share": self.white_share}

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        worst = 1.0 / ((1 - self.white_share) * self.size_m**2)
        exact = None
        if sum(len(times) for times in times_s) <= EXACT_POINTS:
            exact = min(worst, max(self._exact(times) for times in times_s))
        return Losses(
            worst_loss=worst,
            stay_loss=self.stay_loss(times_s),
            loss_at_times=exact,
            floor_loss=1.0 / self.size_m**2,
            basis=worst,
            basis_name="worst_loss",
            warnings=self.warnings(),
        )

    def _exact(self, times_s: FloatArray) -> float:
        """The largest point's loss under the stated prior at a small sd, where it is largest."""
        times, _ = distinct(times_s)
        prior = scale_to(self.prior, (0.01 * self.size_m) ** 2)
        return float(basic_losses(prior.covariance(times), self.kernel().covariance(times)).max())
