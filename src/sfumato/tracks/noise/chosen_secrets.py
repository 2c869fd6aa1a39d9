"""Noise for chosen times of one trace: designed for its own timestamps, certified there, for one prior.

Γ is found and rebuilt by :mod:`~sfumato.tracks.noise.secret_recipes`. Hypotheses about a secret S differ by at
most r at each of its times, in the plane: μ² ≤ r²·|S|·λ_max(J_S), exactly r²·J for one time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Losses, Together
from sfumato.base.arrays import FloatArray, IntArray, distinct, read_only
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at, odds_words, protects_nothing, reached_words
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.noise.gaussian_noise import (
    FITTED_WARNING,
    INDEPENDENT_AXES,
    NOT_COVERED,
    STAYS_NOT_COVERED,
    GaussianNoise,
    alone,
    no_protection,
)
from sfumato.tracks.noise.interface import Blocks, MechanismTerms, Plain, SecretsBlock, Stated
from sfumato.tracks.noise.prior_shaped import prior_for
from sfumato.tracks.noise.secret_limits import (
    from_runs,
    grid_words,
    kernel_words,
    labels_of,
    loss_over_class,
    one_place_loss,
    runs,
    whole_path_loss,
)
from sfumato.tracks.noise.secret_recipes import Recipe, SecretWish, least_recipe, weighted_losses
from sfumato.tracks.plan import Plan, Target
from sfumato.tracks.priors.classes import DAY, PriorClass, class_name, prior_class_named
from sfumato.tracks.priors.kernels import Kernel, kernel_from_dict
from sfumato.tracks.priors.presets import DEFAULT_PRESET, preset_named
from sfumato.tracks.secret import TIMES_ARE_PUBLIC, Secret, parse, resolve

MOST_TIMES = 3000
DESIGN_SLACK = 0.02  # noise designed for chosen secrets meets its budget to the solver's gap
_ONE_PRIOR = (
    "Certified for exactly the kernel named under 'prior', or all of it (nugget included) times one factor above 1. "
    "Not for a larger sd at the same nugget, another length scale or kernel (secrets.loss_over_class says how much "
    "those can give away), nor for an unknown place stayed at (stay_loss)."
)
_OWN_TIMES = "Certified for this release's own times only: releasing more points of the same trace voids it."


@dataclass(frozen=True, slots=True, eq=False)
class DesignedKernel(Kernel):
    """A covariance known at given times only, in the shape the adversary's tools expect."""

    times_s: FloatArray
    matrix_m2: FloatArray

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        raise InputError("Noise designed for chosen times is not a function of the lag.", "Use covariance(times_s).")

    @property
    def variance_m2(self) -> float:
        return float(np.mean(np.diag(self.matrix_m2)))

    def covariance(self, times_s: npt.ArrayLike, other_times_s: npt.ArrayLike | None = None) -> FloatArray:
        """The covariance between any of its own times."""
        rows = self.places(times_s)
        columns = rows if other_times_s is None else self.places(other_times_s)
        return self.matrix_m2[np.ix_(rows, columns)]

    def places(self, times_s: npt.ArrayLike) -> IntArray:
        """Where these times are among its own."""
        wanted = np.asarray(times_s, dtype=np.float64)
        places = np.clip(np.searchsorted(self.times_s, wanted), 0, self.times_s.size - 1)
        if np.any(np.abs(self.times_s[places] - wanted) > 5e-4):
            raise InputError("The noise was designed for other times.", "Use the times of its own release.")
        return places.astype(np.int64)

    def to_dict(self) -> dict[str, object]:
        return {"kernel": "designed", "times": int(self.times_s.size)}


