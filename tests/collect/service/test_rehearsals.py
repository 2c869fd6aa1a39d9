"""A rehearsal is marked, takes simulated crowds, becomes the real campaign by a copy; notices have no brackets left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from collector_harness import TOKEN, CollectorProcess, campaign_request, client, fill, operator, refused, run
from starlette.testclient import TestClient
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.collect.service.pages.words import words
from sfumato.collect.service.sentences import LANGUAGES
from sfumato.collect.service.store.store import Store

NOTICE = {
    "question": "Where do you cycle?",
    "organiser": "City",
    "contact": "velo@example.org",
    "legal_basis": "a task in the public interest",
    "officer": "none appointed",
    "processor": "the city itself",
    "retention": "2031-12-31",
}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60, complete_notices=1) as found:
        yield found


def ask(visitor: TestClient, path: str, **body: object):
    return visitor.post(f"/api/v1/campaigns{path}", json=body, headers=operator())


@pytest.mark.parametrize("missing", sorted(NOTICE))
def test_a_campaign_for_people_opens_with_a_complete_notice_and_a_rehearsal_without(
    visitor: TestClient, missing: str
) -> None:
    without = {**NOTICE, missing: " "}
    refused(ask(visitor, "", **campaign_request("town", **without)), 409, f"not complete: {missing}.")
    assert ask(visitor, "", **campaign_request("town-rehearsal", rehearsal=True, **without)).status_code == 201
    assert ask(visitor, "", **campaign_request("town", **NOTICE)).status_code == 201
    refused(ask(visitor, "/town/texts", **{missing: ""}), 409, "not complete")
    assert "[" not in visitor.get("/campaigns/town/privacy-notice").text
    assert "[to be filled in]" in visitor.get("/campaigns/town-rehearsal/privacy-notice").text


def test_a_notice_says_when_a_campaign_ends_by_its_own_clock(visitor: TestClient) -> None:
    end_of_june_s = 1_814_421_600  # 2027-07-01 00:00 in Anchorage
    ask(visitor, "", **campaign_request("far", ends_at_s=end_of_june_s, time_zone="America/Anchorage", **NOTICE))
    assert "2027-06-30" in visitor.get("/campaigns/far/privacy-notice").text
    ask(visitor, "", **campaign_request("open", **NOTICE))
    assert "when its organiser ends it" in visitor.get("/campaigns/open/privacy-notice").text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_rehearsal_says_so_on_every_page_and_page_and_notice_lead_to_one_another(
    visitor: TestClient, language: str
) -> None:
    ask(visitor, "", **campaign_request("try", rehearsal=True))
    ask(visitor, "", **campaign_request("town", **NOTICE))
    told = words(language).say("rehearsal").split(".")[0]
    for name, marked in (("try", True), ("town", False)):
        for path in ("", "/dashboard", "/privacy-notice"):
            page = visitor.get(f"/campaigns/{name}{path}", params={"language": language}).text
            assert (told in page) == marked, path
        page = visitor.get(f"/campaigns/{name}", params={"language": language}).text
        assert f'href="/campaigns/{name}/privacy-notice?language={language}"' in page
        notice = visitor.get(f"/campaigns/{name}/privacy-notice", params={"language": language}).text
        assert f'href="/campaigns/{name}?language={language}"' in notice
    assert visitor.get("/", params={"language": language}).text.count(told) == 1
    assert visitor.get("/api/v1/campaigns/try").json()["campaign"]["rehearsal"] is True


def test_the_real_campaign_is_a_copy_with_no_report_of_the_rehearsal(visitor: TestClient, tmp_path: Path) -> None:
    ask(visitor, "", **campaign_request("try", rehearsal=True))
    fill(f"sqlite:///{tmp_path}/x.db", [1] * 30, "try")
    refused(ask(visitor, "/try/copy", name="town"), 409, "The privacy notice is not complete")
    assert ask(visitor, "/try/texts", **NOTICE).status_code == 200
    made = ask(visitor, "/try/copy", name="town")
    assert made.status_code == 201, made.text
    real, rehearsed = made.json()["campaign"], ask(visitor, "/try/pause").json()["campaign"]
    assert (real["rehearsal"], real["cycle"]["reports"], rehearsed["cycle"]["reports"]) == (False, 0, 30)
    same = ("grid", "beta_per_m", "promise", "reporting", "minimum_tickets", "question", "officer", "cells")
    assert {name: real[name] for name in same} == {name: rehearsed[name] for name in same}
    refused(ask(visitor, "/town/copy", name="again"), 409, "Only a rehearsal")
    refused(ask(visitor, "/try/copy", name="town"), 409, "already a campaign")


def test_a_name_is_free_again_after_a_deletion_that_left_no_report(visitor: TestClient, tmp_path: Path) -> None:
    def made_and_deleted(reports: int) -> int:
        assert ask(visitor, "", **campaign_request("town", **NOTICE)).status_code == 201
        if reports:
            fill(f"sqlite:///{tmp_path}/x.db", [1] * reports)
        ask(visitor, "/town/pause")
        assert ask(visitor, "/town/delete", confirm="town").status_code == 200
        return ask(visitor, "", **campaign_request("town", **NOTICE)).status_code

    assert made_and_deleted(0) == 201
    ask(visitor, "/town/pause")
    ask(visitor, "/town/delete", confirm="town")
    assert made_and_deleted(1) == 409
    refused(ask(visitor, "", **campaign_request("town", **NOTICE)), 409, "devices remember it")


def test_campaigns_from_before_are_no_rehearsals_and_offer_the_position(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        ask(visitor, "", **campaign_request("town"))

    async def kept() -> list[tuple[bool, bool]]:
        store = Store(f"sqlite:///{tmp_path}/x.db")
        found = [(one.specification.rehearsal, one.specification.offers_position) for one in await store.campaigns()]
        await store.close()
        return found

    assert run(kept()) == [(False, True)]


def test_a_simulated_crowd_asks_for_the_token_where_people_are_counted(tmp_path: Path) -> None:
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db") as collector:
        for name, more in (("town", {}), ("try", {"rehearsal": True})):
            asked = campaign_request(name, **more)
            assert collector.visitor.post("/api/v1/campaigns", json=asked, headers=operator()).status_code == 201
        crowd = ["collect", "crowd", "--url", collector.url, "--people", "3", "--concurrency", "2", "--campaign"]
        refusal = CliRunner().invoke(app, [*crowd, "town"])
        assert refusal.exit_code != 0
        assert "counted as theirs, for good" in str(refusal.exception or refusal.output)
        wrong = CliRunner().invoke(app, [*crowd, "town", "--token", "x" * 40])
        assert wrong.exit_code != 0
        rehearsed = CliRunner().invoke(app, [*crowd, "try"])
        assert (rehearsed.exit_code, "3 reports counted" in rehearsed.stdout) == (0, True)
        assert "cannot be taken out" not in rehearsed.output
        known = CliRunner().invoke(app, [*crowd, "town", "--token", TOKEN])
        assert known.exit_code == 0
        assert "cannot be taken out again" in known.output
