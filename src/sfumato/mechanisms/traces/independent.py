"""Independent noise at every point: simple, and it averages away as sampling gets denser.

Its spectral density is zero, so the universal bound is infinite: what is stated is the exact loss at the release's own
times, and a warning that more points of the same path would break it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray, distinct, positive
from sfumato.leakage.exact_losses import largest_independent_loss
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.multiscale.noise import affordable
from sfumato.priors.classes import PriorClass
from sfumato.priors.kernels import Kernel, White
from sfumato.randomness import Random, randomness

DENSER_WARNING = (
    "Independent noise has no bound that holds for every set of times: it averages away. Sampling the same path more "
    "densely, or releasing it again, breaks what is stated here."
)


@dataclass(frozen=True, slots=True, eq=False)
class IndependentNoise(TraceNoise):
    """Normals of sd ``noise_m`` per coordinate, one pair per distinct time.

    Losses are those at the released moments, for members of ``prior_class`` without an offset: the supremum over sd,
    length scale and nugget is Σ_j k(t_i − t_j)²/o at the longest length scale (h_j ≤ k_j with a nugget, and P ⪰ 0).
    With an offset, or at a moment in between, all that is left of it is h_j ≤ 1: n/o for n distinct times, which is
    ``stay_loss``.
    """

    size_m: float
    prior_class: PriorClass
    redraws: int = 1

    name: ClassVar[str] = "independent"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        object.__setattr__(self, "prior_class", replace(self.prior_class, offset=False))

    @property
    def noise_m(self) -> float:
        return self.size_m

    def sized(self, noise_m: float) -> IndependentNoise:
        """The same mechanism with another noise level."""
        return replace(self, size_m=noise_m)

    def kernel(self) -> Kernel:
        """The covariance of the noise per coordinate, in m²."""
        return White(self.size_m)

    def law(self) -> dict[str, Any]:
        return self.kernel().to_dict()

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.size_m,
            "prior_class": self.prior_class.to_dict(),
            "redraws": self.redraws,
        }

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        times, back = distinct(times_s)
        return np.asarray(self.size_m * randomness(rng).normals((times.size, 2))[back])

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        variance = self.size_m**2
        counts = [distinct(times)[0].size for times in times_s]
        most = max(counts) * self.redraws / variance  # Σ k² ≤ n: one place seen n times
        exact: float | None = None
        if affordable(times_s):
            found = [largest_independent_loss(times, variance, self.prior_class) or 0.0 for times in times_s]
            exact = max(found) * self.redraws
        return Losses(
            worst_loss=None,
            stay_loss=most,
            loss_at_times=exact,
            floor_loss=1.0 / variance,
            basis=most if exact is None else exact,
            basis_name="stay_loss" if exact is None else "loss_at_times",
            warnings=(DENSER_WARNING,),
        )