@dataclass(frozen=True, slots=True, eq=False)
class SecretNoise(GaussianNoise):
    """The noise of one release: ``design`` is its recipe, ``secrets`` index its distinct times in order."""

    prior: Kernel
    times_s: FloatArray
    secrets: tuple[IntArray, ...]
    radii: tuple[float, ...]  # each secret's radius relative to the release's
    design: Recipe
    fitted: bool = False
    redraws: int = 1
    checked_class: PriorClass = DAY  # not what is promised: what `loss_over_class` is about
    _built: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    name: ClassVar[str] = "secrets"
    summary: ClassVar[str] = "noise designed for chosen times of one trace (--secrets), promised for one prior there"
    takes: ClassVar[frozenset[str]] = frozenset({"secrets", "prior", "prior_class", "redraws"})
    needs: ClassVar[frozenset[str]] = frozenset({"secrets"})
    moment: ClassVar[str] = "at a protected point"

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        """Designed for one trace's timestamps and one prior (default: the shipped preset).

        ``prior_class`` is only what ``loss_over_class`` is computed for: nothing is promised over it.
        """
        if len(traces) != 1:
            raise InputError("Chosen secrets are for one trace.", "Protect the people of a fleet one by one.")
        trace = traces[0]
        rules = [parse(rule, radius_m=plan.radius_m) if isinstance(rule, str) else rule for rule in plan.rules]
        found = resolve(rules, trace.times_s, lat_deg=trace.lat_deg, lon_deg=trace.lon_deg)
        default = (preset_named(DEFAULT_PRESET).prior, False)
        kernel, fitted = default if plan.prior is None else prior_for(plan, traces)
        return cls.for_secrets(
            trace.times_s,
            found,
            kernel,
            plan.target,
            fitted=fitted,
            redraws=plan.redraws,
            checked_class=prior_class_named(plan.prior_class),
            together=together,
        )

    @classmethod
    def for_secrets(
        cls,
        times_s: FloatArray,
        secrets: Sequence[Secret],
        prior: Kernel,
        target: Target,
        *,
        fitted: bool = False,
        redraws: int = 1,
        checked_class: PriorClass = DAY,
        together: Together = alone,
    ) -> Self:
        """The least noise found that keeps ``target`` for every secret of a trace with these (all) times."""
        times, back = distinct(times_s)
        if times.size > MOST_TIMES:
            raise InputError(
                f"The trace has {times.size} times; noise for chosen secrets is designed for at most {MOST_TIMES}.",
                "Cut the trace, thin it, or protect every point (leave --secrets out).",
            )
        if any(s.target_loss is not None for s in secrets):
            raise InputError("A release takes odds or epsilon for its secrets, not target losses.", "Use radius_m.")
        indices = tuple(read_only(np.unique(back[s.indices]), np.int64) for s in secrets)
        radii = tuple(float(s.radius_m or target.radius_m) / target.radius_m for s in secrets)
        allowed = None if target.mu is None else (target.mu / target.radius_m) ** 2 / together(1.0) * (1 - 1e-9)
        recipe = cls.recipe(SecretWish(times, prior, indices, radii, allowed, target.noise_m))
        return cls(prior, read_only(times), indices, radii, recipe, fitted, redraws, checked_class)

    @classmethod
    def recipe(cls, wish: SecretWish) -> Recipe:
        """How the noise is found: the least whose weighted losses are allowed."""
        return least_recipe(wish)

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        times = read_only(np.asarray(values["times_ms"], dtype=np.float64) / 1000.0)
        return cls(
            kernel_from_dict(values["prior"]),
            times,
            tuple(from_runs(runs) for runs in values["secrets"]),
            tuple(float(r) for r in values["relative_radii"]),
            Recipe.from_dict(values["design"], times.size),
            bool(values["fitted"]),
            int(values["redraws"]),
            PriorClass.from_dict(values["checked_class"]),
        )

    def parameters(self) -> Plain:
        return {
            **self.describe("redraws", "prior", "fitted"),
            "times_ms": [round(t * 1000) for t in self.times_s.tolist()],
            "secrets": [runs(s) for s in self.secrets],
            "relative_radii": list(self.radii),
            "design": self.design.to_dict(),
            "checked_class": self.checked_class.to_dict(),
        }

    def options(self) -> Plain:
        prior = "fit" if self.fitted else self.prior.to_dict()
        return {"prior": prior, "prior_class": class_name(self.checked_class)}

    def covariance_m2(self) -> FloatArray:
        """Γ at the distinct times, (n, n), rebuilt from the recipe once."""
        if "noise" not in self._built:
            self._built["noise"] = read_only(self.design.covariance_m2(self.times_s, self.prior, self.secrets))
        return self._built["noise"]

    @property
    def noise_m(self) -> float:
        return math.sqrt(float(np.mean(np.diag(self.covariance_m2()))))

    def kernel(self) -> DesignedKernel:
        return DesignedKernel(self.times_s, self.covariance_m2())

    def law(self) -> Plain:
        return {"kernel": "designed", "times": int(self.times_s.size), "rebuilt_from": "parameters"}

    def holds_for(self) -> Kernel:
        return self.prior

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        times, back = distinct(times_s)
        covariance = self.kernel().covariance(times)
        root = np.linalg.cholesky(covariance)  # positive definite: the floor is in it
        return np.asarray((root @ randomness(rng).normals((times.size, 2)))[back])

    def secret_losses(self) -> FloatArray:
        """|S|·λ_max(J_S)·(its radius/the release's)² of every secret: μ² over the squared radius."""
        prior = self.prior.covariance(self.times_s)
        return weighted_losses(prior, self.covariance_m2(), self.secrets, self.radii)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        for times in times_s:
            self.kernel().places(distinct(times)[0])  # refuses other times
        loss = float(np.max(self.secret_losses()))
        return Losses(
            worst_loss=None,
            stay_loss=self.stay_loss(),
            loss_at_times=loss,
            floor_loss=1.0 / self.noise_m**2,
            basis=loss,
            basis_name="loss_at_times",
            warnings=(
                *(() if self.every_point() else (TIMES_ARE_PUBLIC,)),
                _OWN_TIMES,
                _ONE_PRIOR,
                *((FITTED_WARNING,) if self.fitted else ()),
            ),
        )

    def stay_loss(self) -> float:
        """What one unknown place at the protected points gives away, the path going on from it like the prior."""
        if "stay" not in self._built:
            prior = self.prior.covariance(self.times_s)
            found = one_place_loss(prior, self.covariance_m2(), self.secrets, self.radii)
            self._built["stay"] = read_only([found])
        return float(self._built["stay"][0])

    def is_own(self, losses: Losses, target: Target) -> bool:
        return target.noise_m is None or abs(self.noise_m - target.noise_m) <= DESIGN_SLACK * target.noise_m

    def every_point(self) -> bool:
        """Whether no point is left unprotected."""
        return int(np.unique(np.concatenate(self.secrets)).size) == self.times_s.size

    def blocks(self, target: Target, together: Together) -> Blocks:
        return {"secrets": self.block(target.radius_m, together)}

    def block(self, radius_m: float, together: Together = alone) -> SecretsBlock:
        """The certificate's ``secrets`` block, all of it from the mechanism, so that verification writes it again.

        ``own_radii_m`` where a secret's radius is not the release's; ``limits`` says what the same release allows
        adversaries that the promise does not speak about.
        """
        noise, chosen, radii = self.covariance_m2(), self.secrets, self.radii
        over = together(loss_over_class(self.times_s, noise, chosen, radii, self.checked_class))
        stay = max(self.stay_loss(), float(np.max(self.secret_losses())))
        stay_odds, over_odds = odds_at(mu_of(together(stay), radius_m)), odds_at(mu_of(over, radius_m))
        offset = together(whole_path_loss(noise, radii))
        offset_odds = odds_at(mu_of(offset, radius_m))
        return {
            "checked_class": class_name(self.checked_class),
            "loss_over_class": over,
            "odds_99_over_class": over_odds if math.isfinite(over_odds) else None,
            "loss_over_class_grid": grid_words(self.times_s.size),
            "stay_sd_at_least_m": math.sqrt(self.prior.variance_m2),
            "offset_loss": offset,
            "offset_odds_99": offset_odds if math.isfinite(offset_odds) else None,
            "limits": self._limits(stay_odds, offset_odds, over_odds),
            "own_radii_m": [r * radius_m for r in radii] if any(r != 1.0 for r in radii) else None,
            "count": len(chosen),
            "compound": sum(len(s) > 1 for s in chosen),
            "points_protected": int(np.unique(np.concatenate(chosen)).size),
            "points": int(self.times_s.size),
            "labels": labels_of(chosen)[:100],
            "statement": "Every point is protected." if self.every_point() else TIMES_ARE_PUBLIC,
        }

    # Sentences.

    def _limits(self, stay_odds: float, offset_odds: float, over_odds: float) -> str:
        groups = "; for groups of points together without limit" if any(len(s) > 1 for s in self.secrets) else ""
        elsewhere = "" if self.every_point() else " A place where you also were at unprotected points is not hidden."
        return (
            f"This holds for one way of moving only ({kernel_words(self.prior)}) and at these times only. It does not "
            "cover a place you stay at: if all protected points are one unknown place, odds can reach "
            f"{odds_words(stay_odds)} here even if the rest of the path goes on from it in that one way (by at least "
            f"{format_length(math.sqrt(self.prior.variance_m2))}; more if by less), and {odds_words(offset_odds)} if "
            "the whole path moves along with it; if you move in another way, as much as that or "
            f"more.{elsewhere} Under other ways of moving (class "
            f"{class_name(self.checked_class)}) odds at a protected point can reach {odds_words(over_odds)}{groups}."
        )

    def notion(self) -> str:
        return "conditional inferential privacy (one Gaussian prior, chosen secrets)"

    def assumes(self) -> tuple[str, ...]:
        return (
            "the path moves like exactly the kernel under 'prior', or all of it (nugget included) times one factor "
            "above 1, which only lowers the loss; any other kernel, length scale or share of the nugget is outside",
            INDEPENDENT_AXES,
            "the adversary may know the mean path exactly",
        )

    def covers(self, stated: Stated) -> tuple[str, ...]:
        basic = sum(len(s) == 1 for s in self.secrets)
        own = ("each secret at its own radius, secrets.own_radii_m",) if any(r != 1.0 for r in self.radii) else ()
        return (
            f"{basic} moment(s) each on its own and {len(self.secrets) - basic} group(s) of moments together, "
            "listed under 'secrets'",
            *own,
            "this release at its own times only",
        )

    def not_covered(self, stated: Stated) -> tuple[str, ...]:
        unlisted = ("Every moment that is not listed under 'secrets'.", TIMES_ARE_PUBLIC)
        return (
            "Every way of moving other than the one kernel under 'prior'; secrets.loss_over_class says how much "
            "more the members of a class can give away.",
            "An unknown place stayed at during the protected moments: stay_loss (stay_odds_99) is what it can give "
            "away while the rest of the path goes on from it in that one way, by at least secrets.stay_sd_at_least_m; "
            "another way of moving can give away more, and secrets.offset_loss is for a whole path that moves along.",
            *(() if self.every_point() else unlisted),
            *NOT_COVERED,
            STAYS_NOT_COVERED,
        )

    def headline(self, stated: Stated) -> str:
        if protects_nothing(stated.numbers.odds_99):
            return no_protection(stated, self.noise_m)
        radius, odds = format_length(stated.numbers.radius_m), odds_words(stated.numbers.odds_99)
        said = stated.blocks["secrets"]
        every = self.every_point()
        where = "every point" if every else f"the {said['points_protected']} protected of {said['points']} points"
        stay = reached_words(said.get("offset_odds_99"), stated.numbers.stay_odds_99)
        over, others = reached_words(said["odds_99_over_class"]), "" if every else ", for the other points"
        return (
            f"At {where}, someone who believes that you move in the one way assumed cannot tell apart two places at "
            f"most {radius} apart with odds better than {odds}, 99 times in 100. Nothing is promised for a place you "
            f"stay at (odds can reach {stay}), for another way of moving ({over} or more){others} or for more times."
        )

    def figures(self, stated: Stated) -> list[str]:
        return [*GaussianNoise.figures(self, stated), str(stated.blocks["secrets"]["limits"])]

    def explanations(self, stated: Stated) -> list[str]:
        return [*GaussianNoise.explanations(self, stated), str(stated.blocks["secrets"]["limits"])]

    def moved_words(self) -> str:
        statement = "Every point is protected." if self.every_point() else TIMES_ARE_PUBLIC
        return (
            f"Positions were moved at random, most around the protected points, by {format_length(self.noise_m)} per "
            f"coordinate on average. {statement}"
        )

    def stay_words(self, stated: Stated) -> list[str]:
        return []  # nothing is promised: the headline and the card say what this release allows

    def stay_meaning(self) -> str:
        return "not promised: what this release allows if all protected points are one unknown place"

    def spread_words(self) -> str:
        return "root mean square"
