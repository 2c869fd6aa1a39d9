"""Planar Laplace noise on a trace: geo-indistinguishable point by point, with nothing promised for the path.

Each report of its own is ε-geo-indistinguishable [Andres2013]: two places d metres apart differ in odds by at most
e^{εd}, surely. Points of one path are correlated, so n of them add up to nε in the worst case, and there is no
Gaussian loss to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import FloatArray, distinct, positive
from sfumato.mechanisms.channels.planar_laplace import planar_laplace_noise
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.randomness import Random

POINTWISE_WARNING = (
    "Planar Laplace noise protects each point on its own: the stated numbers are for one report. Points of one path "
    "tell about one another, so denser sampling breaks it (n points are promised only n times as much)."
)


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceNoise(TraceNoise):
    """Independent planar Laplace steps, one per distinct time; ``epsilon_per_m`` is the promise per metre."""

    epsilon_per_m: float
    redraws: int = 1

    name: ClassVar[str] = "planar-laplace"

    def __post_init__(self) -> None:
        positive(self.epsilon_per_m, "epsilon per metre")

    @property
    def noise_m(self) -> float:
        return math.sqrt(3.0) / self.epsilon_per_m  # E r² = 6/ε², half of it per coordinate

    def law(self) -> dict[str, Any]:
        return {"kernel": "planar_laplace", "epsilon_per_m": self.epsilon_per_m}

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.noise_m,
            "epsilon_per_m": self.epsilon_per_m,
            "redraws": self.redraws,
        }

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        times, back = distinct(times_s)
        return np.asarray(planar_laplace_noise(times.size, self.epsilon_per_m, rng)[back])

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        return Losses(
            worst_loss=None,
            stay_loss=None,
            loss_at_times=None,
            floor_loss=1.0 / self.noise_m**2,
            basis=None,
            basis_name="geo-indistinguishability per point",
            warnings=(POINTWISE_WARNING,),
        )
