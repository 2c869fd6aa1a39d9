"""A plan is made once at the door: checked there, frozen, written down and read again."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import Matern32
from sfumato.tracks.secret import Stays, basic, compound

PLANS = [
    Plan(),
    Plan(radius_m=50.0, epsilon=1.0, order=3.0, prior_class="week", white_share=0.1, constant_share=0.2, redraws=4),
    Plan(mechanism="mixed", prior=Matern32(60.0, 10.0), noise_m=100.0, snap_m=1.0, keep=["elevation"]),
    Plan(secrets=["windows:10min", basic(3), compound([4, 5], radius_m=50.0)], prior="fit", level="high"),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.mechanism)
def test_a_plan_comes_back_from_what_was_written_down(plan: Plan) -> None:
    text = json.dumps(plan.to_dict(), allow_nan=False)
    assert Plan.from_dict(json.loads(text)).to_dict() == plan.to_dict()


def test_nothing_means_odds_of_five_a_level_is_odds_and_secrets_choose_their_mechanism() -> None:
    assert PLANS[0].target.odds == 5.0
    assert PLANS[3].target.odds == 2.0
    assert PLANS[3].mechanism == "secrets"
    assert Plan(secrets="24", mechanism="independent").mechanism == "independent"  # refused where it is looked up
    with pytest.raises(FrozenInstanceError):
        PLANS[0].odds = 3.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"radius_m": 0.0}, "radius"),
        ({"odds": 1.0}, "odds"),
        ({"odds": 5.0, "epsilon": 1.0}, "exactly one"),
        ({"level": "huge"}, "no level"),
        ({"level": "low", "odds": 3.0}, "Both a level and odds"),
        ({"order": 1.0}, "order"),
        ({"snap_m": math.nan}, "snapping grid"),
        ({"redraws": 1.5}, "redraws"),
        ({"prior_class": "decade"}, "no prior class"),
        ({"prior": "nobody"}, "nobody"),
    ],
)
def test_what_cannot_be_is_refused_at_the_door(wish: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Plan(**wish)


def test_unknown_fields_and_rules_that_cannot_be_written_down_are_refused() -> None:
    with pytest.raises(InputError, match="has no colour"):
        Plan.from_dict({"colour": "blue"})
    with pytest.raises(InputError, match="rule made in Python"):
        Plan(secrets=Stays()).to_dict()
    with pytest.raises(InputError, match="radius in metres is not a number"):
        Plan.from_dict({"radius_m": "far"})
