"""Cutting: nothing from inside is left, in any field, and the rest is exact."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rides import PARIS, joined, ride

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import Around, surface
from sfumato.tracks.places.places_file import area_from_rings
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import centred_zone, draw_zone


def same(one: Trace | None, other: Trace | None) -> bool:
    if one is None or other is None:
        return one is other
    fields = ("lat_deg", "lon_deg", "times_s", "segment")
    return (
        all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in fields)
        and list(one.columns) == list(other.columns)
        and all(one.columns[name].tobytes() == other.columns[name].tobytes() for name in one.columns)
        and (dict(one.texts), one.dropped) == (dict(other.texts), other.dropped)
    )


def test_what_is_outside_stays_bit_for_bit_and_nothing_inside_is_left():
    zone = draw_zone(*PARIS, radius_m=800.0, rng=4)
    trace = ride([0, 0], [5000, 2000])
    left = withhold(trace, [zone])
    assert left.trace is not None
    assert left.trace.lat_deg.tobytes() == trace.lat_deg[left.kept].tobytes()
    assert left.trace.times_s.tobytes() == trace.times_s[left.kept].tobytes()
    assert not zone.holds(surface(left.trace.lat_deg, left.trace.lon_deg)).any()
    assert np.hypot(*zone.around.to_metres(left.trace.lat_deg, left.trace.lon_deg).T).min() >= 800
    assert left.cut_before[0]
    assert not left.cut_after[-1]
    assert 0 < len(left.trace) == len(left.kept) < len(trace)


def test_a_pass_through_the_zone_becomes_a_gap_and_no_point_is_invented():
    zone = centred_zone(*PARIS, radius_m=400.0)
    trace = ride([-3000, 100], [3000, -100], bend=0.01)
    left = withhold(trace, [zone])
    assert left.trace is not None
    assert left.trace.segments == 2
    assert set(map(tuple, np.column_stack([left.trace.lat_deg, left.trace.lon_deg]))) <= set(
        map(tuple, np.column_stack([trace.lat_deg, trace.lon_deg]))
    )


def test_a_sparse_track_that_jumps_over_the_zone_is_not_bridged():
    zone = centred_zone(*PARIS, radius_m=400.0)
    lat, lon = Around(*PARIS).to_degrees([[-3000, 10], [-2000, 10], [2000, 10], [3000, 10]])
    left = withhold(Trace(lat, lon, [0.0, 200.0, 1000.0, 1200.0]), [zone])
    assert left.trace is not None
    assert left.trace.segment.tolist() == [0, 0, 1, 1]
    # The same outside with a fix inside gives the same bytes: nobody can tell whether one was recorded.
    lat, lon = Around(*PARIS).to_degrees([[-3000, 10], [-2000, 10], [50, 10], [60, 10], [2000, 10], [3000, 10]])
    again = withhold(Trace(lat, lon, [0.0, 200.0, 500.0, 510.0, 1000.0, 1200.0]), [zone])
    assert same(left.trace, again.trace)


def test_a_track_that_never_leaves_disappears():
    zone = centred_zone(*PARIS, radius_m=800.0)
    left = withhold(ride([0, 0], [300, 300]), [zone])
    assert left.trace is None
    assert len(left.kept) == 0


def test_a_track_that_never_comes_near_stays_as_it_is():
    zone = centred_zone(*PARIS, radius_m=800.0)
    trace = ride([5000, 0], [9000, 300])
    assert same(withhold(trace, [zone]).trace, trace)
    assert same(withhold(trace, []).trace, trace)


def test_bad_fixes_and_flicker_along_the_border_are_not_published():
    zone = centred_zone(*PARIS, radius_m=400.0)
    outward = ride([0, 0], [4000, 0])
    at_home = np.zeros((100, 2))
    at_home[50] = [9000, 0]  # one fix far away
    at_home[70:75] = [470, 0]  # a stretch just across the border
    lat, lon = Around(*PARIS).to_degrees(at_home)
    left = withhold(joined(Trace(lat, lon, 1.7e9 - 100 + np.arange(100.0)), outward), [zone])
    alone = withhold(outward, [zone])
    assert same(left.trace, alone.trace)


def test_segments_are_numbered_anew_so_that_those_inside_are_not_counted():
    zone = centred_zone(*PARIS, radius_m=800.0)
    inside = [ride([0, 0], [50, 10], at_s=1.6e9 + 1000 * k) for k in range(7)]
    outward, back = ride([0, 0], [5000, 0]), ride([5000, 0], [9000, 0], at_s=1.7e9 + 5000)
    left = withhold(joined(*inside, outward, back, segments=True), [zone]).trace
    assert left is not None
    assert np.unique(left.segment).tolist() == [0, 1]
    assert same(left, withhold(joined(outward, back, segments=True), [zone]).trace)


def test_columns_that_count_from_the_start_are_recomputed_or_refused():
    zone = centred_zone(*PARIS, radius_m=400.0)
    plain = ride([0, 0], [4000, 0])
    count = len(plain)
    columns = {
        "distance": np.linspace(0, 4000, count),
        "heart_rate": np.full(count, 120.0),
        "steps": np.arange(count, dtype=float),
    }
    trace = Trace(plain.lat_deg, plain.lon_deg, plain.times_s, None, columns, ("laps",), {"name": "From home"})
    bare = withhold(trace, [zone]).trace
    assert bare is not None
    assert not bare.columns
    assert not bare.texts
    assert not bare.dropped
    left = withhold(trace, [zone], keep=["distance", "heart_rate"]).trace
    assert left is not None
    assert left.columns["distance"][0] == 0
    assert left.columns["distance"][-1] == pytest.approx(len(left) * 5, rel=0.02)
    near = left.times_s - left.times_s[0] < 60
    assert np.isnan(left.columns["heart_rate"][near]).all()
    assert (left.columns["heart_rate"][~near] == 120).all()
    with pytest.raises(InputError, match="steps"):
        withhold(trace, [zone], keep=["steps"])
    with pytest.raises(InputError, match="cadence"):
        withhold(trace, [zone], keep=["cadence"])


def test_overlapping_zones_are_cut_as_one_region():
    west, east = (centred_zone(PARIS[0], PARIS[1] + shift, radius_m=400.0) for shift in (-0.004, 0.004))
    left = withhold(ride([-3000, 0], [3000, 0], bend=0.01), [west, east]).trace
    assert left is not None
    assert left.segments == 2
    assert same(left, withhold(ride([-3000, 0], [3000, 0], bend=0.01), [east, west]).trace)


@pytest.mark.parametrize("home", [(90.0, 0.0), (-90.0, 0.0), (0.0, 180.0), (60.0, -180.0), (89.9999, 10.0)])
def test_poles_and_the_date_line_are_places_like_others(home):
    zone = draw_zone(*home, radius_m=800.0, rng=2)
    trace = ride([0, 0], [4000, 0], home=home)
    left = withhold(trace, [zone]).trace
    assert left is not None
    assert left.segments == 1
    assert np.hypot(*zone.around.to_metres(left.lat_deg, left.lon_deg).T).min() >= 800
    assert len(left) > 400


@given(
    seed=st.integers(0, 10_000),
    zone_seed=st.integers(0, 50),
    radius_m=st.sampled_from([400.0, 800.0, 1600.0]),
    rides=st.integers(1, 3),
)
def test_the_output_is_a_function_of_the_points_outside_alone(seed, zone_seed, radius_m, rides):
    """Replace every inside stretch by other data (places, times, number of points, segments): the same bytes."""
    rng = np.random.default_rng(seed)
    zone = draw_zone(*PARIS, radius_m=radius_m, rng=zone_seed)
    ends = [rng.uniform(-300, 300, 2), *rng.uniform(-4000, 4000, (rides, 2)), rng.uniform(-300, 300, 2)]
    parts, clock = [], 1.7e9
    for start, end in pairwise(ends):
        parts.append(ride(start, end, at_s=clock, every_s=float(rng.choice([1.0, 5.0, 30.0])), rng=rng))
        clock = float(parts[-1].times_s[-1]) + 1.0
    trace = joined(*parts)
    inside = zone.holds(surface(trace.lat_deg, trace.lon_deg))
    runs = np.flatnonzero(np.diff(inside.astype(int), prepend=0, append=0))
    pieces, cursor = [], 0
    for begin, end in zip(runs[::2], runs[1::2], strict=True):
        pieces.append(np.column_stack([trace.lat_deg, trace.lon_deg, trace.times_s])[cursor:begin])
        count = int(rng.integers(1, 40))
        lat, lon = zone.around.to_degrees(rng.uniform(-0.7, 0.7, (count, 2)) * radius_m)
        low = trace.times_s[begin - 1] if begin else trace.times_s[end - 1] - 5000 * rng.uniform()
        high = trace.times_s[end] if end < len(trace) else trace.times_s[begin] + 5000 * rng.uniform()
        pieces.append(np.column_stack([lat, lon, np.sort(rng.uniform(min(low, high), high, count))]))
        cursor = end
    pieces.append(np.column_stack([trace.lat_deg, trace.lon_deg, trace.times_s])[cursor:])
    other = np.concatenate(pieces)
    assert same(withhold(trace, [zone]).trace, withhold(Trace(*other.T), [zone]).trace)


def test_an_area_is_withheld_as_drawn_with_its_margin():
    corners = np.array([[-500, -300], [500, -300], [500, 300], [-500, 300], [-500, -300]], dtype=float)
    lat, lon = Around(*PARIS).to_degrees(corners)
    area = area_from_rings([np.column_stack([lon, lat])], rng=1)
    trace = ride([-3000, 0], [3000, 0], bend=0.01)
    left = withhold(trace, [area])
    assert left.trace is not None
    assert left.trace.segments == 2
    seen = Around(*PARIS).to_metres(left.trace.lat_deg, left.trace.lon_deg)
    assert not ((np.abs(seen[:, 0]) < 500) & (np.abs(seen[:, 1]) < 300)).any()
    gone = np.delete(np.arange(len(trace)), left.kept)
    seen = Around(*PARIS).to_metres(trace.lat_deg[gone], trace.lon_deg[gone])
    assert (np.maximum(np.abs(seen[:, 0]) - 500, np.abs(seen[:, 1]) - 300) < 51).all()
    sparse = Trace(trace.lat_deg[[0, 1, -2, -1]], trace.lon_deg[[0, 1, -2, -1]], trace.times_s[[0, 1, -2, -1]])
    over = withhold(sparse, [area]).trace
    assert over is not None
    assert over.segments == 2


def test_cutting_costs_little_beside_reading_and_writing_the_same_ride(tmp_path):
    trace = ride([0, 0], [20000, 8000])
    zones = [draw_zone(*PARIS, rng=1), draw_zone(PARIS[0] + 0.03, PARIS[1], rng=2)]
    path = tmp_path / "ride.gpx"

    def seconds(work) -> float:
        times = []
        for _ in range(5):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
        return min(times)

    withhold(trace, zones)
    cut, write = seconds(lambda: withhold(trace, zones)), seconds(lambda: sf.write_trace(trace, path))
    assert cut < 0.5 * (write + seconds(lambda: sf.read_trace(path)))
