"""Campaigns that ask once per epoch, and campaigns that declare classes of cycles, from request to page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from collector_harness import (
    Visitor,
    campaign_request,
    client,
    close,
    create,
    crowd,
    history,
    operator,
    refused,
    report_body,
    send,
    ticket,
)

EPOCHS = {"reporting": "once-per-epoch", "epoch_cycles": 2, "promise": "epsilon"}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    with client(f"sqlite:///{tmp_path}/x.db") as made:
        yield made


def test_a_ticket_of_an_epoch_is_spent_in_all_its_cycles_and_forgotten_after_it(visitor: Visitor) -> None:
    create(visitor, **EPOCHS)
    secret, answers = bytes(range(32)), []
    for cycle in range(1, 5):
        mine = ticket(visitor, cycle=cycle, secret=secret, scope=f"epoch {(cycle + 1) // 2}")
        answers.append(send(visitor, report_body(visitor, ticket=mine)).status_code)
        other = ticket(visitor, cycle=cycle, scope=f"epoch {(cycle + 1) // 2}")
        assert send(visitor, report_body(visitor, ticket=other)).status_code == 200
        assert close(visitor)["closed"]
    assert answers == [200, 409, 200, 409]
    spent = [cycle["spent_epsilon_per_km"] for cycle in history(visitor)]
    assert spent == pytest.approx([2.0, 2.0, 4.0, 4.0], rel=1e-6)


def test_the_page_says_what_an_epoch_and_all_of_them_cost(visitor: Visitor) -> None:
    create(visitor, **EPOCHS)
    page = visitor.get("/campaigns/town").text
    assert "one report in every 2 rounds" in page
    assert "After 15 of them its budget of 30 per km, for all campaigns together, is spent" in page
    assert "it stops for good" in page


def test_the_page_of_daily_reports_says_that_a_device_stops_for_good(visitor: Visitor) -> None:
    create(visitor, reporting="every-cycle", promise="epsilon")
    page = visitor.get("/campaigns/town").text
    assert (
        "After 15 of them its budget of 30 per km, for all campaigns together, is spent, and it stops for good" in page
    )


def test_later_rounds_may_cost_more_than_this_one_and_the_page_counts_them_so(visitor: Visitor) -> None:
    create(visitor, reporting="every-cycle", promise="mutual-information")
    assert "After 15 of them" in visitor.get("/campaigns/town").text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reporting": "once-per-epoch"}, "needs epoch_cycles"),
        ({"reporting": "once", "epoch_cycles": 3}, "has no epoch_cycles"),
        ({"cycle_classes": "weekday-weekend", "cycle_duration_s": 7 * 86_400}, "declare no classes"),
        ({"cycle_classes": "weekday-weekend", "time_zone": "Europe/Nowhere"}, "no time zone"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(visitor: Visitor, changes: dict[str, object], words: str) -> None:
    answer = visitor.post("/api/v1/campaigns", json=campaign_request("odd", **changes), headers=operator())
    refused(answer, answer.status_code, words)
    assert 400 <= answer.status_code < 500


def test_once_is_what_a_campaign_asks_unless_told_otherwise(visitor: Visitor) -> None:
    asked = campaign_request("plain")
    del asked["reporting"]
    answer = visitor.post("/api/v1/campaigns", json=asked, headers=operator())
    assert answer.json()["campaign"]["reporting"] == "once"


def test_a_cycle_keeps_its_own_map_and_its_class(visitor: Visitor) -> None:
    create(
        visitor, reporting="every-cycle", promise="epsilon", cycle_classes="weekday-weekend", time_zone="Europe/Paris"
    )
    crowd(visitor, 40)
    assert close(visitor)["closed"]
    (cycle,) = visitor.get("/campaigns/town/dashboard.json").json()["history"]
    assert cycle["cycle_class"] in ("weekday", "weekend", "mixed 1")
    page = visitor.get(f"/campaigns/town/maps/{cycle['cycle']}/1.json").json()["map"]
    assert len(page["this_cycle"]) == 36
    assert sum(page["this_cycle"]) == pytest.approx(1.0)
