"""Frequency oracles: the certified ratio and the draws are those of the matrix, and estimates are unbiased."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.channels.frequency.estimate import (
    likeliest_frequencies,
    onto_simplex,
    projected_frequencies,
    unbiased_frequencies,
)
from sfumato.channels.frequency.frequency_oracles import FIELD, ORACLES, LocalHashing, frequency_oracle
from sfumato.channels.frequency.randomizer import odds_within
from sfumato.channels.measures.discrete import ldp

NAMES = list(ORACLES)
DECADES = [10.0**k for k in range(-11, 3)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [*DECADES, 5.0, 35.0, 700.0])
@pytest.mark.parametrize("symbols", [2, 7, 384])
def test_the_certified_epsilon_never_exceeds_and_nearly_reaches_what_was_asked(
    name: str, epsilon: float, symbols: int
) -> None:
    oracle = frequency_oracle(name, symbols, epsilon)
    assert oracle.certified_epsilon <= epsilon
    if 1e-6 <= epsilon <= 20:
        assert oracle.certified_epsilon >= epsilon * (1 - 1e-8)
    assert oracle.likelihood_ratio <= odds_within(epsilon)
    assert 0 < oracle.other < oracle.own < 1 or symbols == 2


@pytest.mark.parametrize("name", [name for name in NAMES if name != "local-hashing"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_the_ratio_is_that_of_the_matrix(name: str, epsilon: float) -> None:
    for symbols in (2, 5, 8):
        oracle = frequency_oracle(name, symbols, epsilon)
        assert ldp(oracle.channel()) == pytest.approx(float(oracle.certified_epsilon), rel=1e-9)


def test_local_hashing_given_its_hash_is_randomized_response() -> None:
    oracle = LocalHashing(10, 1.0)
    wrong = (1 - oracle.own) / (oracle.buckets - 1)
    assert oracle.likelihood_ratio == oracle.own / wrong
    with pytest.raises(InputError, match="too many reports"):
        oracle.channel()


@pytest.mark.parametrize("name", NAMES)
def test_draws_support_with_exactly_the_stated_probabilities(name: str) -> None:
    oracle = frequency_oracle(name, 6, 1.2)
    people = 40_000
    held = oracle.supports(oracle.release(np.full(people, 2), rng=11))
    expected = np.where(np.arange(6) == 2, float(oracle.own), float(oracle.other))
    error = np.sqrt(expected * (1 - expected) / people)
    assert np.all(np.abs(held.mean(axis=0) - expected) < 5 * error)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "local-hashing"])
def test_draws_follow_the_matrix(name: str) -> None:
    oracle = frequency_oracle(name, 4, 1.0)
    reports = oracle.release(np.full(30_000, 1), rng=5)
    row = np.sort(oracle.channel().matrix[1])
    _, counts = np.unique(reports, axis=0, return_counts=True)
    assert counts.size == row.size
    assert np.all(np.abs(np.sort(counts) / 30_000 - row) < 5 * np.sqrt(row / 30_000) + 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_unbiased_with_the_stated_variance(name: str) -> None:
    truth = np.array([0.5, 0.25, 0.15, 0.1, 0.0])
    x = np.repeat(np.arange(5), (truth * 400).astype(int))
    oracle = frequency_oracle(name, 5, 1.0)
    rounds = np.array([unbiased_frequencies(oracle, oracle.release(x, rng=seed)) for seed in range(300)])
    error = rounds.std(axis=0) / math.sqrt(300)
    assert np.all(np.abs(rounds.mean(axis=0) - truth) < 4.5 * error)
    stated = np.array([oracle.variance(400, f) for f in truth])
    assert rounds.var(axis=0) == pytest.approx(stated, rel=0.4)


@pytest.mark.parametrize("name", NAMES)
def test_many_reports_find_the_truth_both_ways(name: str) -> None:
    truth = np.array([0.6, 0.2, 0.1, 0.1, 0.0, 0.0])
    x = np.repeat(np.arange(6), (truth * 30_000).astype(int))
    oracle = frequency_oracle(name, 6, 2.0)
    reports = oracle.release(x, rng=1)
    for estimate in (projected_frequencies(oracle, reports), likeliest_frequencies(oracle, reports, steps=500)):
        assert estimate.sum() == pytest.approx(1)
        assert estimate.min() >= 0
        assert np.abs(estimate - truth).sum() < 0.06


def test_the_projection_is_the_nearest_distribution() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(0.2, 0.4, 5)
        ours = onto_simplex(v)
        theirs = minimize(
            lambda t, v=v: ((t - v) ** 2).sum(), np.full(5, 0.2), bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda t: t.sum() - 1}, options={"ftol": 1e-14},
        ).x  # fmt: skip
        assert ours == pytest.approx(theirs, abs=1e-5)
    assert onto_simplex([1e300, 0.0]).tolist() == [1.0, 0.0]
    assert onto_simplex([-5.0]).tolist() == [1.0]


def test_real_reports_use_fresh_entropy_and_seeded_ones_repeat() -> None:
    oracle = frequency_oracle("unary-encoding", 30, 1.0)
    x = np.zeros(50, dtype=int)
    assert not np.array_equal(oracle.release(x), oracle.release(x))
    assert np.array_equal(oracle.release(x, rng=3), oracle.release(x, rng=3))
    assert len(oracle.release(np.array([], dtype=int))) == 0


def test_the_guarantee_says_what_is_not_covered() -> None:
    said = frequency_oracle("randomized-response", 5, 1.0).guarantee()
    assert said.parameters["certified_nats"] <= 1.0
    assert any("distance" in words for words in said.not_covered)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 701.0])
@pytest.mark.parametrize("name", NAMES)
def test_epsilons_that_mean_nothing_are_refused(name: str, epsilon: float) -> None:
    with pytest.raises(InputError):
        frequency_oracle(name, 5, epsilon)


def test_other_things_that_are_refused() -> None:
    oracle = frequency_oracle("hadamard-response", 5, 1.0)
    for refused in (
        lambda: frequency_oracle("nothing", 5, 1.0),
        lambda: frequency_oracle("unary-encoding", 1, 1.0),
        lambda: oracle.release([5]),
        lambda: oracle.release([-1]),
        lambda: oracle.release([0.5]),
        lambda: unbiased_frequencies(oracle, np.empty((0, 1), dtype=np.int64)),
        lambda: onto_simplex([]),
        lambda: onto_simplex([math.nan]),
        lambda: frequency_oracle("unary-encoding", 40, 1.0).channel(),
    ):
        with pytest.raises(InputError):
            refused()
    assert FIELD == 2**31 - 1
