"""Independent noise at every point: simple, and it averages away as sampling gets denser.

Its spectral density is zero, so the universal bound is infinite: what is stated is the exact loss at the release's own
times, and a warning that more points of the same path would break it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.accountant.compose import Losses, Together
from sfumato.base.arrays import FloatArray, distinct, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.traces import Trace
from sfumato.tracks.losses.exact_losses import largest_independent_loss, stated_independent
from sfumato.tracks.noise.gaussian_noise import (
    INDEPENDENT_AXES,
    KNOWN_MEAN,
    SizedNoise,
    affordable,
    apart,
    calibrated_noise_m,
)
from sfumato.tracks.noise.interface import MechanismTerms, Plain, Stated
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.classes import PriorClass, class_name, class_words, prior_class_named
from sfumato.tracks.priors.kernels import Kernel, White

DENSER_WARNING = (
    "Independent noise has no bound that holds for every set of times: it averages away. Sampling the same path more "
    "densely, or releasing it again, breaks what is stated here."
)


@dataclass(frozen=True, slots=True, eq=False)
class IndependentNoise(SizedNoise):
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
    summary: ClassVar[str] = "independent noise at every point: promised at its own times only, averages away"
    takes: ClassVar[frozenset[str]] = frozenset({"prior_class", "redraws"})
    moment: ClassVar[str] = "at the released moments"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        object.__setattr__(self, "prior_class", replace(self.prior_class, offset=False))

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        if not traces:
            raise InputError(
                "What independent noise promises depends on a track's times, and none is given.",
                "For a dataset use multiscale noise, whose promise holds at any times.",
            )
        unit = cls(1.0, prior_class_named(plan.prior_class), plan.redraws)
        loss = unit.losses([trace.times_s for trace in traces]).basis or math.inf
        return unit.with_size(calibrated_noise_m(plan.target, loss, together))

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        members = PriorClass.from_dict(values["prior_class"])
        return cls(float(values["noise_m"]), members, int(values["redraws"]))

    def holds_over(self) -> PriorClass:
        return self.prior_class

    def kernel(self) -> Kernel:
        return White(self.size_m)

    def parameters(self) -> Plain:
        return self.describe("prior_class", "redraws")

    def options(self) -> Plain:
        return {"prior_class": class_name(self.prior_class).removesuffix(" without offset")}

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        times, back = distinct(times_s)
        return np.asarray(self.size_m * randomness(rng).normals((times.size, 2))[back])

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        variance = self.size_m**2
        most = max(distinct(times)[0].size for times in times_s) / variance  # Σ k² ≤ n: one place seen n times
        exact: float | None = None
        if affordable(times_s):
            exact = max(largest_independent_loss(times, variance, self.prior_class) or 0.0 for times in times_s)
        return Losses(
            worst_loss=None,
            stay_loss=most,
            loss_at_times=exact,
            floor_loss=1.0 / variance,
            basis=most if exact is None else exact,
            basis_name="stay_loss" if exact is None else "loss_at_times",
            warnings=(DENSER_WARNING,),
        )

    def grid_words(self, points: int) -> str | None:
        return stated_independent(points)

    def notion(self) -> str:
        return "conditional inferential privacy (Gaussian priors, basic secrets at the released moments)"

    def assumes(self) -> tuple[str, ...]:
        return (class_words(self.prior_class), INDEPENDENT_AXES, KNOWN_MEAN)

    def covers(self, stated: Stated) -> tuple[str, ...]:
        return (
            f"where you were at any one of the released moments: {apart(stated)}",
            "a path with an unknown offset, a moment between the released ones, or one place stayed at throughout: at "
            "most stay_loss (stay_odds_99), the number of distinct times over the noise variance",
            "this release at its own times only",
        )

    def releases(self) -> Plain:
        held = (
            "it alone" if self.redraws == 1 else f"{self.redraws} releases of one person at these same times together"
        )
        return {
            "mode": "redrawn",
            "redraws": self.redraws,
            "loss_multiplier": self.redraws,
            "meaning": f"This release's noise was drawn for it alone. The losses stated hold for {held}; releases at "
            "other times are not counted.",
        }

    def stay_words(self, stated: Stated) -> list[str]:
        stay = odds_words(stated.numbers.stay_odds_99)
        if stay is None:
            return []
        return [
            "A place you stay at or hardly leave, and the moments between the released ones, are protected at odds of "
            f"at most {stay} only, and less with every further point."
        ]

    def card_moment(self) -> str:
        return "at a released moment"

    def stay_meaning(self) -> str:
        return "with this number of points"
