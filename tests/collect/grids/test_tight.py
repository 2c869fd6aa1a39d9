"""The tight channel: exact epsilon equal to beta, certified on the shipped weights; a fallback where weights vanish."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato.base.errors import InputError
from sfumato.base.numbers.geo import geo_epsilon
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.distance_kernel import grid_kernel
from sfumato.collect.grids.tight import POSITIVE_FROM, equalising_weights, tight_channel

GRIDS = [
    Grid.plain(11, 15),
    Grid.plain(1, 9),
    Grid.plain(7, 3),
    Grid(rows=6, columns=5, cell_height=1.0, cell_width=2.0),
]


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{grid.rows}x{grid.columns}")
@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 2.0, 4.0])
def test_brute_force_over_all_rows_finds_at_most_the_promised_epsilon(grid, epsilon):
    found = tight_channel(grid, epsilon=epsilon)
    matrix = found.value.to_dense().matrix
    measured = geo_epsilon(matrix, grid.distance_matrix())
    assert measured <= epsilon * (1 + 1e-9)
    assert measured == pytest.approx(found.value.epsilon().upper, rel=1e-9)
    assert found.gap == pytest.approx(1 - found.value.beta / epsilon)
    assert found.value.output_weights.min() * grid.cells >= 0.01 * (1 - 1e-9), "what every device checks"


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 2.0])
def test_from_two_thirds_per_cell_the_promise_buys_a_beta_as_large_as_epsilon(epsilon):
    assert epsilon > POSITIVE_FROM
    found = tight_channel(Grid.plain(16, 24), epsilon=epsilon)
    assert found.value.beta == pytest.approx(epsilon, rel=1e-9)
    assert np.ptp(found.value.log_normaliser()) < 1e-9, "every normaliser is the same"


@pytest.mark.parametrize(("epsilon", "price"), [(0.5, 0.05), (0.3, 0.11), (0.2, 0.16)])
def test_below_it_the_price_is_a_few_percent_of_epsilon(epsilon, price):
    found = tight_channel(Grid.plain(11, 15), epsilon=epsilon)
    assert 0 < found.gap < price


def test_the_fallback_is_near_the_best_weights_a_linear_program_finds():
    grid, beta, floor = Grid.plain(6, 7), 0.4, 0.01
    distances = grid.distance_matrix()
    kernel = np.exp(-beta * distances)
    ours, _ = equalising_weights(grid_kernel(grid, beta), floor)

    def slope(c):
        log_z = np.log(kernel @ c)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nanmax(np.abs(log_z[:, None] - log_z) / np.where(distances > 0, distances, np.nan)))

    low, high = 0.0, slope(ours)
    rows, columns = np.nonzero(distances > 0)
    for _ in range(12):
        middle = 0.5 * (low + high)
        limits = kernel[rows] - np.exp(middle * distances[rows, columns])[:, None] * kernel[columns]
        solved = linprog(
            np.zeros(42), A_ub=limits, b_ub=np.zeros(rows.size), A_eq=np.ones((1, 42)), b_eq=[1],
            bounds=[(floor / 42, None)] * 42,
        )  # fmt: skip
        low, high = (low, middle) if solved.status == 0 else (middle, high)
    assert beta + slope(ours) <= 1.06 * (beta + high)


def test_conjugate_gradients_with_fourier_products_find_the_dense_weights():
    grid = Grid.plain(20, 20)
    dense, _ = equalising_weights(grid_kernel(grid, 0.9, form="dense"), 0.01)
    fourier, products = equalising_weights(grid_kernel(grid, 0.9, form="fft"), 0.01)
    np.testing.assert_allclose(fourier, dense, rtol=1e-8)
    assert products < 100


@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_a_large_grid_is_certified_within_the_promise(epsilon):
    found = tight_channel(Grid.plain(150, 150), epsilon=epsilon)
    level = found.value.epsilon()
    assert level.upper <= epsilon
    assert level.lower >= epsilon * (1 - 1e-6)


def test_a_promise_of_nothing_is_refused():
    with pytest.raises(InputError):
        tight_channel(Grid.plain(2, 2), epsilon=0.0)
