"""Pointwise maximal leakage and its chain rule; trade-off curves against tests by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from random_channels import channels_with_priors, random_channel

from sfumato.base.errors import InputError
from sfumato.channels.measures import discrete, trade_off
from sfumato.channels.measures.discrete import ldp, maximal_leakage, pointwise_maximal_leakage, product_matrix
from sfumato.channels.measures.renyi_ldp import ldp_delta, total_variation

RATES = np.linspace(0, 1, 41)


@given(channels_with_priors(zeros=True))
def test_the_chain_rule_holds_from_the_belief_the_first_report_left(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    first, pairs = pointwise_maximal_leakage(q, p), pointwise_maximal_leakage(product_matrix([q, q]), p)
    for y1, y2 in itertools.product(range(q.shape[1]), repeat=2):
        if p @ (q[:, y1] * q[:, y2]) > 0:
            belief = p * q[:, y1] / (p @ q[:, y1])
            together = pairs[y1 * q.shape[1] + y2]
            assert together <= first[y1] + pointwise_maximal_leakage(q, belief)[y2] + 1e-10
            assert together <= -math.log(p[p > 0].min()) + 1e-10


@given(channels_with_priors(zeros=True))
def test_quantiles_are_those_of_the_report(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    leakage, m = pointwise_maximal_leakage(q, p), p @ q
    for delta in (0.0, 0.05, 0.3):
        most = discrete.quantile(q, p, delta)
        assert sum(w for w, l in zip(m, leakage, strict=True) if l > most + 1e-12) <= delta + 1e-12
    mean = math.log(np.nansum(m * np.exp(np.nan_to_num(leakage))))
    assert mean == pytest.approx(maximal_leakage(q, p), abs=1e-10)


def test_bad_leakages_are_refused() -> None:
    for refused in (
        lambda: discrete.quantile(np.eye(2), [0.5, 0.5], 1.0),
        lambda: discrete.posterior_composed([0.1, math.nan]),
        lambda: discrete.posterior_composed([-0.1]),
    ):
        with pytest.raises(InputError):
            refused()
    assert discrete.posterior_composed([]) == 0
    assert discrete.posterior_composed([0.1, 0.2]) == pytest.approx(0.3)


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
