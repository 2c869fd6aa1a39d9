"""The default mechanism: multiscale noise of a stated size, fresh for one release or continuing under a key."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.accountant.compose import Losses, Together
from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.odds import mu_of, odds_at, odds_words, renyi_epsilon
from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.losses.exact_losses import largest_loss
from sfumato.tracks.noise.gaussian_noise import (
    INDEPENDENT_AXES,
    KNOWN_MEAN,
    NOT_COVERED,
    STAYS_NOT_COVERED,
    TURN_TOGETHER,
    SizedNoise,
    affordable,
    apart,
    calibrated_noise_m,
)
from sfumato.tracks.noise.interface import (
    Blocks,
    Card,
    ContinuingNoise,
    LadderTerms,
    MechanismTerms,
    Plain,
    Stated,
)
from sfumato.tracks.noise.multiscale.ladder import Ladder, balance_shares, sample_path, shipped_ladder
from sfumato.tracks.noise.multiscale.universal_bound import UniversalBound, restart_multiplier, universal_bound
from sfumato.tracks.plan import LEVELS, MOST_REDRAWS, ODDS_DELTA, Plan, Target
from sfumato.tracks.priors.classes import PriorClass, class_name, class_words, prior_class_named
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern32, Sum, White

BOUND_TOLERANCE = 1e-6  # of the factorisation behind an exact loss; anything above it is a broken bound
GAP_LONGEST_SCALES = 5.0
_PLACEHOLDER_KEY = bytes(32)  # only says "continuing"; nothing is ever drawn from it


@dataclass(frozen=True, slots=True, eq=False)
class MultiscaleNoise(SizedNoise, ContinuingNoise):
    """``noise_m`` times the unit process of ``ladder``, certified over ``prior_class``.

    ``redraws`` = k says that this is one of k releases with independently drawn noise, whose losses add up; a
    ``key`` makes the noise continue instead, and then k is 1 for ever.
    """

    ladder: Ladder
    size_m: float
    prior_class: PriorClass
    redraws: int = 1
    key: bytes | None = field(default=None, repr=False)  # undoes the noise: never in a log or a notebook
    turning: bool = False  # whether people whose coordinates turn together are inside the promise

    name: ClassVar[str] = "multiscale"
    summary: ClassVar[str] = "one public process on many time scales, promised over a class of priors at any times"
    takes: ClassVar[frozenset[str]] = frozenset(
        {"prior_class", "white_share", "constant_share", "redraws", "state", "turning"}
    )

    def __post_init__(self) -> None:
        positive(self.size_m, "The noise in metres")
        if int(self.redraws) != self.redraws or not 1 <= self.redraws <= MOST_REDRAWS:
            raise InputError(f"redraws is {self.redraws}.", "It must be a whole number from 1.")
        if self.key is not None and self.redraws != 1:
            raise InputError("Continuing noise is never redrawn.", "Leave out the number of redraws.")

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        ladder = shipped_ladder(plan.prior_class, white_share=plan.white_share, constant_share=plan.constant_share)
        if (
            plan.turning and plan.constant_share is None
        ):  # a place stayed at does not turn: the shares are balanced anew
            path = universal_bound(ladder, prior_class_named(plan.prior_class), turning=True).path_loss
            ladder = balance_shares(ladder, path * ladder.moving_share)
        return cls._calibrated(ladder, plan, together)

    @classmethod
    def resume(cls, plan: Plan, process: LadderTerms) -> Self:
        ladder = Ladder.from_dict(process)
        if plan.white_share not in (None, ladder.white_share) or plan.constant_share not in (
            None,
            ladder.constant_share,
        ):
            raise InputError("The state's noise has other shares.", "Leave the shares out, or use a new state.")
        return cls._calibrated(ladder, plan, lambda loss: loss)

    @classmethod
    def _calibrated(cls, ladder: Ladder, plan: Plan, together: Together) -> Self:
        unit = cls(ladder, 1.0, prior_class_named(plan.prior_class), plan.redraws, turning=plan.turning)
        return unit.with_size(calibrated_noise_m(plan.target, unit.bound().worst_loss, together))

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        return cls(
            Ladder.from_dict(values["ladder"]),
            float(values["noise_m"]),
            PriorClass.from_dict(values["prior_class"]),
            int(values["redraws"]),
            _PLACEHOLDER_KEY if values["continuing"] else None,
            bool(values.get("turning", False)),
        )

    def parameters(self) -> Plain:
        names = ("ladder", "prior_class", "redraws", "continuing")
        return self.describe(*names, *(("turning",) if self.turning else ()))

    def options(self) -> Plain:
        shares = {"white_share": self.ladder.white_share, "constant_share": self.ladder.constant_share}
        return {"prior_class": class_name(self.prior_class), **shares, **({"turning": True} if self.turning else {})}

    def process(self) -> LadderTerms:
        return self.ladder.to_dict()

    def with_key(self, key: bytes) -> Self:
        return replace(self, key=key)

    @property
    def continuing(self) -> bool:
        return self.key is not None

    def bound(self) -> UniversalBound:
        """The universal bound × o of the very ladder that is drawn."""
        return universal_bound(self.ladder, self.prior_class, turning=self.turning)

    def holds_over(self) -> PriorClass:
        return self.prior_class

    def kernel(self) -> Kernel:
        parts: list[Kernel] = [
            Matern32(float(scale), self.size_m * float(np.sqrt(variance)))
            for scale, variance in zip(self.ladder.length_scales_s, self.ladder.variances, strict=True)
        ]
        if self.ladder.white_share:
            parts.append(White(self.size_m * float(np.sqrt(self.ladder.white_share))))
        if self.ladder.constant_share:
            parts.append(Constant(self.size_m * float(np.sqrt(self.ladder.constant_share))))
        return Sum(tuple(parts))

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        if self.key is not None:  # imported where it runs: the cipher costs time that checking need not pay
            from sfumato.tracks.noise.multiscale.continuing import continuing_path

            return self.size_m * continuing_path(self.ladder, times_s, self.key)
        return self.size_m * sample_path(self.ladder, times_s, rng)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        variance, bound = self.size_m**2, self.bound()
        worst = bound.worst_loss / variance
        kernel = self.kernel()
        found = [largest_loss(times, kernel, self.prior_class) or 0.0 for times in times_s if affordable(times_s)]
        exact = max(found, default=0.0)
        if exact > worst * (1 + BOUND_TOLERANCE):
            raise NotCertified(
                f"The exact loss at the release's times is {exact / worst:.6g} times the universal bound.",
                "The bound is broken, so nothing is released; please report this.",
            )
        warnings = []
        if self.redraws > 1:
            warnings.append(f"One of {self.redraws} releases with redrawn noise: the losses add up to those stated.")
        return Losses(
            worst_loss=worst,
            stay_loss=None if bound.stay_loss is None else bound.stay_loss / variance,
            loss_at_times=min(exact, worst) if exact else None,
            floor_loss=1.0 / variance,
            basis=worst,
            basis_name="worst_loss",
            warnings=tuple(warnings),
        )

    def blocks(self, target: Target, together: Together) -> Blocks:
        return {"bound": self.bound().to_dict()}

    def turning_factor(self) -> float:
        return universal_bound(self.ladder, self.prior_class, turning=True).worst_loss / self.bound().worst_loss

    # Sentences.

    def assumes(self) -> tuple[str, ...]:
        return (class_words(self.prior_class), TURN_TOGETHER if self.turning else INDEPENDENT_AXES, KNOWN_MEAN)

    @property
    def balanced(self) -> bool:
        """Whether one number holds for moments and for one unknown place: the share lemma, no condition left."""
        stay = self.bound().stay_loss
        return stay is not None and stay <= self.bound().worst_loss

    def covers(self, stated: Stated) -> tuple[str, ...]:
        """Where the shares are not balanced, the offset's condition stands beside the promise it limits."""
        bound = self.bound()
        first, more = f"where you were at any one moment, released or not: {apart(stated)}", []
        if self.balanced:
            return (
                first,
                "an unknown offset of the whole path, and one unknown place that is stayed at for any time: the same "
                f"loss, {self._nights()}",
                "any timestamps, sampling rate and duration",
            )
        if bound.free_offset_sd is not None and stated.losses.stay_loss is not None:
            first += "; with an unknown offset under the condition of the next line"
            share = bound.free_offset_share
            more = [
                "an unknown constant offset of the whole path: inside worst_loss while the path's own sd is at least "
                f"{format_length(bound.free_offset_sd * self.noise_m)}"
                + (f" or the offset's at most {share:.3g} times it" if share and math.isfinite(share) else "")
                + ", and never beyond stay_loss",
                f"one unknown place that is stayed at for any time: at most stay_loss (stay_odds_99), {self._nights()}",
            ]
        return (first, *more, "any timestamps, sampling rate and duration")

    def _nights(self) -> str:
        if self.continuing:
            return self.reach()
        if self.redraws > 1:
            return f"in {self.redraws} releases together; nights in further releases add up"
        return "in this release; nights in further releases add up"

    def not_covered(self, stated: Stated) -> tuple[str, ...]:
        return NOT_COVERED if stated.losses.stay_loss is not None else (*NOT_COVERED, STAYS_NOT_COVERED)

    def reach(self) -> str:
        return "over all releases made with the same noise state" if self.continuing else "in this release"

    def releases(self) -> Plain:
        if self.continuing:
            return {
                "mode": "continuing",
                "meaning": "The noise is one process per person: any number of releases made with the same state, in "
                "any order, together keep the losses stated. A routine repeated over days, and a regular place "
                "when another one is known, are not covered and cost more with every day (sfumato cost).",
            }
        longest = self.ladder.longest_s
        gap = GAP_LONGEST_SCALES * longest
        return {
            **SizedNoise.releases(self),
            "gap_s": gap,
            "gap_rule": f"Releases that lie at least {GAP_LONGEST_SCALES:g} longest length scales apart count as one "
            "for the worst_loss of a path around a known mean, up to a factor of "
            f"{restart_multiplier(gap, longest):.4f}. With an unknown offset, and for stay_loss, they never do: every "
            "redraw is counted (use --state).",
        }

    def limit(self, stated: Stated) -> str:
        first = SizedNoise.limit(self, stated)
        if self.balanced:
            first = f"The same goes for one unknown place you stay at, {self.reach()}"
        return f"{first}; a routine, or a regular place when another one is known, gives more away with every day"

    def cards(self, stated: Stated) -> list[Card]:
        rows = SizedNoise.cards(self, stated)
        if not self.balanced or not rows:
            return rows
        one = rows[0]
        meaning = f"99 in 100, between two places at most {format_length(stated.numbers.radius_m)} apart"
        label = one.label.replace(self.card_moment(), f"{self.card_moment()}, or for one unknown place")
        return [Card(label, one.number, f"{meaning}, {self.reach()}")]

    def stay_words(self, stated: Stated) -> list[str]:
        along = (
            "The noise moves along with the path on many time scales at once, so averaging neighbouring points or "
            "recording more often takes away no more of it than these odds allow."
        )
        return [along, *SizedNoise.stay_words(self, stated)]

    def advice(self, stated: Stated, *, simulation: bool) -> list[str]:
        if self.continuing:
            return []
        again = "Noise drawn for this release alone; share again with --state so that losses do not add up."
        return [*self._less_noise(stated), *([] if simulation else [again])]

    def _less_noise(self, stated: Stated) -> list[str]:
        """How to be moved less, with the numbers, where the noise was chosen by odds or epsilon."""
        if stated.target.noise_m is not None or stated.losses.worst_loss is None:
            return []
        low = Target(radius_m=stated.target.radius_m, odds=LEVELS["low"])
        needed_m = calibrated_noise_m(low, stated.losses.worst_loss * self.noise_m**2)
        half = f"half the radius needs {format_length(self.noise_m / 2)}"
        if needed_m >= self.noise_m:
            return [f"For less noise: {half}, at the same odds."]
        return [
            f"For less noise: --level low (odds of {LEVELS['low']:g} : 1) needs {format_length(needed_m)}; {half}, at "
            "the same odds."
        ]

    def gives_words(self, noise_m: float, target: Target) -> str:
        mu = mu_of(self.bound().worst_loss / noise_m**2, target.radius_m)
        if target.odds is not None:
            odds = odds_words(odds_at(mu, ODDS_DELTA))
            return f" (which gives odds of {odds} at {target.radius_m:g} m, not {target.odds:g})"
        if target.epsilon is not None:
            return f" (which gives epsilon {renyi_epsilon(mu, target.order):.3g}, not {target.epsilon:g})"
        return ""
