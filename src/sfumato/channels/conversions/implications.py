"""What follows from what: the table of implications between notions, and the facts that one may need besides a bound.

To add one, add a line and its test; :mod:`.routes` finds the tightest way through them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.conversions import bounds, lip_constants
from sfumato.channels.conversions.bounds import shuffled_epsilon

_MOST = 700.0
Fact = TypeVar("Fact")


def _need(fact: Fact | None) -> Fact:
    """A fact that an implication needs: whoever asks has looked that it is known."""
    assert fact is not None
    return fact


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known besides the bound: each implication says which of these it needs."""

    prior: FloatArray | None = None
    distances_m: FloatArray | None = None
    symbols: int | None = None
    order: float | None = None
    second_order: float | None = None
    delta: float | None = None
    people: int | None = None
    shuffler: str | None = None

    def __post_init__(self) -> None:
        if self.prior is not None:
            prior = checked_probabilities(self.prior, self.symbols)
            object.__setattr__(self, "prior", prior)
            object.__setattr__(self, "symbols", prior.size)
        if self.distances_m is not None:
            d = finite(self.distances_m, "The distances", dimensions=2)
            count = d.shape[0] if self.symbols is None else self.symbols
            if d.shape != (count, count) or count == 0 or d.min() < 0:
                raise InputError("The distances do not fit.", "Give one of at least 0 per pair of symbols.")
            object.__setattr__(self, "distances_m", d)
            object.__setattr__(self, "symbols", count)
        for name, low in (("order", 0.0), ("second_order", 1.0)):
            value = getattr(self, name)
            if value is not None and (math.isnan(value) or value < low or value == 0):
                raise InputError(f"The {name.replace('_', ' ')} is {value}.", f"It must be a number above {low:g}.")
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise InputError(f"delta is {self.delta}.", "It lies between 0 and 1.")

    def has(self, name: str) -> bool:
        """Whether this fact is given; "full prior" is one without zeros, "no zeros" that or no prior at all."""
        if name == "no zeros":
            return self.prior is None or bool(np.all(self.prior > 0))
        if name == "full prior":
            return self.prior is not None and bool(np.all(self.prior > 0))
        if name == "order >= 1":
            return self.order is not None and self.order >= 1
        if name == "order > 1":
            return self.order is not None and self.order > 1
        if name == "shuffler":
            return bool(self.shuffler and self.shuffler.strip())
        return getattr(self, name) is not None

    @property
    def smallest(self) -> float:
        """The smallest positive prior probability."""
        p = _need(self.prior)
        return float(p[p > 0].min())


@dataclass(frozen=True, slots=True)
class Implication:
    """A bound on ``source`` gives a bound on ``target``: the formula, whether attained, whose it is, when it holds."""

    source: str
    target: str
    formula: str
    bound: Callable[[float, Facts], float]
    tight: bool
    reference: str
    holds: str = "always"
    needs: tuple[str, ...] = ()


def _the_same(value: float, _: Facts) -> float:
    return value


def _lip_to_ldp(value: float, facts: Facts) -> float:
    if facts.prior is None:
        return 2.0 * value
    if value > _MOST:  # e^ε is no number, and ln((e^ε - 1 + p)/p) <= ε - ln p
        return value - math.log(facts.smallest)
    return 0.0 if value == 0 else lip_constants.largest_likelihood_ratio(value, _need(facts.prior)).nats


def _lip_to_di(value: float, facts: Facts) -> float:
    p = _need(facts.prior)
    if 0 < value <= _MOST:
        return lip_constants.lip_to_identifiability(value, p).nats
    return lip_constants.spread(p) + (0.0 if np.count_nonzero(p) == 1 else _lip_to_ldp(value, facts))


def _di_to_lip(value: float, facts: Facts) -> float:
    """A constant report has ln(p_max / p_min) already; less is impossible and counts as that."""
    p = _need(facts.prior)
    least = max(value, lip_constants.spread(p))
    if np.count_nonzero(p) == 1 or least == 0:
        return 0.0
    return lip_constants.identifiability_to_lip(least, p).nats if least <= _MOST else math.inf


