"""Zones: drawn once, uniformly, right everywhere on the globe."""

from __future__ import annotations

import numpy as np
import pytest
from pyproj import Geod

from sfumato.base.errors import InputError
from sfumato.tracks.places.globe import Around, distances_m, passes_within, surface
from sfumato.tracks.places.zones import RADII_M, Zone, area_left, centred_zone, draw_zone

PLACES = [(48.85, 2.35), (-33.9, 151.2), (0.0, 179.99999), (0.0, -180.0), (90.0, 0.0), (-90.0, 12.0), (89.9999, 77.0)]
GEOD = Geod(ellps="WGS84")


def geodesic_m(lat, lon, to_lat, to_lon):
    shape = np.broadcast_arrays(np.asarray(lat, float), np.asarray(to_lat, float))[0].shape
    full = [np.broadcast_to(np.asarray(v, float), shape).copy() for v in (lon, lat, to_lon, to_lat)]
    return np.asarray(GEOD.inv(*full)[2])


@pytest.mark.parametrize("place", PLACES)
def test_distances_and_moves_agree_with_geodesics_everywhere_on_the_globe(place):
    around = Around(*place)
    rng = np.random.default_rng(1)
    moves = rng.uniform(-3000, 3000, (50, 2))
    lat, lon = around.to_degrees(moves)
    assert np.abs(lat).max() <= 90
    assert np.allclose(geodesic_m(lat, lon, *place), np.hypot(*moves.T), rtol=1e-6)
    assert np.allclose(distances_m(lat, lon, *place), np.hypot(*moves.T), rtol=1e-6)
    assert np.allclose(around.to_metres(lat, lon), moves, atol=1e-3)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("radius_m", RADII_M)
def test_the_centre_is_uniform_in_the_disc_of_eight_tenths_around_the_place(place, radius_m):
    rng = np.random.default_rng(5)
    zones = [draw_zone(*place, radius_m=radius_m, rng=rng) for _ in range(400)]
    away = Around(*place).to_metres([z.lat_deg for z in zones], [z.lon_deg for z in zones]) / (0.8 * radius_m)
    share = np.sort(np.hypot(*away.T) ** 2)
    turn = np.sort(np.arctan2(away[:, 1], away[:, 0]) / (2 * np.pi) + 0.5)
    steps = (np.arange(400) + 0.5) / 400
    # Kolmogorov-Smirnov at 1e-5: 2.4 / sqrt(n)
    assert np.abs(share - steps).max() < 0.12
    assert np.abs(turn - steps).max() < 0.12
    assert share[-1] <= 1.0 + 1e-6


def test_the_odds_between_two_places_of_the_inner_disc_are_what_they_were():
    """Promise 2, by Bayes over many draws: among centres near a point, both homes are equally frequent."""
    homes = np.array([[0.0, 0.0], [300.0, 200.0]])
    rng = np.random.default_rng(8)
    count, cell = 40_000, 200.0
    share, turn = rng.uniform(size=(2, 2, count))
    # The draw's own formula, vectorised; test above shows that draw_zone follows it.
    offset = 640.0 * np.sqrt(share)[..., None] * np.stack([np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn)], -1)
    centres = homes[:, None] + offset
    middle = np.array([100.0, 100.0])
    near = (np.abs(centres - middle) < cell).all(axis=-1).sum(axis=1)
    assert abs(near[0] / near[1] - 1) < 0.06


def test_no_draw_is_rejected_or_repeated():
    class Counting:
        def __init__(self):
            self.calls = 0

        def words(self, count):
            self.calls += count
            return np.full(count, 2**63, dtype=np.uint64)

    from sfumato.base.randomness import Randomness

    source = Counting()
    for place in PLACES:
        draw_zone(*place, rng=Randomness(source.words, simulation=True, source="test"))
    assert source.calls == len(PLACES) * (2 + 4)


def test_a_radius_off_the_public_list_is_refused():
    for radius in (200.0, 500.0, 799.0, float("nan"), -800.0):
        with pytest.raises(InputError, match="public list"):
            draw_zone(48.0, 2.0, radius_m=radius)


@pytest.mark.parametrize("place", PLACES)
def test_everything_inside_the_radius_is_held_and_nothing_beyond_fifty_metres_more(place):
    zone = draw_zone(*place, radius_m=400.0, rng=3)
    turn = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    ring = np.column_stack([np.cos(turn), np.sin(turn)])

    def held(radius):
        return zone.holds(surface(*zone.around.to_degrees(radius * ring)))

    assert held(399.99).all()
    assert not held(450.01).any()
    assert 0.3 < held(425.0).mean() < 0.7


def test_the_margin_is_a_function_of_the_key_and_the_arc_alone():
    zone = draw_zone(10.0, 20.0, rng=3)
    again = Zone(zone.lat_deg, zone.lon_deg, zone.radius_m, zone.key)
    other = Zone(zone.lat_deg, zone.lon_deg, zone.radius_m, bytes(32))
    assert np.array_equal(zone.margins_m(), again.margins_m())
    assert not np.array_equal(zone.margins_m(), other.margins_m())
    assert zone.margins_m().min() >= 0
    assert zone.margins_m().max() < 50


def test_a_zone_shows_no_coordinate_and_says_when_it_is_a_simulation():
    assert draw_zone(48.8566, 2.3522, rng=1).simulation
    zone = draw_zone(48.8566, 2.3522)
    assert not zone.simulation
    assert "48." not in repr(zone)
    assert draw_zone(48.8566, 2.3522).key != zone.key


def test_a_step_through_a_zone_is_found_however_long_it_is():
    zone = centred_zone(0.0, 180.0, radius_m=800.0)
    steps = [
        ((0.0, 179.0), (0.0, -179.0), True),  # 222 km across the date line, through the middle
        ((0.02, 179.0), (0.02, -179.0), False),  # 2 km to the north of it
        ((0.0, 179.0), (0.0, 179.98), False),  # ends before
        ((-1.0, 180.0), (1.0, -180.0), True),
        ((0.0, 120.0), (0.0, -120.0), True),  # a third of the globe: 13,000 km
        ((0.5, 120.0), (0.5, -120.0), False),
    ]
    start, end = (surface(*np.array([step[k] for step in steps]).T) for k in (0, 1))
    assert zone.crosses(start, end).tolist() == [step[2] for step in steps]
    assert not passes_within(start[:1], start[:1], end[0], 10.0).any()


def test_several_zones_for_one_place_leave_little():
    """Exact values of the integral; an earlier simulation had .47, .28, .10, .04."""
    exact = [area_left(k) for k in (1, 2, 3, 5, 10)]
    assert exact == pytest.approx([1.0, 0.460, 0.265, 0.122, 0.038], abs=0.001)
    rng = np.random.default_rng(0)
    places, left = 400, []
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 81)] * 2), -1).reshape(-1, 2)
    for _ in range(places):
        radius, turn = np.sqrt(rng.uniform(size=3)), rng.uniform(0, 2 * np.pi, 3)
        centres = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
        inside = (np.linalg.norm(grid[:, None] - centres, axis=2) <= 1).all(axis=1)
        left.append(inside.sum() * 0.05**2 / np.pi)
    assert np.mean(left) == pytest.approx(area_left(3), abs=0.03)
    with pytest.raises(InputError):
        area_left(0)
