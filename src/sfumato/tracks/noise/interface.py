"""What a mechanism for traces is: one class that makes a release, states its law, prices it, and says what that means.

A mechanism is a value. It is calibrated from a :class:`~sfumato.tracks.plan.Plan`, written to a plain dict and rebuilt
from it, and found by name in :mod:`~sfumato.tracks.noise.registry`. The certificate, verification, the audit, the
report and the command line ask the object and know no mechanism by name; what it does not answer, nobody guesses: every
question without an honest default is abstract, so an incomplete mechanism cannot even be made.

``losses`` are those of one release alone. How releases add up is the accountant's business
(:func:`sfumato.accountant.compose.together`), and every number and sentence is given the sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Required, Self, TypedDict

import numpy as np

from sfumato.accountant.compose import Guarantee, Losses, Together
from sfumato.base.arrays import FloatArray, whitening
from sfumato.base.numbers.odds import odds_words
from sfumato.base.randomness import Random
from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.plausibility import GaussianRoughness, Roughness
from sfumato.tracks.plan import Plan, Target
from sfumato.tracks.priors.classes import ClassTerms, PriorClass
from sfumato.tracks.priors.kernels import Kernel, KernelTerms

Json = dict[str, Any]  # read from a file and not yet checked
Plain = dict[str, object]  # to be written as JSON
NO_TURNING = (
    "Of somebody who tends to turn one way round, whose east and north depend on each other, no bound is known here."
)
KEY_BYTES = 32  # of the key that lets noise continue


class LadderTerms(TypedDict):
    """A ladder of length scales as JSON (:class:`sfumato.tracks.noise.multiscale.ladder.Ladder`)."""

    length_scales_s: list[float]
    weights: list[float]
    white_share: float
    constant_share: float


class DesignTerms(TypedDict, total=False):
    """How noise for chosen times is rebuilt, as JSON (:class:`sfumato.tracks.noise.secret_recipes.Recipe`)."""

    kind: str
    gap: float | None
    rank: int
    factor_base64: str
    size_m: float
    white_share: float
    width_s: float | None


class MechanismTerms(TypedDict, total=False):
    """What rebuilds a mechanism, as JSON: ``name``, ``noise_m`` and ``redraws`` of all, the rest of some."""

    name: Required[str]
    noise_m: Required[float]
    redraws: Required[int]
    continuing: bool
    turning: bool
    ladder: LadderTerms
    prior_class: ClassTerms
    prior: KernelTerms
    white_share: float
    fitted: bool
    epsilon_per_m: float
    inner: MechanismTerms
    round_to_m: float
    times_ms: list[int]
    secrets: list[list[list[int]]]
    relative_radii: list[float]
    design: DesignTerms
    checked_class: ClassTerms


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The promise in numbers, at a radius and a Rényi order; None where the mechanism promises no such number."""

    radius_m: float
    order: float
    epsilon: float | None = None
    mu: float | None = None
    odds_99: float | None = None
    odds_99_either_way: float | None = None
    odds_99_after_coarsening: float | None = None
    odds_per_point: float | None = None
    delta_at_epsilon: float | None = None
    stay_odds_99: float | None = None
    geo_indistinguishability_per_m: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """The certificate's fields; the last one only where it is stated."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.geo_indistinguishability_per_m is None:
            del out["geo_indistinguishability_per_m"]
        return out

    @classmethod
    def from_dict(cls, values: Mapping[str, float | None]) -> Numbers:
        """The numbers among a certificate's fields."""
        promised = {field.name: values.get(field.name) for field in fields(cls)}
        missing = set(promised) - set(values) - {"geo_indistinguishability_per_m"}
        if missing:
            raise KeyError(min(missing))
        return cls(**{name: None if value is None else float(value) for name, value in promised.items()})  # type: ignore[arg-type]


class Blocks(TypedDict, total=False):
    """Parts of a certificate that only some mechanisms have: of chosen secrets, of a universal bound."""

    secrets: SecretsBlock
    bound: Plain


