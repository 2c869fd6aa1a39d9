"""Releases that might have been: whether correcting helps, how far answers lie off, and what is left to areas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from city import BOUNDS, fleet, received

from sfumato.base.randomness import randomness
from sfumato.base.things.estimated_map import GridAreas, cut
from sfumato.base.things.grid import Grid
from sfumato.tracks.answers.answer_files import write_answer
from sfumato.tracks.answers.intervals import interval_of_released
from sfumato.tracks.answers.maps.cells import Unit, Window
from sfumato.tracks.answers.maps.deconvolution import OF_NOISE
from sfumato.tracks.answers.maps.heatmap import UNTRIED, estimate_heatmap
from sfumato.tracks.answers.maps.simulated import COUNTED, Amount, Drawn, _amount, _noise, doubts, draw_again, leaders
from sfumato.tracks.answers.received import NoiseLaw
from sfumato.tracks.priors.kernels import Constant, Matern32, White


def test_correcting_is_kept_where_it_comes_nearer_and_left_where_it_does_not() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(20), size=8)
    far, near = (truth + size * rng.standard_normal(truth.shape) for size in (0.02, 0.002))
    assert _amount(near, far, truth, 0.0).part == 1.0
    assert _amount(far, near, truth, 0.0).part == 0.0
    assert _amount(far, near, truth, 0.0).errors == pytest.approx(near - truth)
    mixed = _amount(truth + 0.015 * np.sign(far - truth), 2 * truth - near, truth, 0.0)
    assert mixed.part < 1.0


def test_an_interval_holds_its_share_and_an_empty_area_has_low_nought() -> None:
    rng = np.random.default_rng(1)
    truth = np.r_[np.zeros(10), rng.dirichlet(np.ones(30))]
    errors = 0.004 * rng.standard_normal((8, 40))
    share = np.abs(truth + 0.004 * rng.standard_normal(40))
    low, high = interval_of_released(share, share, errors, 0.9, in_empty=0.004)
    assert ((low <= share) & (share <= high)).all()
    assert (low[:10] == 0).all()
    assert np.mean((low <= truth) & (truth <= high)) >= 0.85
    wider = interval_of_released(share, share, errors, 0.9, in_empty=0.004, more=0.01**2)
    assert (wider[1] >= high).all()


def test_points_released_near_one_another_are_one_place() -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.5], [9.0, 9.0], [0.2, 0.1], [9.5, 8.0], [9.0, 9.0]])
    assert leaders(places, np.full(6, 2.0), np.array([0, 0, 0, 0, 0, 1])).tolist() == [0, 0, 1, 0, 1, 2]


def test_areas_cover_the_grid_once_and_know_their_points() -> None:
    grid = Grid.from_bounds(*BOUNDS, cell_size_m=500)
    areas = GridAreas(grid, cut(grid, 1400.0))
    assert areas.sums(np.ones(grid.cells)).sum() == grid.cells
    lat, lon = areas.centres_deg()
    assert areas.locate(lat, lon).tolist() == list(range(areas.cells))
    assert areas.locate([0.0], [0.0]).tolist() == [-1]


def test_numbers_are_for_areas_wide_enough_and_the_picture_for_the_cells_asked_for(tmp_path: Path) -> None:
    people = fleet(40)
    found = estimate_heatmap([received(people, noise_m=300.0)], cell_m=400, bounds=BOUNDS, weight="people")
    assert isinstance(found.cells, GridAreas)
    assert found.picture.size == found.grid.cells > found.share.size
    south, _, north, _ = found.cells.bounds_deg()
    assert float(np.median(north - south)) * 111_000 > 0.8 * OF_NOISE * 300
    assert found.notes[0].startswith("Of the 40 people released: their share, all counting the same.")
    assert "low_alike to high_alike of people like these" in found.notes[0]
    assert any("cannot be told apart and are a picture" in note for note in found.notes)
    assert not any("half as wide again" in note for note in found.notes)
    finer = estimate_heatmap([received(people, noise_m=300.0)], cell_m=200, bounds=BOUNDS, weight="people")
    (fine,) = [note for note in finer.notes if "half as wide again" in note]
    assert fine.startswith("Noise 1.5 times")
    write_answer(finer, tmp_path / "fine.csv")
    assert fine in (tmp_path / "fine.csv").read_text().replace('""', '"')
    assert fine in finer._repr_html_()
    for ending in ("csv", "json", "geojson"):
        path = tmp_path / f"heat.{ending}"
        write_answer(found, path)
        assert "people like these" in path.read_text()
    few = estimate_heatmap([received(fleet(3))], cell_m=1000, bounds=BOUNDS)
    assert UNTRIED in few.notes


def test_few_points_are_judged_by_the_mean_over_draws_and_a_gain_that_is_not_clear_is_left() -> None:
    truth = np.full((8, 4), 0.25)
    off = np.array([1.0, -1.0, 1.0, -1.0])
    counted = truth + 0.02 * off
    corrected = truth + np.where(np.arange(8) < 6, 0.005, 0.05)[:, None] * off
    assert _amount(corrected, counted, truth, 0.0).part < 1.0
    assert _amount(corrected, counted, truth, 0.0, sure=False).part == 1.0
    assert _amount(truth + 0.0175 * off, counted, truth, 0.0).part == 0.0
    assert _amount(truth + 0.0165 * off, counted, truth, 0.0).part == 1.0


def test_releases_that_were_laid_on_one_another_are_tried_with_the_errors_of_doing_so() -> None:
    window = Window.around(Grid.from_bounds(*BOUNDS, cell_size_m=500), 250.0)
    law = NoiseLaw(White(150.0) + Constant(200.0), 0.0)
    rng = np.random.default_rng(2)
    times = 600.0 * np.arange(300)
    units = [
        Unit(0, person, 20 + 5 * rng.standard_normal((300, 2)), times, np.ones(300), times[-1], times[-1])
        for person in range(12)
    ]
    flat, left = np.ones(window.shape), law.of_variance(150.0**2)
    known = draw_again(units, [law], [left], lambda number, places, mass: places.mean(axis=0), window, flat)
    never = draw_again(units, [law], [left], lambda number, places, mass: np.zeros(2), window, flat)

    assert drawn_spread(never) > drawn_spread(known)


def drawn_spread(drawn: Drawn) -> float:
    """How far along a column released points lie from the middle."""
    rows = np.arange(drawn.seen[0].shape[1])
    mass = drawn.seen[0].sum(axis=(0, 2))
    middle = float(mass @ rows / mass.sum())
    return float(mass @ (rows - middle) ** 2 / mass.sum())


def test_an_answer_says_what_it_cannot_promise() -> None:
    rng = np.random.default_rng(4)
    chance = 0.01 * rng.standard_normal((8, 10))
    corrected, counting = Amount(1.0, chance, 0.0, 0.0), Amount(0.0, chance, 0.0, 0.0)
    share = np.full(10, 0.1)
    far, near = share + 0.05 * np.resize([1.0, -1.0], 10), share + 0.001 * np.resize([1.0, -1.0], 10)
    assert doubts([corrected, corrected], [share, share], [far, far], 1.0, 0.5) == []
    assert doubts([counting, counting], [share, share], [share, share], 1.0, 0.5) == [COUNTED]
    (picture,) = doubts([counting, corrected], [share, share], [share, far], 1.0, 0.5)
    assert "picture of the cells asked for is 0 % corrected" in picture
    (unsure,) = doubts([corrected, corrected], [share, share], [near, far], 1.0, 0.5)
    assert "Correcting moves the picture less than it lies off itself" in unsure
    assert "moves the map" in doubts([corrected], [share], [near], 1.0, 0.5)[0]
    (few,) = doubts([corrected, corrected], [share, share], [far, far], 0.295, 0.5)
    assert "Tried on 29 % of the points" in few
    assert "busiest areas may be too narrow" in few
    assert "Tried on 99 %" in doubts([corrected], [share], [far], 0.9999, 0.5)[0]
    (fine,) = doubts([corrected], [share], [far], 1.0, 2.0)
    assert "Noise 2.0 times as wide as the cells asked for" in fine
    assert "half as wide again" in fine


def test_the_noise_of_all_releases_is_drawn_at_once_and_they_share_none() -> None:
    law = NoiseLaw(White(30.0) + Matern32(3600.0, 100.0) + Constant(200.0), 0.0)
    times, release = np.tile([0.0, 60.0, 1e6], 600), np.repeat(np.arange(600), 3)
    noise = _noise(law, times, release, randomness(1)).reshape(600, 3, -1)
    assert np.var(noise) == pytest.approx(law.variance_m2, rel=0.05)
    within = np.mean(noise[:, 0] * noise[:, 2])
    assert within == pytest.approx(200.0**2, rel=0.1)
    assert np.mean(noise[:, 0] * noise[:, 1]) == pytest.approx(200.0**2 + 100.0**2, rel=0.1)
    assert abs(np.mean(noise[1:, 0] * noise[:-1, 2])) < 0.05 * law.variance_m2
