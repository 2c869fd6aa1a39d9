"""g-vulnerability, min-entropy leakage, guessing, prediction: brute force, qif, laws, extremes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from random_channels import channels_with_priors, random_channel

from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel
from sfumato.channels.measures import g_leakage as g
from sfumato.channels.measures.discrete import (
    adversary_error,
    bayes_error,
    bayes_vulnerability,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
)
from sfumato.channels.measures.renyi_ldp import total_variation

Q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
P = np.array([0.5, 0.3, 0.2])


def brute_posterior(q: np.ndarray, p: np.ndarray, table: np.ndarray) -> float:
    """Every strategy y -> w, the best expected gain."""
    best = -math.inf
    for strategy in itertools.product(range(len(table)), repeat=q.shape[1]):
        value = sum(p[x] * q[x, y] * table[w, x] for x in range(len(p)) for y, w in enumerate(strategy))
        best = max(best, value)
    return best


def test_the_best_of_all_strategies_is_what_is_computed() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, p = random_channel(rng, 3, 3, zeros=True), rng.dirichlet(np.ones(3))
        table = rng.uniform(-1, 1, (3, 3))
        assert g.g_leakage(q, p, table).average == pytest.approx(brute_posterior(q, p, table), abs=1e-13)


def test_tries_without_a_matrix_are_the_same_as_with_every_subset() -> None:
    rng = np.random.default_rng(1)
    for tries in (1, 2, 3, 5):
        q, p = random_channel(rng, 5, 4), rng.dirichlet(np.ones(5))
        table = np.array([[x in s for x in range(5)] for s in itertools.combinations(range(5), tries)], dtype=float)
        ours, theirs = g.g_leakage(q, p, g.tries_gain(5, tries)), g.g_leakage(q, p, table)
        assert (ours.before, ours.average, ours.worst) == pytest.approx((theirs.before, theirs.average, theirs.worst))


def test_agrees_with_qif_to_1e_9() -> None:
    qif = pytest.importorskip("qif")
    m, rng = qif.measure, np.random.default_rng(2)
    for _ in range(30):
        n, k = int(rng.integers(2, 9)), int(rng.integers(2, 9))
        q, p = random_channel(rng, n, k), rng.dirichlet(np.ones(n))
        table = rng.random((4, n))
        pairs = [
            (g.g_leakage(q, p, table).before, m.g_vuln.prior(table, p)),
            (g.g_leakage(q, p, table).average, m.g_vuln.posterior(table, p, q)),
            (math.exp(g.g_leakage(q, p, table).nats), m.g_vuln.mult_leakage(table, p, q)),
            (g.g_leakage(q, p, table).added, m.g_vuln.add_leakage(table, p, q)),
            (min_entropy_leakage(q, p), m.bayes_vuln.min_entropy_leakage(p, q) * math.log(2)),
            (math.exp(maximal_leakage(q)), m.bayes_vuln.mult_capacity(q)),
            (g.guessing_entropy(p), m.guessing.prior(p)),
            (g.posterior_guessing_entropy(q, p), m.guessing.posterior(p, q)),
            (adversary_error(q, p, table.T), m.l_risk.posterior(table, p, q)),
            (1 - bayes_vulnerability(q, p), m.bayes_risk.posterior(p, q)),
            (1 / (1 - total_variation(q)), m.bayes_risk.mult_capacity(q)[0]),
        ]
        for ours, theirs in pairs:
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(channels_with_priors(zeros=True))
def test_no_gain_leaks_more_than_maximal_leakage(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    table = np.random.default_rng(0).random((3, len(p)))
    most = maximal_leakage(q, p)
    for gain in (table, g.identity_gain(len(p)), g.tries_gain(len(p), 2)):
        assert g.g_leakage(q, p, gain).nats <= most + 1e-12
    uniform = np.full(len(p), 1 / len(p))
    assert min_entropy_leakage(q, uniform) == pytest.approx(maximal_leakage(q), abs=1e-12)


@given(channels_with_priors(zeros=True))
def test_post_processing_never_helps(both: tuple[np.ndarray, np.ndarray]) -> None:
    q, p = both
    rng = np.random.default_rng(q.size)
    after = q @ random_channel(rng, q.shape[1], 3)
    table = rng.random((4, len(p)))
    assert g.g_leakage(after, p, table).average <= g.g_leakage(q, p, table).average + 1e-12
    assert g.g_leakage(after, p, table).worst <= g.g_leakage(q, p, table).worst + 1e-12
    assert g.posterior_guessing_entropy(after, p) >= g.posterior_guessing_entropy(q, p) - 1e-12
    assert total_variation(after) <= total_variation(q) + 1e-12


@given(channels_with_priors(zeros=True))
def test_the_worst_report_is_at_least_the_average_which_is_at_least_the_prior(
    both: tuple[np.ndarray, np.ndarray],
) -> None:
    q, p = both
    found = g.g_leakage(q, p, g.identity_gain(len(p)))
    assert found.worst >= found.average - 1e-12 >= found.before - 2e-12
    assert found.average == pytest.approx(1 - bayes_error(q, p), abs=1e-12)


def test_gains_by_place() -> None:
    d = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    p = np.full(4, 0.25)
    nothing = np.ones((4, 1))
    assert g.g_leakage(nothing, p, g.within_gain(d, 1.0)).before == pytest.approx(0.75)
    assert g.g_leakage(nothing, p, g.distance_gain(d, 2.0)).before == pytest.approx((1 + 0.5 + 0.5) / 4)
    district = g.g_leakage(Q, P, [[1, 0, 0], [0, 1, 1]])  # whether it is the first, yes or no
    assert district.before == pytest.approx(0.5)
    assert 1 - district.average == pytest.approx(min(0.35, 0.08) + min(0.1, 0.29) + min(0.05, 0.13))


def test_the_symbol_a_report_singles_out_most() -> None:
    q = np.array([[0.98, 0.01, 0.01], [0.01, 0.5, 0.49], [0.01, 0.49, 0.5]])
    found = g.singling_out(q, P)
    assert found.symbol == 0
    assert found.after == pytest.approx(min(0.49, 0.005) + 2 * min(0.005, 0.25), abs=1e-3)
    told = [g.g_leakage(q, P, np.stack([np.arange(3) == x, np.arange(3) != x])) for x in range(3)]
    assert max((1 - one.before) / (1 - one.average) for one in told) == pytest.approx(found.before / found.after)


def test_a_gain_that_only_a_report_makes_possible_is_an_infinite_factor() -> None:
    q = np.eye(2)
    found = g.g_leakage(q, [0.5, 0.5], np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]]))
    assert found.before == 0
    assert found.average == 1
    assert found.nats == math.inf
    assert math.isnan(g.g_leakage(q, [0.5, 0.5], -np.eye(2)).nats)


@pytest.mark.parametrize("prior", [[1e-300, 1.0], [0.0, 1.0], [1 - 1e-16, 1e-16]])
def test_extreme_priors_stay_finite(prior: list[float]) -> None:
    q = np.array([[1.0, 0.0], [1e-300, 1.0]])
    assert 0 <= min_entropy_leakage(q, prior) < 1e-10
    assert math.isfinite(g.posterior_guessing_entropy(q, prior))
    assert g.singling_out(q, prior).after >= 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: g.tries_gain(3, 0),
        lambda: g.tries_gain(3, 4),
        lambda: g.matrix_gain(np.empty((0, 3))),
        lambda: g.matrix_gain([[math.nan, 1.0]]),
        lambda: g.distance_gain([[0.0]], 0.0),
        lambda: g.within_gain([[0.0]], math.nan),
        lambda: g.g_leakage(Q, P, np.ones((2, 4))),
        lambda: g.g_leakage(Q, [], np.ones((2, 3))),
        lambda: g.g_leakage(np.empty((0, 0)), [], np.ones((2, 3))),
        lambda: g.g_leakage(Q, [math.nan, 0.5, 0.5], np.ones((2, 3))),
    ],
)
def test_what_cannot_be_measured_is_refused_with_advice(wrong: object) -> None:
    with pytest.raises(InputError):
        wrong()  # type: ignore[operator]


@given(channels_with_priors(zeros=True))
def test_a_channel_that_is_held_tells_what_its_bare_matrix_tells(both: tuple[np.ndarray, np.ndarray]) -> None:
    """One by compiled loops, the other by NumPy."""
    q, p = both
    held, table = Channel(q), g.matrix_gain(np.random.default_rng(0).random((4, p.size)))
    for measure in (mutual_information, min_entropy_leakage, bayes_vulnerability, g.posterior_guessing_entropy):
        assert measure(held, p) == pytest.approx(measure(q, p), rel=1e-12, abs=1e-14)
    assert maximal_leakage(held) == pytest.approx(maximal_leakage(q), rel=1e-12, abs=1e-14)
    ours, plain = g.g_leakage(held, p, table), g.g_leakage(q, p, table)
    assert (ours.before, ours.average, ours.worst) == pytest.approx((plain.before, plain.average, plain.worst))
    with pytest.raises(InputError):
        min_entropy_leakage(held, np.full(p.size, 2.0))
