"""From a wish to a noise level: odds, ε or metres, rounded toward privacy and checked at the end.

For Gaussian noise of variance o per coordinate the loss is L/o with L free of o, so the wish fixes μ and
o = L r²/μ². Noise is rounded *up* to a centimetre, and the promise is recomputed from the rounded value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.arrays import positive
from sfumato.errors import InputError, NotCertified

LEVELS = {"low": 20.0, "medium": 5.0, "high": 2.0}  # odds
DEFAULT_ODDS = 5.0
ODDS_DELTA = 0.01  # "99 times in 100"
NOISE_STEP_M = 0.01
MOST_NOISE_M = 100_000.0
MOST_RADIUS_M = 100_000.0


@dataclass(frozen=True, slots=True)
class Target:
    """What was asked for: exactly one of ``odds``, ``epsilon`` and ``noise_m``, at a radius and a Rényi order."""

    radius_m: float
    odds: float | None = None
    epsilon: float | None = None
    noise_m: float | None = None
    order: float = 5.0

    def __post_init__(self) -> None:
        positive(self.radius_m, "The radius in metres", at_most=MOST_RADIUS_M)
        if not (math.isfinite(self.order) and self.order > 1):
            raise InputError(f"The Rényi order is {self.order:g}.", "It must be a finite number greater than 1.")
        given = [name for name in ("odds", "epsilon", "noise_m") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                f"{len(given)} of odds, epsilon and noise are given.", "Give exactly one: they fix one another."
            )
        if self.odds is not None and not (math.isfinite(self.odds) and 1 < self.odds <= 1e6):
            raise InputError(f"The odds are {self.odds:g}.", "They must be greater than 1 and at most 1e6, e.g. 5.")
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon", at_most=1000.0)
        if self.noise_m is not None:
            positive(self.noise_m, "The noise in metres", at_most=MOST_NOISE_M)

    @property
    def mu(self) -> float | None:
        """The largest μ that fulfils the wish; None when the noise itself was given."""
        from sfumato.leakage.loss import mu_at_epsilon, mu_at_odds

        if self.odds is not None:
            return mu_at_odds(self.odds, ODDS_DELTA)
        if self.epsilon is not None:
            return mu_at_epsilon(self.epsilon, self.order)
        return None

    def to_dict(self) -> dict[str, float | None]:
        """What the certificate keeps of the wish."""
        return {"odds": self.odds, "epsilon": self.epsilon, "noise_m": self.noise_m}


def target_of(
    *,
    radius_m: float,
    odds: float | None = None,
    epsilon: float | None = None,
    noise_m: float | None = None,
    level: str | None = None,
    order: float = 5.0,
) -> Target:
    """The target of a call or a command line; 5 : 1 when nothing was asked for."""
    if level is not None:
        if level not in LEVELS:
            raise InputError(f"There is no level '{level}'.", f"Choose from {', '.join(LEVELS)}.")
        if odds is not None:
            raise InputError("Both a level and odds are given.", f"The level {level} is odds {LEVELS[level]:g}.")
        odds = LEVELS[level]
    if odds is None and epsilon is None and noise_m is None:
        odds = DEFAULT_ODDS
    return Target(radius_m=radius_m, odds=odds, epsilon=epsilon, noise_m=noise_m, order=order)


def rounded_up(noise_m: float) -> float:
    """The next whole centimetre (never less)."""
    steps = math.ceil(noise_m / NOISE_STEP_M * (1 - 1e-15))
    rounded = round(steps * NOISE_STEP_M, 2)
    while rounded < noise_m:
        steps += 1
        rounded = round(steps * NOISE_STEP_M, 2)
    return rounded


def calibrated_noise_m(target: Target, unit_loss: float) -> float:
    """The least noise sd per coordinate, in whole centimetres, for which loss = ``unit_loss``/noise² fulfils it."""
    if target.noise_m is not None:
        return float(target.noise_m)
    if not (math.isfinite(unit_loss) and unit_loss > 0):
        raise NotCertified("The loss of this mechanism is not finite here.", "Use the multiscale mechanism.")
    mu = target.mu
    assert mu is not None
    noise_m = rounded_up(target.radius_m * math.sqrt(unit_loss) / mu)
    while not fulfilled(target, unit_loss / noise_m**2):  # rounding in the sums above must not break the promise
        noise_m = rounded_up(noise_m + NOISE_STEP_M / 2)
    if noise_m > MOST_NOISE_M:
        raise InputError(
            f"This needs {noise_m / 1000:.0f} km of noise per coordinate.",
            f"At most {MOST_NOISE_M / 1000:.0f} km are added: ask for a smaller radius or larger odds.",
        )
    return noise_m


def fulfilled(target: Target, loss_per_m2: float) -> bool:
    """The explicit check at the end: does this loss keep what was asked for?"""
    from sfumato.leakage.loss import mu_of, odds_at, renyi_epsilon

    mu = mu_of(loss_per_m2, target.radius_m)
    if target.odds is not None:
        return odds_at(mu, ODDS_DELTA) <= target.odds
    if target.epsilon is not None:
        return renyi_epsilon(mu, target.order) <= target.epsilon
    return True
