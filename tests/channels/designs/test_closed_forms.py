"""Closed forms of local information privacy against the linear program, and the errata that must fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lip_channels import vertices

from sfumato.base.errors import InputError
from sfumato.channels.conversions.composition import lift_vertices
from sfumato.channels.conversions.lip_constants import binary_likelihood_ratio, threshold
from sfumato.channels.designs.lip import closed_forms as c
from sfumato.channels.designs.lip.lip_optimal import optimal_channel, worst_case_channel
from sfumato.channels.measures import discrete as d

P = np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize(
    ("probability", "epsilon", "one_given_zero", "zero_given_one"),
    [
        (0.3, 1.0, 0.1103638324, 0.2575156088),
        (0.1, 1.0, 0.2175950706, 0.2689414214),
        (0.05, 2.0, 0.0791190191, 0.1192029220),
        ((0.2, 0.4), 1.0, 0.1534121321, 0.2689414214),
    ],
)
def test_published_binary_channels(
    probability: float | tuple[float, float], epsilon: float, one_given_zero: float, zero_given_one: float
) -> None:
    designed = c.binary_channel(probability, epsilon)
    assert designed.channel.matrix[0, 1] == pytest.approx(one_given_zero, abs=1e-9)
    assert designed.channel.matrix[1, 0] == pytest.approx(zero_given_one, abs=1e-9)
    assert designed.leakage <= epsilon


def test_the_binary_channel_is_optimal_for_every_objective() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        p1, epsilon, cost = float(rng.uniform(0.02, 0.98)), float(rng.uniform(0.2, 2.5)), rng.random((2, 3))
        p = np.array([1 - p1, p1])
        q = c.binary_channel(p1, epsilon).channel.matrix
        remapped = ((p[:, None] * q).T @ cost).min(axis=1).sum()
        assert remapped == pytest.approx(optimal_channel(p, cost, epsilon).objective, abs=1e-7)


def test_a_binary_interval_keeps_its_promise_inside() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        low, high = sorted(rng.uniform(0.02, 0.98, 2))
        epsilon = float(rng.uniform(0.2, 2.5))
        designed = c.binary_channel((low, high), epsilon)
        for p1 in np.linspace(low, high, 9):
            assert d.lip(designed.channel, [1 - p1, p1]).max <= epsilon + 1e-12


def test_the_binary_ratio_peaks_at_the_threshold() -> None:
    tau = threshold(1.0)
    values = [binary_likelihood_ratio(p, 1.0) for p in (tau - 0.1, tau, tau + 0.1)]
    assert values[1] > max(values[0], values[2])
    assert values[1] == pytest.approx(math.exp(2), rel=1e-12)


def test_published_resampling_shares() -> None:
    assert c.resampling_share(P, 1) == pytest.approx(0.4295704571, abs=1e-9)
    assert c.resampling_share(P, 2) == pytest.approx(0.8646647168, abs=1e-9)
    assert c.resampling_share(P, 1, delta=0.05) == pytest.approx(0.4920704571, abs=1e-9)


def test_the_resampling_share_is_tight_from_both_sides() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        n = int(rng.integers(2, 6))
        p, epsilon, delta = rng.dirichlet(np.ones(n)), float(rng.uniform(0.1, 2)), float(rng.choice([0.0, 0.02, 0.1]))
        share = c.resampling_share(p, epsilon, delta=delta)
        if share >= 1:
            continue

        def worst(lam: float, p: np.ndarray = p, epsilon: float = epsilon) -> float:
            return max(d.epsilon_delta(lam * np.eye(p.size) + (1 - lam) * p, p, epsilon))

        assert worst(share) <= delta + 1e-12
        assert worst(min(1.0, share + 1e-6)) > delta


def test_the_share_of_the_source_breaks_the_additive_definition() -> None:
    """E5: with delta outside, the share of Prop. 2 on a fine uniform grid has a true upper delta near .135."""
    epsilon, delta, n = 1.0, 0.05, 2000
    printed = min(delta * math.e, 1 - math.exp(-1) + delta * math.exp(-1))
    assert printed == pytest.approx(0.1359, abs=1e-4)
    # Closed form of delta_up for prior resampling on n equal symbols.
    up = max(0.0, (printed + (1 - printed) / n) - math.e / n)
    assert up == pytest.approx(0.134987, abs=1e-5)
    assert up > delta
    assert c.resampling_share(np.full(n, 1 / n), epsilon, delta=delta) < 0.052


def test_the_epsilon_delta_version_states_what_it_measured() -> None:
    made = c.resampling_with_delta(P, 1.0, 0.05)
    channel, statement = made.channel, made.guarantee
    low, up = d.epsilon_delta(channel, P, 1.0)
    assert max(low, up) <= 0.05
    assert statement.parameters["measured_delta_up"] == up
    assert "no composition rule" in statement.not_covered[0]


def test_published_top_k() -> None:
    p = [0.5, 0.3, 0.15, 0.05]
    designed, k = c.top_k_channel(p, 1)
    assert (1 - designed.average_distortion, k) == (pytest.approx(0.5848468629, abs=1e-9), 2)  # type: ignore[operator]
    designed, k = c.top_k_channel(p, 3)
    assert (1 - designed.average_distortion, k) == (pytest.approx(0.8700485066, abs=1e-9), 4)  # type: ignore[operator]


def test_top_k_is_the_worst_case_optimum_of_hamming_distortion() -> None:
    rng = np.random.default_rng(3)
    for _ in range(15):
        n = int(rng.integers(2, 7))
        p, epsilon = rng.dirichlet(np.ones(n)) * 0.95 + 0.05 / n, float(rng.uniform(0.2, 3))
        designed, _ = c.top_k_channel(p, epsilon)
        assert d.ldp(designed.channel) <= epsilon
        assert designed.average_distortion == pytest.approx(
            worst_case_channel(p, d.hamming(n), epsilon).objective, abs=1e-7
        )


def test_the_hamming_bound_and_when_it_is_exact() -> None:
    bound = c.hamming_bound(P, 1)
    assert bound.accuracy == pytest.approx(0.7395067302, abs=1e-9)
    assert not bound.exact
    rng = np.random.default_rng(4)
    exact = 0
    for trial in range(80):
        n = int(rng.integers(2, 7))
        p = rng.dirichlet(np.ones(n) * rng.uniform(0.5, 5))
        if trial % 4 == 0:  # ties, where the first statement of the condition failed
            p = np.round(p * 8) + 1
            p /= p.sum()
        epsilon = float(rng.uniform(0.2, 3))
        bound = c.hamming_bound(p, epsilon)
        best = 1 - optimal_channel(p, d.hamming(n), epsilon, gap=1e-8).objective  # type: ignore[operator]
        assert bound.accuracy >= best - 1e-8
        assert bound.exact == (bound.accuracy <= best + 1e-7), (p, epsilon)
        exact += bound.exact
    assert 10 < exact < 75


def test_two_symbols_promise_for_the_probability_they_were_designed_for() -> None:
    """`prior` weighs the cost; the certificate was about it, and not about the probability of the design."""
    designed = c.binary_channel(0.1, 1.0, prior=0.5)
    assert d.lip(designed.channel, [0.9, 0.1]).max == pytest.approx(1.0, abs=1e-9)
    assert designed.leakage == d.lip(designed.channel, [0.9, 0.1]).max
    assert designed.average_distortion == pytest.approx(
        d.average_distortion(designed.channel, [0.5, 0.5], d.hamming(2))
    )
    np.testing.assert_allclose(designed.channel.matrix, c.binary_channel(0.1, 1.0).channel.matrix)
    with pytest.raises(InputError, match="strictly between"):
        c.binary_channel(0.1, 1.0, prior=1.0)


def test_vertices_agree_with_an_independent_enumeration() -> None:
    mine, other = lift_vertices(P, 0.7), vertices(P, 0.7)
    assert mine.shape[0] == np.unique(np.round(other, 9), axis=0).shape[0]
    np.testing.assert_allclose(mine @ P, 1, atol=1e-12)


def test_bad_arguments_are_refused() -> None:
    for call in (lambda: c.binary_channel(0.0, 1), lambda: c.binary_channel((0.6, 0.4), 1),
                 lambda: c.resampling_share(P, -1), lambda: c.resampling_share(P, 1, delta=1.0),
                 lambda: c.resampling_channel([1.0, 0.0], 1), lambda: lift_vertices(np.full(20, 0.05), 1)):  # fmt: skip
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("weighed", [0.05, 0.5, 0.9])
def test_a_binary_channel_promises_for_the_prior_it_was_designed_for(epsilon: float, weighed: float) -> None:
    """``prior`` weighs the cost and nothing else; the certificate was once made for it."""
    made = c.binary_channel(0.3, epsilon, prior=weighed)
    designed_for = np.array([0.7, 0.3])
    assert made.leakage == pytest.approx(d.lip(made.channel, designed_for).max, abs=1e-12)
    assert d.lip(made.channel, designed_for).max <= epsilon
    assert made.average_distortion == pytest.approx(
        float((np.array([1 - weighed, weighed])[:, None] * made.channel.matrix * (1 - np.eye(2))).sum())
    )
