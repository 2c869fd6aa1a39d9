"""Every implication is true for random channels, tight ones are attained, and the route is the tightest."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_channels import channels_with_priors

from sfumato.base.errors import InputError
from sfumato.channels.conversions import bounds
from sfumato.channels.conversions.implications import IMPLICATIONS
from sfumato.channels.conversions.routes import NOTIONS, Facts, convert, tightest
from sfumato.channels.measures import discrete
from sfumato.channels.measures.alpha_leakage import alpha_leakage, sibson_information
from sfumato.channels.measures.capacity import maximal_alpha_leakage, shannon_capacity
from sfumato.channels.measures.discrete import bayes_vulnerability, min_entropy_leakage
from sfumato.channels.measures.g_leakage import posterior_guessing_entropy
from sfumato.channels.measures.renyi_ldp import alpha_beta_leakage, ldp_epsilon, renyi_ldp, total_variation
from sfumato.channels.measures.trade_off import gaussian_mu

ORDER, SECOND, DELTA = 2.5, 4.0, 0.02


def lip_epsilon(q: np.ndarray, p: np.ndarray, delta: float) -> float:
    """The least eps of (eps, delta)-LIP, by bisection."""
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if max(discrete.epsilon_delta(q, p, middle)) > delta else (low, middle)
    return high


def distances(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * 100.0


MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "ldp": lambda q, p: discrete.ldp(q),
    "approximate_ldp": lambda q, p: ldp_epsilon(q, DELTA),
    "renyi_ldp": lambda q, p: renyi_ldp(q, ORDER),
    "gaussian_ldp": lambda q, p: gaussian_mu(q),
    "total_variation": lambda q, p: total_variation(q),
    "alpha_beta_leakage": lambda q, p: alpha_beta_leakage(q, ORDER, SECOND),
    "geo_epsilon_per_m": lambda q, p: discrete.geo_epsilon(q, distances(len(p))),
    "lip": lambda q, p: discrete.lip(q, p).max,
    "pointwise_maximal_leakage": lambda q, p: discrete.lip(q, p).up,
    "lip_low": lambda q, p: discrete.lip(q, p).low,
    "lip_delta": lambda q, p: lip_epsilon(q, p, DELTA),
    "di": discrete.differential_identifiability,
    "maximal_leakage": lambda q, p: discrete.maximal_leakage(q),
    "maximal_alpha_leakage": lambda q, p: maximal_alpha_leakage(q, p, ORDER),
    "capacity": lambda q, p: float(shannon_capacity(q).objective or 0.0),
    "sibson_information": lambda q, p: sibson_information(q, p, ORDER),
    "alpha_leakage": lambda q, p: alpha_leakage(q, p, ORDER),
    "mutual_information_nats": discrete.mutual_information,
    "g_leakage": min_entropy_leakage,
    "min_entropy_leakage": min_entropy_leakage,
    "bayes_vulnerability": bayes_vulnerability,
    "guessing_entropy": lambda q, p: posterior_guessing_entropy(q, p),
}


def facts(p: np.ndarray) -> Facts:
    return Facts(prior=p, distances_m=distances(len(p)), order=ORDER, second_order=SECOND, delta=DELTA)


@settings(max_examples=25)
@given(channels_with_priors())
def test_every_bound_that_follows_is_true_of_the_channel(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    q = 0.9 * q + 0.1 / q.shape[1]
    p = 0.9 * p + 0.1 / len(p)
    measured = {key: measure(q, p) for key, measure in MEASURES.items()}
    for source in ("ldp", "lip", "di", "geo_epsilon_per_m", "maximal_leakage", "renyi_ldp", "gaussian_ldp",
                   "pointwise_maximal_leakage", "lip_low", "total_variation", "alpha_beta_leakage"):  # fmt: skip
        for target, route in tightest(measured[source], source, facts(p)).items():
            if NOTIONS[target].larger_is_worse:
                assert measured[target] <= route.value * (1 + 1e-7) + 1e-9, (source, target)
            else:
                assert measured[target] >= route.value - 1e-9, (source, target)


@settings(max_examples=25)
@given(channels_with_priors())
def test_every_single_implication_is_true_of_the_channel(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    q = 0.8 * q + 0.2 / q.shape[1]
    p = 0.8 * p + 0.2 / len(p)
    known = facts(p)
    for edge in IMPLICATIONS:
        if edge.target != "shuffled_epsilon" and edge.source != "g_leakage":
            bound = edge.bound(MEASURES[edge.source](q, p), known)
            true = MEASURES[edge.target](q, p)
            if NOTIONS[edge.target].larger_is_worse:
                assert true <= bound * (1 + 1e-7) + 1e-9, edge
            else:
                assert true >= bound - 1e-9, edge


def response(eps: float, n: int) -> np.ndarray:
    q = np.ones((n, n)) + math.expm1(eps) * np.eye(n)
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("eps", [1e-3, 0.3, 1.0, 3.0])
def test_randomized_response_attains_what_is_said_to_be_tight(eps: float) -> None:
    half = np.array([0.5, 0.5])
    two = response(eps, 2)
    for target in ("renyi_ldp", "approximate_ldp", "total_variation", "gaussian_ldp", "di", "geo_epsilon_per_m",
                   "capacity", "maximal_leakage", "bayes_vulnerability"):  # fmt: skip
        edge = next(e for e in IMPLICATIONS if (e.source, e.target) == ("ldp", target))
        assert edge.tight
        assert MEASURES[target](two, half) == pytest.approx(edge.bound(eps, facts(half)), rel=1e-6)
    five = response(eps, 5)
    assert discrete.maximal_leakage(five) == pytest.approx(bounds.maximal_leakage_of_ldp(eps, 5), rel=1e-9)


@pytest.mark.parametrize("eps", [1e-3, 0.3, 1.0, 3.0])
def test_one_rare_symbol_attains_what_ldp_gives_for_lip(eps: float) -> None:
    prior = np.array([0.1, 0.4, 0.5])
    low = 0.3 * math.exp(-eps)
    likely = np.array([low, low * math.exp(eps), low * math.exp(eps)])
    q = np.stack([likely, 1 - likely], axis=1)
    assert discrete.ldp(q) == pytest.approx(eps, rel=1e-9)
    assert discrete.lip(q, prior).max == pytest.approx(convert(eps, "ldp", "lip", facts(prior)).value, rel=1e-9)


def test_three_symbols_attain_what_lip_gives_for_information() -> None:
    """At e^eps = 2 every symbol of three has prior 1/(1 + e^eps): all lifts of this channel are 2 or 1/2."""
    eps, prior = math.log(2), np.full(3, 1 / 3)
    q = response(2 * eps, 3)
    assert discrete.lip(q, prior).max == pytest.approx(eps)
    assert discrete.mutual_information(q, prior) == pytest.approx(bounds.renyi_of_ldp(eps, 1.0))
    assert sibson_information(q, prior, ORDER) == pytest.approx(bounds.renyi_of_ldp(eps, ORDER))
    assert lip_epsilon(q, prior, DELTA) == pytest.approx(bounds.approximate_of_ldp(eps, DELTA))
    assert discrete.ldp(q) == pytest.approx(convert(eps, "lip", "ldp", facts(prior)).value)


def test_subset_selection_attains_the_capacity() -> None:
    from sfumato.channels.frequency.frequency_oracles import SubsetSelection

    for eps, n in ((0.5, 8), (1.0, 6), (3.0, 5)):
        best = max(float(shannon_capacity(_subset(eps, n, k)).objective or 0) for k in range(1, n))
        assert best == pytest.approx(bounds.capacity_of_ldp(eps, n), rel=1e-9)
        oracle = SubsetSelection(n, eps)
        assert shannon_capacity(oracle.channel()).objective <= bounds.capacity_of_ldp(eps, n) * (1 + 1e-9)


def _subset(eps: float, n: int, k: int) -> np.ndarray:
    from itertools import combinations

    held = np.array([[x in s for s in combinations(range(n), k)] for x in range(n)])
    q = np.where(held, math.exp(eps), 1.0)
    return q / q.sum(axis=1, keepdims=True)


def test_one_sided_leakage_bounds_the_other_side_and_is_attained() -> None:
    p = np.array([0.6, 0.4])
    up = 0.3
    # x = 1 rises by e^up on no report; the others fall: r = (e^up on x0) forces r1 = (1 - .6 e^up)/.4
    r1 = (1 - 0.6 * math.exp(up)) / 0.4
    assert bounds.lip_of_rise(up, 0.4) == pytest.approx(-math.log(r1))
    assert bounds.lip_of_rise(-math.log(0.6) + 1e-9, 0.4) == math.inf
    fall = 0.7
    assert bounds.lip_of_fall(fall, 0.1) == pytest.approx(math.log((1 - 0.9 * math.exp(-fall)) / 0.1))
    assert bounds.lip_of_fall(fall, 0.4) == fall
    assert convert(up, "pointwise_maximal_leakage", "lip", Facts(prior=p)).tight


def test_a_prior_with_zeros_says_nothing_about_the_rows_it_excludes() -> None:
    zeros = Facts(prior=np.array([0.5, 0.5, 0.0]))
    with pytest.raises(InputError, match="full prior"):
        convert(1.0, "lip", "ldp", zeros)
    assert "maximal_leakage" not in tightest(1.0, "pointwise_maximal_leakage", zeros)
    assert convert(1.0, "lip", "ldp", Facts(prior=np.array([0.5, 0.3, 0.2]))).value == pytest.approx(2.0)


def test_a_route_prefers_fewer_steps_and_tells_them() -> None:
    route = convert(1.0, "ldp", "total_variation", Facts(delta=0.0))
    assert len(route.steps) == 1
    assert route.tight
    long = convert(0.8, "geo_epsilon_per_m", "min_entropy_leakage", Facts(distances_m=distances(4) / 100))
    assert [s.target for s, _ in long.steps] == ["ldp", "maximal_leakage", "g_leakage", "min_entropy_leakage"]
    assert not long.tight
    written = long.to_dict()
    assert written["value"] == long.value
    assert len(written["steps"]) == 4  # type: ignore[arg-type]


def test_without_a_prior_twice_the_bound_follows() -> None:
    """Ratios to the average report bound ratios to one another twice; and 710 is past the largest e^ε of a double."""
    for epsilon in (0.5, 710.0):
        assert convert(epsilon, "lip", "ldp").value == pytest.approx(2 * epsilon)
    half = Facts(prior=np.array([0.5, 0.3, 0.2]))
    assert convert(2.0, "lip", "ldp", half).value < 2 * 2.0
    with pytest.raises(InputError):
        convert(1.0, "lip", "ldp", Facts(prior=np.array([0.5, 0.5, 0.0])))


def test_what_does_not_follow_is_refused_with_what_is_missing() -> None:
    with pytest.raises(InputError, match="prior"):
        convert(1.0, "lip", "di")
    with pytest.raises(InputError, match="No theorem"):
        convert(1.0, "guessing_entropy", "ldp")
    for refused in (
        lambda: convert(1.0, "nothing", "ldp"),
        lambda: convert(1.0, "ldp", "nothing"),
        lambda: convert(math.nan, "ldp", "lip"),
        lambda: convert(-1.0, "ldp", "lip"),
        lambda: Facts(prior=np.array([])),
        lambda: Facts(order=0.0),
        lambda: Facts(order=math.nan),
        lambda: Facts(delta=2.0),
        lambda: Facts(distances_m=np.array([[0.0, 1.0]])),
    ):
        with pytest.raises(InputError):
            refused()


def test_no_shuffler_no_amplification() -> None:
    known = {"delta": 1e-6, "people": 10_000}
    with pytest.raises(InputError, match="shuffler"):
        convert(1.0, "ldp", "shuffled_epsilon", Facts(**known))
    assert convert(1.0, "ldp", "shuffled_epsilon", Facts(**known, shuffler="the city's mixer")).value < 0.1


def test_every_notion_is_reached_or_starts_and_every_edge_is_between_notions() -> None:
    ends = {edge.source for edge in IMPLICATIONS} | {edge.target for edge in IMPLICATIONS}
    assert ends == set(NOTIONS)
    assert len({(e.source, e.target) for e in IMPLICATIONS}) == len(IMPLICATIONS)
    assert all(edge.source != edge.target and edge.formula and edge.reference for edge in IMPLICATIONS)


@given(st.floats(-12, 2), st.sampled_from(["ldp", "lip", "di", "maximal_leakage", "gaussian_ldp", "lip_low",
                                           "pointwise_maximal_leakage", "geo_epsilon_per_m"]))  # fmt: skip
def test_every_bound_is_a_number_that_grows_over_14_decades(exponent: float, source: str) -> None:
    known = facts(np.array([0.5, 0.3, 0.2]))
    small = tightest(10.0**exponent, source, known)
    large = tightest(2 * 10.0**exponent, source, known)
    for target, route in small.items():
        assert route.value >= 0
        if target in large:
            if NOTIONS[target].larger_is_worse:
                assert large[target].value >= route.value * (1 - 1e-9)
            else:
                assert large[target].value <= route.value * (1 + 1e-9)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-300, 699.0, 701.0, 1e300, math.inf])
@pytest.mark.parametrize("source", list(NOTIONS))
def test_extreme_values_give_bounds_not_tracebacks(source: str, value: float) -> None:
    known = Facts(prior=np.array([0.7, 0.3]), distances_m=distances(2), order=1.5, second_order=2.0, delta=1e-9)
    for route in tightest(value, source, known).values():
        assert not math.isnan(route.value)
        assert route.value >= 0


@pytest.mark.parametrize("eps", [10.0**k for k in range(-12, 3)])
def test_formulas_agree_with_50_digits_and_never_promise_less(eps: float) -> None:
    with mp.workdps(60):
        e = mp.mpf(eps)
        heads = mp.e**e / (1 + mp.e**e)
        exact = {
            "renyi": mp.log(heads * mp.e**e + (1 - heads) * mp.e**-e),
            "renyi near one": mp.log(heads * mp.e ** (e * mp.mpf("1e-3")) + (1 - heads) * mp.e ** (-e * mp.mpf("1e-3")))
            / mp.mpf("1e-3"),
            "leakage": mp.log(7 * mp.e**e / (mp.e**e + 6)),
            "capacity": max(
                (
                    k * mp.e**e * mp.log(7 * mp.e**e / (k * mp.e**e + 7 - k))
                    + (7 - k) * mp.log(7 / (k * mp.e**e + 7 - k))
                )
                / (k * mp.e**e + 7 - k)
                for k in range(1, 7)
            ),
            "variation": mp.tanh(e / 2),
            "gaussian": 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(e / 2)) if eps < 60 else mp.mpf(0),
            "fall": mp.log((1 - mp.e**-e * mp.mpf(3) / 4) * 4),
        }
    ours = {
        "renyi": bounds.renyi_of_ldp(eps, 2.0),
        "renyi near one": bounds.renyi_of_ldp(eps, 1.001),
        "leakage": bounds.maximal_leakage_of_ldp(eps, 7),
        "capacity": bounds.capacity_of_ldp(eps, 7),
        "variation": bounds.variation_of_approximate(eps, 0.0),
        "gaussian": bounds.gaussian_of_ldp(eps),
        "fall": bounds.lip_of_fall(eps, 0.25),
    }
    for name, value in ours.items():
        true = float(exact[name])
        if name == "gaussian" and eps >= 60:
            continue
        if name == "fall":
            true = max(true, eps)
        assert value == pytest.approx(true, rel=2e-12), name
        if name != "renyi near one":  # 1.001 is not the decimal
            assert value * (1 + 1e-13) >= true * (1 - 1e-15), name
