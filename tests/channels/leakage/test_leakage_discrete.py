"""Every leakage of a channel: published numbers, supports, and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.channels.conversions.composition import product_matrix
from sfumato.channels.measures import discrete as d
from sfumato.channels.priors.prior_sets import EveryPrior, Known, Polytope, TVBall

Q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
P = np.array([0.5, 0.3, 0.2])


@pytest.mark.says("Jiang2021, Eq. 21", "typo")
def test_the_measures_of_the_reference_channel() -> None:
    found = d.lip(Q, P)
    assert found.max == pytest.approx(1.4586150227, abs=1e-9)
    assert found.up == pytest.approx(1.0216512475, abs=1e-9)
    assert found.pair == (1, 0)
    assert d.lift(Q, P)[found.pair] == pytest.approx(math.exp(-found.low), rel=1e-12)
    assert d.ldp(Q) == pytest.approx(1.9459101491, abs=1e-9)
    assert d.mutual_information(Q, P) == pytest.approx(0.2382351895, abs=1e-9)
    assert d.maximal_leakage(Q, P) == pytest.approx(0.6931471806, abs=1e-9)
    assert d.differential_identifiability(Q, P) == pytest.approx(2.4567357728, abs=1e-9)
    assert d.lip(product_matrix([Q, Q]), P).max == pytest.approx(3.2600177682, abs=1e-9)
    assert d.lip(Q, [0.45, 0.3, 0.25]).max == pytest.approx(1.4048707467, abs=1e-9)
    assert d.bayes_error(Q, P) == pytest.approx(0.31, abs=1e-12)
    assert d.average_distortion(Q, P, d.hamming(3)) == pytest.approx(1 - (P * np.diag(Q)).sum(), abs=1e-12)


def test_epsilon_delta_equals_brute_force_over_all_events() -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        n, k = 3, 4
        q, p = rng.dirichlet(np.ones(k), size=n), rng.dirichlet(np.ones(n))
        epsilon = float(rng.uniform(0.05, 1.2))
        e = math.exp(epsilon)
        worst_low = worst_up = 0.0
        for xs in itertools.chain.from_iterable(itertools.combinations(range(n), r) for r in range(1, n + 1)):
            given = p[list(xs)] @ q[list(xs)] / p[list(xs)].sum()
            for ys in itertools.chain.from_iterable(itertools.combinations(range(k), r) for r in range(1, k + 1)):
                mine, everyone = given[list(ys)].sum(), (p @ q)[list(ys)].sum()
                worst_low, worst_up = max(worst_low, everyone - e * mine), max(worst_up, mine - e * everyone)
        low, up = d.epsilon_delta(q, p, epsilon)
        assert low == pytest.approx(worst_low, abs=1e-12)
        assert up == pytest.approx(worst_up, abs=1e-12)


def test_no_delta_is_left_at_the_leakage_itself() -> None:
    low, up = d.epsilon_delta(Q, P, d.lip(Q, P).max + 1e-12)
    assert max(low, up) < 1e-12


def test_symbols_outside_the_support_do_not_count_for_one_prior() -> None:
    q = np.array([[0.5, 0.5], [0.5, 0.5], [0.001, 0.999]])
    assert d.lip(q, [0.5, 0.5, 0.0]).max == pytest.approx(0.0, abs=1e-12)
    assert d.lip(q, [0.4, 0.4, 0.2]).max == pytest.approx(5.99, abs=0.01)
    assert d.maximal_leakage(q, [0.5, 0.5, 0.0]) == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(d.lift(np.array([[1.0, 0.0], [0.0, 1.0]]), [1.0, 0.0])[0, 1])


def test_a_set_of_point_masses_leaks_like_every_prior_although_each_leaks_nothing() -> None:
    q = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert d.lip(q, [1.0, 0.0]).max == d.lip(q, [0.0, 1.0]).max == 0.0
    assert d.lip(q, [0.5, 0.5]).max == pytest.approx(1.609, abs=1e-3)
    assert d.lip_over_set(q, Polytope(np.eye(2))).max == pytest.approx(d.ldp(q), abs=1e-12)


def test_over_every_prior_the_leakage_is_local_differential_privacy() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        q = rng.dirichlet(np.ones(4), size=3)
        assert d.lip_over_set(q, EveryPrior(3)).max == pytest.approx(d.ldp(q), abs=1e-12)


def test_over_one_prior_a_set_is_that_prior() -> None:
    assert d.lip_over_set(Q, Known(P)).max == pytest.approx(d.lip(Q, P).max, abs=1e-12)
    assert d.lip_over_set(Q, TVBall(P, 0.0)).max == pytest.approx(d.lip(Q, P).max, abs=1e-12)


def test_no_prior_of_a_set_leaks_more_than_the_set() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        q = rng.dirichlet(np.ones(4), size=4)
        vertices = rng.dirichlet(np.ones(4), size=3)
        whole = d.lip_over_set(q, Polytope(vertices)).max
        inside = [d.lip(q, w @ vertices).max for w in rng.dirichlet(np.ones(3) * 0.3, size=60)]
        assert max(inside) <= whole + 1e-12
        assert max(d.lip(q, v).max for v in vertices) == pytest.approx(whole, abs=1e-9)


def test_geo_indistinguishability_is_the_worst_pair_per_metre() -> None:
    positions = np.array([0.0, 100.0, 400.0])
    distances = np.abs(positions[:, None] - positions)
    brute = max(
        math.log(Q[a, y] / Q[b, y]) / distances[a, b] for a in range(3) for b in range(3) for y in range(3) if a != b
    )
    assert d.geo_epsilon(Q, distances) == pytest.approx(brute, rel=1e-12)
    assert d.geo_epsilon(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])) == math.inf
    assert d.geo_epsilon(Q, np.zeros((3, 3))) == math.inf


def test_an_identity_channel_leaks_without_bound_and_a_constant_one_nothing() -> None:
    assert d.lip(np.eye(3), P).max == math.inf
    assert d.ldp(np.eye(3)) == math.inf
    assert d.mutual_information(np.eye(3), P) == pytest.approx(-(P * np.log(P)).sum())
    constant = np.tile([0.2, 0.8], (3, 1))
    assert d.lip(constant, P).max == pytest.approx(0, abs=1e-15)
    assert d.mutual_information(constant, P) == pytest.approx(0, abs=1e-15)
    assert d.bayes_error(constant, P) == pytest.approx(0.5)


def test_the_adversary_does_at_least_as_well_as_the_report_itself() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        q, p, cost = rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3)), rng.random((3, 3))
        assert d.adversary_error(q, p, cost) <= d.average_distortion(q, p, cost) + 1e-12
    assert d.adversary_error(Q, P, d.hamming(3)) == pytest.approx(d.bayes_error(Q, P))


def test_pointwise_maximal_leakage_is_the_upper_side() -> None:
    assert np.nanmax(d.pointwise_maximal_leakage(Q, P)) == pytest.approx(d.lip(Q, P).up)


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.5, 0.3, 0.3], [-0.1, 0.6, 0.5], [np.nan, 0.5, 0.5]])
def test_priors_that_do_not_fit_are_refused(prior: list[float]) -> None:
    with pytest.raises(InputError):
        d.lip(Q, prior)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exponential", "anything", "one far pair", "two at one place"])
def test_pairs_that_no_path_makes_steep_are_left_out_of_geo_epsilon_without_changing_it(kind: str) -> None:
    rng = np.random.default_rng(3)
    place = np.stack(np.divmod(np.arange(150), 15), axis=1).astype(float)
    if kind == "two at one place":
        place[7] = place[3]
    far = np.linalg.norm(place[:, None] - place[None], axis=2)
    q = np.exp(-0.4 * far)
    if kind == "anything":
        q = rng.dirichlet(np.ones(150), 150) + 1e-9
    if kind == "one far pair":
        q = 1 + 1e-3 * rng.random((150, 150))
        q[:, 5] *= np.exp(-0.3 * far[0])
    q /= q.sum(axis=1, keepdims=True)
    logs = np.log(q)
    brute = 0.0
    for x in range(149):
        for other in range(x + 1, 150):
            change = np.abs(logs[x] - logs[other]).max()
            brute = max(brute, change / far[x, other] if far[x, other] > 0 else (np.inf if change > 1e-12 else 0.0))
    assert d.geo_epsilon(q, far) == pytest.approx(brute, rel=1e-12)
