"""PRIVIC's small statements, its formulas as written out by hand, and its algorithms to the letter (P1 to P3)."""

import numpy as np
import pytest

from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation.joint import ibu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.loop.simulation import Protocol, simulate
from sfumato.papers.privic.privic_small import algorithm_1_distances, algorithm_2_row_sums, equation_8_row_sums

LINE = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))


def test_example_1_1_reporting_b_always_costs_two_thirds_and_tells_nothing():
    always_b = Channel(np.array([[0.0, 1.0, 0.0]] * 3))
    distances = LINE[:3, :3]
    assert np.mean((always_b.matrix * distances).sum(axis=1)) == pytest.approx(2 / 3)
    for start in ((0.2, 0.3, 0.5), (0.6, 0.2, 0.2)):
        found = ibu(always_b, np.array([0, 30, 0]), steps=50, start=start)
        np.testing.assert_allclose(found.probabilities, start, atol=1e-12)
        assert found.log_likelihood == pytest.approx(0.0, abs=1e-9)  # the same for every start: each is a largest one


def test_one_step_of_blahut_arimoto_is_the_formula_of_the_paper():
    prior = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    weights = np.full(5, 0.2)
    for _ in range(3):
        matrix = weights * np.exp(-0.7 * LINE)
        matrix /= matrix.sum(axis=1, keepdims=True)
        weights = prior @ matrix
    found = blahut_arimoto_matrix(prior, LINE, beta=0.7, steps=3, tolerance=None).value
    np.testing.assert_allclose(np.asarray(found.matrix), matrix, rtol=1e-12)


def test_the_limit_of_blahut_arimoto_is_a_fixed_point_of_its_two_maps():
    prior = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    found = blahut_arimoto_matrix(prior, LINE, beta=2.0, steps=50_000, tolerance=None).value
    matrix = np.asarray(found.matrix)
    again = (prior @ matrix) * np.exp(-2.0 * LINE)
    np.testing.assert_allclose(again / again.sum(axis=1, keepdims=True), matrix, atol=1e-9)
    assert np.ptp(matrix, axis=0).max() > 0.3


def test_the_limit_of_blahut_arimoto_is_elastic():
    grid = Grid.plain(3, 4)
    prior = np.random.default_rng(0).dirichlet(np.ones(12))
    matrix = blahut_arimoto(prior, grid, beta=1.5, steps=20_000, floor=0.0).value.to_dense().matrix
    reported = prior @ matrix
    elastic = reported * np.exp(-1.5 * grid.distance_matrix())
    np.testing.assert_allclose(matrix, elastic / elastic.sum(axis=1, keepdims=True), atol=1e-6)
    assert reported.max() > 0.1


@pytest.mark.says("Biswas2023, Alg. 2", "typo")
def test_algorithm_2_as_printed_is_no_channel():
    sums = algorithm_2_row_sums(np.full(5, 0.2), LINE, beta=1.0)
    kernel = np.exp(-LINE)
    np.testing.assert_allclose(sums, (kernel / kernel.sum(axis=0)).sum(axis=1), rtol=1e-12)
    assert sums.min() < 0.95
    assert sums.max() > 1.02


@pytest.mark.says("Biswas2023, Eq. 8", "typo")
def test_equation_8_as_printed_is_no_channel():
    sums = equation_8_row_sums(np.full(5, 0.2), LINE, beta=1.0)
    np.testing.assert_allclose(sums, np.exp(LINE).sum(axis=1) / np.exp(-LINE).sum(axis=1), rtol=1e-12)
    assert sums.min() > 5


@pytest.mark.says("Biswas2023, Alg. 1", "typo")
def test_algorithm_1_as_printed_estimates_reports_it_did_not_make():
    place = city("paris")
    printed = algorithm_1_distances(
        place.people, place.plain_grid, beta=1.0, cycles=3, ba_steps=8, ibu_steps=10, seed=0
    )
    (text,) = simulate(place.people, place.plain_grid, Protocol(beta=1.0, cycles=3), rounds=1)
    right = [cycle.emd for cycle in text[1:]]
    assert 1.9 < printed[0] < 2.3  # the first reports go through C^(0), which says nothing
    assert all(2.3 > a > 2 * b for a, b in zip(printed, right, strict=True))
