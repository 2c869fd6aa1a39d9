"""What all rounds together may cost one person: said by the plan, the page and the notice; and what costs less."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_harness import about, client, create, operator
from starlette.testclient import TestClient

from sfumato.base.things.grid import Grid
from sfumato.collect.loop.forecast import cheaper, factor_words, forecast, plan
from sfumato.collect.loop.rhythm import spending
from sfumato.collect.service.sentences import LANGUAGES

NANTES = {"south": 47.18, "west": -1.62, "north": 47.26, "east": -1.50, "cell_size_m": 700.0}
WEEK = 7 * 86_400
FACTOR = {"en": "2,981", "fr": "2\u202f981", "de": "2.981", "es": "2\u202f981"}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as found:
        yield found


def planned(visitor: TestClient, language: str = "en", **asked: Any) -> Any:
    body = {"grid": NANTES, "people": 800, "after_s": 4 * WEEK, "cycle_duration_s": WEEK, **asked}
    headers = {**operator(), "accept-language": language}
    answer = visitor.post("/api/v1/plans", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["plan"]


def test_four_reports_cost_at_most_what_the_plan_says_they_do_together() -> None:
    grid = Grid(rows=10, columns=10, cell_height=700.0, cell_width=700.0, unit="m")
    made = plan(grid, epsilon=0.002, promise="epsilon", budget=0.03, cycle_s=WEEK, lasting_s=4 * WEEK)
    told = forecast(made, people=800, after_s=4 * WEEK, cycle_s=WEEK, reporting="every-cycle")
    exact = spending([made.channel] * 4, reporting="every-cycle").level.upper * 1000
    assert told.each == 4
    assert exact <= told.together_per_km * (1 + 1e-9)
    assert told.together_per_km == pytest.approx(8.0, rel=1e-6)
    assert factor_words(8.0) == FACTOR["en"]
    for level in (0.1, 2.0, 2.302, 4.6, 4.61, 8.0, 13.9):
        said = float(factor_words(level).replace(",", ""))
        assert math.exp(level) - 1e-6 <= said <= 1.011 * math.exp(level), "rounded up, and hardly"
    assert factor_words(30.0) == "10^14"


def test_a_quarter_of_the_people_each_week_draws_the_map_of_once_and_coarser_weeks() -> None:
    grid = Grid(rows=10, columns=10, cell_height=700.0, cell_width=700.0, unit="m")
    made = plan(grid, epsilon=0.002, promise="epsilon", budget=0.03, cycle_s=WEEK, lasting_s=4 * WEEK)
    asked = forecast(made, people=2000, after_s=4 * WEEK, cycle_s=WEEK, reporting="every-cycle")
    once, in_turn = cheaper(made, asked, cycle_s=WEEK)
    known = {"after_s": 4 * WEEK, "cycle_s": WEEK}
    plainly = forecast(made, people=2000, reporting="once-per-epoch", epoch_cycles=4, **known)
    assert (in_turn.width_m, in_turn.map_odds) == (plainly.width_m, plainly.map_odds)
    assert once.width_m == in_turn.width_m
    assert in_turn.round_width_m == forecast(made, people=500, **known).width_m
    assert asked.width_m is not None
    assert once.width_m is not None
    assert in_turn.round_width_m is not None
    assert asked.width_m < once.width_m < in_turn.round_width_m
    assert cheaper(made, once, cycle_s=WEEK) == (), "nothing is cheaper than one report"


def test_the_plan_says_what_four_weeks_cost_and_offers_two_plans_with_their_maps(visitor: TestClient) -> None:
    every = planned(visitor, reporting="every-cycle")
    assert every["reports_each"] == 4
    assert every["epsilon_together_per_km"] == pytest.approx(8.0, rel=1e-6)
    assert "up to 8 per km together" in every["together_words"]
    assert every["together_words"].endswith("by a factor of up to 2,981.")
    once, in_turn = every["cheaper"]
    assert (once["reporting"], once["epoch_cycles"]) == ("once", None)
    assert (in_turn["reporting"], in_turn["epoch_cycles"]) == ("once-per-epoch", 4)
    assert in_turn["epsilon_together_per_km"] == pytest.approx(2.0, rel=1e-6)
    assert "one of 4 rounds, about 200 people in each: 2 per km in all" in in_turn["words"]
    boxes = [one["areas_svg"].count("<rect") for one in (every, once, in_turn)]
    assert boxes[0] > boxes[1] == boxes[2] > 1, "what is cheaper tells fewer areas apart, and shows which"
    taken = planned(visitor, reporting=in_turn["reporting"], epoch_cycles=in_turn["epoch_cycles"])
    assert (taken["width_m"], taken["together_words"], taken["cheaper"]) == (in_turn["width_m"], "", [])


@pytest.mark.parametrize("language", ["fr", "de", "es"])
@pytest.mark.parametrize("people", [20, 800])
def test_the_words_of_weeks_have_no_english_left(visitor: TestClient, language: str, people: int) -> None:
    found = planned(visitor, language, reporting="every-cycle", people=people)
    said = " ".join([found["together_words"], *(one["words"] for one in found["cheaper"])])
    assert FACTOR[language] in said
    english = {"the", "of", "with", "people", "map", "rounds", "week", "weeks", "report", "apart", "areas", "halves"}
    assert not english & set(re.findall(r"[A-Za-z]+", said)), said


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_and_notice_say_what_all_rounds_together_may_cost(visitor: TestClient, language: str) -> None:
    terms = {"epsilon_per_km": 2.0, "beta_per_m": None, "promise": "epsilon", "cycle_duration_s": WEEK}
    create(visitor, "weeks", **terms)
    begun = about(visitor, "weeks")["created_at_s"]
    ends = {"ends_at_s": begun + 4 * WEEK - 3600}
    assert visitor.post("/api/v1/campaigns/weeks/texts", json=ends, headers=operator()).status_code == 200
    create(visitor, "open", **terms)
    create(visitor, "once", **{**terms, "reporting": "once"})
    create(visitor, "turns", **{**terms, "reporting": "once-per-epoch", "epoch_cycles": 4, **ends})

    def pages(name: str) -> tuple[str, str]:
        page = visitor.get(f"/campaigns/{name}", params={"language": language}).text
        notice = visitor.get(f"/campaigns/{name}/privacy-notice", params={"language": language}).text
        return page, notice

    for said in pages("weeks"):
        assert FACTOR[language] in said, "four reports of 2 per km: e^8"
    for said in pages("open"):
        assert "10^14" in said, "without a last day, the whole budget of a device: e^30"
    for said in pages("turns"):
        assert FACTOR[language] not in said
        assert ("7.39" if language == "en" else "7,39") in said, "one report in four weeks: e^2"
    page, notice = pages("once")
    assert 'id="together"' not in page
    assert "10^" not in notice
