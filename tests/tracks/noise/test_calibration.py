"""From a wish to a noise level: rounded toward privacy, never short of what was asked."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at, renyi_epsilon
from sfumato.tracks.noise.gaussian_noise import calibrated_noise_m, fulfils, rounded_up
from sfumato.tracks.plan import LEVELS, Plan, Target


@settings(max_examples=200, deadline=None)
@given(
    radius=st.floats(1, 5000), odds=st.floats(1.05, 1000), unit=st.floats(1, 20),
)  # fmt: skip
def test_calibrated_noise_keeps_the_odds_and_a_centimetre_less_would_not(
    radius: float, odds: float, unit: float
) -> None:
    target = Target(radius_m=radius, odds=odds)
    try:
        noise_m = calibrated_noise_m(target, unit)
    except InputError:
        assert radius * math.sqrt(unit) / 0.01 > 1e4
        return
    assert odds_at(mu_of(unit / noise_m**2, radius), 0.01) <= odds
    if noise_m > 0.05:
        assert not fulfils(target, unit / (noise_m - 0.011) ** 2)


@settings(max_examples=100, deadline=None)
@given(radius=st.floats(1, 500), epsilon=st.floats(0.1, 50), order=st.floats(1.01, 16))
def test_calibrated_noise_keeps_epsilon(radius: float, epsilon: float, order: float) -> None:
    noise_m = calibrated_noise_m(Target(radius_m=radius, epsilon=epsilon, order=order), 4.0)
    assert renyi_epsilon(mu_of(4.0 / noise_m**2, radius), order) <= epsilon


def test_levels_are_odds() -> None:
    assert LEVELS == {"low": 20.0, "medium": 5.0, "high": 2.0}
    assert Plan(radius_m=200.0, level="high").target.odds == 2.0
    assert Plan(radius_m=200.0).target.odds == 5.0


@pytest.mark.parametrize(
    "wish",
    [
        {"odds": 1.0}, {"odds": 0.5}, {"odds": math.inf}, {"odds": math.nan}, {"epsilon": 0.0}, {"epsilon": -1.0},
        {"epsilon": math.nan}, {"noise_m": 0.0}, {"noise_m": -1.0}, {"noise_m": math.inf}, {"radius_m": 0.0},
        {"radius_m": -5.0}, {"radius_m": math.nan}, {"radius_m": 1e9}, {"order": 1.0}, {"order": math.nan},
        {"odds": 5.0, "epsilon": 1.0}, {"odds": 5.0, "level": "low"}, {"level": "paranoid"},
        {"epsilon": 1.0, "noise_m": 5.0},
    ],
)  # fmt: skip
def test_wishes_out_of_range_are_refused(wish: dict) -> None:
    with pytest.raises(InputError):
        Plan(**{"radius_m": 200.0, **wish})


def test_absurd_noise_is_refused_with_what_it_would_need() -> None:
    with pytest.raises(InputError, match="km of noise"):
        calibrated_noise_m(Target(radius_m=90_000.0, odds=1.01), 4.0)


def test_rounding_is_upwards() -> None:
    for value in (1.0, 1.001, 660.2643, 0.0100001, 123456.789):
        assert value <= rounded_up(value) < value + 0.0101
