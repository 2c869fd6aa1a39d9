"""The island of PRIVIC's Figures 1 and 2, and what is elastic."""

import numpy as np
import pytest

from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.measures.discrete import geo_epsilon
from sfumato.collect.cities import city
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.papers.privic.privic_elastic import (
    STRONG,
    VULNERABLE,
    elastic_distortions,
    elasticity,
    island,
    travel_distance,
)
from sfumato.papers.privic.privic_figure_2 import BETAS

PARIS = city("paris")
GRID = PARIS.plain_grid


def channels(beta, reach=1):
    prior = island(reach=reach)
    elastic = blahut_arimoto(prior, GRID, beta=beta, steps=10, floor=0.0).value
    laplace = planar_laplace_matrix(GRID, 2 * beta)
    return prior, elastic, laplace / laplace.sum(axis=1, keepdims=True)


def test_the_island_is_planted_as_the_text_says():
    prior = island()
    assert prior.sum() == pytest.approx(1.0)
    assert prior[VULNERABLE] == pytest.approx(0.0082, abs=1e-4)
    around = prior.reshape(GRID.shape)[5:8, 2:5]
    assert around.sum() == pytest.approx(prior[VULNERABLE])
    assert island(reach=2)[VULNERABLE] == pytest.approx(0.0842, abs=1e-4)
    assert prior[STRONG] == pytest.approx(PARIS.probabilities[STRONG])


@pytest.mark.says("Biswas2023, Sec. 3.3, ε = 0.2", "typo")
def test_the_most_private_level_listed_is_four_tenths():
    assert min(2 * beta for beta in BETAS) == 0.4
    assert island()[VULNERABLE] == pytest.approx(0.0082, abs=1e-4)


@pytest.mark.parametrize(("beta", "exact"), [(0.2, 0.3999), (0.6, 1.1997), (0.8, 1.5996), (1.0, 1.9995)])
def test_planar_laplace_at_two_beta_has_that_level_and_blahut_arimoto_a_little_less(beta, exact):
    _, elastic, laplace = channels(beta)
    assert geo_epsilon(laplace, GRID.distance_matrix()) == pytest.approx(exact, abs=1e-4)
    np.testing.assert_allclose(planar_laplace_matrix(GRID, 2 * beta).sum(axis=1), 1.0, rtol=1e-9)
    assert 0.94 * 2 * beta < elastic.epsilon().upper < exact


def test_blahut_arimoto_hides_the_island_and_planar_laplace_leaves_it():
    prior, elastic, laplace = channels(0.8)
    hidden, left = (elasticity(m, GRID, VULNERABLE, prior) for m in (elastic.to_dense().matrix, laplace))
    assert hidden.stays == pytest.approx(0.067, abs=1e-3)
    assert hidden.displacement == pytest.approx(3.57, abs=0.01)
    assert left.displacement == pytest.approx(1.24, abs=0.01)
    assert hidden.crowd > 4 * left.crowd
    strong = [elasticity(m, GRID, STRONG, prior).displacement for m in (elastic.to_dense().matrix, laplace)]
    assert strong == pytest.approx([1.16, 1.24], abs=0.01)
    prior, elastic, _ = channels(0.8, reach=2)
    assert elasticity(elastic.to_dense().matrix, GRID, VULNERABLE, prior).stays == pytest.approx(0.898, abs=1e-3)


@pytest.mark.says("Biswas2023, Sec. 3.3, POI", "undecided")
def test_the_nearest_place_of_interest_from_a_report_of_the_island():
    prior, elastic, laplace = channels(0.8)
    trips = [travel_distance(row, GRID, VULNERABLE, prior) for row in (elastic.row(VULNERABLE), laplace[VULNERABLE])]
    assert trips == pytest.approx([4.06, 2.68], abs=0.02)
    assert travel_distance(np.eye(GRID.cells)[VULNERABLE], GRID, VULNERABLE, prior) < trips[1]


@pytest.mark.says("Biswas2023, Sec. 3.3, best QoS", "false")
def test_another_elastic_mechanism_may_serve_better_than_blahut_arimotos():
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    prior = np.array([0.4, 0.2, 0.4])
    distortion, told = elastic_distortions(prior, line, beta=0.5, outputs=(0, 1, 2))
    ends, more = elastic_distortions(prior, line, beta=0.5, outputs=(0, 2))
    assert distortion == pytest.approx(0.6858, abs=1e-4)
    assert ends == pytest.approx(0.6303, abs=1e-4)
    assert told + 0.5 * distortion < more + 0.5 * ends  # what Blahut-Arimoto does minimise
    kernel = np.exp(-0.5 * line) * np.array([0.5, 0.0, 0.5])
    matrix = kernel / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(prior @ matrix, [0.5, 0.0, 0.5], atol=1e-12)  # its own mass: elastic as defined
    assert prior @ (matrix * line).sum(axis=1) == pytest.approx(ends)
