"""What a campaign says about itself: question, organiser, contact, language, and an end that comes by itself."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_harness import about, client, close, create, fill, history, operator, refused, run, settings
from starlette.testclient import TestClient

from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.operating.lifecycle import end_what_is_over
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.signed_offers import specification

TEXTS = {
    "title": "Vélos",
    "question": "Où roulez-vous ?",
    "organiser": "Ville de Lyon",
    "contact": "velo@example.org",
    "language": "fr",
}


@pytest.fixture
def visitor(database: str) -> Iterator[TestClient]:
    with client(database, tick_s=60) as found:
        yield found


def entries(visitor: Any, **query: str) -> list[tuple[str, str, dict[str, Any]]]:
    answer = visitor.get("/api/v1/audit", params=query, headers=operator()).json()
    return [(one["operator"], one["action"], json.loads(one["detail"])) for one in answer["entries"]]


def test_texts_are_kept_shown_and_changed(visitor: TestClient) -> None:
    create(visitor, **TEXTS)
    assert {name: about(visitor)[name] for name in TEXTS} == TEXTS
    headers = operator()
    changed = visitor.post(
        "/api/v1/campaigns/town/texts", json={"question": "Où allez-vous ?", "language": "de"}, headers=headers
    )
    assert changed.status_code == 200, changed.text
    told = about(visitor)
    assert (told["question"], told["language"], told["organiser"]) == ("Où allez-vous ?", "de", "Ville de Lyon")
    answer = visitor.post("/api/v1/campaigns/town/texts", json={"language": "la"}, headers=headers)
    refused(answer, 422, "does not fit the schema")


def test_creating_and_closing_are_in_the_audit_log(visitor: TestClient, database: str) -> None:
    create(visitor)
    fill(database, [3] * 40)
    assert close(visitor)["closed"]
    assert not close(visitor)["closed"]  # too few tickets: nothing was done, nothing is written
    assert entries(visitor, campaign="town") == [("operator", "create", {}), ("operator", "close", {"cycle": 1})]


def test_who_asks_is_told_who_they_are(visitor: TestClient) -> None:
    assert visitor.get("/api/v1/operators", headers=operator()).json()["you"] == "operator"
    token = visitor.post("/api/v1/operators", json={"name": "ada"}, headers=operator()).json()["token"]
    assert visitor.get("/api/v1/operators", headers={"Authorization": f"Bearer {token}"}).json()["you"] == "ada"


def test_an_end_in_the_past_is_refused_and_one_can_be_taken_back(visitor: TestClient) -> None:
    body = {"ends_at_s": 1_000_000_000}
    create(visitor, ends_at_s=4_000_000_000)
    refused(visitor.post("/api/v1/campaigns/town/texts", json=body, headers=operator()), 409, "ended already")
    assert about(visitor)["ends_at_s"] == 4_000_000_000
    assert visitor.post("/api/v1/campaigns/town/texts", json={"ends_at_s": 0}, headers=operator()).status_code == 200
    assert about(visitor)["ends_at_s"] is None


def test_a_campaign_ends_by_itself_once_and_publishes_what_it_may(database: str) -> None:
    with client(database, tick_s=60) as visitor:
        create(visitor, ends_at_s=4_000_000_000)
        create(visitor, "other")
        fill(database, [3] * 40 + [5] * 20)
        collector = visitor.app.state.collector  # type: ignore[attr-defined]
        then = collector.now
        assert visitor.portal is not None
        assert visitor.portal.call(end_what_is_over, collector) == []
        collector.now = lambda: then() + 4_000_000_000
        assert visitor.portal.call(end_what_is_over, collector) == ["town"]
        assert visitor.portal.call(end_what_is_over, collector) == []
        assert (about(visitor)["state"], about(visitor, "other")["state"]) == ("ended", "running")
        assert [one["reports"] for one in history(visitor)] == [60]
        assert entries(visitor, campaign="town")[-1] == ("schedule", "end", {"reason": "its end had come"})


def test_the_watch_ends_it_without_being_asked(tmp_path: Path) -> None:

    with client(f"sqlite:///{tmp_path}/x.db", tick_s=0.05) as visitor:
        create(visitor, ends_at_s=int(time.time()) + 2)
        deadline = time.monotonic() + 30
        while about(visitor)["state"] != "ended" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert about(visitor)["state"] == "ended"


def test_a_specification_written_before_there_were_these_texts_is_read(tmp_path: Path) -> None:
    request = CampaignRequest.model_validate(
        {
            "name": "old",
            "grid": {"south": 48.0, "west": 2.0, "north": 48.1, "east": 2.1, "cell_size_m": 1000.0},
            "epsilon_per_km": 2.0,
        }
    )
    whole = json.loads(specification(request, settings(f"sqlite:///{tmp_path}/x.db")).model_dump_json())
    for name in ("question", "organiser", "language", "ends_at_s"):
        del whole[name]
    read = Specification.model_validate_json(json.dumps(whole))
    assert (read.question, read.organiser, read.language, read.ends_at_s) == ("", "", "", None)


def test_a_collector_that_starts_after_the_end_ends_it(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    with client(database, tick_s=60) as visitor:
        create(visitor, ends_at_s=4_000_000_000)

    async def later() -> list[str]:
        collector = Collector(settings(database, tick_s=60), now=lambda: 4_000_000_001.0)
        await collector.start()
        try:
            return await end_what_is_over(collector)
        finally:
            await collector.stop()

    assert run(later()) == ["town"]
