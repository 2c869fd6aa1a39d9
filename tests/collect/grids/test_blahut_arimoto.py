"""Blahut-Arimoto: published numbers, certified optimality, targets met by the channel as shipped."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.numbers.geo import geo_epsilon
from sfumato.base.things.channel import with_floor
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto

BITS = math.log(2)


@pytest.mark.parametrize(
    ("name", "beta", "steps", "epsilon", "bits", "distortion"),
    [
        ("paris", 1.0, 1, 1.338, 2.182, 1.663), ("paris", 1.0, 2, 1.629, 2.164, 1.544),
        ("paris", 1.0, 8, 1.901, 2.080, 1.489), ("paris", 1.0, 50, 1.958, 2.053, 1.472),
        ("sf", 1.0, 5, 1.939, 2.085, 1.515), ("sf", 1.0, 10, 1.982, 2.037, 1.504),
        ("paris", 0.5, 8, 0.963, 0.729, 2.845), ("sf", 0.5, 5, 0.976, 0.843, 2.803),
    ],
)  # fmt: skip
def test_level_information_and_distortion_are_the_known_ones(name, beta, steps, epsilon, bits, distortion):
    place = city(name)
    channel = blahut_arimoto(place.probabilities, place.plain_grid, beta=beta, steps=steps, floor=0.0).value
    assert channel.epsilon().upper == pytest.approx(epsilon, abs=6e-4)
    assert channel.mutual_information(place.probabilities) / BITS == pytest.approx(bits, abs=6e-4)
    assert channel.distortion(place.probabilities) == pytest.approx(distortion, abs=6e-4)


def test_the_certified_gap_bounds_the_distance_to_the_optimum_and_shrinks():
    place = city("paris")
    best = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=3000, floor=0.0)
    gaps = []
    for steps in (2, 8, 50, 300):
        solved = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=steps, floor=0.0)
        assert solved.lower_bound <= best.objective + 1e-12 <= solved.objective + 1e-9
        assert solved.status == "stopped"
        gaps.append(solved.objective - solved.lower_bound)
    assert gaps == sorted(gaps, reverse=True)


def test_no_random_channel_of_that_distortion_leaks_less_than_the_converged_one():
    grid = Grid.plain(3, 4)
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(12))
    best = blahut_arimoto(p, grid, beta=1.0, steps=20_000, floor=0.0).value
    information, distance = best.mutual_information(p), best.distortion(p)
    distances = grid.distance_matrix()
    for _ in range(300):
        mixed = best.to_dense().matrix * np.exp(rng.normal(scale=rng.uniform(0.01, 1), size=(12, 12)))
        mixed /= mixed.sum(axis=1, keepdims=True)
        q = p @ mixed
        seen = mixed > 0
        ratio = np.log(mixed / np.where(q > 0, q, 1.0), where=seen, out=np.zeros_like(mixed))
        leaked = float(np.sum(p[:, None] * mixed * ratio))
        apart = float(p @ (mixed * distances).sum(axis=1))
        assert leaked + apart >= information + distance - 1e-7


@pytest.mark.parametrize("floor", [0.0, 0.01])
def test_an_epsilon_target_is_met_and_nearly_used_up(floor):
    place = city("paris")
    channel = blahut_arimoto(place.probabilities, place.plain_grid, epsilon=1.5, floor=floor).value
    assert 1.5 - 1e-6 <= channel.epsilon().upper <= 1.5


def test_the_floor_is_applied_once_after_the_last_step():
    place = city("paris")
    bare = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=8, floor=0.0).value
    floored = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=8, floor=0.1).value
    np.testing.assert_allclose(floored.output_weights, with_floor(bare.output_weights, 0.1), rtol=1e-14)
    assert floored.output_weights.min() >= 0.1 / 165
    assert floored.epsilon().upper < bare.epsilon().upper


def test_converged_weights_vanish_on_most_cells_and_a_floor_brings_them_back():
    """Theorem 5.1 of the paper needs every cell observed; the limit channel does not observe most."""
    place = city("paris")
    bare = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=6000, floor=0.0).value
    assert np.count_nonzero(bare.output_weights > 1e-12) < 60
    assert np.linalg.matrix_rank(bare.to_dense().matrix, tol=1e-9) < 60
    floored = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0, steps=6000, floor=0.01).value
    assert np.linalg.matrix_rank(floored.to_dense().matrix, tol=1e-9) == 165


def test_the_dense_form_agrees_with_the_grid_and_serves_any_distortion():
    grid = Grid.plain(4, 5)
    p = np.random.default_rng(3).dirichlet(np.ones(20))
    distances = grid.distance_matrix()
    on_grid = blahut_arimoto(p, grid, beta=0.8, steps=30, floor=0.0).value
    dense = blahut_arimoto_matrix(p, distances, beta=0.8, steps=30, tolerance=None).value
    np.testing.assert_allclose(dense.matrix, on_grid.to_dense().matrix, rtol=1e-10, atol=1e-14)
    squared = blahut_arimoto_matrix(p, distances**2, beta=1.0, steps=2000).value
    assert geo_epsilon(squared.matrix, distances) > 2.0, "2 beta is for metrics only"
    wide = blahut_arimoto_matrix(p, distances[:, :7], beta=1.0, steps=50).value
    assert wide.shape == (20, 7)
    held = blahut_arimoto_matrix(p, distances, epsilon=0.7, steps=20, tolerance=None).value
    assert 0.7 - 1e-6 <= geo_epsilon(held.matrix, distances) <= 0.7
    near = blahut_arimoto_matrix(p, distances, average_distortion=0.5, steps=50, tolerance=None).value
    assert 0.5 - 1e-6 <= float(p @ (near.matrix * distances).sum(axis=1)) <= 0.5


def test_cells_without_people_are_no_division_by_zero():
    p = np.zeros(30)
    p[4] = 1.0
    channel = blahut_arimoto(p, Grid.plain(5, 6), beta=1.0, steps=50).value
    assert np.isfinite(channel.log_normaliser()).all()
    assert channel.mutual_information(p) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"beta": 1.0, "epsilon": 1.0}, {"beta": -1.0}, {"beta": float("nan")}, {"beta": 1.0, "steps": 0},
     {"beta": 1.0, "floor": 1.0}, {"beta": 1.0, "floor": -0.1}],
)  # fmt: skip
def test_senseless_targets_are_refused_with_advice(options):
    with pytest.raises(InputError) as refused:
        blahut_arimoto(np.full(6, 1 / 6), Grid.plain(2, 3), **options)
    assert refused.value.advice


@pytest.mark.parametrize("prior", [np.full(5, 0.2), np.full(6, np.nan), -np.ones(6), np.ones(6)], ids=str)
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(InputError):
        blahut_arimoto(prior, Grid.plain(2, 3), beta=1.0)


def test_a_place_that_never_occurs_does_not_turn_the_solution_into_nan():
    found = blahut_arimoto_matrix([0.5, 0.5, 0.0], 1000 * (1 - np.eye(3)), beta=1.0)
    np.testing.assert_allclose(found.value.matrix, [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], atol=1e-12)
    assert np.isfinite(found.objective)


def test_the_objective_of_a_single_place_is_a_number_even_where_far_cells_have_no_normaliser():
    p = np.zeros(384)
    p[0] = 1.0
    found = blahut_arimoto(p, Grid.plain(16, 24), beta=30.0, floor=0.0)
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(found.lower_bound)
