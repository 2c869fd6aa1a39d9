"""What all Gaussian noise on a trace shares: size from a wish, μ, ε, δ and odds from a loss, sentences from those.

For Gaussian noise of variance o per coordinate the loss is L/o with L free of o, so the wish fixes μ and
o = L r²/μ². Noise is rounded *up* to a centimetre, and the promise is recomputed from the rounded value. What several
releases give away together is not decided here: ``together``, the accountant's rule, says it.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from sfumato.accountant.compose import Guarantee, Losses, Together, snapped_numerics
from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.odds import (
    delta_at,
    mu_of,
    odds_after_coarsening,
    odds_at,
    odds_words,
    protects_nothing,
    renyi_epsilon,
)
from sfumato.base.units import format_length
from sfumato.tracks.losses.exact_losses import MARKOV_POINTS, stated_grid
from sfumato.tracks.noise.interface import NO_TURNING, AdditiveNoise, Card, Numbers, Plain, Stated
from sfumato.tracks.plan import MOST_NOISE_M, ODDS_DELTA, Target
from sfumato.tracks.priors.kernels import Kernel

NOISE_STEP_M = 0.01
LAGGED_AXES = (
    "Coordinates that depend on each other with a lag (zigzags, streets in a grid, laps): what is north now was east "
    "before, and both are looks at the same thing. Over the class there is no limit (`sfumato cost --laps` computes "
    "laps); for people who tend to turn one way round there is one: if_turning."
)
NOT_COVERED = (
    "A routine: the same way, or the same hours at the same places, repeated over days. Every repetition is another "
    "look at the same thing, and the noise of many days averages out; `sfumato cost` computes what it costs.",
    "A regular place (home, work, a school) whenever another regular place of yours is known: the noise learnt at the "
    "one gives the other away, more with every day; `sfumato cost` computes how much. Withhold regular places "
    "(`sfumato hide`).",
    "People who travel together: k companions on one way, each with noise of their own, are k looks at one way.",
    "The odds and delta average over traces that move like the prior class says; one fixed or atypical trace may fare "
    "worse, so may you against somebody who believes that you move otherwise than you do, and somebody who stops and "
    "goes is not Gaussian.",
    "A moment or a pair of places picked after seeing the release: 99 times in 100 is for one picked beforehand, and "
    "for odds in favour of where you were. In favour of either place the limit is odds_99_either_way.",
    "An adversary with a menu of known routes, roads or places (a mixture of means) can learn more; so can whoever "
    "learns the roads from other people's releases, which shows the constant part of a long release's noise.",
    "An adversary who knows where you truly were at some moment: from there they know the noise, and the moments "
    "around it.",
    LAGGED_AXES,
    "Questions about several moments together (direction, speed, the shape of the path) beyond the losses stated.",
    "The times themselves, the gaps between them, the number of points and of segments: they are released as they are.",
    "The whole-degree cell (about 100 km) the path lies in.",
    "Two different positions given for one moment: they get the same noise, so their difference is released as it is.",
    "Anything you asked to keep, and what you tell or publish elsewhere.",
    "Noise state, seed and private report: whoever reads one of them can undo the protection.",
)
STAYS_NOT_COVERED = (
    "A place returned to on many days, or stayed at for longer than the longest length scale: this mechanism has no "
    "constant share, so an unknown place is learned from a long stay."
)
FITTED_WARNING = (
    "The prior was fitted to this very trace, so the noise's shape is chosen from private data: the claim 'nothing was "
    "chosen from the trace' does not hold for this release."
)
INDEPENDENT_AXES = "the two coordinates are independent of each other, in some fixed rotation of the map"
TURN_TOGETHER = (
    "the two coordinates are independent of each other in some fixed rotation of the map, or turn together: a law that "
    "does not change when the map is turned"
)
KNOWN_MEAN = "the adversary may know the mean path exactly; the noise is independent of the path"
_ABOUT_PEOPLE = (
    (
        r"Anything you asked to keep, and what you tell or publish",
        "Anything that was kept, and what is told or published",
    ),
    (
        r"so may you against (.*?) that you move otherwise than you do",
        r"so may they against \1 that they move otherwise",
    ),
    (r"\byou (stay|move)\b", r"a person \1s"),
    (r"\byou (truly |also )?were\b", r"a person \1was"),
    (r"\byou might\b", "a person might"),
    (r"\bof yours\b", "of theirs"),
    (r"\b([Yy])our\b", "their"),
)


class GaussianNoise(AdditiveNoise):
    """Noise whose whole meaning is its covariance."""

    __slots__ = ()
    moment: ClassVar[str] = "at any one moment"  # what the odds are about, as the headline and the cards say it
    fitted: bool = False  # whether its shape was chosen from the private trace

    @abstractmethod
    def kernel(self) -> Kernel: ...

    @property
    @abstractmethod
    def noise_m(self) -> float: ...

    def describe(self, *names: str) -> Plain:
        """Its name, its size and these of its fields, as plain JSON: what ``parameters`` is made of."""
        values = {name: getattr(self, name) for name in names}
        plain = {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in values.items()}
        return {"name": self.name, "noise_m": self.noise_m, **plain}

    def numbers(self, losses: Losses, target: Target) -> Numbers:
        if losses.basis is None:
            raise InputError("Gaussian noise without a loss has no numbers.", "Give losses.basis.")
        radius_m, order = target.radius_m, target.order
        mu = mu_of(losses.basis, radius_m)
        epsilon = order / 2.0 * radius_m**2 * losses.basis
        stay = None if losses.stay_loss is None else mu_of(max(losses.stay_loss, losses.basis), radius_m)
        return Numbers(
            radius_m=radius_m,
            order=order,
            epsilon=epsilon,
            mu=mu,
            odds_99=odds_at(mu, ODDS_DELTA),
            odds_99_either_way=odds_at(mu, ODDS_DELTA, two_sided=True),
            odds_99_after_coarsening=odds_after_coarsening(mu, ODDS_DELTA),
            delta_at_epsilon=delta_at(epsilon, mu),
            stay_odds_99=None if stay is None else odds_at(stay, ODDS_DELTA),
        )

    def meets(self, losses: Losses, target: Target) -> bool:
        return losses.basis is not None and fulfils(target, losses.basis)

    def is_own(self, losses: Losses, target: Target) -> bool:
        if target.noise_m is not None:
            return abs(self.noise_m - target.noise_m) <= 1e-12 * target.noise_m
        least = calibrated_noise_m(target, float(losses.basis or 0.0) * self.noise_m**2)
        return self.noise_m <= least * (1 + 1e-6) + NOISE_STEP_M

    def grid_words(self, points: int) -> str | None:
        return stated_grid(points)

    # Sentences.

    @abstractmethod
    def assumes(self) -> tuple[str, ...]:
        """What the promise assumes."""

    def notion(self) -> str:
        """What is promised."""
        return "conditional inferential privacy (Gaussian priors, basic secrets at every moment)"

    def covers(self, stated: Stated) -> tuple[str, ...]:
        """What the promise is about."""
        return (f"where you were at any one moment, released or not: {apart(stated)}",)

    def not_covered(self, stated: Stated) -> tuple[str, ...]:
        """What it is not about."""
        return (*NOT_COVERED, STAYS_NOT_COVERED)

    def guarantee(self, stated: Stated, *, snap_m: float, simulation: bool) -> Guarantee:
        promised = stated.numbers.to_dict()
        return Guarantee(
            notion=self.notion(),
            parameters={name: promised[name] for name in ("epsilon", "order", "radius_m", "mu", "odds_99")},
            assumes=self.assumes(),
            covers=self.covers(stated),
            not_covered=self.not_covered(stated),
            numerics=snapped_numerics(snap_m),
            simulation=simulation,
        )

    def headline(self, stated: Stated) -> str:
        """Two sentences: the odds, and where they stop."""
        if protects_nothing(stated.numbers.odds_99):
            return no_protection(stated, self.noise_m)
        radius, odds = format_length(stated.numbers.radius_m), odds_words(stated.numbers.odds_99)
        said = (
            f"{self.moment}, {self.who()} cannot tell apart two places at most {radius} apart with odds better than "
            f"{odds}, 99 times in 100."
        )
        return f"{said[0].upper()}{said[1:]} {self.limit(stated)}."

    def who(self) -> str:
        """The adversary of the promise."""
        return "someone who knows how you move"

    def limit(self, stated: Stated) -> str:
        """The second sentence: an unknown place is learned faster than a path, and what else must not be hidden."""
        stay = stated.numbers.stay_odds_99
        if protects_nothing(stay):
            return "A place you stay at or hardly leave is not protected"
        return f"For a place you stay at or hardly leave, {self.reach()}, odds are at most {odds_words(stay)}"

    def reach(self) -> str:
        """How far a promise about stays reaches."""
        return "in this release"

    def explanations(self, stated: Stated) -> list[str]:
        rows = [self.moved_words()]
        odds = odds_words(stated.numbers.odds_99)
        if odds is not None:
            rows.append(
                "“Odds better than” is relative to what the adversary believed before: if both places seemed equally "
                f"likely, after seeing the whole release the true one seems at most {odds} likelier than the other, 99 "
                "times in 100, for a moment and two places picked beforehand."
            )
        rows += self.stay_words(stated)
        if stated.losses.worst_loss is None:
            rows.append(
                "This holds for the moments in this release only. The same path recorded more densely would give more "
                "away with this mechanism."
            )
        turning = self.if_turning(stated)
        rows.append(NO_TURNING if turning is None else str(turning["meaning"]))
        return [*rows, str(self.releases()["meaning"])]

    def moved_words(self) -> str:
        """By how much positions were moved, and whether that tells something."""
        size = format_length(self.noise_m)
        if self.fitted:
            return (
                f"Every position was moved at random by about {size} per coordinate. The noise was shaped by a prior "
                "fitted to the track itself, so its shape tells something about the track: the claim that nothing was "
                "chosen from the track does not hold here."
            )
        return (
            f"Every position was moved at random by about {size} east or west and as much north or south. Nothing "
            "about the amount was chosen from the track."
        )

    def stay_words(self, stated: Stated) -> list[str]:
        """What is promised about a place that is stayed at."""
        stay = odds_words(stated.numbers.stay_odds_99)
        if stay is None:
            return []
        return [
            f"One unknown place that you stay at is protected too, at odds of at most {stay}, {self.reach()}; so is a "
            "path that hardly leaves it. That ends where a regular place of yours is known, or the path is a routine."
        ]

    def cards(self, stated: Stated) -> list[Card]:
        odds, stay = odds_words(stated.numbers.odds_99), odds_words(stated.numbers.stay_odds_99)
        radius, rows = format_length(stated.numbers.radius_m), []
        if odds is not None:
            also = "" if stay is None else f"; for a place you stay at ≤ {stay}"
            meaning = f"99 in 100, between two places at most {radius} apart{also}"
            shown = f"≤ {odds}" if not protects_nothing(stated.numbers.odds_99) else f"none at {radius}"
            label = f"Odds {self.card_moment()}" if shown[0] == "≤" else f"Protection {self.card_moment()}"
            rows.append(Card(label, shown, meaning))
        if stay is not None:
            rows.append(Card("Odds for a place you stay at", f"≤ {stay}", self.stay_meaning()))
        return rows

    def card_moment(self) -> str:
        """The moment a card's odds are about."""
        return self.moment

    def stay_meaning(self) -> str:
        """One line about the odds of a stay."""
        return f"one unknown place, {self.reach()}, while no other regular place of yours is known"

    def figures(self, stated: Stated) -> list[str]:
        numbers, losses = stated.numbers, stated.losses
        rows = [
            f"epsilon {numbers.epsilon:.4g} (Rényi order {numbers.order:g}), delta {numbers.delta_at_epsilon:.2g} at "
            "that epsilon."
        ]
        if losses.worst_loss is not None and losses.floor_loss:
            rows.append(
                f"Worst loss over the class of priors: {losses.worst_loss / losses.floor_loss:.3f} x the floor."
            )
        return rows

    def epsilon_words(self, order: float) -> str:
        return f"ε (Rényi, order {order:g})"

    def spread_words(self) -> str:
        return "68 times in 100"


