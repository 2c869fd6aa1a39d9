"""Planar Laplace noise on a trace: geo-indistinguishable point by point, with nothing promised for the path.

Each report of its own is ε-geo-indistinguishable [Andres2013]: two places d metres apart differ in odds by at most
e^{εd}, surely. Points of one path are correlated, so n of them add up to nε in the worst case, and there is no
Gaussian loss to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammainc, ndtri

from sfumato.accountant.compose import Guarantee, Losses, Together, snapped_numerics
from sfumato.base.arrays import FloatArray, distinct, positive
from sfumato.base.numbers.odds import odds_words, protects_nothing
from sfumato.base.numbers.planar_laplace_noise import planar_laplace_noise
from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.noise.gaussian_noise import NOT_COVERED, STAYS_NOT_COVERED, no_protection
from sfumato.tracks.noise.interface import AdditiveNoise, Card, MechanismTerms, Numbers, Plain, Stated
from sfumato.tracks.noise.plausibility import LaplaceRoughness, Roughness
from sfumato.tracks.plan import Plan, Target
from sfumato.tracks.priors.kernels import Kernel, White

POINTWISE_WARNING = (
    "Planar Laplace noise protects each point on its own: the stated numbers are for one report. Points of one path "
    "tell about one another, so denser sampling breaks it (n points are promised only n times as much)."
)


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceNoise(AdditiveNoise):
    """Independent planar Laplace steps, one per distinct time; ``epsilon_per_m`` is the promise per metre."""

    epsilon_per_m: float
    redraws: int = 1

    name: ClassVar[str] = "planar-laplace"
    summary: ClassVar[str] = "geo-indistinguishable noise point by point, with nothing promised for the path"
    takes: ClassVar[frozenset[str]] = frozenset({"redraws"})
    gaussian: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive(self.epsilon_per_m, "epsilon per metre")

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        """e^{ε r} = odds surely, or ε r = epsilon, or √3/ε = noise; rounded down (toward privacy)."""
        target = plan.target
        if target.noise_m is not None:
            return cls(math.sqrt(3.0) / target.noise_m, plan.redraws)
        wanted = math.log(target.odds) if target.odds is not None else float(target.epsilon or 0.0)
        per_metre = wanted / target.radius_m / together(1.0)
        while not _fulfilled(target, together(per_metre) * target.radius_m):
            per_metre = math.nextafter(per_metre, 0.0)
        return cls(per_metre, plan.redraws)

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        return cls(float(values["epsilon_per_m"]), int(values["redraws"]))

    @property
    def noise_m(self) -> float:
        return math.sqrt(3.0) / self.epsilon_per_m  # E r² = 6/ε², half of it per coordinate

    def kernel(self) -> Kernel:
        return White(self.noise_m)

    def scores(self, times_s: FloatArray, noise_m: FloatArray) -> FloatArray:
        """From radius and direction, independent of each other: εr is gamma of two degrees, the angle uniform."""
        reach = self.epsilon_per_m * np.hypot(noise_m[:, 0], noise_m[:, 1])
        turn = np.arctan2(noise_m[:, 1], noise_m[:, 0]) / (2.0 * math.pi) + 0.5
        below = np.column_stack([gammainc(2.0, reach), turn])
        return np.asarray(ndtri(np.clip(below, 1e-300, 1.0 - 1e-16)))

    def roughness(self, times_s: FloatArray, snap_m: float, *, shown: bool = True) -> Roughness | None:
        return LaplaceRoughness(self.epsilon_per_m, times_s, snap_m) if shown else None

    def law(self) -> Plain:
        return {"kernel": "planar_laplace", "epsilon_per_m": self.epsilon_per_m}

    def parameters(self) -> Plain:
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
            pure_epsilon_per_m=self.epsilon_per_m,
        )

    def numbers(self, losses: Losses, target: Target) -> Numbers:
        epsilon = _epsilon(losses, target)
        return Numbers(
            radius_m=target.radius_m,
            order=target.order,
            epsilon=epsilon,
            odds_per_point=math.exp(epsilon) if epsilon < 700 else None,
            delta_at_epsilon=0.0,
            geo_indistinguishability_per_m=self.epsilon_per_m,
        )

    def meets(self, losses: Losses, target: Target) -> bool:
        return _fulfilled(target, _epsilon(losses, target))

    def is_own(self, losses: Losses, target: Target) -> bool:
        if target.noise_m is not None:
            return abs(self.noise_m - target.noise_m) <= 1e-12 * target.noise_m
        wanted = math.log(target.odds) if target.odds is not None else float(target.epsilon or 0.0)
        return _epsilon(losses, target) >= wanted * (1 - 1e-9)

    def guarantee(self, stated: Stated, *, snap_m: float, simulation: bool) -> Guarantee:
        promised = stated.numbers.to_dict()
        return Guarantee(
            notion="geo-indistinguishability of each point",
            parameters={name: promised[name] for name in ("epsilon", "radius_m", "odds_per_point")}
            | {"epsilon_per_m": self.epsilon_per_m},
            assumes=("nothing about where you might be, for one report on its own",),
            covers=("where you were at any one released moment, against an adversary who sees that report only",),
            not_covered=(
                "The path: points of one trace tell about one another, and their losses add up.",
                *NOT_COVERED,
                STAYS_NOT_COVERED,
            ),
            numerics=snapped_numerics(snap_m),
            simulation=simulation,
        )

    def headline(self, stated: Stated) -> str:
        if protects_nothing(stated.numbers.odds_per_point):
            return no_protection(stated, self.noise_m)
        radius, odds = format_length(stated.numbers.radius_m), odds_words(stated.numbers.odds_per_point)
        return (
            f"Someone who sees one released point and nothing else cannot tell apart two places at most {radius} apart "
            f"with odds better than {odds}. That is per point: nothing is promised for the path, whose points tell "
            "about one another."
        )

    def explanations(self, stated: Stated) -> list[str]:
        return [
            f"Every position was moved at random by about {format_length(self.noise_m)} east or west and as much north "
            "or south. Nothing about the amount was chosen from the track.",
            str(self.releases()["meaning"]),
        ]

    def cards(self, stated: Stated) -> list[Card]:
        odds, radius = odds_words(stated.numbers.odds_per_point), format_length(stated.numbers.radius_m)
        if protects_nothing(stated.numbers.odds_per_point):
            return [Card("Protection of one released point", f"none at {radius}", "the noise is too small")]
        return [Card("Odds for one released point", f"≤ {odds}", f"between two places at most {radius} apart")]

    def figures(self, stated: Stated) -> list[str]:
        return [
            f"epsilon {stated.numbers.epsilon:.4g} per point at {format_length(stated.numbers.radius_m)} "
            f"({self.epsilon_per_m:.4g} per metre)."
        ]

    def epsilon_words(self, order: float) -> str:
        return "ε of one point at r (geo-indistinguishability)"


def _epsilon(losses: Losses, target: Target) -> float:
    return float(losses.pure_epsilon_per_m or math.inf) * target.radius_m


def _fulfilled(target: Target, epsilon: float) -> bool:
    """Whether geo-indistinguishability of ``epsilon`` at the radius keeps the wish, as it will be printed."""
    if target.odds is not None:
        return epsilon < 700 and math.exp(epsilon) <= target.odds
    return target.epsilon is None or epsilon <= target.epsilon
