"""Finding places: home, work, and the one visited twice; bad fixes are no places."""

from __future__ import annotations

import time

import numpy as np
import pytest
from rides import PARIS, joined, ride

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.globe import Around, distances_m

DAY_S = 86400.0
MONDAY_S = 1_699_833_600.0  # 2023-11-13 00:00 UTC, a Monday
WORK, SHOP = (3000.0, 1000.0), (-1500.0, 800.0)


def weeks(home=PARIS, days: int = 10, seed: int = 0) -> list[Trace]:
    rng = np.random.default_rng(seed)
    sun = home[1] / 15 * 3600.0
    out = []
    for day in range(days):
        midnight = MONDAY_S + DAY_S * (day + 2 * (day // 5)) - sun
        out.append(ride([0, 0], WORK, home=home, at_s=midnight + 8 * 3600, rng=rng))
        out.append(ride(WORK, [0, 0], home=home, at_s=midnight + 17.5 * 3600, rng=rng))
        if day in (1, 4):
            out.append(ride([0, 0], SHOP, home=home, at_s=midnight + 19 * 3600, rng=rng))
            out.append(ride(SHOP, [0, 0], home=home, at_s=midnight + 19.5 * 3600, rng=rng))
    return out


@pytest.mark.parametrize("home", [PARIS, (-33.9, 151.2), (0.0, 179.999), (89.99, 20.0)])
def test_home_work_and_a_place_visited_twice_are_found_everywhere(home):
    found = find_places(weeks(home))
    assert [place.label for place in found] == ["home", "work", "place"]
    for place, (east, north) in zip(found, ((0, 0), WORK, SHOP), strict=True):
        lat, lon = Around(*home).to_degrees([[east, north]])
        assert distances_m(place.lat_deg, place.lon_deg, float(lat[0]), float(lon[0]))[0] < 15
    assert found[1].visits == 10
    assert found[2].visits == 2
    assert found[0].stayed_s > 8 * 10 * 3600


def test_the_answer_does_not_depend_on_the_order_of_the_tracks():
    tracks = weeks()
    forward, backward = find_places(tracks), find_places([("", track) for track in reversed(tracks)])
    assert [(p.label, p.visits, p.lat_deg) for p in forward] == [(p.label, p.visits, p.lat_deg) for p in backward]


def test_bad_fixes_make_no_place_and_move_none():
    rng = np.random.default_rng(3)
    dirty = []
    for track in weeks():
        lat, lon = track.lat_deg.copy(), track.lon_deg.copy()
        bad = rng.choice(np.arange(0, len(track)), 8, replace=False)
        bad = np.unique(np.concatenate([bad[np.diff(np.sort(bad), prepend=-9) > 1], [0]]))
        lat[bad], lon[bad] = 40.0, 10.0  # a place the receiver likes to jump to
        dirty.append(Trace(lat, lon, track.times_s))
    found = find_places(dirty)
    assert [place.label for place in found][:2] == ["home", "work"]
    assert distances_m(found[0].lat_deg, found[0].lon_deg, *PARIS)[0] < 30
    assert all(distances_m(place.lat_deg, place.lon_deg, 40.0, 10.0)[0] > 1000 for place in found)


def test_a_long_stop_in_the_middle_of_a_ride_is_found_and_a_passage_is_not():
    out = ride([5000, 0], [8000, 0])
    lat, lon = Around(*PARIS).to_degrees(np.array([[8000.0, 0.0]]) + np.random.default_rng(1).normal(0, 5, (900, 2)))
    stop = Trace(lat, lon, out.times_s[-1] + 1 + np.arange(900.0))
    on = ride([8000, 0], [12000, 0], at_s=float(stop.times_s[-1]) + 1)
    found = find_places(joined(out, stop, on))
    assert len(found) == 1
    assert found[0].stayed_s == pytest.approx(900, abs=60)
    assert find_places(ride([5000, 0], [8000, 0])) == []


def test_nothing_is_found_in_nothing_and_files_must_be_read_first():
    assert find_places([]) == []
    with pytest.raises(InputError, match="read_traces"):
        sf.find_places(["ride.gpx"])
    assert "48." not in repr(find_places(weeks())[0])


def test_finding_is_nearly_linear_in_the_points():
    def seconds(count: int) -> float:
        rng = np.random.default_rng(0)
        lat, lon = Around(*PARIS).to_degrees(np.cumsum(rng.normal(0, 3, (count, 2)), axis=0))
        trace = Trace(lat, lon, 1.7e9 + np.arange(float(count)))
        begin = time.process_time()
        find_places(trace)
        return time.process_time() - begin

    seconds(1000)
    small, large = (min(seconds(count) for _ in range(3)) for count in (40_000, 400_000))
    assert large < 60 * small  # quadratic would be 100


def test_whoever_only_rides_loops_from_home_has_a_home():
    out, back = ride([0, 0], WORK, at_s=MONDAY_S), ride(WORK, [0, 0], at_s=MONDAY_S)
    lat, lon = (np.concatenate([getattr(out, name), getattr(back, name)]) for name in ("lat_deg", "lon_deg"))
    loops = [Trace(lat, lon, MONDAY_S + day * DAY_S + np.arange(len(lat))) for day in range(5)]
    one, five = find_places(loops[:1]), find_places(loops)
    assert [(place.label, place.visits) for place in one] == [("home", 2)]
    assert [(place.label, place.visits) for place in five] == [("home", 6)]
