"""Pointwise maximal leakage and its chain rule; trade-off curves against tests by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from random_channels import channels_with_priors, random_channel

from sfumato.base.errors import InputError
from sfumato.channels.measures import pointwise, trade_off
from sfumato.channels.measures.discrete import ldp, lip, maximal_leakage, pointwise_maximal_leakage
from sfumato.channels.measures.renyi_ldp import ldp_delta, total_variation

RATES = np.linspace(0, 1, 41)


@given(channels_with_priors(zeros=True))
def test_the_chain_rule_holds_and_the_sum_from_the_first_belief_need_not(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    for y1, y2 in itertools.product(range(q.shape[1]), repeat=2):
        if p @ (q[:, y1] * q[:, y2]) > 0:
            found = pointwise.chained(q, q, p, (y1, y2))
            assert found.together <= found.bound + 1e-10
            assert found.together <= pointwise.cap(p) + 1e-10
    assert pointwise.composed([q], p) == pytest.approx(lip(q, p).up, abs=1e-12)
    assert pointwise.composed([q, q], p) >= pointwise.composed([q], p) - 1e-12


def test_adding_leakages_of_the_first_belief_is_no_bound() -> None:
    """Each report leaks at most ln 2 from the uniform belief; two opposite ones leave a single symbol."""
    p = np.full(3, 1 / 3)
    a, b = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]])
    found = pointwise.chained(a, b, p, (1, 1)) if p @ (a[:, 1] * b[:, 1]) > 0 else None
    assert found is None  # they exclude each other
    a, b = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]), np.array([[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]])
    single = lip(a, p).up, lip(b, p).up
    alone = pointwise.chained(a, b, p, (0, 0))
    assert alone.first == pytest.approx(math.log(0.9 / (1.9 / 3)))
    assert alone.together > alone.first + math.log(0.9 / (1.9 / 3))  # more than both from the first belief
    assert alone.together <= sum(single) + 1e-12 or alone.together <= alone.bound


@given(channels_with_priors(zeros=True))
def test_tails_and_quantiles_are_those_of_the_report(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    leakage, m = pointwise_maximal_leakage(q, p), p @ q
    for eps in (0.0, 0.1, 0.5, 2.0):
        expected = sum(w for w, l in zip(m, leakage, strict=True) if l > eps)
        assert pointwise.tail(q, p, eps) == pytest.approx(expected, abs=1e-12)
    for delta in (0.0, 0.05, 0.3):
        assert pointwise.tail(q, p, pointwise.quantile(q, p, delta) + 1e-12) <= delta + 1e-12
    mean = math.log(np.nansum(m * np.exp(np.nan_to_num(leakage))))
    assert mean == pytest.approx(maximal_leakage(q, p), abs=1e-10)


def test_reports_that_cannot_happen_and_bad_leakages_are_refused() -> None:
    for refused in (
        lambda: pointwise.chained(np.eye(2), np.eye(2), [0.5, 0.5], (0, 1)),
        lambda: pointwise.chained(np.eye(2), np.eye(2), [0.5, 0.5], (0, 5)),
        lambda: pointwise.tail(np.eye(2), [0.5, 0.5], math.nan),
        lambda: pointwise.quantile(np.eye(2), [0.5, 0.5], 1.0),
        lambda: pointwise.posterior_composed([0.1, math.nan]),
        lambda: pointwise.posterior_composed([-0.1]),
    ):
        with pytest.raises(InputError):
            refused()
    assert pointwise.posterior_composed([]) == 0
    assert pointwise.posterior_composed([0.1, 0.2]) == pytest.approx(0.3)


def brute_miss(p: np.ndarray, q: np.ndarray, rate: float) -> float:
    """The least miss rate of a randomized test, by a linear program over outputs."""
    from scipy.optimize import linprog

    solved = linprog(-q, A_ub=p[None], b_ub=[rate], bounds=(0, 1), method="highs")
    return float(1 + solved.fun)


def test_the_curve_is_that_of_the_best_tests() -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        p, q = random_channel(rng, 2, 5, zeros=True)
        curve = trade_off.trade_off(p, q)
        for rate in (0.0, 0.05, 0.3, 0.77, 1.0):
            assert curve([rate])[0] == pytest.approx(brute_miss(p, q, rate), abs=1e-9)


@settings(max_examples=30)
@given(channels_with_priors(zeros=True))
def test_the_channels_curve_touches_its_profile_and_is_above_its_gaussian(
    both: tuple[np.ndarray, np.ndarray],
) -> None:
    q, _ = both
    f = trade_off.channel_trade_off(q, RATES)
    for eps in (0.0, 0.5, 2.0):
        assert np.all(f >= trade_off.ldp_trade_off(eps, ldp_delta(q, eps), RATES) - 1e-12)
    if math.isfinite(ldp(q)):
        assert np.all(f >= trade_off.ldp_trade_off(ldp(q), 0.0, RATES) - 1e-12)
    mu = trade_off.gaussian_mu(q)
    if math.isfinite(mu):
        assert np.all(f >= trade_off.gaussian_trade_off(mu, RATES) - 1e-9)
    fine = np.linspace(0, 1, 2001)
    advantage = float((1 - fine - trade_off.channel_trade_off(q, fine)).max())
    assert advantage == pytest.approx(total_variation(q), abs=2e-3)
    assert advantage <= total_variation(q) + 1e-12


def test_randomized_response_has_the_gaussian_of_its_corner() -> None:
    from sfumato.channels.conversions.bounds import gaussian_of_ldp

    for eps in (1e-6, 0.1, 1.0, 5.0, 20.0):
        a = 1 / (1 + math.exp(eps))
        q = np.array([[1 - a, a], [a, 1 - a]])
        assert trade_off.gaussian_mu(q) == pytest.approx(gaussian_of_ldp(eps), rel=1e-6)


def test_an_excluded_symbol_has_no_gaussian_and_bad_rates_are_refused() -> None:
    assert trade_off.gaussian_mu(np.eye(2)) == math.inf
    assert trade_off.channel_trade_off(np.eye(2), [0.0, 0.5]).tolist() == [0.0, 0.0]
    for refused in (
        lambda: trade_off.trade_off([0.5, 0.5], [1.0]),
        lambda: trade_off.trade_off([], []),
        lambda: trade_off.trade_off([0.5, 0.6], [0.5, 0.5]),
        lambda: trade_off.trade_off([1.0], [1.0])([1.5]),
        lambda: trade_off.gaussian_trade_off(-1.0, 0.5),
        lambda: trade_off.ldp_trade_off(-1.0, 0.0, 0.5),
    ):
        with pytest.raises(InputError):
            refused()