class SizedNoise(GaussianNoise):
    """Gaussian noise whose loss falls as 1/size²: one number, ``size_m``, is calibrated."""

    __slots__ = ()
    size_m: float

    @property
    def noise_m(self) -> float:
        return self.size_m

    def with_size(self, noise_m: float) -> Self:
        """The same mechanism with another noise level."""
        return replace(self, size_m=noise_m)  # type: ignore[type-var]


def rounded_up(noise_m: float) -> float:
    """The next whole centimetre (never less)."""
    steps = math.ceil(noise_m / NOISE_STEP_M * (1 - 1e-15))
    rounded = round(steps * NOISE_STEP_M, 2)
    while rounded < noise_m:
        steps += 1
        rounded = round(steps * NOISE_STEP_M, 2)
    return rounded


def alone(loss: float) -> float:
    """The rule of a single release."""
    return loss


def calibrated_noise_m(target: Target, unit_loss: float, together: Together = alone) -> float:
    """The least noise sd per coordinate, in whole centimetres, for which loss = ``unit_loss``/noise² fulfils it."""
    if target.noise_m is not None:
        return float(target.noise_m)
    if not (math.isfinite(unit_loss) and unit_loss > 0):
        raise NotCertified("The loss of this mechanism is not finite here.", "Use the multiscale mechanism.")
    mu = target.mu
    assert mu is not None
    noise_m = rounded_up(target.radius_m * math.sqrt(together(unit_loss)) / mu)
    while not fulfils(target, together(unit_loss / noise_m**2)):  # rounding above must not break the promise
        noise_m = rounded_up(noise_m + NOISE_STEP_M / 2)
    if noise_m > MOST_NOISE_M:
        raise InputError(
            f"This needs {noise_m / 1000:.0f} km of noise per coordinate.",
            f"At most {MOST_NOISE_M / 1000:.0f} km are added: ask for a smaller radius or larger odds.",
        )
    return noise_m


