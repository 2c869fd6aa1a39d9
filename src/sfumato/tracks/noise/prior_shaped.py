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
from typing import ClassVar, Self

import numpy as np

from sfumato.accountant.compose import Losses, Together
from sfumato.base.arrays import FloatArray, distinct, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import protects_nothing, reached_words
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.gaussian_noise import (
    FITTED_WARNING,
    INDEPENDENT_AXES,
    KNOWN_MEAN,
    SizedNoise,
    calibrated_noise_m,
)
from sfumato.tracks.noise.interface import MechanismTerms, Plain, Stated
from sfumato.tracks.noise.multiscale.universal_bound import TURNING
from sfumato.tracks.noise.secret_limits import kernel_words
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel, Product, Simple, Sum, White, kernel_from_dict
from sfumato.tracks.priors.statespace import is_markov, sample, whitened_products

DENSE_POINTS = 3000
ONE_PRIOR_WARNING = (
    "Certified for the one kernel named under 'prior' (at any sd), not for a class: a smoother truth can give away "
    "more."
)
BEATEN = (
    "Warning: promises for one prior are beaten on real people; in sfumato's own benchmark, at 150 m, attackers found "
    "66 moments in 100 where the certificate allowed 62."
)  # docs/evidence/attack_matrix.csv, prior-shaped


class ShapedNoise(SizedNoise):
    """Noise whose shape is, or holds, that of one prior: the promise is for that kernel at any sd."""

    __slots__ = ()
    prior: Kernel
    takes: ClassVar[frozenset[str]] = frozenset({"prior", "redraws"})
    needs: ClassVar[frozenset[str]] = frozenset({"prior"})

    def holds_for(self) -> Kernel:
        return self.prior

    def options(self) -> Plain:
        return {"prior": "fit" if self.fitted else self.prior.to_dict()}

    def assumes(self) -> tuple[str, ...]:
        return ("the path moves like the kernel under 'prior', with any sd", INDEPENDENT_AXES, KNOWN_MEAN)

    def turning_factor(self) -> float:
        return TURNING  # the noise holds the prior's own shape: ∫ k²(1 + ρ²)/g with g the same multiple of k

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        return draw_gaussian(self.kernel(), times_s, rng)

    def headline(self, stated: Stated) -> str:
        """That it was beaten and the condition first: nobody moves like one kernel, so the bare promise is false."""
        said = SizedNoise.headline(self, stated)
        if protects_nothing(stated.numbers.odds_99):
            return said
        condition = f"Only if you move exactly like one prior ({kernel_words(self.prior)}, at any sd)"
        return f"{BEATEN} {condition}: {said[0].lower()}{said[1:]}"

    def limit(self, stated: Stated) -> str:
        said = "Nothing is promised otherwise, and a place you stay at is not protected"
        if stated.losses.stay_loss is None:
            return said
        stay = reached_words(stated.numbers.stay_odds_99)
        return f"{said} (odds of {stay} if this whole release were one unknown place)"

    def stay_words(self, stated: Stated) -> list[str]:
        return ["A place you stay at is not protected: a long stay at an unknown place gives it away."]

    def stay_meaning(self) -> str:
        return "not promised: what this release allows if all of it is one unknown place"

    def stay_loss(self, times_s: Sequence[FloatArray]) -> float | None:
        """1ᵀΓ⁻¹1 at the release's own times: all of it one unknown place; None where it cannot be computed."""
        kernel, worst = self.kernel(), 0.0
        for times in times_s:
            moments, _ = distinct(times)
            if is_markov(kernel):
                worst = max(worst, float(whitened_products(moments, np.ones((moments.size, 1)), kernel)[0, 0]))
            elif moments.size <= DENSE_POINTS:
                values, vectors = np.linalg.eigh(kernel.covariance(moments))
                kept = values > 1e-13 * values[-1]
                worst = max(worst, float(np.sum(vectors[:, kept].sum(axis=0) ** 2 / values[kept])))
            else:
                return None
        return worst

    def warnings(self) -> tuple[str, ...]:
        """What to take care of."""
        return (ONE_PRIOR_WARNING, *((FITTED_WARNING,) if self.fitted else ()))


@dataclass(frozen=True, slots=True, eq=False)
class PriorShapedNoise(ShapedNoise):
    """``noise_m`` of noise with the prior's own correlations."""

    prior: Kernel
    size_m: float
    fitted: bool = False
    redraws: int = 1

    name: ClassVar[str] = "prior-shaped"
    summary: ClassVar[str] = "noise with the correlations of one prior: the least for it, promised for it alone"

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        positive(self.prior.variance_m2, "The prior's variance")

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        prior, fitted = prior_for(plan, traces)
        return cls(prior, calibrated_noise_m(plan.target, 1.0, together), fitted, plan.redraws)

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        prior = kernel_from_dict(values["prior"])
        return cls(prior, float(values["noise_m"]), bool(values["fitted"]), int(values["redraws"]))

    def kernel(self) -> Kernel:
        return scale_to(self.prior, self.size_m**2)

    def parameters(self) -> Plain:
        return self.describe("prior", "fitted", "redraws")

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        loss = 1.0 / self.size_m**2
        return Losses(
            worst_loss=loss,
            stay_loss=self.stay_loss(times_s),
            loss_at_times=loss,
            floor_loss=loss,
            basis=loss,
            basis_name="worst_loss",
            warnings=self.warnings(),
        )


def scale_to(kernel: Kernel, variance_m2: float) -> Kernel:
    """The same shape with another total variance."""
    return _rescaled(kernel, math.sqrt(variance_m2 / kernel.variance_m2))


def _rescaled(kernel: Kernel, by: float) -> Kernel:
    if isinstance(kernel, Sum):
        return Sum(tuple(_rescaled(part, by) for part in kernel.parts))
    if isinstance(kernel, Product):  # one factor carries the size
        return Product((_rescaled(kernel.parts[0], by), *kernel.parts[1:]))
    assert isinstance(kernel, Simple)
    return replace(kernel, sd_m=kernel.sd_m * by)  # type: ignore[type-var]  # each kind is a dataclass


def with_white(kernel: Kernel, variance_m2: float) -> Kernel:
    """A kernel and independent noise beside it."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    return Sum((*parts, White(math.sqrt(variance_m2))))


def prior_for(plan: Plan, traces: Sequence[Trace]) -> tuple[Kernel, bool]:
    """The prior that shapes the noise, and whether it was fitted to the trace itself."""
    if plan.kernel is not None:
        return plan.kernel, False
    if len(traces) != 1:
        raise InputError("A prior is fitted to one person's trace.", "Use a preset for several people.")
    order = np.argsort(traces[0].times_s, kind="stable")
    positions = unroll(traces[0].lat_deg[order], traces[0].lon_deg[order])
    return fit(traces[0].times_s[order], positions).prior, True


def draw_gaussian(kernel: Kernel, times_s: FloatArray, rng: Random = None) -> FloatArray:
    """(n, 2) independent east and north paths of a kernel: O(n) for Markov kernels, dense for the others."""
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
