"""Releases laid on one another: shifts are found where releases are long, and left alone where they are not."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.maps.cells import Window
from sfumato.tracks.answers.maps.heatmap import Unit, align, estimate_heatmap
from sfumato.tracks.answers.received import NoiseLaw, Received
from sfumato.tracks.priors.kernels import Constant, White

LAW = NoiseLaw(White(150.0) + Constant(200.0), 0.0)
WINDOW = Window.around(Grid.from_bounds(48.80, 2.25, 48.86, 2.34, cell_size_m=500), LAW.noise_m)
CENTRES = np.array([[17.0, 19.0], [35.0, 27.0], [27.0, 50.0]])


def units(shifts: np.ndarray, hours: float, points: int = 400) -> list[Unit]:
    rng = np.random.default_rng(3)
    out = []
    for person, shift in enumerate(shifts):
        places = CENTRES[rng.integers(3, size=points)] + rng.normal(0, 1.5, (points, 2))
        places = places + shift + rng.normal(0, 150 / WINDOW.latent_m[0], (points, 2))
        out.append(
            Unit(
                0,
                person,
                places,
                np.arange(points) * 3600.0 * hours / points,
                np.ones(points),
                3600.0 * hours,
                3600.0 * hours,
            )
        )
    return out


def test_shifts_of_long_releases_are_found_and_their_common_part_is_not() -> None:
    shifts = np.random.default_rng(1).normal(0, 200 / WINDOW.latent_m[0], (30, 2))
    before = units(shifts, hours=200)
    found = align(before, [LAW], WINDOW)
    moved = np.array([(one.places - other.places)[0] for one, other in zip(before, found.units, strict=True)])
    told = shifts - shifts.mean(axis=0)
    assert np.corrcoef((moved - moved.mean(axis=0)).ravel(), told.ravel())[0, 1] > 0.95
    assert found.laws[0].noise_m < 0.75 * LAW.noise_m
    assert 0 < found.common_m2 <= 200.0**2 / 30 * 1.01


def test_short_releases_and_noise_without_a_constant_stay_as_they_are() -> None:
    shifts = np.random.default_rng(1).normal(0, 200 / WINDOW.latent_m[0], (30, 2))
    short = align(units(shifts, hours=1, points=40), [LAW], WINDOW)
    assert short.laws == (LAW,)
    assert short.common_m2 == 0
    white = NoiseLaw(White(250.0), 0.0)
    assert align(units(shifts, hours=200), [white], WINDOW).laws == (white,)


@pytest.mark.slow
def test_a_million_points_and_ten_thousand_trips_take_seconds() -> None:
    """5 s for a heat map of a million points, and 60 s for 1e5 trips, of processor time; here a tenth of the trips."""
    rng = np.random.default_rng(0)

    def people(count: int, points: int, *, trips: bool) -> Received:
        found = []
        for name in range(count):
            lat, lon = 48.8 + 0.1 * rng.beta(2, 3, points), 2.25 + 0.15 * rng.beta(3, 2, points)
            segment = np.arange(points) // 2 if trips else None
            found.append((str(name), Trace(lat, lon, 1.7e9 + 60.0 * np.arange(points), segment)))
        return Received(tuple(found), NoiseLaw(White(500.0), 0.0), "independent", False)

    heat, trips = people(500, 2000, trips=False), people(20, 1000, trips=True)
    few = people(6, 20, trips=True)
    estimate_heatmap([few], cell_m=3000)
    estimate_flows([few], cell_m=4000)  # compiled outside the clock
    began = time.process_time()
    estimate_heatmap([heat], cell_m=500)
    assert time.process_time() - began < 20  # processor time, too, grows where others are at work
    began = time.process_time()
    assert estimate_flows([trips], cell_m=1500).trips > 9000
    assert time.process_time() - began < 24
