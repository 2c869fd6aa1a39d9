"""Attackers of hidden places: each finds what it should where its assumption holds."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from repository import ROOT

from sfumato.tracks.adversary.places import ATTACKERS, Stretch, guesses_m, look
from sfumato.tracks.adversary.places.learned import FEATURES, Weights, believe, features, shipped_weights
from sfumato.tracks.adversary.places.zone_view import candidates_m

RADIUS_M, INNER_M = 800.0, 640.0


def radial(home, count: int = 12, seed: int = 0, radius_m: float = RADIUS_M) -> list[Stretch]:
    """Straight rides from home in all directions, cut by the disc around the origin."""
    rng = np.random.default_rng(seed)
    out = []
    for number, turn in enumerate(rng.uniform(0, 2 * np.pi, count)):
        way = np.array([np.cos(turn), np.sin(turn)])
        path = np.asarray(home) + np.arange(0.0, 6000.0, 5.0)[:, None] * way
        path = path[np.hypot(*path.T) >= radius_m]
        out.append(Stretch(path, 1e5 * number + np.arange(float(len(path))), number))
    return out


def seen(stretches):
    return look(stretches, radius_m=RADIUS_M, inner_radius_m=INNER_M)


def test_a_circle_finds_the_zones_centre_and_crossing_lines_the_home():
    home = np.array([300.0, -200.0])
    guesses = guesses_m(seen(radial(home, radius_m=RADIUS_M + 25.0)))  # the margin's mean
    assert np.hypot(*guesses["circle"]) < 5
    assert np.hypot(*(guesses["crossing"] - home)) < 10
    assert np.hypot(*(guesses["sharp headings"] - home)) < 60
    assert set(guesses) == set(ATTACKERS)


def test_crossroads_finds_a_home_that_rides_which_turn_hide_from_least_squares():
    """Two straight streets lead from the door; twice as many rides turn a corner before the border."""
    home, rides, rng = np.array([250.0, -150.0]), [], np.random.default_rng(1)
    for number in range(30):
        turn = [0.3, 0.3 + np.pi / 2][number % 2]
        way, side = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        corner = home + (rng.uniform(100.0, 900.0) if number % 3 else 3000.0) * way
        path = np.vstack([home + s * way for s in np.arange(0.0, np.hypot(*(corner - home)), 5.0)])
        path = np.vstack([path, *(corner + s * side * (1 if number % 5 else -1) for s in np.arange(5.0, 4000.0, 5.0))])
        path = path[np.hypot(*path.T) >= RADIUS_M]
        rides.append(Stretch(path, 1e5 * number + np.arange(float(len(path))), number))
    guesses = guesses_m(seen(rides))
    off = {name: float(np.hypot(*(guess - home))) for name, guess in guesses.items()}
    assert off["crossroads"] < 50, off
    assert off["crossing"] > 60, off
    alone = guesses_m(seen(radial(home, 1)))
    assert np.allclose(alone["crossroads"], alone["crossing"])


def test_noise_on_what_is_published_hides_no_gate():
    rng = np.random.default_rng(3)
    rides = [r._replace(positions_m=r.positions_m + rng.normal(0, 300, 2)) for r in radial([100.0, 50.0], 20)]
    assert len(look(rides, radius_m=RADIUS_M, inner_radius_m=INNER_M).gates_m) < 18
    assert len(look(rides, radius_m=RADIUS_M, inner_radius_m=INNER_M, noise_m=300.0).gates_m) == 20


def test_gates_are_ends_at_the_border_and_passing_rides_are_told_apart():
    rides = radial([0.0, 0.0], 3)
    way = np.column_stack([np.arange(-3000.0, 3000.0, 5.0), np.full(1200, 100.0)])
    outside = np.hypot(*way.T) >= RADIUS_M
    first, second = way[outside & (way[:, 0] < 0)], way[outside & (way[:, 0] > 0)]
    times = np.arange(1200.0)
    passing = [Stretch(first, times[: len(first)], 9), Stretch(second, times[-len(second) :], 9)]
    view = seen([*rides, *passing])
    assert len(view.gates_m) == 5
    assert view.stops.tolist() == [True] * 3 + [False] * 2
    assert len(view.of_stops().gates_m) == 3
    assert np.allclose(np.hypot(*view.headings.T), 1)
    stopping = [passing[0], Stretch(second, times[-len(second) :] + 3600, 9)]
    assert seen(stopping).stops.all()
    far = [Stretch(way[:100] - [9000.0, 0.0], times[:100], 0)]
    assert not seen(far).seen
    assert guesses_m(seen(far)).keys() == {"centre"}


def test_the_learned_attacker_is_a_distribution_and_learns_what_it_is_taught(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    fit = import_module("zone_weights").fit
    rng = np.random.default_rng(1)
    lessons = []
    for seed in range(60):
        home = candidates_m(INNER_M)[rng.integers(len(candidates_m(INNER_M)))]
        lessons.append((seen(radial(home, 6, seed)), home))
    weights = fit(lessons[:40], fitted_on="a test")
    errors = []
    for view, home in lessons[40:]:
        belief = believe(view, weights)
        assert belief.share.sum() == pytest.approx(1)
        errors.append(np.hypot(*(belief.likeliest() - home)))
    assert np.median(errors) < 100  # straight rides give a home away, and it found out how
    blind = believe(lessons[0][0], Weights(np.zeros(len(FEATURES)), "nobody"))
    assert blind.odds(lessons[0][1]) == pytest.approx(1)


def test_the_shipped_weights_say_on_whom_they_were_fitted():
    assert "development people" in shipped_weights().fitted_on
    assert len(shipped_weights().values) == len(FEATURES)
    view = seen(radial([100.0, 100.0]))
    assert features(view, candidates_m(INNER_M)).shape == (len(candidates_m(INNER_M)), len(FEATURES))


def test_an_archive_of_ten_thousand_rides_is_attacked_in_bounded_memory():
    one = seen(radial([200.0, 100.0], 40))
    many = type(one).join([one] * 250)
    assert len(many.gates_m) == 10_000
    assert len(many.thin().gates_m) <= 1500
    assert np.hypot(*(guesses_m(many)["crossing"] - [200.0, 100.0])) < 10
