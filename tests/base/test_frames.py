"""Metres are metres everywhere on the globe, and frames depend on nothing but the whole-degree cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from sfumato.base.arrays import wrap_longitude
from sfumato.base.errors import InputError
from sfumato.base.things.frames import (
    LocalFrame,
    cells_of,
    differences_m,
    displace,
    frame_for,
    snap,
    unroll,
)
from sfumato.base.things.traces import Trace
from sfumato.tracks.people.door import protect

GEOD = Geod(ellps="WGS84")
PLACES = {
    "equator": (0.0, 10.25),
    "just south of the equator": (-1e-9, 10.999999),
    "Svalbard, 78 N": (78.22, 15.65),
    "antimeridian, Fiji": (-16.8, 179.99995),
    "antimeridian, from the east": (65.3, -179.99995),
    "San Francisco": (37.77, -122.42),
    "a cell's corner": (48.0, 16.0),
    "last cell before the cap": (88.9999, -45.5),
    "inside the cap": (89.3, 133.0),
    "a stone's throw from the pole": (89.99999, 10.0),
    "north pole": (90.0, 0.0),
    "south pole": (-90.0, 77.0),
}
SD_M = 150.0


def _noised(lat: float, lon: float, count: int = 40_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    noise = np.random.default_rng(7).normal(0.0, SD_M, (count, 2))
    moved_lat, moved_lon = displace(np.full(count, lat), np.full(count, lon), noise)
    return noise, moved_lat, moved_lon


@pytest.mark.parametrize("place", PLACES)
def test_a_metre_of_noise_is_a_metre_on_the_ground_in_every_direction(place: str) -> None:
    lat, lon = PLACES[place]
    noise, moved_lat, moved_lon = _noised(lat, lon)
    azimuth, _, distance = GEOD.inv(np.full(len(noise), lon), np.full(len(noise), lat), moved_lon, moved_lat)
    assert np.abs(distance / np.hypot(noise[:, 0], noise[:, 1]) - 1).max() < 5e-5
    # The angle between any two displacements is kept, so the noise is as round on the ground as it was drawn.
    bearing = np.arctan2(noise[:, 0], noise[:, 1])
    turn = np.angle(np.exp(1j * (np.radians(azimuth) - bearing)))
    turn = np.angle(np.exp(1j * (turn - turn[0])))
    assert np.abs(turn).max() < 1e-4


@pytest.mark.parametrize("place", PLACES)
def test_noise_is_isotropic_in_metres(place: str) -> None:
    lat, lon = PLACES[place]
    noise, moved_lat, moved_lon = _noised(lat, lon)
    azimuth, _, distance = GEOD.inv(np.full(len(noise), lon), np.full(len(noise), lat), moved_lon, moved_lat)
    east, north = distance * np.sin(np.radians(azimuth)), distance * np.cos(np.radians(azimuth))
    standard_error = SD_M / np.sqrt(2 * len(noise))
    assert abs(east.std() - SD_M) < 5 * standard_error
    assert abs(north.std() - SD_M) < 5 * standard_error
    assert abs(np.corrcoef(east, north)[0, 1]) < 5 / np.sqrt(len(noise))


@pytest.mark.parametrize("place", PLACES)
def test_differences_undo_displacements_even_over_borders(place: str) -> None:
    lat, lon = PLACES[place]
    noise, moved_lat, moved_lon = _noised(lat, lon, 2000)
    back = differences_m(np.full(len(noise), lat), np.full(len(noise), lon), moved_lat, moved_lon)
    assert np.abs(back - noise).max() < 1e-6
    assert (moved_lon >= -180).all()
    assert (moved_lon < 180).all()
    assert (np.abs(moved_lat) <= 90).all()


def test_a_frame_is_a_function_of_the_whole_degree_cell_alone() -> None:
    generator = np.random.default_rng(0)
    inside = 48 + generator.random(200), 16 + generator.random(200)
    assert {frame_for(a, b) for a, b in zip(*inside, strict=True)} == {LocalFrame.from_cell(48, 16)}
    assert frame_for(-0.5, -0.5).cell == (-1, -1)
    assert frame_for(10.0, 180.0).cell == frame_for(10.0, -180.0).cell == (10, -180)
    assert frame_for(89.5, 123.0).cell == (89, 0)
    assert frame_for(90.0, -7.0).cell == (89, 0)
    assert frame_for(-89.5, 123.0).cell == (-90, 0)


def test_the_same_displacement_does_not_depend_on_the_other_points_of_the_trace() -> None:
    generator = np.random.default_rng(1)
    lat, lon = generator.uniform(-89.9, 89.9, 300), generator.uniform(-180, 180, 300)
    noise = generator.normal(0, SD_M, (300, 2))
    together = displace(lat, lon, noise)
    alone = [displace(lat[i : i + 1], lon[i : i + 1], noise[i : i + 1]) for i in range(300)]
    assert np.array_equal(together[0], np.concatenate([a for a, _ in alone]))
    assert np.array_equal(together[1], np.concatenate([b for _, b in alone]))


@pytest.mark.parametrize("lat", [0.0, 45.0, -33.5, 78.25, 88.5])
def test_a_path_that_crosses_a_border_cannot_be_told_by_its_noise(lat: float) -> None:
    noise = np.array([[400.0, -700.0]] * 2)
    across_meridian = displace([lat, lat], [10.0 - 1e-9, 10.0 + 1e-9], noise)
    across_antimeridian = displace([lat, lat], [180.0 - 1e-9, -180.0 + 1e-9], noise)
    parallel = np.floor(lat) + (1.0 if lat < 88 else 0.0)
    across_parallel = displace([parallel - 1e-9, parallel + 1e-9], [10.3, 10.3], noise)
    for moved in (across_meridian, across_antimeridian, across_parallel):
        assert GEOD.inv(moved[1][0], moved[0][0], moved[1][1], moved[0][1])[2] < 0.002


@pytest.mark.parametrize("place", [place for place, (lat, _) in PLACES.items() if abs(lat) < 89])
def test_east_is_east_and_north_is_north_below_the_caps(place: str) -> None:
    lat, lon = PLACES[place]
    moved_lat, moved_lon = displace([lat] * 2, [lon] * 2, [[50.0, 0.0], [0.0, 50.0]])
    azimuth, _, distance = GEOD.inv([lon] * 2, [lat] * 2, moved_lon, moved_lat)
    assert distance == pytest.approx([50.0, 50.0], rel=5e-5)
    assert azimuth == pytest.approx([90.0, 0.0], abs=0.05 if abs(lat) < 88 else 0.2)


@settings(max_examples=60, deadline=None)
@given(st.floats(-88.9, 88.9), st.floats(-180, 180), st.floats(0, 2 * np.pi), st.floats(1, 200))
def test_places_near_each_other_are_moved_alike_by_the_same_noise(
    lat: float, lon: float, way: float, far: float
) -> None:
    """|∂Z/∂X − 1| ≤ |G| tan(latitude)/R: what the module promises about the model Z = X + G."""
    noise = np.array([[600.0, -700.0]])
    there = GEOD.fwd(lon, lat, np.degrees(way), far)
    if abs(there[1]) >= 89:
        return
    first = displace([lat], [lon], noise)
    second = displace([there[1]], [there[0]], noise)
    apart = GEOD.inv(first[1][0], first[0][0], second[1][0], second[0][0])[2]
    latitude = np.radians(max(abs(lat), abs(there[1])) + 0.01)
    bound = 1.05 * np.hypot(600.0, 700.0) * np.tan(latitude) / 6.35e6 + 1e-4
    assert abs(apart - far) < bound * far + 0.004


def test_snapping_looks_at_the_released_point_only_and_moves_it_by_half_a_step() -> None:
    generator = np.random.default_rng(2)
    for place in PLACES.values():
        lat = np.clip(place[0] + generator.normal(0, 1e-3, 200), -90, 90)
        lon = wrap_longitude(place[1] + generator.normal(0, 1e-3, 200))
        for grid_m in (0.1, 25.0):
            on_lat, on_lon = snap(lat, lon, grid_m)
            distance = GEOD.inv(lon, lat, on_lon, on_lat)[2]
            assert distance.max() <= grid_m / np.sqrt(2) * 1.0001 + 0.012
            assert np.array_equal(np.round(on_lat, 7), on_lat)
            alone = snap(lat[3:4], lon[3:4], grid_m)
            assert alone[0][0] == on_lat[3]
            assert alone[1][0] == on_lon[3]


def test_the_snapping_grid_starts_at_the_middle_of_the_public_cell() -> None:
    lat, lon = snap([48.2], [16.3], 0.1)
    offsets = frame_for(48.2, 16.3).to_metres(lat, lon)[0] / 0.1
    assert np.abs(offsets - np.rint(offsets)).max() < 0.1
    middle = snap([48.5], [16.5], 100.0)
    assert middle[0][0] == pytest.approx(48.5, abs=1e-7)
    assert middle[1][0] == pytest.approx(16.5, abs=1e-7)


def test_a_path_across_cells_and_the_antimeridian_unrolls_to_its_length() -> None:
    lat, lon = np.full(2001, 60.3), wrap_longitude(np.linspace(178.0, 182.0, 2001))
    path = unroll(lat, lon)
    length = np.hypot(*np.diff(path, axis=0).T).sum()
    assert length == pytest.approx(GEOD.line_length(lon, lat), rel=1e-4)
    assert np.abs(np.diff(path, axis=0)).max() < 200.0
    inside = np.array([10.1, 10.11, 10.15]), np.array([5.1, 5.13, 5.12])
    frame = frame_for(10.1, 5.1).to_metres(*inside)
    assert np.abs(unroll(*inside) - (frame - frame[0])).max() < 10.0  # 5 km, turned by 0.07 degrees


@settings(max_examples=200, deadline=None)
@given(st.floats(-90, 90), st.floats(-360, 360), st.floats(-5000, 5000), st.floats(-5000, 5000))
def test_any_point_and_displacement_goes_there_and_back(lat: float, lon: float, east: float, north: float) -> None:
    moved = displace([lat], [lon], [[east, north]])
    distance = GEOD.inv(lon, lat, moved[1][0], moved[0][0])[2]
    assert distance == pytest.approx(np.hypot(east, north), rel=1e-3, abs=1e-6)
    assert differences_m([lat], [lon], *moved)[0] == pytest.approx([east, north], abs=1e-5)


def test_longitudes_wrap_without_touching_those_inside() -> None:
    lon = np.array([-180.0, 179.9999999, 180.0, 181.0, -180.0 - 1e-13, 540.0, 0.1])
    wrapped = wrap_longitude(lon)
    assert (wrapped >= -180).all()
    assert (wrapped < 180).all()
    assert wrapped[[0, 1, 6]].tolist() == lon[[0, 1, 6]].tolist()
    assert wrapped[2:4].tolist() == [-180.0, -179.0]


def test_what_is_not_on_the_globe_is_refused() -> None:
    for lat, lon in ((91.0, 0.0), (np.nan, 0.0), (0.0, np.inf)):
        with pytest.raises(InputError):
            cells_of([lat], [lon])
    with pytest.raises(InputError):
        LocalFrame.from_cell(90, 0)
    with pytest.raises(InputError):
        snap([0.0], [0.0], 0.0)
    with pytest.raises(InputError):
        displace([0.0], [0.0], np.zeros((2, 2)))


def test_no_points_are_no_problem() -> None:
    nothing = np.empty(0)
    assert displace(nothing, nothing, np.empty((0, 2)))[0].size == 0
    assert snap(nothing, nothing)[0].size == 0


@pytest.mark.parametrize("place", ["equator", "Svalbard, 78 N", "antimeridian, Fiji", "north pole"])
def test_a_protected_trace_is_displaced_alike_in_every_direction(place: str) -> None:
    lat, lon = PLACES[place]
    count = 1000
    trace = Trace(np.full(count, lat), np.full(count, lon), 1.7e9 + np.arange(count))
    release = protect(trace, mechanism="independent", noise_m=SD_M, rng=11).release
    azimuth, _, distance = GEOD.inv(trace.lon_deg, trace.lat_deg, release.lon_deg, release.lat_deg)
    turned = np.radians(np.asarray(azimuth)[:, None] - np.arange(0, 180, 15))
    along = np.asarray(distance)[:, None] * np.cos(turned)
    assert along.std(axis=0) == pytest.approx(np.full(12, SD_M), abs=5 * SD_M / np.sqrt(2 * count))
    assert np.abs(along.mean(axis=0)).max() < 5 * SD_M / np.sqrt(count)


def test_a_protected_flight_across_cells_and_the_antimeridian_lands_near_its_path() -> None:
    lon = wrap_longitude(np.linspace(175.0, 190.0, 150))
    trace = Trace(np.linspace(-20.0, 5.0, 150), lon, 1.7e9 + 40.0 * np.arange(150))
    release = protect(trace, noise_m=300.0, rng=2).release
    distance = GEOD.inv(trace.lon_deg, trace.lat_deg, release.lon_deg, release.lat_deg)[2]
    assert distance.max() < 6 * 300.0
    assert distance.mean() > 50.0
