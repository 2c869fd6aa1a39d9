"""Planar noise: radius and every direction, at the equator and at 60 degrees north, and as channels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pyproj import Geod
from scipy import stats

from sfumato.base.errors import InputError
from sfumato.base.numbers.planar_laplace_noise import planar_laplace_noise
from sfumato.base.things.frames import displace
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.exponential import exponential_for_epsilon, exponential_matrix
from sfumato.channels.designs.geo.geo_optimal import irreducible_pairs, optimal_geo_channel
from sfumato.channels.designs.geo.planar import (
    _axis_intervals,
    _interval_masses,
    planar_geometric_channel,
    planar_laplace_channel,
    planar_laplace_matrix,
)
from sfumato.channels.designs.task import remap
from sfumato.channels.measures import discrete as d
from sfumato.papers.lip.lip_comparison import synthetic_city

GEOD = Geod(ellps="WGS84")


def test_the_radius_is_gamma_and_the_angle_uniform() -> None:
    noise = planar_laplace_noise(60_000, 0.01, rng=1)
    radius, angle = np.hypot(*noise.T), np.arctan2(noise[:, 1], noise[:, 0])
    assert stats.kstest(radius, stats.gamma(2, scale=100).cdf).pvalue > 1e-4
    assert stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-4
    sectors = np.histogram(angle, bins=12)[0]
    assert stats.chisquare(sectors).pvalue > 1e-4


@pytest.mark.parametrize("latitude", [0.0, 60.0, -60.0])
def test_the_noise_is_as_long_to_the_north_as_to_the_east_at_every_latitude(latitude: float) -> None:
    """The mistake to avoid: noise on earth-centred axes shrinks to the north by the sine of the latitude."""
    count, epsilon = 40_000, 0.005
    lat0, lon0 = np.full(count, latitude + 0.43), np.full(count, 10.37)
    lat, lon = displace(lat0, lon0, planar_laplace_noise(count, epsilon, rng=2))
    bearing, _, distance = GEOD.inv(lon0, lat0, lon, lat)
    assert stats.kstest(np.asarray(distance), stats.gamma(2, scale=1 / epsilon).cdf).pvalue > 1e-4
    quarters = np.floor((np.asarray(bearing) % 360 + 45) % 360 / 90).astype(int)
    for quarter in range(4):  # around north, east, south, west
        inside = np.asarray(distance)[quarters == quarter]
        assert inside.size == pytest.approx(count / 4, rel=0.03)
        assert inside.mean() == pytest.approx(2 / epsilon, rel=0.02)


def test_every_word_of_a_release_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(range(256)) * (count // 256) + bytes(count % 256)

    monkeypatch.setattr("os.urandom", urandom)
    planar_laplace_noise(1000, 0.01)
    assert sum(asked) == 16_000


def test_bad_arguments_are_refused() -> None:
    for count, epsilon in ((-1, 0.01), (10, 0.0), (10, -1.0), (10, float("nan"))):
        with pytest.raises(InputError):
            planar_laplace_noise(count, epsilon)


def test_as_a_channel_its_exact_epsilon_is_at_most_the_nominal_one() -> None:
    grid = Grid.plain(5, 4, 1.0, 1.5)
    for epsilon in (0.3, 1.0, 4.0):
        made = planar_laplace_channel(grid, epsilon)
        assert made.leakage <= epsilon
        assert made.leakage == pytest.approx(epsilon, rel=0.2)
        exact = d.geo_epsilon(made.channel, grid.distance_matrix())
        assert exact <= made.leakage <= exact * (1 + 1e-11)


def test_the_masses_of_all_cells_add_up_before_any_normalisation() -> None:
    for epsilon in (0.05, 0.7, 6.0):
        across, down = _axis_intervals(6, 1.0), _axis_intervals(5, 2.0)
        masses = _interval_masses(across, down, epsilon)
        for row in range(5):
            for column in range(6):
                total = masses[np.ix_(down.of[row], across.of[column])].sum()
                assert total == pytest.approx(1.0, abs=1e-12)


def test_the_channel_is_the_noise_clamped_and_snapped() -> None:
    grid, epsilon = Grid.plain(4, 4), 0.8
    channel = planar_laplace_channel(grid, epsilon).channel
    x = 5
    moved = grid.centres()[x] + planar_laplace_noise(80_000, epsilon, rng=3)
    column = np.clip(np.floor(moved[:, 0]), 0, 3).astype(int)
    row = np.clip(np.floor(4 - moved[:, 1]), 0, 3).astype(int)
    assert stats.chisquare(np.bincount(row * 4 + column, minlength=16), 80_000 * channel.row(x)).pvalue > 1e-4


def test_the_geometric_channel_is_lattice_noise_clamped_to_the_grid() -> None:
    grid, epsilon = Grid.plain(3, 4), 1.1
    made = planar_geometric_channel(grid, epsilon)
    assert made.leakage <= epsilon
    assert made.leakage == pytest.approx(epsilon, rel=1e-9)
    reach = np.arange(-60, 61)
    kernel = np.exp(-epsilon * np.hypot(reach[:, None], reach[None, :]))
    kernel /= kernel.sum()
    for x in (0, 6):
        row, column = divmod(x, 4)
        target = np.clip(row + reach, 0, 2)[:, None] * 4 + np.clip(column + reach, 0, 3)[None, :]
        expected = np.bincount(target.ravel(), weights=kernel.ravel(), minlength=12)
        np.testing.assert_allclose(made.channel.row(x), expected, atol=1e-12)
    drawn = made.channel.sample(np.full(40_000, 6), rng=4)
    assert stats.chisquare(np.bincount(drawn, minlength=12), 40_000 * made.channel.row(6)).pvalue > 1e-4


def test_the_exponential_mechanism_is_tuned_by_its_leakage() -> None:
    distances = Grid.plain(4, 4).distance_matrix()
    made = exponential_for_epsilon(distances, 1.0)
    assert made.leakage <= 1.0
    assert made.leakage == pytest.approx(1.0, abs=1e-9)
    assert d.geo_epsilon(exponential_matrix(distances, 1.0), distances) > 1.0


def test_remapping_costs_less_and_leaks_no_more() -> None:
    grid = Grid.plain(4, 4)
    distances = grid.distance_matrix()
    prior = np.random.default_rng(5).dirichlet(np.ones(16))
    raw = planar_laplace_channel(grid, 0.7).channel
    better = remap(raw, prior, distances)
    assert d.average_distortion(better, prior, better.distortion) <= d.average_distortion(raw, prior, distances)  # type: ignore[arg-type]
    assert d.average_distortion(better, prior, better.distortion) == pytest.approx(
        d.adversary_error(raw, prior, distances)
    )  # type: ignore[arg-type]
    assert d.lip(better, prior).max <= d.lip(raw, prior).max + 1e-12
    assert d.geo_epsilon(better, distances) <= d.geo_epsilon(raw, distances) + 1e-12


def geo_program(prior: np.ndarray, distances: np.ndarray, epsilon: float) -> float:
    """All n^2 k constraints in a general solver: the oracle."""
    from scipy import sparse
    from scipy.optimize import linprog

    n = prior.size
    a, b = np.nonzero(~np.eye(n, dtype=bool))
    rows = np.arange(a.size * n)
    first, second = (a[:, None] * n + np.arange(n)).ravel(), (b[:, None] * n + np.arange(n)).ravel()
    limit = np.repeat(np.exp(-epsilon * distances[a, b]), n)
    upper = sparse.csr_matrix((np.r_[limit, -np.ones(rows.size)], (np.r_[rows, rows], np.r_[first, second])),
                              shape=(rows.size, n * n))  # fmt: skip
    equal = sparse.csr_matrix((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))), shape=(n, n * n))
    found = linprog((prior[:, None] * distances).ravel(), A_ub=upper, b_ub=np.zeros(rows.size), A_eq=equal,
                    b_eq=np.ones(n), bounds=(0, None), method="highs-ipm")  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_the_optimal_geo_channel_is_the_optimum_of_the_whole_program(epsilon: float) -> None:
    distances = Grid.plain(4, 4).distance_matrix()
    prior = np.random.default_rng(6).dirichlet(np.ones(16) * 2)
    solved = optimal_geo_channel(prior, distances, epsilon, unit="cell")
    exact = geo_program(prior, distances, epsilon)
    assert solved.lower_bound <= exact + 1e-7  # type: ignore[operator]
    assert solved.objective == pytest.approx(exact, rel=3e-5)
    assert solved.gap is not None
    assert solved.gap < 5e-5
    assert solved.value.leakage <= epsilon
    assert solved.objective <= d.average_distortion(
        planar_geometric_channel(Grid.plain(4, 4), epsilon).channel, prior, distances
    )  # type: ignore[operator]


def test_pairs_with_a_place_exactly_between_them_are_implied() -> None:
    pairs = irreducible_pairs(Grid.plain(3, 3).distance_matrix())
    assert not pairs[0, 2]
    assert not pairs[0, 8]
    assert pairs[0, 1]
    assert pairs[0, 5]
    assert not pairs.diagonal().any()


def test_geo_programs_refuse_bad_input() -> None:
    distances = Grid.plain(2, 2).distance_matrix()
    for prior, metric, epsilon in (([0.5, 0.5, 0, 0], distances, 1), ([0.25] * 4, np.zeros((4, 4)), 1),
                                   ([0.25] * 4, distances, 0), ([0.2] * 5, distances, 1)):  # fmt: skip
        with pytest.raises(InputError):
            optimal_geo_channel(prior, metric, epsilon)


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 5.0])
def test_few_rows_are_many_rows_clamped_even_where_masses_are_tiny(epsilon: float) -> None:
    """Beside a far column radii grow slowly: a tail cut by decay lengths alone loses 8e-4 of a mass at epsilon 5."""
    few = planar_laplace_matrix(Grid(2, 40, 1.0, 1.0), epsilon).reshape(2, 40, 2, 40)
    many = planar_laplace_matrix(Grid(12, 40, 1.0, 1.0), epsilon).reshape(12, 40, 12, 40)
    for row in (0, 4):
        np.testing.assert_allclose(few[0, :, 1, :], many[row, :, row + 1 :, :].sum(axis=1), rtol=1e-13)


def test_distances_that_are_no_metric_are_measured_in_full() -> None:
    """Squares of distances called a metric were promised an epsilon up to seven times too small."""
    rng = np.random.default_rng(8)
    for scale in (0.01, 1.0, 30.0):
        at = rng.random((6, 2))
        squares = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) ** 2 + 0.01 * (1 - np.eye(6))
        made = exponential_for_epsilon(squares, scale, metric=True)
        assert d.geo_epsilon(made.channel, squares) <= made.leakage * (1 + 1e-12) <= scale * (1 + 1e-12)


def test_where_newtons_equations_leave_the_doubles_what_was_found_is_certified() -> None:
    """49 cells of the documentation's city ended in a traceback: one step before its end a residual overflows."""
    prior, _ = synthetic_city(7)
    solved = optimal_geo_channel(prior, Grid.plain(7, 7).distance_matrix(), 1.0, unit="cell")
    assert (solved.status, solved.value.leakage <= 1.0) == ("converged", True)
