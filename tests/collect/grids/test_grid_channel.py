"""The published channel: its exact level, attacked by brute force and by hostile weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel, neighbour_arcs, uniform_channel


def hostile(grid, seed, kind):
    rng = np.random.default_rng(seed)
    c = {
        "even": lambda: np.ones(grid.cells),
        "peaked": lambda: np.where(np.arange(grid.cells) == seed % grid.cells, 1.0, 1e-12),
        "wild": lambda: np.exp(30 * rng.normal(size=grid.cells)),
        "sparse": lambda: (
            np.where(rng.random(grid.cells) < 0.3, rng.random(grid.cells), 0.0) + (np.arange(grid.cells) == 0)
        ),
    }[kind]()
    return c / c.sum()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 6), columns=st.integers(1, 6), beta=st.floats(0.05, 6.0), seed=st.integers(0, 10_000),
    kind=st.sampled_from(["even", "peaked", "wild", "sparse"]), width=st.floats(0.3, 3.0),
)  # fmt: skip
def test_the_printed_level_is_what_brute_force_finds_and_never_above_two_beta(rows, columns, beta, seed, kind, width):
    grid = Grid.plain(rows, columns, cell_width=width)
    channel = GridChannel(grid, beta, hostile(grid, seed, kind))
    logs = np.stack([channel.log_row(x) for x in range(grid.cells)])
    distances = grid.distance_matrix()
    brute = 0.0
    for x, z in itertools.permutations(range(grid.cells), 2):
        seen = np.isfinite(logs[x])
        brute = max(brute, float((logs[x, seen] - logs[z, seen]).max()) / distances[x, z])
    level = channel.epsilon()
    assert level.exact
    assert level.upper == pytest.approx(brute, abs=1e-8)
    assert level.upper <= 2 * beta * (1 + 1e-12)


def test_rows_stay_possible_where_a_linear_kernel_would_have_underflowed():
    grid = Grid.plain(1, 400)
    channel = GridChannel(grid, 3.0, np.full(400, 1 / 400))
    assert np.exp(-3.0 * 399) == 0.0
    assert np.isfinite(channel.log_row(0)).all()
    assert channel.log_row(0)[399] == pytest.approx(channel.log_row(0)[0] - 3.0 * 399)


def test_the_bracket_of_a_large_grid_contains_the_exact_level(monkeypatch):
    grid = Grid.plain(40, 50, cell_height=0.475, cell_width=0.483)
    c = np.random.default_rng(4).dirichlet(np.full(grid.cells, 0.05))
    c = 0.99 * c + 0.01 / grid.cells
    exact = GridChannel(grid, 1.0, c).epsilon()
    assert exact.exact
    monkeypatch.setattr("sfumato.collect.grids.grid_channel.EXACT_UP_TO", 100)
    bracket = GridChannel(grid, 1.0, c).epsilon()
    assert bracket.lower - 1e-9 <= exact.upper <= bracket.upper + 1e-9
    assert bracket.upper - bracket.lower < 0.03
    assert bracket.upper <= 2.0


def test_the_detour_factor_of_neighbour_paths_is_that_of_their_angles():
    assert neighbour_arcs(Grid.plain(9, 9))[2] == pytest.approx(1.0131, abs=1e-4)
    assert neighbour_arcs(Grid.plain(9, 9, 0.475, 0.483))[2] == pytest.approx(1.0135, abs=1e-4)


def test_information_and_distortion_are_those_of_the_dense_matrix():
    grid = Grid.plain(5, 7)
    rng = np.random.default_rng(2)
    channel = GridChannel(grid, 0.9, rng.dirichlet(np.ones(35)))
    p = rng.dirichlet(np.ones(35))
    matrix = channel.to_dense().matrix
    q = p @ matrix
    assert channel.mutual_information(p) == pytest.approx(
        float(np.sum(p[:, None] * matrix * np.log(matrix / q))), abs=1e-12
    )
    assert channel.distortion(p) == pytest.approx(float(p @ (matrix * grid.distance_matrix()).sum(axis=1)), rel=1e-12)
    np.testing.assert_allclose(channel.report_distribution(p), q, rtol=1e-12)


def test_a_guarantee_states_the_exact_level_and_what_it_does_not_cover():
    channel = uniform_channel(Grid.plain(11, 15), 1.0)
    guarantee = channel.guarantee()
    assert guarantee.parameters["epsilon_per_cell"] == pytest.approx(1.3382783482869907)
    assert guarantee.not_covered


@pytest.mark.parametrize(
    "weights", [np.ones(5), -np.ones(6), np.zeros(6), np.full(6, np.nan), np.ones((2, 3))], ids=str
)
def test_weights_that_are_no_weights_are_refused(weights):
    with pytest.raises(InputError):
        GridChannel(Grid.plain(2, 3), 1.0, weights)


def information_by_rows(channel, p):
    """Brute force in logarithms, row by row: I(X; Y) and E d."""
    places = np.flatnonzero(p)
    rows = np.array([channel.row(int(x)) for x in places])
    q = p[places] @ rows
    used = rows > 0
    terms = np.where(
        used, rows * (np.where(used, np.log(np.where(used, rows, 1.0)), 0.0) - np.log(np.maximum(q, 1e-320))), 0.0
    )
    distances = np.array([channel.grid.distances_from(int(x)) for x in places])
    return float(p[places] @ terms.sum(axis=1)), float(p[places] @ (rows * distances).sum(axis=1))


@pytest.mark.parametrize(("shape", "beta"), [((1, 1600), 1.0), ((20, 40), 40.0)])
def test_information_and_distortion_are_right_where_the_weights_are_hundreds_of_nats_away(shape, beta):
    grid = Grid.plain(*shape)
    c = np.zeros(grid.cells)
    c[[0, -1]] = 0.5
    channel = GridChannel(grid, beta, c)
    p = np.full(grid.cells, 1 / grid.cells)
    information, distortion = information_by_rows(channel, p)
    assert 0.69 < information < 0.6932
    assert channel.mutual_information(p) == pytest.approx(information, rel=1e-6)
    assert channel.distortion(p) == pytest.approx(distortion, rel=1e-9)
    assert channel.report_distribution(p)[[0, -1]] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_information_is_finite_on_a_long_grid_with_the_default_floor():
    from sfumato.collect.grids.blahut_arimoto import blahut_arimoto

    grid = Grid.plain(30, 800)
    p = np.zeros(grid.cells)
    p[:20] = 1 / 20
    channel = blahut_arimoto(p, grid, beta=1.0).value
    found = channel.mutual_information(p)
    assert 0.5 < found < np.log(20)
    near = Grid.plain(30, 40)
    p_near = np.zeros(near.cells)
    p_near[:20] = 1 / 20
    assert found == pytest.approx(blahut_arimoto(p_near, near, beta=1.0).value.mutual_information(p_near), rel=0.02)


def test_a_number_that_cannot_be_computed_is_refused_and_never_reads_as_no_leakage(monkeypatch):
    from sfumato.base.errors import NotCertified

    grid = Grid.plain(2, 3)
    channel = GridChannel(grid, 1.0, np.full(6, 1 / 6))
    monkeypatch.setattr(GridChannel, "distortion", lambda self, prior: float("nan"))
    with pytest.raises(NotCertified) as refused:
        channel.mutual_information(np.full(6, 1 / 6))
    assert refused.value.advice