def fulfils(target: Target, loss_per_m2: float) -> bool:
    """The explicit check at the end: does this loss keep what was asked for?"""
    mu = mu_of(loss_per_m2, target.radius_m)
    if target.odds is not None:
        return odds_at(mu, ODDS_DELTA) <= target.odds
    if target.epsilon is not None:
        return renyi_epsilon(mu, target.order) <= target.epsilon
    return True


def no_protection(stated: Stated, noise_m: float) -> str:
    """The headline where the odds are too long to be called protection."""
    return (
        f"No protection at {format_length(stated.numbers.radius_m)}: noise of {format_length(noise_m)} does not keep "
        "two places that far apart from being told apart. The numbers are stated all the same."
    )


def apart(stated: Stated) -> str:
    """The promise about two places, in the certificate's words."""
    return (
        f"two places at most {stated.numbers.radius_m:g} m apart stay indistinguishable (Rényi divergence of order "
        f"{stated.numbers.order:g} at most epsilon)"
    )


def affordable(times_s: Sequence[FloatArray]) -> bool:
    """Whether exact losses at these people's times take seconds, not minutes."""
    return len(times_s) <= 50 and sum(len(times) for times in times_s) <= MARKOV_POINTS


def about_people(text: str) -> str:
    """The same sentence about the people of a table: whoever reads it is none of them."""
    for said, instead in _ABOUT_PEOPLE:
        text = re.sub(said, instead, text)
    return text
