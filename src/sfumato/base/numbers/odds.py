"""From one loss to what people ask: μ, (ε, λ), (ε, δ), and the odds an adversary can reach.

Between two hypotheses the release is exactly μ-Gaussian-DP [Dong2022]: the log-likelihood ratio is N(±μ²/2, μ²). So

    ε(λ) = λ μ²/2                                                          Rényi [Mironov2017]
    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)                                (ε, δ)
    odds(δ) = exp(μ²/2 + μ Φ⁻¹(1-δ))          passed with probability exactly δ, one pair and one time fixed in advance

The odds statement averages over traces drawn from the prior and is **not** closed under post-processing: after
coarsening the release, an event of probability δ can carry odds δ/Φ(-μ-Φ⁻¹(1-δ)). Always state (ε, δ(ε)) beside it;
over N times use δ/N.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import log_ndtr, ndtr, ndtri

from sfumato.base.arrays import inside_one, positive
from sfumato.base.errors import InputError

AS_PROMISED, HARDLY_ANY = 20.0, 1000.0  # odds up to here are protection, up to there hardly any, beyond none
MOST_SAID = 1e6  # nobody reads longer odds


def mu_of(loss_per_m2: float, radius_m: float) -> float:
    """μ = r √J for hypotheses ``radius_m`` apart; linear in the radius."""
    if math.isnan(loss_per_m2) or loss_per_m2 < 0:
        raise InputError(f"The loss is {loss_per_m2:g}.", "A loss is at least 0.")
    return positive(radius_m, "radius_m") * math.sqrt(loss_per_m2)


def _mu(mu: float) -> float:
    number = float(mu)
    if math.isnan(number) or number < 0:
        raise InputError(f"mu is {number:g}.", "It must be at least 0.")
    return number


def renyi_epsilon(mu: float, order: float = 5.0) -> float:
    """ε(λ) = λ μ²/2."""
    if not order > 1 or math.isinf(order):
        raise InputError(f"The Rényi order is {order:g}.", "It must be finite and greater than 1.")
    return float(order) / 2 * _mu(mu) * mu


def mu_at_epsilon(epsilon: float, order: float = 5.0) -> float:
    """The μ whose Rényi ε of this order is ``epsilon``."""
    if not order > 1 or math.isinf(order):
        raise InputError(f"The Rényi order is {order:g}.", "It must be finite and greater than 1.")
    return math.sqrt(2 * positive(epsilon, "epsilon") / float(order))


def delta_at(epsilon: float, mu: float) -> float:
    """δ(ε), the smallest δ for which the release is (ε, δ)-indistinguishable; computed in logs, never negative."""
    mu = _mu(mu)
    if math.isnan(epsilon) or epsilon < 0:
        raise InputError(f"epsilon is {epsilon:g}.", "It must be at least 0.")
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = float(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    return max(0.0, -math.exp(first) * math.expm1(min(second - first, 0.0)))


def epsilon_at(delta: float, mu: float) -> float:
    """The smallest ε with δ(ε) ≤ ``delta``, rounded up."""
    delta, mu = inside_one(delta, "delta"), _mu(mu)
    if math.isinf(mu):
        return math.inf
    if mu == 0 or delta_at(0.0, mu) <= delta:
        return 0.0
    high = mu * mu / 2 + mu * 2
    while delta_at(high, mu) > delta:
        high *= 2
    return least_that_holds(lambda epsilon: delta_at(epsilon, mu) <= delta, 0.0, high)


def _tail_sides(threshold: float, mu: float) -> float:
    """P(|log-likelihood ratio| > μ²/2 + μz) for z = ``threshold``: 1-Φ(z) + Φ(-μ-z)."""
    return float(ndtr(-threshold) + ndtr(-mu - threshold))


def odds_at(mu: float, delta: float = 0.01, *, two_sided: bool = False) -> float:
    """The factor by which odds move with probability at most ``delta``: for the truth, or (two-sided) either way."""
    mu, delta = _mu(mu), inside_one(delta, "delta")
    if mu == 0:
        return 1.0
    z = -float(ndtri(delta))
    if two_sided:
        z = least_that_holds(lambda t: _tail_sides(t, mu) <= delta, z - 1e-9, -float(ndtri(delta / 2)) + 1e-9)
    exponent = mu * mu / 2 + mu * z
    if two_sided:
        exponent = max(exponent, 0.0)
    return math.exp(exponent) if exponent < 700 else math.inf


def mu_at_odds(odds: float, delta: float = 0.01) -> float:
    """The largest μ whose one-sided odds at ``delta`` are at most ``odds``, rounded down (toward privacy)."""
    delta = inside_one(delta, "delta")
    if not (math.isfinite(odds) and odds > 1):
        raise InputError(f"The odds are {odds:g}.", "They must be a finite number greater than 1, for instance 5.")
    z = -float(ndtri(delta))
    if z < 0:
        raise InputError(f"delta is {delta:g}.", "Odds are stated for delta below one half.")
    log_odds = math.log(odds)
    mu = 2 * log_odds / (z + math.sqrt(z * z + 2 * log_odds))  # the positive root of μ²/2 + zμ = ln odds
    while odds_at(mu, delta) > odds:
        mu = math.nextafter(mu, 0.0)
    return mu


def odds_after_coarsening(mu: float, delta: float = 0.01) -> float:
    """The largest odds an event of probability ``delta`` can carry after post-processing: δ/Φ(-μ-Φ⁻¹(1-δ))."""
    mu, delta = _mu(mu), inside_one(delta, "delta")
    exponent = math.log(delta) - float(log_ndtr(-mu + float(ndtri(delta))))
    return math.exp(exponent) if exponent < 700 else math.inf


def odds_words(odds: float | None) -> str | None:
    """``"5 : 1"``, three figures rounded against us, nothing beyond a million; None where no odds are stated."""
    if odds is None or math.isnan(odds):
        return None
    if odds > MOST_SAID:
        return "more than a million : 1"
    odds = max(odds, 0.0)
    step = 10.0 ** max(math.floor(math.log10(max(odds, 1.0))) - 2, -2)
    rounded = math.ceil(odds / step - 1e-6) * step
    return f"{rounded:,.0f} : 1".replace(",", " ") if rounded >= 1000 else f"{rounded:.6g} : 1"


def reached_words(*odds: float | None) -> str:
    """The longest of odds in words, where None says that they are beyond any number."""
    return odds_words(max(math.inf if one is None else one for one in odds)) or "more than a million : 1"


def protects_nothing(odds: float | None) -> bool:
    """Whether odds are so long, or so beyond any number, that ``verify`` calls them no protection."""
    return odds is None or not odds <= HARDLY_ANY


def least_that_holds(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where ``holds`` begins to be true between two ends, by bisection that ends on the side where it is."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
