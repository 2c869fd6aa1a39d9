"""Noise, then something that looks at nothing but what the noise made: promised by what it post-processes.

Whatever is computed from a release alone tells no more than the release. So Rényi divergences, μ, δ and losses of the
inner mechanism hold as they are, and verification, audit and report ask the inner one. One number does not survive:
odds that are exceeded once in a hundred times may be exceeded more often after many points became one, so what is
promised of odds is ``odds_after_coarsening`` [δ/Φ(−μ−Φ⁻¹(1−δ))], and the noise is sized for it.

Before a release is written, the noise is held to the inner law, before it is processed
(:func:`~sfumato.tracks.noise.registry.check_drawn`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from sfumato.accountant.compose import Guarantee, Losses, Together
from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import least_that_holds, odds_after_coarsening, odds_words
from sfumato.base.randomness import Random
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.noise.gaussian_noise import NOISE_STEP_M, rounded_up
from sfumato.tracks.noise.interface import Blocks, Card, MechanismTerms, Numbers, Plain, Stated, TraceMechanism
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.noise.plausibility import Roughness
from sfumato.tracks.plan import ODDS_DELTA, Plan, Target
from sfumato.tracks.priors.classes import PriorClass
from sfumato.tracks.priors.kernels import Kernel


class PostProcessed(TraceMechanism):
    """A mechanism whose ``inner`` one draws and promises; :meth:`post_process` says what is done afterwards."""

    __slots__ = ()
    inner: TraceMechanism

    @abstractmethod
    def post_process(self, lat_deg: FloatArray, lon_deg: FloatArray) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def words(self) -> str:
        """What was done after the noise, in one sentence."""

    @property
    def noise_m(self) -> float | None:
        return self.inner.noise_m

    def release(self, trace: Trace, rng: Random = None) -> tuple[FloatArray, FloatArray]:
        return self.inner.release(trace, rng)

    def kernel(self) -> Kernel | None:
        return self.inner.kernel()

    def law(self) -> Plain | None:
        return self.inner.law()

    def scores(self, times_s: FloatArray, noise_m: FloatArray) -> FloatArray | None:
        return self.inner.scores(times_s, noise_m)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        return self.inner.losses(times_s)

    def numbers(self, losses: Losses, target: Target) -> Numbers:
        """The inner ones, with odds as they are after many points became one."""
        inner = self.inner.numbers(losses, target)
        stay = None
        if losses.stay_loss is not None and losses.basis is not None:
            at = self.inner.numbers(replace(losses, basis=max(losses.stay_loss, losses.basis)), target)
            stay = at.odds_99_after_coarsening
        odds = inner.odds_99_after_coarsening
        return replace(inner, odds_99=odds, odds_99_either_way=odds, stay_odds_99=stay)

    def meets(self, losses: Losses, target: Target) -> bool:
        odds = self.numbers(losses, target).odds_99
        return self.inner.meets(losses, target) and (target.odds is None or (odds is not None and odds <= target.odds))

    def is_own(self, losses: Losses, target: Target) -> bool:
        if target.odds is None or losses.basis is None or self.noise_m is None:
            return self.inner.is_own(losses, target)
        less = 1.0 - 2.0 * NOISE_STEP_M / self.noise_m  # with two steps less noise it would not be kept
        return less <= 0 or _odds(losses.basis / less**2, target.radius_m) > target.odds

    def holds_over(self) -> PriorClass | None:
        return self.inner.holds_over()

    def holds_for(self) -> Kernel | None:
        return self.inner.holds_for()

    def grid_words(self, points: int) -> str | None:
        return self.inner.grid_words(points)

    def turning_factor(self) -> float | None:
        return self.inner.turning_factor()

    def blocks(self, target: Target, together: Together) -> Blocks:
        return self.inner.blocks(target, together)

    def guarantee(self, stated: Stated, *, snap_m: float, simulation: bool) -> Guarantee:
        inner = self.inner.guarantee(stated, snap_m=snap_m, simulation=simulation)
        return replace(inner, covers=(*inner.covers, self.words()))

    def releases(self) -> Plain:
        return self.inner.releases()

    def headline(self, stated: Stated) -> str:
        return f"{self.inner.headline(stated)} {self.words()}"

    def explanations(self, stated: Stated) -> list[str]:
        return [*self.inner.explanations(stated), self.words()]

    def cards(self, stated: Stated) -> list[Card]:
        return self.inner.cards(stated)

    def figures(self, stated: Stated) -> list[str]:
        odds = odds_words(stated.numbers.odds_99)
        said = [] if odds is None else [f"Odds of {odds} are those after rounding (odds_99_after_coarsening)."]
        return [*self.inner.figures(stated), *said]

    def epsilon_words(self, order: float) -> str:
        return self.inner.epsilon_words(order)


@dataclass(frozen=True, slots=True, eq=False)
class RoundedNoise(PostProcessed):
    """Multiscale noise, then every position moved to the nearest node of a public grid of ``round_to_m`` metres."""

    inner: MultiscaleNoise
    round_to_m: float

    name: ClassVar[str] = "rounded"
    summary: ClassVar[str] = "multiscale noise, then rounding to a public grid (--round-to), promised by the noise"
    takes: ClassVar[frozenset[str]] = MultiscaleNoise.takes - {"state"} | {"round_to_m"}
    needs: ClassVar[frozenset[str]] = frozenset({"round_to_m"})

    def __post_init__(self) -> None:
        positive(self.round_to_m, "The grid to round to, in metres")

    @property
    def redraws(self) -> int:  # type: ignore[override]  # the inner one's
        return self.inner.redraws

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        """The least noise, in whole centimetres, whose odds after rounding keep the wish."""
        if plan.round_to_m is None:
            raise InputError("Nothing says which grid to round to.", "Give --round-to, for instance 100m.")
        plain = replace(plan, mechanism=MultiscaleNoise.name, round_to_m=None)
        inner = MultiscaleNoise.from_plan(plain, traces, together)
        if plan.odds is None:
            return cls(inner, float(plan.round_to_m))
        loss, odds, high = together(inner.bound().worst_loss), plan.odds, inner.size_m
        while _odds(loss / high**2, plan.radius_m) > odds:
            high *= 2.0
        least = least_that_holds(lambda size: _odds(loss / size**2, plan.radius_m) <= odds, inner.size_m / 2, high)
        return cls(replace(inner, size_m=rounded_up(least)), float(plan.round_to_m))

    @classmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        inner = MultiscaleNoise.from_dict(values["inner"])
        if values["redraws"] != inner.redraws:
            raise InputError("The redraws of the noise and of what is made of it differ.", "They are one release.")
        return cls(inner, float(values["round_to_m"]))

    def parameters(self) -> Plain:
        return {
            "name": self.name,
            "noise_m": self.inner.noise_m,
            "redraws": self.redraws,
            "round_to_m": self.round_to_m,
            "inner": self.inner.parameters(),
        }

    def options(self) -> Plain:
        return {**self.inner.options(), "round_to_m": self.round_to_m}

    def post_process(self, lat_deg: FloatArray, lon_deg: FloatArray) -> tuple[FloatArray, FloatArray]:
        return snap(lat_deg, lon_deg, self.round_to_m)

    def roughness(self, times_s: FloatArray, snap_m: float, *, shown: bool = True) -> Roughness | None:
        return self.inner.roughness(times_s, max(snap_m, self.round_to_m), shown=shown)

    def words(self) -> str:
        return (
            f"After the noise, positions were rounded to a public grid of {format_length(self.round_to_m)}, which "
            "looks at nothing but the noisy ones: the promise is that of the noise, with odds as after rounding."
        )


def _odds(loss_per_m2: float, radius_m: float) -> float:
    return odds_after_coarsening(radius_m * loss_per_m2**0.5, ODDS_DELTA)