def _with_spread(value: float, facts: Facts) -> float:
    return value + lip_constants.spread(_need(facts.prior))


def _geo_to_lip(value: float, facts: Facts) -> float:
    if value == 0 or value > _MOST:
        return _geo_to_ldp(value, facts)  # a belief moves by no more than odds do
    return lip_constants.geo_to_lip(value, _need(facts.prior), _need(facts.distances_m)).nats


def _geo_to_ldp(value: float, facts: Facts) -> float:
    farthest = float(_need(facts.distances_m).max())
    return 0.0 if farthest == 0 or value == 0 else value * farthest


def _ldp_to_geo(value: float, facts: Facts) -> float:
    d = _need(facts.distances_m)
    apart = [float(d[i, j]) for i in range(len(d)) for j in range(len(d)) if i != j]
    nearest = min(apart, default=math.inf)
    return 0.0 if value == 0 else (math.inf if nearest == 0 else value / nearest)


def _vulnerability_of_min_entropy(value: float, facts: Facts) -> float:
    return min(1.0, float(_need(facts.prior).max()) * math.exp(min(value, _MOST)))


def _alpha_beta_of_ldp(value: float, facts: Facts) -> float:
    a = _need(facts.order)
    return value if math.isinf(a) else value * a / (a - 1)


def _shuffled(value: float, facts: Facts) -> float:
    if value == 0:
        return 0.0
    if not 0 < _need(facts.delta) < 1:
        return value
    return min(value, shuffled_epsilon(value, _need(facts.people), _need(facts.delta)) if value <= 100 else value)


_PRIOR, _FULL, _ORDER, _DELTA = ("prior",), ("full prior",), ("order >= 1",), ("delta",)
_SUPPORT = "x in the support of the prior"

