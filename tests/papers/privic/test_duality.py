"""Blahut-Arimoto and the Bayesian update, one iteration."""

import math

import numpy as np
import pytest

from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.collect.cities import city
from sfumato.collect.estimation import ibu
from sfumato.papers.privic.privic_duality import dual_problem, weights_after


def problem(seed=0, inputs=5, outputs=4):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(inputs)), rng.uniform(0, 3, (inputs, outputs))


@pytest.mark.says("Biswas2023, Sec. 4, Fig. 4", "gap")
@pytest.mark.parametrize("updates", [0, 1, 7, 200])
def test_the_two_iterations_agree_step_by_step_for_any_distortion(updates):
    prior, distortion = problem()
    dual = dual_problem(prior, distortion, beta=1.3)
    np.testing.assert_allclose(
        dual.steps(updates), weights_after(prior, distortion, beta=1.3, updates=updates), rtol=1e-10, atol=1e-15
    )
    assert not dual.constant_rows
    assert dual.channel.outputs[-1] == "silent"


def test_the_certified_gaps_agree():
    prior, distortion = problem(1)
    solved = blahut_arimoto_matrix(prior, distortion, beta=2.0, steps=50, tolerance=None)
    weights = weights_after(prior, distortion, beta=2.0, updates=49)
    gap = dual_problem(prior, distortion, beta=2.0).gap(weights / weights.sum())
    assert math.log1p(gap) == pytest.approx(solved.objective - solved.lower_bound, rel=1e-9)


def test_the_built_estimator_finds_the_same_weights_on_paris():
    place = city("paris")
    grid, prior = place.plain_grid, place.probabilities
    centres = grid.centres()
    distances = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    dual = dual_problem(prior, distances, beta=1.0)
    people = np.append(place.people, 0)  # nobody is silent
    found = ibu(dual.channel, people, steps=7).probabilities
    np.testing.assert_allclose(found, weights_after(prior, distances, beta=1.0, updates=7), rtol=1e-9)


def test_where_the_rows_sum_alike_nobody_is_silent_and_the_papers_reading_is_exact():
    ring = np.minimum(np.arange(6), 6 - np.arange(6)).astype(float)
    distances = np.array([np.roll(ring, k) for k in range(6)])
    dual = dual_problem(np.full(6, 1 / 6), distances, beta=1.0)
    assert dual.constant_rows
    assert dual.channel.matrix[:, -1].max() < 1e-12


@pytest.mark.says("Biswas2023, Thm 4.1", "gap")
def test_theorem_4_1_the_update_through_a_planar_geometric_channel_reaches_the_largest_likelihood():
    line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    kernel = np.exp(-line)
    from sfumato.base.things.channel import Channel

    channel = Channel(kernel / kernel.sum(axis=1, keepdims=True))
    counts = np.array([40, 10, 5, 5, 20, 60])
    found = ibu(channel, counts, steps=40_000)
    assert 0 <= found.gap < 1e-4
    ratios = channel.matrix @ (counts / counts.sum() / (found.probabilities @ channel.matrix))
    assert ratios.max() < 1 + 1e-4  # what a largest likelihood must meet, and what suffices
