"""Sibson, Arimoto, alpha and (alpha, beta), Rényi LDP and capacities: limits, order, data processing, 50 digits."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from random_channels import channels_with_priors, random_channel

from sfumato.base.errors import InputError
from sfumato.channels.measures.alpha_leakage import (
    alpha_leakage,
    arimoto_information,
    renyi_entropy,
    sibson_information,
)
from sfumato.channels.measures.capacity import maximal_alpha_leakage, shannon_capacity, sibson_capacity
from sfumato.channels.measures.discrete import ldp, maximal_leakage, min_entropy_leakage, mutual_information
from sfumato.channels.measures.renyi_ldp import alpha_beta_leakage, ldp_delta, ldp_epsilon, renyi_ldp, total_variation

ORDERS = [1e-3, 0.3, 0.9, 1 - 1e-6, 1.0, 1 + 1e-9, 1 + 1e-6, 1.01, 1.5, 2.0, 7.0, 100.0, 1e6, math.inf]


def exact_sibson(q: np.ndarray, p: np.ndarray, order: float) -> mp.mpf:
    a = mp.mpf(order)
    total = mp.mpf(0)
    for y in range(q.shape[1]):
        inner = mp.fsum(mp.mpf(p[x]) * mp.mpf(q[x, y]) ** a for x in range(len(p)) if p[x] > 0 and q[x, y] > 0)
        total += inner ** (1 / a)
    return a / (a - 1) * mp.log(total)


def exact_renyi(first: np.ndarray, second: np.ndarray, order: float) -> mp.mpf:
    a = mp.mpf(order)
    s = mp.fsum(mp.mpf(u) ** a * mp.mpf(v) ** (1 - a) for u, v in zip(first, second, strict=True))
    return mp.log(s) / (a - 1)


def exactly_stochastic(q: np.ndarray) -> np.ndarray:
    """Entries that are multiples of 2^-40 and rows that sum to exactly 1, so that 50 digits mean the same channel."""
    whole = np.maximum(1, np.floor(q * 2**40))
    whole[:, 0] += 2**40 - whole.sum(axis=1)
    return whole / 2**40


@pytest.mark.parametrize("order", [0.3, 1 - 1e-9, 1 + 1e-12, 1 + 1e-6, 1.2, 2.0, 30.0, 400.0])
def test_sibson_and_renyi_agree_with_50_digits(order: float) -> None:
    rng = np.random.default_rng(3)
    with mp.workdps(50):
        for _ in range(5):
            q = exactly_stochastic(random_channel(rng, 4, 5))
            p = exactly_stochastic(rng.dirichlet(np.ones(4))[None])[0]
            assert sibson_information(q, p, order) == pytest.approx(float(exact_sibson(q, p, order)), rel=1e-9)
            worst = max(exact_renyi(q[x], q[z], order) for x in range(4) for z in range(4) if x != z)
            assert renyi_ldp(q, order) == pytest.approx(float(worst), rel=1e-9)


def test_almost_nothing_is_measured_with_all_its_digits() -> None:
    for scale in (1e-3, 1e-5, 1e-7):
        q = np.array([[0.5 + scale, 0.5 - scale], [0.5 - scale, 0.5 + scale]])
        for order in (0.5, 1 + 1e-9, 2.0, 50.0):
            assert renyi_ldp(q, order) == pytest.approx(order * (4 * scale) ** 2 / 2, rel=0.02)
            assert sibson_information(q, [0.5, 0.5], order) == pytest.approx(order * (2 * scale) ** 2 / 2, rel=0.02)


@given(channels_with_priors(zeros=True))
def test_everything_grows_with_the_order_between_its_limits(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    sibson = [sibson_information(q, p, a) for a in ORDERS]
    assert all(b >= a - 1e-9 for a, b in pairwise(sibson))
    assert sibson[ORDERS.index(1.0)] == pytest.approx(mutual_information(q, p), abs=1e-14)
    assert sibson[ORDERS.index(1 + 1e-9)] == pytest.approx(mutual_information(q, p), abs=1e-7)
    assert sibson[-2] == pytest.approx(maximal_leakage(q, p), abs=1e-4)
    assert arimoto_information(q, p, 1.0) == pytest.approx(mutual_information(q, p), abs=1e-12)
    assert arimoto_information(q, p, 1e7) == pytest.approx(min_entropy_leakage(q, p), abs=1e-5)
    divergences = [renyi_ldp(q, a) for a in ORDERS]
    assert all(b >= a - 1e-9 for a, b in pairwise(divergences))


@given(channels_with_priors())
def test_arimoto_is_the_difference_of_entropies(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    for order in (0.5, 2.0, 5.0):
        joint = p[:, None] * q
        conditional = order / (1 - order) * math.log(((joint**order).sum(axis=0) ** (1 / order)).sum())
        expected = renyi_entropy(p, order) - conditional
        assert arimoto_information(q, p, order) == pytest.approx(expected, abs=1e-10)


@given(channels_with_priors(zeros=True))
def test_a_capacity_is_above_every_prior_and_its_gap_is_honest(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    for order in (1.0, 1 + 1e-8, 1.7, 4.0, math.inf):
        solved = sibson_capacity(q, order)
        assert solved.objective is not None
        assert sibson_information(q, p, order) <= solved.objective + (solved.gap or 0.0) + 1e-10
        assert sibson_information(q, solved.value, order) == pytest.approx(solved.objective, abs=1e-9)
        assert (solved.gap or 0.0) < 1e-8


def test_capacities_known_in_closed_form() -> None:
    e = 0.1
    flip = np.array([[1 - e, e], [e, 1 - e]])
    assert shannon_capacity(flip).objective == pytest.approx(
        math.log(2) + e * math.log(e) + (1 - e) * math.log(1 - e), abs=1e-12
    )
    erase = np.array([[0.7, 0.0, 0.3], [0.0, 0.7, 0.3]])
    assert shannon_capacity(erase).objective == pytest.approx(0.7 * math.log(2), abs=1e-12)
    z = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert shannon_capacity(z).objective == pytest.approx(math.log(1.25), abs=1e-12)
    assert shannon_capacity(np.ones((3, 1))).objective == 0
    assert shannon_capacity(np.eye(5)).objective == pytest.approx(math.log(5), abs=1e-12)
    assert shannon_capacity([[0.2, 0.8]]).objective == 0


def test_capacity_agrees_with_qif_to_1e_9() -> None:
    qif = pytest.importorskip("qif")
    rng = np.random.default_rng(4)
    for _ in range(15):
        q = random_channel(rng, int(rng.integers(2, 12)), int(rng.integers(2, 12)))
        theirs = qif.measure.shannon.add_capacity(q, 1e-11)[0] * math.log(2)
        assert shannon_capacity(q).objective == pytest.approx(theirs, abs=1e-9)
        p = rng.dirichlet(np.ones(len(q)))
        assert mutual_information(q, p) == pytest.approx(qif.measure.shannon.add_leakage(p, q) * math.log(2), abs=1e-9)


@pytest.mark.slow
@given(channels_with_priors())
def test_alpha_beta_has_its_four_corners(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    assert alpha_beta_leakage(q, math.inf, 1.0) == pytest.approx(maximal_leakage(q), abs=1e-10)
    assert alpha_beta_leakage(q, math.inf, math.inf) == pytest.approx(ldp(q), abs=1e-10)
    for order in (1.5, 3.0):
        assert alpha_beta_leakage(q, order, order) == pytest.approx(renyi_ldp(q, order), abs=1e-9)
        assert alpha_beta_leakage(q, order, 1.0) == pytest.approx(
            maximal_alpha_leakage(q, np.full(len(p), 1 / len(p)), order), abs=1e-8
        )
        grown = [alpha_beta_leakage(q, order, b) for b in (1.0, 1.3, 2.0, 5.0, 40.0, math.inf)]
        assert all(b >= a - 1e-8 for a, b in pairwise(grown))


def test_alpha_beta_adds_over_independent_reports_and_falls_under_post_processing() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        a, b = random_channel(rng, 3, 3), random_channel(rng, 3, 2)
        pairs = np.einsum("xy,zw->xzyw", a, b).reshape(9, 6)  # two independent symbols
        for alpha, beta in ((2.0, 1.2), (2.0, 5.0), (math.inf, 3.0), (3.0, 3.0)):
            apart = alpha_beta_leakage(a, alpha, beta) + alpha_beta_leakage(b, alpha, beta)
            assert alpha_beta_leakage(pairs, alpha, beta) == pytest.approx(apart, rel=1e-6)
            after = a @ random_channel(rng, 3, 2)
            assert alpha_beta_leakage(after, alpha, beta) <= alpha_beta_leakage(a, alpha, beta) + 1e-9


@given(channels_with_priors(zeros=True))
def test_post_processing_lowers_every_order(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    after = q @ random_channel(np.random.default_rng(1), q.shape[1], 3)
    for order in (0.5, 1.0, 2.0, math.inf):
        assert sibson_information(after, p, order) <= sibson_information(q, p, order) + 1e-10
        assert arimoto_information(after, p, order) <= arimoto_information(q, p, order) + 1e-10
        assert renyi_ldp(after, order) <= renyi_ldp(q, order) + 1e-10
    assert total_variation(after) <= total_variation(q) + 1e-12


def test_the_profile_is_exact_and_its_inverse_rounds_up() -> None:
    rng = np.random.default_rng(6)
    q = random_channel(rng, 4, 6)
    assert ldp_delta(q, ldp(q) + 1e-12) <= 1e-15
    assert ldp_epsilon(q, 0.0) == ldp(q)
    for delta in (1e-6, 0.01, 0.2):
        eps = ldp_epsilon(q, delta)
        assert ldp_delta(q, eps) <= delta
        assert ldp_delta(q, max(0.0, eps - 1e-6)) > delta or eps == 0
    assert ldp_epsilon(np.eye(2), 0.5) == math.inf
    assert ldp_delta(np.eye(2), 1e300) == 1.0


@pytest.mark.parametrize("order", [0.0, -1.0, math.nan])
def test_orders_that_mean_nothing_are_refused(order: float) -> None:
    q, p = np.eye(2), [0.5, 0.5]
    for measure in (sibson_information, arimoto_information):
        with pytest.raises(InputError):
            measure(q, p, order)
    for refused in (
        lambda: renyi_ldp(q, order),
        lambda: alpha_leakage(q, p, 0.5),
        lambda: alpha_beta_leakage(q, 1.0, 1.0),
        lambda: sibson_capacity(q, 0.5),
    ):
        with pytest.raises(InputError):
            refused()


def test_zero_prior_symbols_do_not_count() -> None:
    q = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]])
    for order in (0.5, 1.0, 2.0, math.inf):
        whole = sibson_information(q, [0.5, 0.5, 0.0], order)
        assert whole == pytest.approx(sibson_information(q[:2, :2], [0.5, 0.5], order))
    assert maximal_alpha_leakage(q, [0.5, 0.5, 0.0], 2.0) == pytest.approx(
        maximal_alpha_leakage(q[:2, :2], [0.5, 0.5], 2.0)
    )
