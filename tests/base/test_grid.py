"""Grids: cells, centres and distances in metres anywhere on the earth, and hexagons as an option."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid, ground_distances, metres_per_degree
from sfumato.base.things.hexagons import HexCells
from sfumato.channels.measures.discrete import geo_epsilon

PARIS = (48.80, 2.20, 48.92, 2.45)


def test_row_0_is_the_north_and_column_0_the_west() -> None:
    grid = Grid.from_bounds(*PARIS, cell_size_m=500)
    lat, lon = grid.centres_deg()
    assert lat[0] > lat[-1]
    assert lon[0] < lon[grid.columns - 1]
    east_north = grid.centres()
    assert east_north[0, 1] > east_north[-1, 1]
    assert east_north[0, 0] < east_north[-1, 0]
    assert grid.labels()[grid.columns + 2] == "r1c2"


def test_every_centre_is_located_in_its_own_cell() -> None:
    grid = Grid.from_bounds(*PARIS, cell_size_m=500)
    np.testing.assert_array_equal(grid.locate(*grid.centres_deg()), np.arange(grid.cells))


def test_the_grid_covers_the_rectangle_it_was_asked_for() -> None:
    grid = Grid.from_bounds(*PARIS, cell_size_m=777)
    south, west, north, east = PARIS
    assert (grid.locate([south, south, north, north], [west, east, west, east]) >= 0).all()


def test_a_point_outside_is_minus_one_or_snapped_to_the_nearest_cell() -> None:
    grid = Grid.from_bounds(*PARIS, shape=(4, 5))
    assert grid.locate([50.0, 48.85], [2.3, 1.0]).tolist() == [-1, -1]
    assert grid.locate([50.0, 48.80], [2.2001, 3.0], snap=True).tolist() == [0, 19]


def test_distances_agree_with_the_ellipsoid_to_the_stated_plane_error() -> None:
    grid = Grid.from_bounds(*PARIS, cell_size_m=500)
    lat, lon = grid.centres_deg()
    true = Geod(ellps="WGS84").inv(np.full(grid.cells, lon[0]), np.full(grid.cells, lat[0]), lon, lat)[2]
    planar = grid.distances_from(0)
    assert np.abs(planar[1:] / np.asarray(true)[1:] - 1).max() < grid.plane_error + 2e-4
    assert 0 < grid.plane_error < 0.002


def test_a_grid_across_the_date_line_is_one_rectangle() -> None:
    grid = Grid.from_bounds(-20, 175, -10, -170, cell_size_m=50_000)
    assert grid.columns < 40
    np.testing.assert_array_equal(grid.locate(*grid.centres_deg()), np.arange(grid.cells))
    assert grid.locate([-15.0], [-179.5])[0] >= 0


@settings(max_examples=40, deadline=None)
@given(south=st.floats(-80, 70), west=st.floats(-179, 170), size=st.sampled_from([500.0, 3000.0]))
def test_cells_have_the_size_asked_for_anywhere(south: float, west: float, size: float) -> None:
    grid = Grid.from_bounds(south, west, south + 0.1, west + 0.1, cell_size_m=size)
    lat, lon = grid.centres_deg()
    if grid.columns > 1:
        step = Geod(ellps="WGS84").inv(lon[0], lat[0], lon[1], lat[1])[2]
        assert step == pytest.approx(size, rel=grid.plane_error + 1e-3)
    if grid.rows > 1:
        step = Geod(ellps="WGS84").inv(lon[0], lat[0], lon[grid.columns], lat[grid.columns])[2]
        assert step == pytest.approx(size, rel=1e-3)


def test_distances_from_is_the_row_of_the_distance_matrix() -> None:
    grid = Grid.plain(4, 3, 2.0, 1.0)
    matrix = grid.distance_matrix()
    np.testing.assert_array_equal(matrix[5], grid.distances_from(5))
    np.testing.assert_allclose(matrix, np.linalg.norm(grid.centres()[:, None] - grid.centres()[None], axis=2))


def test_a_huge_distance_matrix_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="distances_from"):
        Grid.plain(100, 100).distance_matrix()


def test_a_grid_survives_its_dictionary() -> None:
    grid = Grid.from_bounds(*PARIS, cell_size_m=500)
    assert Grid.from_dict(grid.to_dict()) == grid
    with pytest.raises(InputError):
        Grid.from_dict({"rows": 2})


@pytest.mark.parametrize(
    "bounds", [(49.0, 2.0, 48.0, 3.0), (48.0, 2.0, 49.0, 2.0), (-91.0, 0.0, 1.0, 1.0), (0.0, 0.0, float("nan"), 1.0)]
)
def test_impossible_rectangles_are_refused(bounds: tuple[float, float, float, float]) -> None:
    with pytest.raises(InputError):
        Grid.from_bounds(*bounds, cell_size_m=500)


@pytest.mark.parametrize("size", [0.0, -5.0, float("nan")])
def test_impossible_cell_sizes_are_refused(size: float) -> None:
    with pytest.raises(InputError):
        Grid.from_bounds(*PARIS, cell_size_m=size)


def test_a_degree_is_as_long_as_geodesy_says() -> None:
    assert metres_per_degree(0.0)[0] == pytest.approx(110_574.3, abs=0.1)
    assert metres_per_degree(60.0)[1] == pytest.approx(55_800.0, abs=0.5)


def test_hexagons_answer_the_same_questions() -> None:
    pytest.importorskip("h3")
    cells = HexCells.from_bounds(*PARIS, resolution=7)
    np.testing.assert_array_equal(cells.locate(*cells.centres_deg()), np.arange(cells.cells))
    distances = cells.distance_matrix()
    assert np.allclose(distances, distances.T)
    assert distances[distances > 0].min() > 1500
    with pytest.raises(InputError):
        HexCells.from_ids(["nonsense"])


def test_ground_distances_are_just_below_the_geodesic() -> None:
    pyproj = pytest.importorskip("pyproj")
    rng = np.random.default_rng(3)
    for reach, short in ((0.1, 1e-8), (8.0, 3e-5), (170.0, 0.01)):
        lat = np.clip(rng.uniform(-80, 80) + rng.uniform(-reach, reach, 40) / 2, -90, 90)
        lon = rng.uniform(-reach, reach, 40) / 2
        a, b = (np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40))
        true = pyproj.Geod(ellps="WGS84").inv(lon[a], lat[a], lon[b], lat[b])[2]
        mine = ground_distances(lat, lon).ravel()
        assert np.all(mine <= true + 1e-6)
        assert np.all(mine >= true * (1 - short) - 1e-6)


def test_a_wide_grid_admits_the_error_of_its_plane_and_makes_no_promise_per_metre() -> None:
    from sfumato.channels.designs.geo.planar import planar_laplace_channel

    seam = Grid.from_bounds(0, -180, 5, 180, shape=(1, 8))
    assert seam.plane_error > 0.5
    tall = Grid.from_bounds(55, 0, 75, 10, shape=(5, 5))
    for grid in (seam, tall):
        with pytest.raises(InputError, match="on the ground"):
            planar_laplace_channel(grid, 1e-5)
    city = Grid.from_bounds(52, 13, 53, 14, shape=(4, 4))
    made = planar_laplace_channel(city, 1e-4)
    promised = made.guarantee.parameters
    ground = ground_distances(*city.centres_deg())
    assert 0 < promised["plane_error"] < 0.02
    assert geo_epsilon(made.channel, ground) <= promised["epsilon_per_ground_m"]
    assert any("ground" in words for words in made.guarantee.assumes)


def test_cells_and_shapes_that_are_not_whole_are_refused() -> None:
    grid = Grid.plain(2, 3)
    for cell in (1.7, -1, 6):
        with pytest.raises(InputError):
            grid.distances_from(cell)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        Grid.from_bounds(0, 0, 1, 1, shape=(2.5, 2))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no width"):
        Grid.from_bounds(10, 180, 11, -180, cell_size_m=100)
    hexagons = HexCells(("a", "b"), np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    for cell in (999, -1):
        with pytest.raises(InputError):
            hexagons.distances_from(cell)


def test_a_grid_on_paper_may_be_measured_in_metres() -> None:
    grid = Grid.plain(1, 3, 500, 500, unit="m")
    assert grid.unit == "m"
    assert grid.plane_error == 0
    assert Grid.from_dict(grid.to_dict()) == grid
    with pytest.raises(InputError, match="paper"):
        grid.centres_deg()


def test_hexagons_may_cross_the_date_line() -> None:
    pytest.importorskip("h3")
    found = HexCells.from_bounds(10, 179, 11, -179, resolution=4)
    _, lon = found.centres_deg()
    assert np.all(np.abs(lon) > 179)
    assert (lon > 0).any()
    assert (lon < 0).any()


def test_no_cell_has_its_centre_beyond_the_pole() -> None:
    with pytest.raises(InputError, match="pole"):
        Grid.from_bounds(-90, 0, -89.5, 1, cell_size_m=40_000)
