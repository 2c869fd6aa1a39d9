"""Errors, arrays and units: the ground floor."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.base.arrays import finite, jsonable, positive, read_only
from sfumato.base.errors import InputError, MissingExtra, SfumatoError
from sfumato.base.units import (
    bounds_deg,
    duration_s,
    format_duration,
    format_length,
    length_m,
    length_option,
    plain_number,
)


def test_read_only_arrays_cannot_be_written_and_do_not_freeze_the_callers_own() -> None:
    mine = np.zeros(3)
    kept = read_only(mine)
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1.0
    mine[0] = 2.0
    assert kept[0] == 0.0


def test_a_value_that_is_not_finite_is_named_and_refused() -> None:
    with pytest.raises(InputError, match="heights holds 1 value"):
        finite([1.0, np.nan], "heights")
    with pytest.raises(InputError, match="radius"):
        positive(float("inf"), "radius")


def test_json_never_holds_nan_or_infinity() -> None:
    text = json.dumps(jsonable({"a": float("nan"), "b": np.array([1.0, np.inf]), "c": np.int64(3)}), allow_nan=False)
    assert json.loads(text) == {"a": None, "b": [1.0, None], "c": 3}


@pytest.mark.parametrize(("text", "metres"), [("200m", 200.0), ("1.5 km", 1500.0), (30, 30.0), ("1mi", 1609.344)])
def test_lengths_are_read_as_people_write_them(text: str, metres: float) -> None:
    assert length_m(text) == pytest.approx(metres)


@pytest.mark.parametrize(("text", "seconds"), [("10min", 600.0), ("6h", 21600.0), ("1 week", 604800.0), ("20", 20.0)])
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "-3m", "nan", "3 parsecs", "inf", "1e999x"])
def test_nonsense_quantities_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="Write it like"):
        length_m(text)


def test_quantities_are_said_in_the_unit_people_use() -> None:
    assert format_length(1500) == "1.5 km"
    assert [format_length(m) for m in (999.4, 999.7, 100, 0.25, 5.6e6)] == [
        "999 m",
        "1 km",
        "100 m",
        "0.25 m",
        "5600 km",
    ]
    assert [length_option(m) for m in (100.0, 70.9, 0.3476, 15.0, 1234.0)] == ["100m", "70m", "0.34m", "15m", "1200m"]
    assert [plain_number(x) for x in (0.0, 1234567.0, 0.00012345, -20.04)] == ["0", "1230000", "0.000123", "-20"]
    assert format_duration(21600) == "6 h"
    assert format_duration(86400) == "1 day"
    assert format_duration(1209600) == "2 weeks"


def test_an_error_says_what_happened_and_what_to_change() -> None:
    error = MissingExtra("shapely", "geo")
    assert isinstance(error, SfumatoError)
    assert "pip install 'sfumato[geo]'" in str(error)


def test_a_rectangle_is_four_numbers() -> None:
    assert bounds_deg("-33.9,151,-33.8,151.3") == (-33.9, 151.0, -33.8, 151.3)
    for text in ("", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,2,nan,4", "1,2,inf,4"):
        with pytest.raises(InputError, match="--bounds"):
            bounds_deg(text)
