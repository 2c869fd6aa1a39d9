"""An operator's day: every act has a route, an effect, and a line in a log that cannot be changed."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from collector_harness import (
    about,
    campaign_request,
    channel,
    client,
    close,
    create,
    fill,
    history,
    operator,
    refused,
    report_body,
    run,
    send,
    settings,
    ticket,
)
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from starlette.testclient import TestClient

from sfumato.collect.client import Device, Participant
from sfumato.collect.client.participant import NotSent
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.store.store import Store


@pytest.fixture
def town(database: str) -> Iterator[TestClient]:
    with client(database, tick_s=0.05) as visitor:
        create(visitor)
        yield visitor


def act(visitor: Any, path: str, token: str | None = None, **body: Any) -> httpx.Response:
    headers = operator() if token is None else {"Authorization": f"Bearer {token}"}
    answer: httpx.Response = visitor.post(f"/api/v1/{path}", json=body, headers=headers)
    return answer


def done(visitor: Any, path: str, token: str | None = None, **body: Any) -> dict[str, Any]:
    answer = act(visitor, path, token, **body)
    assert answer.status_code in (200, 201), answer.text
    return dict(answer.json())


def audit(visitor: Any, **query: str) -> list[tuple[str, str, dict[str, Any]]]:
    answer = visitor.get("/api/v1/audit", params=query, headers=operator()).json()
    return [(one["operator"], one["action"], json.loads(one["detail"])) for one in answer["entries"]]


def test_a_paused_campaign_takes_nothing_and_goes_on_where_it_was(town: TestClient) -> None:
    body = report_body(town)
    due_at_s = about(town)["cycle"]["due_at_s"]
    assert done(town, "campaigns/town/pause", reason="a marathon")["campaign"]["state"] == "paused"
    refused(send(town, body), 409, "paused by its operator. Keep the report")
    refused(town.get("/api/v1/campaigns/town/channel"), 409, "paused")
    refused(town.post("/api/v1/campaigns/town/tickets", json={"cycle": 1, "device": "0" * 64}), 409, "paused")
    assert "This campaign is paused" in town.get("/campaigns/town").text
    refused(act(town, "campaigns/town/pause"), 409, "The campaign is paused")
    clock = town.app.state.collector
    then = clock.now
    clock.now = lambda: then() + 5000
    assert done(town, "campaigns/town/resume")["campaign"]["state"] == "running"
    assert 4990 <= about(town)["cycle"]["due_at_s"] - due_at_s <= 5100
    clock.now = then
    assert send(town, {**body, "ticket": ticket(town)}).json()["duplicate"] is False
    refused(act(town, "campaigns/town/resume"), 409, "only a paused one")
    acts = [(who, what) for who, what, _ in audit(town, campaign="town")]
    assert acts == [("operator", "create"), ("operator", "pause"), ("operator", "resume")]
    assert audit(town)[1][2] == {"reason": "a marathon"}


def test_texts_change_and_promises_do_not(town: TestClient) -> None:
    before = about(town)
    version = channel(town)["version"]
    done(town, "campaigns/town/texts", title="Bicycles <b>", description="For lanes.", contact="maps@example.org")
    after = about(town)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"title", "description", "contact"}
    assert channel(town)["version"] == version
    page = town.get("/campaigns/town").text
    assert "Bicycles &lt;b&gt;" in page
    assert "For lanes." in page
    refused(act(town, "campaigns/town/texts"), 409, "nothing to change")
    refused(act(town, "campaigns/town/texts", beta_per_m=1.0), 422, "does not fit the schema")


def test_an_ended_campaign_publishes_its_last_cycle_and_takes_nothing_more(town: TestClient, database: str) -> None:
    fill(database, [3] * 40 + [5] * 20)
    late = report_body(town)
    answer = done(town, "campaigns/town/end", reason="the season is over")
    assert (answer["published"], answer["campaign"]["state"]) == (True, "ended")
    assert [cycle["reports"] for cycle in history(town)] == [60]
    refused(send(town, late), 410, "has ended")
    refused(town.get("/api/v1/campaigns/town/channel"), 410, "has ended")
    assert "has ended and takes no more reports" in town.get("/campaigns/town").text
    refused(act(town, "campaigns/town/resume"), 409, "only a paused one")
    assert town.get("/api/v1/campaigns/town/estimate.csv").status_code == 200


def test_an_ended_campaign_without_enough_tickets_publishes_nothing_and_keeps_no_key(
    tmp_path: Path,
) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        create(visitor, minimum_tickets=50)
        assert send(visitor, report_body(visitor)).status_code == 200
        answer = done(visitor, "campaigns/town/end")
        assert (answer["published"], "fewer than 50 tickets" in answer["reason"]) == (False, True)
        assert history(visitor) == []
    with sqlite3.connect(tmp_path / "x.db") as connection:
        assert connection.execute("SELECT count(*) FROM report_keys").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM spent_tickets").fetchone() == (0,)


def test_an_archived_campaign_is_in_no_list_and_its_pages_stay(town: TestClient) -> None:
    refused(act(town, "campaigns/town/archive"), 409, "must be ended")
    done(town, "campaigns/town/end")
    done(town, "campaigns/town/archive")
    assert town.get("/api/v1/campaigns").json()["campaigns"] == []
    assert [one["name"] for one in town.get("/api/v1/campaigns?archived=true").json()["campaigns"]] == ["town"]
    assert town.get("/campaigns/town/dashboard").status_code == 200


def test_a_deleted_campaign_is_gone_from_every_row_and_its_name_is_not_given_again(
    town: TestClient, database: str
) -> None:
    create(town, "other")
    fill(database, [3] * 60)
    close(town)
    refused(act(town, "campaigns/town/delete", confirm="town"), 409, "end it first")
    done(town, "campaigns/town/end")
    refused(act(town, "campaigns/town/delete", confirm="twon"), 409, "write the campaign's name")
    assert done(town, "campaigns/town/delete", confirm="town")["deleted"] == "town"
    for address in ("/api/v1/campaigns/town", "/campaigns/town", "/api/v1/campaigns/town/log"):
        refused(town.get(address), 410, "was deleted")
    answer = town.post("/api/v1/campaigns", json=campaign_request("town"), headers=operator())
    refused(answer, 409, "was deleted; devices remember it")
    assert [one["name"] for one in town.get("/api/v1/campaigns").json()["campaigns"]] == ["other"]
    assert len(town.get("/api/v1/campaigns/other/log").json()["log"]) == 1
    assert audit(town, campaign="town")[-1][1] == "delete"
    assert audit(town, campaign="town")[-1][2]["versions"] >= 2


def test_what_was_deleted_is_in_no_file_of_the_database(tmp_path: Path) -> None:
    mark = "A title that nobody else has"
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        created = create(visitor, title=mark)
        create(visitor, "other")
        version = created["cycle"]["version"]
        fill(f"sqlite:///{tmp_path}/x.db", [3] * 60)
        close(visitor)
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
        assert mark.encode() in kept
        assert version.encode() in kept
        done(visitor, "campaigns/town/end")
        done(visitor, "campaigns/town/delete", confirm="town")
        left = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
        assert mark.encode() not in left
        assert version.encode() not in left


def test_the_log_of_a_campaign_that_stays_is_still_append_only_after_a_deletion(
    town: TestClient, database: str
) -> None:
    create(town, "other")
    done(town, "campaigns/town/end")
    done(town, "campaigns/town/delete", confirm="town")

    async def forge(statement: str) -> None:
        store = Store(database)
        try:
            async with store.database.writing() as connection:
                await connection.execute(text(statement))
        finally:
            await store.close()

    for statement in ("DELETE FROM channel_log", "UPDATE audit_log SET operator = 'x'", "DELETE FROM audit_log"):
        with pytest.raises(DBAPIError, match="append-only"):
            run(forge(statement))


@pytest.mark.slow
def test_a_cycle_left_out_changes_the_map_and_back_again_to_the_last_digit(town: TestClient, database: str) -> None:
    rng = np.random.default_rng(5)
    honest = [rng.integers(0, 6, 300), rng.integers(0, 6, 300)]
    fill(database, honest[0])
    close(town)
    fill(database, np.full(300, 35), cycle=2)  # everybody in one corner
    close(town)
    fill(database, honest[1], cycle=3)
    close(town)
    address = "/api/v1/campaigns/town/estimate"
    before = town.get(address).json()["cycle"]
    assert before["estimate"][35] > 0.1
    answer = done(town, "campaigns/town/cycles/2/exclude", reason="forged")
    assert (answer["excluded"], answer["revised_cycle"]) == ([2], 3)
    without = town.get(address).json()["cycle"]
    assert without["estimate"][35] < 0.05
    assert without["excluded_cycles"] == [2]
    assert without["spent_epsilon_per_km"] == before["spent_epsilon_per_km"]
    assert [cycle["excluded"] for cycle in history(town)] == [False, True, False]
    refused(act(town, "campaigns/town/cycles/2/exclude"), 409, "already left out")
    page = town.get("/campaigns/town/dashboard").text
    assert "Round 2 is left out of the map by the operator" in page
    assert "average of rounds 1 to 3 without 2" in page
    assert page.count("<strong>left out</strong>") == 1
    # The next cycle is estimated without it too, and what devices spent goes on from what they had spent.
    fill(database, honest[0], cycle=4)
    close(town)
    fourth = town.get(address).json()["cycle"]
    assert fourth["estimate"][35] < 0.05
    assert fourth["spent_epsilon_per_km"] > before["spent_epsilon_per_km"]
    assert fourth["excluded_cycles"] == [2]
    done(town, "campaigns/town/cycles/4/exclude")
    page = town.get("/campaigns/town/dashboard").text
    assert "Rounds 2 and 4 are left out" in page
    assert 'id="map-section-title">Where the answers lie, average of rounds 1 to 3 without 2' in page, (
        "those that count"
    )
    assert town.get(address).json()["cycle"]["cycle"] == 3
    done(town, "campaigns/town/cycles/4/include")
    done(town, "campaigns/town/cycles/2/include")
    again = town.get(f"{address}?cycle=3").json()["cycle"]
    assert again["cycle"] == 3
    assert town.get(address).json()["cycle"]["estimate"][35] > 0.1
    refused(act(town, "campaigns/town/cycles/9/exclude"), 404, "not closed")


def test_the_only_cycle_is_not_left_out(town: TestClient, database: str) -> None:
    fill(database, [3] * 60)
    close(town)
    refused(act(town, "campaigns/town/cycles/1/exclude"), 409, "only cycle")


def test_a_second_operator_has_a_token_of_her_own_that_can_be_rotated_and_taken_away(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        create(visitor)
        token = done(visitor, "operators", name="ada")["token"]
        done(visitor, "campaigns/town/pause", token)
        assert audit(visitor)[-1][:2] == ("ada", "pause")
        newer = done(visitor, "operators/ada/rotate", token)["token"]
        refused(act(visitor, "campaigns/town/resume", token), 401, "operator's token")
        done(visitor, "campaigns/town/resume", newer)
        names = [one["name"] for one in visitor.get("/api/v1/operators", headers=operator()).json()["operators"]]
        assert names == ["operator", "ada"]
        done(visitor, "operators/ada/remove")
        refused(act(visitor, "campaigns/town/pause", newer), 401, "operator's token")
        refused(act(visitor, "operators/ada/rotate"), 409, "no operator")
        refused(act(visitor, "operators/operator/rotate"), 409, "comes from the setting")
        refused(act(visitor, "operators", name="operator"), 409, "first operator")
        refused(act(visitor, "operators/operator/remove"), 409, "stays")
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
        assert token.encode() not in stored
        assert newer.encode() not in stored


def test_the_first_operators_token_rotates_where_it_was_made_and_on_every_server(tmp_path: Path) -> None:
    said: list[str] = []

    async def work() -> None:
        one = Collector(settings(f"sqlite:///{tmp_path}/x.db", operator_token="", tick_s=60), announce=said.append)
        await one.start()
        other = Collector(settings(f"sqlite:///{tmp_path}/x.db", operator_token="", tick_s=60), announce=said.append)
        await other.start()
        token = said[0].rpartition(" ")[2]
        assert await other.operators.name_of(token) == "operator"
        newer = await one.operators.rotate("operator", who="operator")
        other.operators._look_again_at_s = 0.0
        assert await other.operators.name_of(token) is None
        assert await other.operators.name_of(newer) == "operator"
        assert [entry.action for entry in await one.store.audit.entries()] == ["rotate token"]
        await other.stop()
        await one.stop()

    run(work())


def test_other_servers_see_what_an_operator_changed(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    with client(database, tick_s=0.05) as one, client(database, tick_s=0.05) as other:
        create(one)
        body = report_body(other)
        done(one, "campaigns/town/pause")
        _until(lambda: send(other, body).status_code == 409)
        done(one, "campaigns/town/resume")
        _until(lambda: send(other, body).status_code == 200)
        done(one, "campaigns/town/end")
        done(one, "campaigns/town/delete", confirm="town")
        _until(lambda: other.get("/api/v1/campaigns/town").status_code == 410)


def test_nobody_but_an_operator_reads_the_log_or_acts(town: TestClient) -> None:
    for path in ("audit", "operators"):
        refused(town.get(f"/api/v1/{path}"), 401, "operator's token")
    acts = (
        "pause",
        "resume",
        "texts",
        "end",
        "archive",
        "delete",
        "reschedule",
        "cycles/1/exclude",
        "cycles/1/include",
    )
    for path in (*(f"campaigns/town/{one}" for one in acts), "operators", "operators/ada/rotate", "notices/test"):
        refused(town.post(f"/api/v1/{path}", json={}), 401, "operator's token")
    assert about(town)["state"] == "running"


def test_a_device_keeps_its_report_through_a_pause_and_pays_once(town: TestClient, tmp_path: Path) -> None:
    device = Device(tmp_path / "device.json")
    person = Participant("http://testserver", "town", device=device, longest_delay_s=0)

    def call(method: str, address: str, body: Any) -> tuple[int, Any]:
        answer = town.request(method, address, json=body)
        return answer.status_code, answer.json()

    person._call = call  # type: ignore[method-assign]
    prepared = person.prepare(48.85, 2.33)
    spent = device.budget().spent_per_km
    done(town, "campaigns/town/pause")
    with pytest.raises(NotSent, match=r"409.*paused.*kept"):
        person.send()
    with pytest.raises(NotSent, match="paused"):
        person.look()
    done(town, "campaigns/town/resume")
    again = person.prepare(48.86, 2.31)
    assert (again.cell, again.drawn_now) == (prepared.cell, False)
    assert person.send() == "counted"
    assert device.budget().spent_per_km == spent
    done(town, "campaigns/town/end")
    assert person.send() == "counted before"
    assert device.budget().spent_per_km == spent


def _until(true: Any, within_s: float = 120.0) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if true():
            return
        time.sleep(0.2)
    raise AssertionError("It did not happen in time.")
