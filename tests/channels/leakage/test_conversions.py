"""Conversions between notions: published numbers, tightness, and the errata that must fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lip_channels import random_lip_channel

from sfumato.base.errors import InputError
from sfumato.channels.conversions import lip_constants as c
from sfumato.channels.conversions.routes import Facts, tightest
from sfumato.channels.measures import discrete as d
from sfumato.channels.priors.prior_sets import EveryPrior, Polytope


@pytest.mark.says("Jiang2021, Eq. 11", "typo")
@pytest.mark.parametrize(
    ("epsilon", "smallest", "value"), [(1, 0.2, 2.0), (1, 0.3, 1.9062193738), (2, 0.05, 4.0), (0.5, 0.4, 0.9638623164)]
)
def test_from_lip_to_ldp(epsilon: float, smallest: float, value: float) -> None:
    assert float(c.lip_to_ldp(epsilon, smallest)) == pytest.approx(value, abs=1e-9)


def test_from_ldp_to_lip_and_the_budget_to_use() -> None:
    assert c.ldp_to_lip(1, 0.2).nats == pytest.approx(0.8648397252, abs=1e-9)
    assert c.ldp_to_lip(1, 0.3).nats == pytest.approx(0.7897280436, abs=1e-9)
    assert c.ldp_budget_for_lip(1, 0.2).nats == pytest.approx(1.1467204062, abs=1e-9)
    assert c.ldp_budget_for_lip(1, 0.3).nats == pytest.approx(1.2397322437, abs=1e-9)
    assert c.ldp_to_lip(c.ldp_budget_for_lip(1, 0.3).nats, 0.3).nats == pytest.approx(1.0, abs=1e-12)


def test_every_conversion_says_when_it_holds() -> None:
    for converted in (c.lip_to_ldp(1, 0.2), c.ldp_to_lip(1, 0.2), c.bounded_lip_to_ldp(1, EveryPrior(3)), c.geo_to_lip(
        0.1, [0.5, 0.5], [[0, 1], [1, 0]])):  # fmt: skip
        assert len(converted.holds) > 10


def test_the_likelihood_ratio_is_attained_by_some_lip_channel() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 4):
        for _ in range(4):
            p = rng.dirichlet(np.ones(n) * 2)
            epsilon = float(rng.uniform(0.3, 1.5))
            bound = c.largest_likelihood_ratio(epsilon, p).nats
            best = 0.0
            for a in range(n):
                for b in range(n):
                    if a != b:
                        best = max(best, d.ldp(random_lip_channel(p, epsilon, rng, favour=(a, b))))
            assert best <= bound + 1e-9
            assert best == pytest.approx(bound, abs=1e-6)


def test_two_symbols_below_the_threshold_have_a_sharper_ratio() -> None:
    assert c.largest_likelihood_ratio(1, [0.1, 0.9]).nats == pytest.approx(1.21186, abs=1e-5)
    assert c.lip_to_ldp(1, 0.1).nats == 2.0


def test_the_seed_of_theorem_2_without_the_exponential_fails() -> None:
    """E2: `max LR <= min{2 eps, ...}` compares a ratio with a logarithm; a channel of the class breaks it."""
    rng = np.random.default_rng(1)
    p, epsilon = np.array([0.5, 0.3, 0.2]), 0.5
    q = random_lip_channel(p, epsilon, rng, favour=(0, 2))
    ratio = math.exp(d.ldp(q))
    printed = min(2 * epsilon, (math.exp(epsilon) - 1 + 0.2) / 0.2)
    assert ratio > printed
    assert math.log(ratio) <= c.lip_to_ldp(epsilon, 0.2).nats + 1e-9


@pytest.mark.says("Jiang2021, Thm 2", "typo")
def test_theorem_2_over_a_set_of_priors_is_kept_by_every_channel_that_keeps_lip_there() -> None:
    rng = np.random.default_rng(4)
    priors = [np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.35, 0.35])]
    either = Polytope(np.array(priors))  # its largest smallest probability is that of a mixture
    most = 0.3 + 0.2 / 7
    assert c.bounded_lip_to_ldp(1.0, either).nats == pytest.approx(math.log((math.e - 1 + most) / most))
    assert c.bounded_lip_to_ldp(0.5, Polytope(np.array([priors[0]]))).nats == 1.0
    for _ in range(200):
        q = rng.dirichlet(np.ones(3) * rng.uniform(0.5, 4), size=3) * 0.9 + 0.1 / 3
        epsilon = max(d.lip(q, p).max for p in priors)
        assert d.ldp(q) <= c.bounded_lip_to_ldp(epsilon, either).nats + 1e-9


def test_lip_bounds_mutual_information_by_epsilon_tanh_half_epsilon() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        assert c.lip_to_mutual_information(epsilon).nats == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(100):
        q, p = rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3))
        found = d.lip(q, p)
        if 0 < found.up < 30 and 0 < found.low < 30:
            assert d.mutual_information(q, p) <= c.lip_to_mutual_information(found.up, found.low).nats + 1e-12
    extremal = np.array([[1 / (1 + math.e), math.e / (1 + math.e)], [math.e / (1 + math.e), 1 / (1 + math.e)]])
    found = d.lip(extremal, [0.5, 0.5])
    assert d.mutual_information(extremal, [0.5, 0.5]) <= c.lip_to_mutual_information(found.up, found.low).nats + 1e-12


def test_identifiability_both_ways() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        q, p = rng.dirichlet(np.ones(4), size=3), rng.dirichlet(np.ones(3) * 3)
        identifiability = d.differential_identifiability(q, p)
        assert d.lip(q, p).max <= c.identifiability_to_lip(identifiability + 1e-12, p).nats + 1e-9
        assert identifiability <= c.lip_to_identifiability(d.lip(q, p).max, p).nats + 1e-9
    with pytest.raises(InputError, match="even a constant"):
        c.identifiability_to_lip(0.1, [0.9, 0.1])


def test_from_identifiability_the_bound_is_attained() -> None:
    p, epsilon = np.array([0.5, 0.3, 0.2]), 2.5
    # One output whose posterior is e^eps times as likely for the commonest symbol as for the others.
    posterior = np.array([math.exp(epsilon), 1.0, 1.0])
    posterior /= posterior.sum()
    lift = posterior / p
    bound = c.identifiability_to_lip(epsilon, p).nats
    inverse = np.array([1.0, 1.0, math.exp(-epsilon)])
    inverse /= inverse.sum()
    reached = max(np.log(lift).max(), -np.log(lift).min(), np.abs(np.log(np.roll(inverse, 0) / p)).max(),
                  np.abs(np.log(np.array([math.exp(-epsilon), 1, 1]) / (2 + math.exp(-epsilon)) / p)).max(),
                  np.abs(np.log(np.array([1, 1, math.exp(epsilon)]) / (2 + math.exp(epsilon)) / p)).max())  # fmt: skip
    assert reached <= bound + 1e-9


def test_geo_indistinguishability_bounds_lip_and_lip_gives_only_a_weak_geo_bound() -> None:
    rng = np.random.default_rng(4)
    places = rng.random((5, 2)) * 1000
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    for _ in range(20):
        q, p = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(5))
        g = d.geo_epsilon(q, distances)
        assert d.lip(q, p).max <= c.geo_to_lip(g, p, distances).nats + 1e-9
        assert g <= c.lip_to_geo(d.lip(q, p).max, p, distances).nats + 1e-9


def test_lip_promises_no_epsilon_per_metre_where_a_symbol_has_prior_probability_0() -> None:
    distances = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    p = np.array([0.5, 0.5, 0.0])
    q = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])  # the third row may be anything
    assert d.lip(q, p).max == 0
    assert d.geo_epsilon(q, distances) == math.inf
    assert c.lip_to_geo(1.0, p, distances).nats == math.inf
    assert c.lip_to_geo(1.0, [0.5, 0.4, 0.1], distances).nats < math.inf
    assert c.lip_to_geo(1.0, [1.0], [[0.0]]).nats == 0
    assert "geo_epsilon_per_m" not in tightest(1.0, "lip", Facts(prior=p, distances_m=distances))


def test_mismatch_bounds_hold_and_the_ratio_is_never_worse() -> None:
    rng = np.random.default_rng(5)
    for _ in range(80):
        q, p1 = rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3) * 5)
        p2 = 0.8 * p1 + 0.2 * rng.dirichlet(np.ones(3))
        found = c.mismatch(q, p1, p2)
        assert found.overhead_ratio <= found.overhead_tv + 1e-12
        assert abs(d.lip(q, p2).max - d.lip(q, p1).max) <= found.overhead_ratio + 1e-12
        assert d.lip(q, p2).max <= found.bound + 1e-12
        assert d.lip(q, p2).max <= found.cap + 1e-12


def test_the_reference_mismatch() -> None:
    q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    tv, ratio = c.mismatch_overhead([0.5, 0.3, 0.2], [0.45, 0.3, 0.25])
    assert tv == pytest.approx(0.2231435513, abs=1e-9)
    assert ratio == pytest.approx(0.2231435513, abs=1e-9)
    assert d.lip(q, [0.45, 0.3, 0.25]).max == pytest.approx(1.4048707467, abs=1e-9)


def test_outside_the_support_only_local_differential_privacy_is_promised() -> None:
    q = np.array([[0.5, 0.5], [0.5, 0.5], [0.001, 0.999]])
    found = c.mismatch(q, [0.5, 0.5, 0.0], [0.4, 0.4, 0.2])
    assert found.bound == pytest.approx(d.ldp(q))
    assert d.lip(q, [0.4, 0.4, 0.2]).max <= found.bound
    with pytest.raises(InputError):
        c.mismatch_overhead([0.5, 0.5, 0.0], [0.4, 0.4, 0.2])


@pytest.mark.parametrize(
    ("arguments", "value"), [((1, 0.3, 0.25), 0.368737), ((0.5, 0.1, 0.1), 0.0648721), ((2, 0.2, 0.2), 0.691732)]
)
def test_corollary_6_with_logarithms(arguments: tuple[float, float, float], value: float) -> None:
    assert c.largest_useful_variation(*arguments) == pytest.approx(value, abs=1e-6)


@pytest.mark.says("Jiang2021, Cor. 6", "false")
def test_corollary_6_as_printed_fails() -> None:
    """E15: between the corrected and the printed threshold, eps + overhead already exceeds the prior-free bound."""
    epsilon, p1, p2 = 2.0, 0.2, 0.2
    corrected = c.largest_useful_variation(epsilon, p1, p2)
    for variation, within in ((0.99 * corrected, True), (1.05 * corrected, False), (1.2, False)):
        overhead = math.log(1 + variation / min(p1, p2))
        assert (epsilon + overhead <= c.lip_to_ldp(epsilon, p1).nats) is within
    assert corrected < 1.2 < 1.277811


def test_a_conversion_says_when_it_is_attained_and_refuses_impossible_input() -> None:
    assert "three symbols" in c.lip_to_ldp(1, 0.1).holds
    assert not c.lip_to_ldp(1, 0.4).tight  # only two symbols can have a smallest probability above 1/3
    with pytest.raises(InputError):
        c.lip_to_ldp(1, 0.7)
    for bad in ([[0, np.nan], [1, 0]], [[0, -1], [-1, 0]], [[0, 1, 2], [1, 0, 1]]):
        with pytest.raises(InputError):
            c.geo_to_lip(1, [0.5, 0.5], bad)
        with pytest.raises(InputError):
            c.lip_to_geo(1, [0.5, 0.5], bad)
