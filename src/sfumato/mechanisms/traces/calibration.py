"""From a wish to a noise level: odds, ε or metres, rounded toward privacy and checked at the end.

For Gaussian noise of variance o per coordinate the loss is L/o with L free of o, so the wish fixes μ and
o = L r²/μ². Noise is rounded *up* to a centimetre, and the promise is recomputed from the rounded value. What several
releases give away together is not decided here: ``together``, the accountant's rule, says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.errors import InputError, NotCertified
from sfumato.leakage.odds import mu_of, odds_at, renyi_epsilon
from sfumato.plan import MOST_NOISE_M, ODDS_DELTA, Target

NOISE_STEP_M = 0.01
Together = Callable[[float], float]  # the loss of all announced releases, from that of one: linear


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
    while not fulfilled(target, together(unit_loss / noise_m**2)):  # rounding above must not break the promise
        noise_m = rounded_up(noise_m + NOISE_STEP_M / 2)
    if noise_m > MOST_NOISE_M:
        raise InputError(
            f"This needs {noise_m / 1000:.0f} km of noise per coordinate.",
            f"At most {MOST_NOISE_M / 1000:.0f} km are added: ask for a smaller radius or larger odds.",
        )
    return noise_m


def fulfilled(target: Target, loss_per_m2: float) -> bool:
    """The explicit check at the end: does this loss keep what was asked for?"""
    mu = mu_of(loss_per_m2, target.radius_m)
    if target.odds is not None:
        return odds_at(mu, ODDS_DELTA) <= target.odds
    if target.epsilon is not None:
        return renyi_epsilon(mu, target.order) <= target.epsilon
    return True