class SecretsBlock(TypedDict):
    """What is said of noise for chosen secrets."""

    count: int
    compound: int
    points: int
    points_protected: int
    labels: list[str]
    statement: str
    own_radii_m: list[float] | None
    checked_class: str
    loss_over_class: float
    odds_99_over_class: float | None
    loss_over_class_grid: str
    stay_sd_at_least_m: float
    offset_loss: float
    offset_odds_99: float | None
    limits: str


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What a certificate states of one mechanism: the wish, the losses of all announced releases, and the numbers."""

    target: Target
    losses: Losses
    numbers: Numbers
    blocks: Blocks


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """A big number of the report: its label, itself, and one line of meaning."""

    label: str
    number: str
    meaning: str


class TraceMechanism(ABC):
    """One way of making a trace that can be shared.

    ``summary`` is its line in help and docs. ``takes`` names the options of a plan that mean something to it (of
    ``prior_class``, ``prior``, ``white_share``, ``constant_share``, ``redraws``, ``round_to_m``, ``secrets``,
    ``state`` and ``turning``), ``needs`` those it cannot do without. ``redraws`` says of how many releases with redrawn
    noise this is one.
    """

    __slots__ = ()
    name: ClassVar[str]
    summary: ClassVar[str]
    takes: ClassVar[frozenset[str]]
    needs: ClassVar[frozenset[str]] = frozenset()
    draws: ClassVar[bool] = True  # whether it uses randomness at all
    gaussian: ClassVar[bool] = True  # where not, the audit's attack is only the best linear one
    redraws: int

    # Made, written and read.

    @classmethod
    @abstractmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        """The mechanism that keeps the plan's wish for these people; ``together`` is the accountant's rule."""

    @classmethod
    @abstractmethod
    def from_dict(cls, values: MechanismTerms) -> Self:
        """What :meth:`parameters` described, without any key: good for recomputing, not for releasing."""

    @abstractmethod
    def parameters(self) -> Plain:
        """Plain JSON with ``name``, ``noise_m`` and ``redraws`` and all else that rebuilds it."""

    def options(self) -> Plain:
        """The plan's options that it resolved to, beside ``redraws``: what the certificate quotes of the plan."""
        return {}

    # Its function and its law.

    @abstractmethod
    def release(self, trace: Trace, rng: Random = None) -> tuple[FloatArray, FloatArray]:
        """New latitudes and longitudes for a trace, before they are snapped to the public grid."""

    @property
    @abstractmethod
    def noise_m(self) -> float | None:
        """The standard deviation of its noise per coordinate; None where it adds none."""

    @abstractmethod
    def kernel(self) -> Kernel | None:
        """The covariance of its noise per coordinate, in m², as it is drawn; None where it promises none."""

    def post_process(self, lat_deg: FloatArray, lon_deg: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is made of :meth:`release` without a look at anything else; the same, unless a mechanism says so."""
        return lat_deg, lon_deg

    def scores(self, times_s: FloatArray, noise_m: FloatArray) -> FloatArray | None:
        """(m, 2) independent standard normals if (n, 2) noise at n distinct times has the stated law; None: unknown.

        Every release is held to them before it is written (:func:`sfumato.tracks.noise.registry.check_drawn`).
        Gaussian noise z of covariance Γ has W z with WΓWᵀ = I; noise of another law must say its own.
        """
        kernel = self.kernel() if self.gaussian else None
        if kernel is None:
            return None
        whitened = whitening(kernel.covariance(times_s))  # rounding is all that is seen where there is no noise
        return np.zeros((0, 2)) if whitened is None else np.asarray(whitened @ noise_m)

    def law(self) -> Plain | None:
        """The noise as the certificate describes it; None where none is promised."""
        kernel = self.kernel()
        return None if kernel is None else kernel.to_dict()

    # What it gives away, and whether that was asked for.

    @abstractmethod
    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        """What one release of these people's times (one array each) gives away about any one of them."""

    @abstractmethod
    def numbers(self, losses: Losses, target: Target) -> Numbers:
        """μ, ε, δ and odds, from the losses of all announced releases."""

    @abstractmethod
    def meets(self, losses: Losses, target: Target) -> bool:
        """Whether the wish is kept."""

    @abstractmethod
    def is_own(self, losses: Losses, target: Target) -> bool:
        """Whether this is the mechanism that this wish, and not a weaker one, leads to."""

    def holds_over(self) -> PriorClass | None:
        """The class of priors the promise holds over; None where it holds over none."""
        return None

    def holds_for(self) -> Kernel | None:
        """The one prior the promise holds for; None where there is none."""
        return None

    @property
    def continuing(self) -> bool:
        """Whether the noise goes on from release to release."""
        return False

    def grid_words(self, points: int) -> str | None:
        """Which members of the class ``loss_at_times`` was maximised over, for so many distinct times."""
        return None

    def roughness(self, times_s: FloatArray, snap_m: float, *, shown: bool = True) -> Roughness | None:
        """The test whether positions at these sorted times could hold its noise; None where there is none.

        ``shown`` says that times are as recorded, and distinct; where not, they are a guess at what was recorded.
        """
        kernel = self.kernel() if self.gaussian else None
        return None if kernel is None else GaussianRoughness(kernel, times_s, snap_m, shown)

    def turning_factor(self) -> float | None:
        """What people who tend to turn one way round can multiply the loss by; None where no bound is known."""
        return None

    def if_turning(self, stated: Stated) -> Plain | None:
        """The certificate's block about coordinates that turn together; None where no bound is known."""
        factor, basis = self.turning_factor(), stated.losses.basis
        if factor is None or basis is None:
            return None
        odds = self.numbers(replace(stated.losses, basis=factor * basis), stated.target).odds_99
        said = f"Somebody who tends to turn one way round loses at most {factor:.3g} times as much"
        if factor == 1.0:
            said = "Somebody who tends to turn one way round is inside the promise"
        meaning = f"{said}: odds of at most {odds_words(odds)}. Laps are a routine: sfumato cost --laps."
        return {"promised": factor == 1.0, "loss": factor * basis, "odds_99": odds, "meaning": meaning}

    def blocks(self, target: Target, together: Together) -> Blocks:
        """Further parts of the certificate, recomputed by verification."""
        return {}

    # What that means, in words.

    @abstractmethod
    def guarantee(self, stated: Stated, *, snap_m: float, simulation: bool) -> Guarantee:
        """The promise with its assumptions, what it covers, and what it does not."""

    def releases(self) -> Plain:
        """Whether the noise continues (``mode``), and what further releases cost; here for noise that is redrawn."""
        held = f", as one of {self.redraws}; the losses stated hold for all {self.redraws} together"
        return {
            "mode": "redrawn",
            "redraws": self.redraws,
            "loss_multiplier": self.redraws,
            "meaning": f"This release's noise was drawn for it alone{held if self.redraws > 1 else ''}. Every further "
            "release of the same person adds as much again.",
        }

    @abstractmethod
    def headline(self, stated: Stated) -> str:
        """The promise in one sentence for people, its limit included."""

    @abstractmethod
    def explanations(self, stated: Stated) -> list[str]:
        """What the sentence means and where it stops, in a few more."""

    def cards(self, stated: Stated) -> list[Card]:
        """The report's big numbers about the promise; none unless the mechanism words them."""
        return []

    def figures(self, stated: Stated) -> list[str]:
        """Lines for the terminal: the numbers of the promise."""
        return []

    def advice(self, stated: Stated, *, simulation: bool) -> list[str]:
        """Lines for the terminal: what to do for less noise or for the next release."""
        return []

    def epsilon_words(self, order: float) -> str:
        """Which ε the certificate states."""
        return "ε"

    def spread_words(self) -> str:
        """What plus or minus one standard deviation of the noise is called."""
        return "root mean square"


class AdditiveNoise(TraceMechanism):
    """Noise that is added to both coordinates and looks at the times only."""

    __slots__ = ()

    @abstractmethod
    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        """(n, 2) east and north metres at any times in any order; equal times get equal noise."""

    def release(self, trace: Trace, rng: Random = None) -> tuple[FloatArray, FloatArray]:
        return displace(trace.lat_deg, trace.lon_deg, self.draw(trace.times_s, rng))


class ContinuingNoise(TraceMechanism):
    """Noise that can go on from release to release under a person's key (``state`` is among what it takes).

    :mod:`sfumato.tracks.certificates.state` keeps the key with ``process()``: one process is never used in two ways.
    """

    __slots__ = ()

    @classmethod
    @abstractmethod
    def resume(cls, plan: Plan, process: LadderTerms) -> Self:
        """The mechanism that goes on as it began, whatever is shipped now; ``process`` is what the state kept."""

    @abstractmethod
    def process(self) -> LadderTerms:
        """What a state must keep beside the key and the size."""

    @abstractmethod
    def with_key(self, key: bytes) -> Self:
        """The same mechanism under a key."""

    @abstractmethod
    def gives_words(self, noise_m: float, target: Target) -> str:
        """What noise of another size than the wish needs would give, in words for advice."""
