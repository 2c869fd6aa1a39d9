"""Shares of areas: parts of cells by their outlines, intervals, and what is shown together."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.numbers.area_shares import neighbours, parts_of_cells, score_ends, shown_together, sums_of
from sfumato.base.things.areas import Polygon

ROWS, COLUMNS, CORNER = 9, 13, (50.0, 179.0)
SIZE = (2.0 / ROWS, 2.0 / COLUMNS)


def ring(rng: np.random.Generator, middle: np.ndarray, reach: float) -> np.ndarray:
    """A star of 20 corners, closed, on either side of the date line."""
    angle = np.sort(rng.uniform(0, 2 * np.pi, 20))
    far = reach * rng.uniform(0.3, 1, 20)
    made = np.column_stack([middle[0] + far * np.cos(angle), middle[1] + far * np.sin(angle)])
    made[:, 0] = (made[:, 0] + 180) % 360 - 180
    return np.vstack([made, made[:1]])


def test_the_part_of_a_cell_is_that_of_many_points_in_it() -> None:
    rng, n = np.random.default_rng(3), 40
    lat = CORNER[0] - (np.arange(ROWS * n) + 0.5) * SIZE[0] / n
    lon = (CORNER[1] + (np.arange(COLUMNS * n) + 0.5) * SIZE[1] / n + 180) % 360 - 180
    lats, lons = (grid.ravel() for grid in np.meshgrid(lat, lon, indexing="ij"))
    for _ in range(5):
        middle = np.array([CORNER[1], 48.0]) + rng.uniform(0, 2, 2)
        rings = [ring(rng, middle, 1.4), ring(rng, middle, 0.2)]
        told = Polygon(tuple(rings)).holds(lats, lons).reshape(ROWS, n, COLUMNS, n).mean(axis=(1, 3))
        for walked in (rings, [one[::-1] for one in rings]):
            parts = parts_of_cells([[walked]], (ROWS, COLUMNS), CORNER, SIZE).toarray().reshape(ROWS, COLUMNS)
            assert parts == pytest.approx(told, abs=0.01), "holes, edges beyond the grid, either way round"


def test_ground_in_two_areas_counts_for_the_first_and_far_areas_have_none() -> None:
    west, south, east, north = 179.0, 48.0, 181.0, 50.0
    box = np.array([[west, south], [east, south], [east, north], [west, north], [west, south]])
    half = np.array([[180.0, south], [east, south], [east, north], [180.0, north], [180.0, south]])
    parts = parts_of_cells([[[half]], [[box]], [[box - 90]]], (ROWS, COLUMNS), CORNER, SIZE)
    assert sums_of(parts, np.ones(ROWS * COLUMNS)) == pytest.approx([ROWS * COLUMNS / 2, ROWS * COLUMNS / 2, 0])
    assert parts.toarray().sum(axis=0) == pytest.approx(np.ones(ROWS * COLUMNS))


def test_the_ends_are_where_the_estimate_would_just_be_unusual() -> None:
    share, at_nothing, growth, z = np.array([0.0, 0.1, 0.6]), 1e-4, np.array([1e-3, 2e-3, 0.0]), 1.96
    for end in score_ends(share, at_nothing, growth, z):
        assert (share - end) ** 2 == pytest.approx(z**2 * (at_nothing + growth * end))


def test_what_is_hardest_to_tell_is_put_together_until_all_is_told() -> None:
    of_cell = np.array([[0, 0, 1, 2], [0, 0, 1, -1], [3, -1, -1, -1]])
    assert neighbours(of_cell) == [(0, 1), (0, 3), (1, 2)]
    size = np.bincount(of_cell[of_cell >= 0])

    def needed(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        return 1 / min(size[list(one)].sum(), size[list(other)].sum())

    assert shown_together(4, neighbours(of_cell), needed, 1.0) == ((0,), (1,), (2,), (3,))
    assert shown_together(4, neighbours(of_cell), needed, 0.5) == ((0, 3), (1, 2))
    assert shown_together(4, neighbours(of_cell), needed, 0.1) == ((0, 1, 2, 3),)
    assert shown_together(2, [], needed, 0.1) == ((0,), (1,)), "without a neighbour nothing is put together"
