"""Leakage from samples alone: intervals that hold as often as they say, and warnings where samples cannot tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel
from sfumato.channels.measures import black_box as bb
from sfumato.channels.measures import discrete
from sfumato.channels.measures.black_box import neighbour_risk
from sfumato.channels.measures.discrete import bayes_vulnerability, min_entropy_leakage
from sfumato.channels.measures.g_leakage import g_leakage, matrix_gain, tries_gain

Q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
P = np.array([0.5, 0.3, 0.2])


def drawn(n: int, seed: int, *, prior: np.ndarray | None = None, declared: bool = False) -> bb.Samples:
    rng = np.random.default_rng(seed)
    x = rng.choice(3, n, p=P) if prior is None else np.repeat(np.arange(3), n // 3)
    y = Channel(Q).sample(x, rng=seed)
    return bb.Samples(x, y, 3, 3, prior=prior, all_outputs_declared=declared)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("n", [60, 600])
def test_intervals_hold_more_often_than_they_promise(known: bool, n: int) -> None:
    gain = matrix_gain([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    true = (
        bayes_vulnerability(Q, P), g_leakage(Q, P, gain).average, min_entropy_leakage(Q, P),
        discrete.ldp(Q), discrete.lip(Q, P).max,
    )  # fmt: skip
    missed = np.zeros(5, dtype=int)
    for seed in range(150):
        samples = drawn(n, seed, prior=P if known else None, declared=True)
        pair = bb.ratios(samples)
        found = (
            bb.vulnerability(samples), bb.vulnerability(samples, gain), bb.min_entropy_leakage(samples), pair.ldp,
            pair.lip,
        )  # fmt: skip
        for k, (estimate, value) in enumerate(zip(found, true, strict=True)):
            assert estimate.lower <= estimate.upper
            if k != 4 or known:  # without a prior LIP is that of the sample's own frequencies
                missed[k] += not estimate.lower <= value <= estimate.upper
    assert np.all(missed <= 150 * 0.05)


def test_many_samples_find_the_truth() -> None:
    samples = drawn(200_000, 1, declared=True)
    assert bb.bayes_risk(samples).value == pytest.approx(discrete.bayes_error(Q, P), abs=5e-3)
    for estimate, true in (
        (bb.vulnerability(samples), bayes_vulnerability(Q, P)),
        (bb.vulnerability(samples, tries_gain(3, 2)), g_leakage(Q, P, tries_gain(3, 2)).average),
        (bb.ratios(samples).ldp, discrete.ldp(Q)),
        (bb.ratios(samples).lip, discrete.lip(Q, P).max),
    ):
        assert estimate.lower <= true <= estimate.upper
        assert estimate.upper - estimate.lower < 0.1


def test_a_false_claim_of_privacy_is_refuted() -> None:
    assert bb.ratios(drawn(3000, 0)).ldp.lower > 1.2  # truth 1.946


def test_unseen_outputs_and_pairs_leave_the_upper_end_open_and_say_so() -> None:
    undeclared = bb.ratios(drawn(3000, 0))
    assert undeclared.ldp.upper == undeclared.lip.upper == math.inf
    assert any("never seen may exist" in words for words in undeclared.warnings)
    x, y = np.array([0] * 50 + [1] * 50), np.array([0] * 100)
    declared = bb.ratios(bb.Samples(x, y, 2, 2, all_outputs_declared=True))
    assert declared.ldp.upper == math.inf
    assert any("more samples" in words for words in declared.warnings)
    unsampled = bb.ratios(bb.Samples(x, y, 3, 1, all_outputs_declared=True))
    assert unsampled.ldp.upper == math.inf


def test_too_few_samples_are_said_to_be_too_few() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40), rng.integers(0, 400, 40)
    samples = bb.Samples(x, y, 5, 400)
    words = " ".join(samples.warnings())
    assert "cells" in words
    assert "seen once" in words
    assert "fewer than 20" in words
    found = bb.vulnerability(samples)  # independent: nothing leaks, and the plug-in value says everything does
    assert found.value > 0.8
    assert found.lower <= 0.35
    assert drawn(100_000, 3).warnings() == []


@pytest.mark.slow
def test_neighbours_find_the_risk_of_points() -> None:
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 4000)
    points = np.stack([x * 2.0 + rng.normal(size=4000), rng.normal(size=4000)], axis=1)
    found = neighbour_risk(x, points, rng=0)
    true = float(norm.cdf(-1))
    assert found.lower <= true <= found.upper
    assert not found.proved
    assert found.upper < 0.25


def test_neighbours_upper_end_is_never_below_the_truth() -> None:
    rng = np.random.default_rng(2)
    below = 0
    for seed in range(60):
        x = rng.integers(0, 2, 200)
        points = rng.normal(size=(200, 1))  # nothing leaks: the risk is 1/2
        below += neighbour_risk(x, points, rng=seed).upper < 0.5
    assert below <= 3


def test_labels() -> None:
    samples = bb.samples_of_labels(["a", "b", "a"], ["u", "v", "u"], outputs=["u", "v", "w"])
    assert samples.outputs == 3
    assert samples.all_outputs_declared
    assert samples.counts.tolist() == [[2, 0, 0], [0, 1, 0]]
    with pytest.raises(InputError, match="declared"):
        bb.samples_of_labels(["a"], ["z"], outputs=["u"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bb.Samples(np.array([], dtype=int), np.array([], dtype=int), 2, 2),
        lambda: bb.Samples(np.array([0.5]), np.array([0]), 2, 2),
        lambda: bb.Samples(np.array([0]), np.array([5]), 2, 2),
        lambda: bb.Samples(np.array([0, 1]), np.array([0]), 2, 2),
        lambda: bb.Samples(np.array([0]), np.array([0]), 2, 2, prior=np.array([0.5, 0.5])),
        lambda: bb.Samples(np.array([0]), np.array([0]), 10_000, 10_000),
        lambda: bb.vulnerability(drawn(9, 0), beta=0.0),
        lambda: bb.vulnerability(drawn(9, 0), beta=math.nan),
        lambda: bb.vulnerability(drawn(9, 0), matrix_gain([[2.0, 0.0, 0.0]])),
        lambda: bb.ratios(drawn(9, 0), beta=1.0),
        lambda: neighbour_risk([0, 1], [[0.0], [1.0]]),
        lambda: neighbour_risk([0, 1, 0, 1], [[0.0], [1.0], [math.nan], [1.0]]),
    ],
)
def test_what_cannot_be_estimated_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        wrong()  # type: ignore[operator]


def test_a_single_sample_is_no_crash() -> None:
    one = bb.Samples(np.array([0]), np.array([0]), 1, 1, all_outputs_declared=True)
    assert bb.vulnerability(one).upper == 1.0
    assert bb.ratios(one).ldp.lower == 0.0
    assert bb.vulnerability(bb.Samples(np.array([0, 1]), np.array([0, 0]), 2, 1, prior=np.array([0.5, 0.5]))).lower > 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_halves_know_nothing_of_what_drew_the_samples(seed: int) -> None:
    """They were drawn from seed 0, and samples drawn from it fell into halves by their input: no lower end at all."""
    rng = np.random.default_rng(seed)
    x = rng.choice(3, 6000, p=P)
    y = np.array([rng.choice(3, p=Q[symbol]) for symbol in x])
    found = bb.vulnerability(bb.Samples(x, y, 3, 3))
    assert found.lower > 0.63
    points = np.stack([x * 100.0, np.zeros(6000)], axis=1) + rng.normal(scale=10.0, size=(6000, 2))
    near = neighbour_risk(x, points)
    assert near.upper < 0.01
    assert near.value == neighbour_risk(x, points).value
