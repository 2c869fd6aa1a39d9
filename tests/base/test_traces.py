"""A trace is checked at the door and cannot be changed behind it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_trace


def _trace(**changes: object) -> Trace:
    values: dict[str, object] = {
        "lat_deg": [48.1, 48.2, 48.3],
        "lon_deg": [16.1, 16.2, 16.3],
        "times_s": [0.0, 1.0, 1.0],
        "segment": [0, 0, 1],
    }
    return Trace(**{**values, **changes})  # type: ignore[arg-type]


def test_one_point_and_equal_times_are_accepted() -> None:
    assert len(Trace([1.0], [2.0], [3.0])) == 1  # type: ignore[arg-type]
    assert len(_trace(times_s=[5.0, 5.0, 5.0])) == 3


def test_times_may_start_again_in_a_new_segment_but_not_inside_one() -> None:
    assert _trace(times_s=[5.0, 6.0, 0.0]).segments == 2
    with pytest.raises(InputError, match="backwards"):
        _trace(times_s=[5.0, 4.0, 6.0])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"lat_deg": [], "lon_deg": [], "times_s": [], "segment": []}, "no points"),
        ({"lat_deg": [48.1, np.nan, 48.3]}, "NaN"),
        ({"lat_deg": [48.1, 400.17, 48.3]}, "latitude"),
        ({"lon_deg": [16.0, 361.0, 16.0]}, "longitude"),
        ({"times_s": [0.0, np.inf, 1.0]}, "infinite"),
        ({"times_s": [0.0, 1e15, 1e15]}, "years"),
        ({"segment": [1, 0, 0]}, "Segment"),
        ({"segment": [0.5, 1.0, 1.0]}, "whole"),
        ({"lon_deg": [16.0]}, "one of each"),
        ({"columns": {"elevation": [1.0]}}, "elevation"),
        ({"lat_deg": ["a", "b", "c"]}, "numeric"),
    ],
)
def test_a_bad_trace_is_refused_with_advice_and_without_coordinates(changes: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word) as caught:
        _trace(**changes)
    message = str(caught.value)
    assert not any(number in message for number in ("48.1", "48.3", "16.1", "400", "361.0"))


def test_arrays_cannot_be_written_to_and_the_givers_array_is_left_alone() -> None:
    lat = np.array([48.1, 48.2, 48.3])
    trace = _trace(lat_deg=lat)
    with pytest.raises(ValueError, match="read-only"):
        trace.lat_deg[0] = 0.0
    with pytest.raises(TypeError):
        trace.columns["elevation"] = lat  # type: ignore[index]
    lat[0] = 0.0
    assert trace.lat_deg[0] == 48.1


def test_moving_a_trace_keeps_only_what_is_named() -> None:
    trace = _trace(columns={"elevation": [1.0, 2.0, 3.0], "speed": [1.0, 1.0, 1.0]}, dropped=("heart_rate",))
    moved = trace.moved_to([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], keep=["elevation"])
    assert dict(moved.columns).keys() == {"elevation"}
    assert moved.dropped == ()
    assert trace.moved_to([1.0] * 3, [1.0] * 3).columns == {}
    with pytest.raises(InputError, match="course"):
        trace.moved_to([1.0] * 3, [1.0] * 3, keep=["course"])


def test_a_table_and_back_is_the_same_trace() -> None:
    trace = _trace(times_s=[1.7e9, 1.7e9 + 0.123456, 1.7e9 + 1], columns={"elevation": [1.0, np.nan, 3.0]})
    back = read_trace(trace.to_table(), keep=["elevation"])
    assert np.array_equal(back.lat_deg, trace.lat_deg)
    assert np.array_equal(back.times_s, trace.times_s)
    assert np.array_equal(back.segment, trace.segment)
    assert np.array_equal(back.columns["elevation"], trace.columns["elevation"], equal_nan=True)
    with pytest.raises(InputError, match="latitude"):
        read_trace(trace.to_table().drop_columns(["lat"]))


def test_a_trace_travels_between_processes() -> None:
    trace = _trace(columns={"elevation": [1.0, 2.0, 3.0]}, texts={"name": "x"}, dropped=("y",))
    back = pickle.loads(pickle.dumps(trace))
    assert np.array_equal(back.lon_deg, trace.lon_deg)
    assert back.texts == {"name": "x"}
    assert back.dropped == ("y",)


def test_a_printed_trace_shows_no_coordinate() -> None:
    assert repr(_trace()) == "<Trace of 3 points in 2 segments>"


def test_longitudes_beyond_the_antimeridian_are_wrapped() -> None:
    assert _trace(lon_deg=[179.0, 181.0, 190.0]).lon_deg.tolist() == [179.0, -179.0, -170.0]
