"""The compiled frames do what PROJ does, to far below the snapping grid."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.frames import displace, snap
from sfumato.base.things.frames_loops import beside_nodes, move_and_snap


def both(lat: np.ndarray, lon: np.ndarray, moves: np.ndarray, size_m: float, grid_m: float) -> tuple[np.ndarray, ...]:
    out_lat, out_lon, left = np.empty(lat.size), np.empty(lat.size), np.empty(lat.size, dtype=bool)
    move_and_snap(lat, lon, moves, size_m, grid_m, out_lat, out_lon, left)
    proj_lat, proj_lon = snap(*displace(lat, lon, size_m * moves), grid_m)
    apart_lon = (proj_lon - out_lon + 180.0) % 360.0 - 180.0
    apart = np.hypot(proj_lat - out_lat, apart_lon * np.cos(np.radians(proj_lat))) * 111_320.0
    return apart[~left], left


@pytest.mark.parametrize("south", [-88, -60, -34, -1, 0, 33, 48, 59, 70, 80, 87])
@pytest.mark.parametrize("west", [-180, 2, 179])
def test_every_latitude_agrees_with_proj(south: int, west: int) -> None:
    rng = np.random.default_rng(abs(south) * 1000 + west + 180)
    lat, lon = south + rng.uniform(0, 1, 4000), west + rng.uniform(0, 1, 4000)
    apart, left = both(lat, lon, rng.normal(size=(4000, 2)), 709.0, 0.1)
    assert left.mean() < 0.02
    # Another node of the grid, or another seventh decimal, only where both are equally near.
    assert np.mean(apart > 0.001) < 0.002
    assert apart.max(initial=0.0) < 0.15


def test_a_track_hundreds_of_kilometres_wide_agrees_with_proj_on_the_finest_grid() -> None:
    rng = np.random.default_rng(5)
    lat, lon = np.linspace(47.0, 52.0, 50_000), np.linspace(-3.0, 6.0, 50_000)
    apart, left = both(lat, lon, rng.normal(size=(50_000, 2)), 5000.0, 0.01)
    assert not left.any()
    assert apart.max() < 0.03
    assert np.mean(apart > 0.001) < 0.01


def test_what_the_series_does_not_reach_is_left_to_proj() -> None:
    lat, lon = np.array([89.5, -89.0, 88.2, 45.0, np.nan]), np.array([0.0, 10.0, 10.0, 200.0, 0.0])
    out = np.empty(5), np.empty(5), np.empty(5, dtype=bool)
    move_and_snap(lat, lon, np.zeros((5, 2)), 1.0, 0.1, *out)
    assert out[2].all()
    far = np.array([[200.0, 0.0], [0.0, 0.0]])
    out = np.empty(2), np.empty(2), np.empty(2, dtype=bool)
    move_and_snap(np.array([48.5, 48.5]), np.array([2.5, 2.5]), far, 1000.0, 0.1, *out)
    assert out[2].tolist() == [True, False]


@pytest.mark.parametrize("south", [-88, -34, 0, 37, 59, 87])
@pytest.mark.parametrize("grid_m", [0.01, 0.1, 50.0])
def test_what_lies_beside_a_node_is_what_snapping_leaves_where_it_is(south: int, grid_m: float) -> None:
    """A pass of verification is never kinder than snapping again with PROJ, and knows nearly every released point."""
    rng = np.random.default_rng(south + 90)
    lat, lon = snap(south + rng.uniform(0, 1, 5000), rng.uniform(-180, 180, 5000), grid_m)
    released = np.zeros(5000, dtype=bool)
    beside_nodes(lat, lon, grid_m, 1e-7, released)
    assert released.mean() > 0.99  # all but those at a border of two cells
    moved = lat + rng.uniform(-3e-7, 3e-7, 5000), lon + rng.uniform(-3e-7, 3e-7, 5000)
    near = np.zeros(5000, dtype=bool)
    beside_nodes(*moved, grid_m, 1e-7, near)
    again = snap(*moved, grid_m)
    off = np.maximum(np.abs(again[0] - moved[0]), np.abs(again[1] - moved[1])) > 1.5e-7
    assert not np.any(near & off)
    assert grid_m < 0.1 or off.mean() > 0.5


def test_no_position_and_none_that_formulas_do_not_reach_lies_beside_a_node() -> None:
    lat, lon = np.array([np.nan, 89.5, -89.0, 45.0, 45.0]), np.array([0.0, 0.0, 10.0, 200.0, np.nan])
    near = np.zeros(5, dtype=bool)
    beside_nodes(lat, lon, 0.1, 1e-7, near)
    assert not near.any()
