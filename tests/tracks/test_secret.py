"""Secrets: indices, windows, places and stays found in a trace, and refused when they make no sense."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks import secret


def test_basic_and_compound_secrets_know_their_range():
    times = np.arange(10.0)
    assert secret.basic(3).at(times)[0].indices.tolist() == [3]
    assert secret.compound([4, 2, 4]).indices.tolist() == [2, 4]
    assert len(secret.every_point(7)) == 7
    assert len(secret.every_point().at(times)) == 10
    with pytest.raises(InputError, match="10 points"):
        secret.basic(10).at(times)
    with pytest.raises(InputError, match="negative"):
        secret.basic(-1)
    with pytest.raises(InputError, match="without times"):
        secret.compound([])


def test_windows_cover_every_point_and_none_holds_another():
    rng = np.random.default_rng(0)
    for _ in range(50):
        times = np.sort(rng.uniform(0, 5000, rng.integers(1, 60)))
        windows = secret.EveryWindow(duration_s=600).at(times)
        covered = np.unique(np.concatenate([w.indices for w in windows]))
        assert covered.tolist() == list(range(times.size))
        for window in windows:
            assert times[window.indices[-1]] - times[window.indices[0]] <= 600 * 1.5 + 1e-6
        sets = [set(w.indices.tolist()) for w in windows]
        assert not any(a < b for a in sets for b in sets)
    with pytest.raises(InputError):
        secret.EveryWindow(duration_s=0)


def test_places_hold_the_times_inside_circles_and_polygons_with_holes(tmp_path):
    lat = np.array([0.0, 0.0, 0.0, 0.0, 0.0])
    lon = np.array([0.0, 0.001, 0.0, 0.01, 0.0])
    circle = secret.Circle(0.0, 0.0, 150.0)
    found = secret.SecretAreas([circle]).at(np.arange(5.0), lat_deg=lat, lon_deg=lon)
    assert [s.indices.tolist() for s in found] == [[0], [1], [2], [4]]
    visits = secret.SecretAreas([circle], together=True).at(np.arange(5.0), lat_deg=lat, lon_deg=lon)
    assert [s.indices.tolist() for s in visits] == [[0, 1, 2], [4]]
    ring = [[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1]]
    hole = [[-0.005, -0.005], [0.005, -0.005], [0.005, 0.005], [-0.005, 0.005], [-0.005, -0.005]]
    path = tmp_path / "home.geojson"
    path.write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon",
                                "coordinates": [ring, hole]}}))  # fmt: skip
    found = secret.parse(str(path)).at(np.arange(5.0), lat_deg=lat, lon_deg=lon)
    assert [s.indices.tolist() for s in found] == [[3]]


def test_a_polygon_across_the_antimeridian_works():
    ring = [[179.9, -1], [-179.9, -1], [-179.9, 1], [179.9, 1], [179.9, -1]]
    area = secret.areas_from_geojson({"type": "Polygon", "coordinates": [ring]})[0]
    inside = area.holds(np.zeros(4), np.array([179.95, -179.95, 179.8, 0.0]))
    assert inside.tolist() == [True, True, False, False]


def test_stays_are_found_where_someone_lingers():
    times = np.arange(0, 3000, 60.0)
    lat = np.where(times < 1200, 10.0, 10.0 + (times - 1200) * 1e-5)
    lon = np.zeros(times.size)
    found = secret.Stays(at_least_s=600, within_m=50, together=True).at(times, lat_deg=lat, lon_deg=lon)
    assert found[0].indices[0] == 0
    assert times[found[0].indices[-1]] >= 1140
    with pytest.raises(InputError, match="positions"):
        secret.Stays().at(times)


@pytest.mark.parametrize("text", ["", "somewhere", "24,x", "windows:soon", "-3"])
def test_words_that_name_no_secret_are_refused(text):
    with pytest.raises(InputError):
        secret.parse(text)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "LineString", "coordinates": []},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]},
        {"type": "Point"},
        {"type": "Feature", "geometry": None},
        {"type": "Point", "coordinates": [0, 200]},
        {},
    ],
)
def test_malformed_geojson_is_refused(value):
    with pytest.raises(InputError):
        secret.areas_from_geojson(value)


def test_several_secrets_keep_their_own_radius():
    found = secret.resolve([secret.basic(1, radius_m=50), secret.basic(2)], np.arange(4.0), radius_m=200)
    assert [s.radius_m for s in found] == [50, 200]
    with pytest.raises(InputError, match="none of the secrets"):
        secret.resolve([], np.arange(4.0))


@pytest.mark.parametrize(
    "area",
    [
        {"type": "Feature", "properties": {"radius_m": "100m"}, "geometry": {"type": "Point", "coordinates": [2, 48]}},
        {"type": "Point", "coordinates": ["east", "north"]},
        {"type": "Polygon", "coordinates": [[["a", "b"]] * 4]},
    ],
)
def test_a_geojson_with_words_for_numbers_is_refused_with_advice(tmp_path, area):
    path = tmp_path / "HOME.GEOJSON"
    path.write_text(json.dumps(area))
    with pytest.raises(InputError) as caught:
        secret.parse(str(path))
    assert caught.value.advice