IMPLICATIONS: tuple[Implication, ...] = (
    Implication("ldp", "lip", "ln(p_min + e^ε (1 − p_min))",
                lambda v, f: lip_constants.soften(v, f.smallest), True, "Jiang2021", _SUPPORT, _PRIOR),
    Implication("lip", "ldp", "min{2ε, ln((e^ε − 1 + p_min)/p_min)}", _lip_to_ldp, True, "Jiang2021",
                "every symbol has positive prior (none known: 2ε); two symbols: the binary supremum", ("no zeros",)),
    Implication("ldp", "renyi_ldp", "ln(w e^((α−1)ε) + (1−w) e^(−(α−1)ε))/(α−1), w = e^ε/(1+e^ε)",
                lambda v, f: bounds.renyi_of_ldp(v, _need(f.order)), True, "Mironov2017",
                "attained by randomized response", ("order",)),
    Implication("ldp", "approximate_ldp", "ln(e^ε − δ(1 + e^ε))",
                lambda v, f: bounds.approximate_of_ldp(v, _need(f.delta)), True, "Kairouz2016",
                "attained by randomized response", _DELTA),
    Implication("renyi_ldp", "approximate_ldp", "D + ln((α−1)/α) − (ln δ + ln α)/(α−1)",
                lambda v, f: bounds.approximate_of_renyi(v, _need(f.order), _need(f.delta)), False, "Canonne2020",
                "always", ("order > 1", "delta")),
    Implication("approximate_ldp", "total_variation", "(e^ε − 1 + 2δ)/(e^ε + 1)",
                lambda v, f: bounds.variation_of_approximate(v, _need(f.delta)), True, "Kairouz2016", "always", _DELTA),
    Implication("ldp", "total_variation", "tanh(ε/2)", lambda v, _: bounds.variation_of_approximate(v, 0.0), True,
                "Kairouz2016", "attained by randomized response"),
    Implication("ldp", "gaussian_ldp", "2 Φ⁻¹(e^ε/(1 + e^ε))", lambda v, _: bounds.gaussian_of_ldp(v), True, "Dong2022",
                "attained by randomized response on two symbols"),
    Implication("gaussian_ldp", "renyi_ldp", "α μ²/2", lambda v, f: 0.5 * _need(f.order) * v * v if v else 0.0, True,
                "Dong2022", "attained by normal reports", ("order",)),
    Implication("gaussian_ldp", "approximate_ldp", "δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), solved for ε",
                lambda v, f: bounds.approximate_of_gaussian(v, _need(f.delta)), True, "Dong2022",
                "attained by normal reports", _DELTA),
    Implication("gaussian_ldp", "total_variation", "2 Φ(μ/2) − 1", lambda v, _: bounds.variation_of_gaussian(v), True,
                "Dong2022", "attained by normal reports"),
    Implication("renyi_ldp", "capacity", "D", _the_same, False, "Verdu2015", "C ≤ the largest D₁ ≤ D_α", _ORDER),
    Implication("renyi_ldp", "maximal_alpha_leakage", "D", _the_same, False, "Gilani2024",
                "maximal (α, 1)-leakage is at most (α, α)", ("order > 1",)),
    Implication("alpha_beta_leakage", "maximal_alpha_leakage", "L", _the_same, False, "Gilani2024",
                "it grows with β; equal at β = 1", ("order > 1", "second_order")),
    Implication("ldp", "alpha_beta_leakage", "ε α/(α − 1)", _alpha_beta_of_ldp, False, "Gilani2024",
                "the limit β → ∞", ("order > 1", "second_order")),
    Implication("ldp", "capacity", "max_k [k e^ε ln(n e^ε/s) + (n−k) ln(n/s)]/s, s = k e^ε + n − k",
                lambda v, f: bounds.capacity_of_ldp(v, _need(f.symbols)), True, "Kairouz2016",
                "n symbols; attained by subset selection", ("symbols",)),
    Implication("ldp", "maximal_leakage", "ln(n e^ε/(e^ε + n − 1))",
                lambda v, f: bounds.maximal_leakage_of_ldp(v, _need(f.symbols)), True, "Issa2020",
                "n symbols; attained by randomized response", ("symbols",)),
    Implication("ldp", "bayes_vulnerability", "max_k e^ε/(e^ε + k − 1) Σ of the k likeliest",
                lambda v, f: bounds.vulnerability_of_ldp(v, _need(f.prior)), True, "Ghazi2021",
                "attained by randomized response over the k likeliest", _PRIOR),
    Implication("capacity", "mutual_information_nats", "C", _the_same, True, "Shannon1948", "any prior"),
    Implication("maximal_leakage", "capacity", "L", _the_same, False, "Verdu2015",
                "orders 1 and ∞ of the same quantity; over all symbols"),
    Implication("maximal_leakage", "g_leakage", "L", _the_same, True, "Alvim2012",
                "any prior on those symbols; attained by one guess from a uniform prior"),
    Implication("g_leakage", "min_entropy_leakage", "L", _the_same, True, "Smith2009", "one guess is one gain"),
    Implication("maximal_leakage", "maximal_alpha_leakage", "L", _the_same, False, "Liao2019",
                "it grows with the order; equal at ∞", ("order > 1",)),
    Implication("maximal_alpha_leakage", "sibson_information", "L", _the_same, True, "Liao2019",
                "attained at the prior that maximises", ("order > 1",)),
    Implication("maximal_alpha_leakage", "alpha_leakage", "L", _the_same, True, "Liao2019",
                "attained at the prior that maximises", ("order > 1",)),
    Implication("sibson_information", "mutual_information_nats", "I_α", _the_same, False, "Verdu2015",
                "it grows with the order; equal at 1", _ORDER),
    Implication("lip", "pointwise_maximal_leakage", "ε", _the_same, True, "Saeidian2023",
                "attained where p_min ≤ 1/(1 + e^ε)"),
    Implication("lip", "lip_low", "ε", _the_same, True, "ours", "attained where p_min ≤ 1/(1 + e^ε) or 1 − p_min"),
    Implication("pointwise_maximal_leakage", "lip", "max{ε, −ln((1 − e^ε(1 − p_min))/p_min)}",
                lambda v, f: bounds.lip_of_rise(v, f.smallest), True, "Saeidian2023",
                "finite below ε = −ln(1 − p_min)", _PRIOR),
    Implication("lip_low", "lip", "max{ε, ln((1 − e^−ε(1 − p_min))/p_min)}",
                lambda v, f: bounds.lip_of_fall(v, f.smallest), True, "ours", _SUPPORT, _PRIOR),
    Implication("pointwise_maximal_leakage", "maximal_leakage", "ε", _the_same, True, "Saeidian2023",
                "every symbol has positive prior; attained where every report leaks the same", ("no zeros",)),
    Implication("lip", "mutual_information_nats", "ε tanh(ε/2)", lambda v, _: bounds.renyi_of_ldp(v, 1.0), True,
                "ours", "attained where some symbols have prior 1/(1 + e^ε) together"),
    Implication("lip", "sibson_information", "the Rényi divergence of randomized response, order α",
                lambda v, f: bounds.renyi_of_ldp(v, _need(f.order)), True, "Verdu2015",
                "attained where some symbols have prior 1/(1 + e^ε) together", ("order",)),
    Implication("lip", "lip_delta", "ln(e^ε − δ(1 + e^ε))",
                lambda v, f: bounds.approximate_of_ldp(v, _need(f.delta)), True, "ours",
                "attained where some symbol has prior 1/(1 + e^ε)", _DELTA),
    Implication("approximate_ldp", "lip_delta", "ε", _the_same, False, "ours", "the same δ", _DELTA),
    Implication("lip", "di", "c(ε, p_min) + ln(p_max/p_min)", _lip_to_di, False, "ours", _SUPPORT, _PRIOR),
    Implication("di", "lip", "ln max{p_max(1+(n−1)e^ε), 1/(p_min(1+(n−1)e^−ε))}", _di_to_lip, True, "ours",
                "ε > ln(p_max/p_min)", _PRIOR),
    Implication("ldp", "di", "ε + ln(p_max/p_min)", _with_spread, True, "ours", _SUPPORT, _PRIOR),
    Implication("di", "ldp", "ε + ln(p_max/p_min)", _with_spread, False, "Jiang2021",
                "every symbol has positive prior", _FULL),
    Implication("geo_epsilon_per_m", "lip", "max_x ln Σ p_x' e^(g d(x, x'))", _geo_to_lip, False, "Andres2013",
                _SUPPORT, ("prior", "distances_m")),
    Implication("geo_epsilon_per_m", "ldp", "g · the largest distance", _geo_to_ldp, False, "Andres2013", "always",
                ("distances_m",)),
    Implication("ldp", "geo_epsilon_per_m", "ε / the smallest distance", _ldp_to_geo, True, "Andres2013",
                "no two symbols at one place; attained by randomized response", ("distances_m",)),
    Implication("min_entropy_leakage", "bayes_vulnerability", "p_max e^L", _vulnerability_of_min_entropy, True,
                "Smith2009", "an equality", _PRIOR),
    Implication("mutual_information_nats", "bayes_vulnerability", "Fano: H − I ≤ h(e) + e ln(n − 1)",
                lambda v, f: bounds.vulnerability_of_information(v, _need(f.prior)), False, "Verdu2015",
                "attained for uniform priors", _PRIOR),
    Implication("total_variation", "bayes_vulnerability", "1 − (1 − TV)(1 − p_max)",
                lambda v, f: bounds.vulnerability_of_variation(v, _need(f.prior)), False, "Chatzikokolakis2023",
                "attained by two symbols, half and half", _PRIOR),
    Implication("bayes_vulnerability", "guessing_entropy", "(1 + 1/V)/2 at least",
                lambda v, _: bounds.guesses_of_vulnerability(v), False, "Massey1994", "attained where 1/V is whole"),
    Implication("ldp", "shuffled_epsilon", "the clones' hockey-stick divergence, numerically", _shuffled, False,
                "Feldman2021", "a named shuffler mixes the reports of that many honest people, one each",
                ("delta", "people", "shuffler")),
)  # fmt: skip
