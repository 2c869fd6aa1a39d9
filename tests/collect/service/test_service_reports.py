"""Taking part: what a report may say, what a ticket buys, and what the server publishes."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collector_harness import (
    TOKEN,
    about,
    channel,
    client,
    close,
    create,
    fill,
    operator,
    refused,
    report_body,
    send,
    settings,
    ticket,
)
from starlette.testclient import TestClient

from sfumato.collect.client.public_log import check_head, head_from, head_words
from sfumato.collect.client.wire import channel_version, log_entry, verify_payload, verify_signature
from sfumato.collect.grids.sampling import draw_reports
from sfumato.collect.service.models.bodies import BatchRequest, ReportRequest, TicketRequest
from sfumato.collect.service.rounds.signed_offers import channel_from_payload
from sfumato.collect.service.rounds.tickets import TicketRefused, check_ticket, device_nonce, issue_ticket


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/town.db"


@pytest.fixture
def town(database: str) -> Iterator[TestClient]:
    with client(database) as visitor:
        create(visitor)
        yield visitor


def test_no_field_of_a_report_can_hold_a_coordinate(town: TestClient) -> None:
    schema = town.get("/openapi.json").json()["paths"]["/api/v1/campaigns/{campaign}/reports"]["post"]["requestBody"]
    schema = schema["content"]["application/json"]["schema"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"cell", "version", "key", "ticket"} == set(schema["required"])
    assert schema["properties"]["cell"]["type"] == "integer"
    assert (schema["properties"]["cell"]["minimum"], schema["properties"]["cell"]["exclusiveMaximum"]) == (0, 1_000_000)
    for name in ("version", "key", "ticket"):
        pattern = schema["properties"][name]["pattern"]
        assert schema["properties"][name]["type"] == "string"
        for place in ("48.8566", "2.3522", "48.8566,2.3522", "u09tvw0", "-122.4", "8FW4V75V+8Q", "4.88566e1"):
            assert re.fullmatch(pattern, place) is None
    body = report_body(town)
    wrongs: list[dict[str, Any]] = [{"cell": value} for value in (48.8566, "7", -1, True, None, [7])]
    wrongs += [{"lat": 48.8566}, {"note": "48.8566,2.3522"}, {"key": "48.8566,2.3522"}, {"version": "48.8566"}]
    for wrong in wrongs:
        refused(send(town, {**body, **wrong}), 422, f"{next(iter(wrong))}: ")
    assert send(town, body).status_code == 200


def test_no_request_of_a_participant_has_a_float_or_a_free_text() -> None:
    for model in (ReportRequest, TicketRequest, BatchRequest):
        text = json.dumps(model.model_json_schema())
        assert '"number"' not in text
        strings = [field for field in model.model_json_schema()["properties"].values() if field.get("type") == "string"]
        assert all("pattern" in field for field in strings)


def test_no_route_takes_a_location_in_its_address(town: TestClient) -> None:
    paths = town.get("/openapi.json").json()["paths"]
    names = {
        parameter["name"]
        for path in paths.values()
        for method in path.values()
        for parameter in method.get("parameters", [])
    }
    rounds = {"before", "after", "ending"}  # which rounds are compared, and the ending of a file's name
    assert (
        names == {"campaign", "number", "cycle", "archived", "latest", "operator", "page", "name", "language"} | rounds
    )
    assert "/api/v1/campaigns/{campaign}/reports" in paths
    assert "/api/v1/campaigns/{campaign}/report-batches" in paths


def test_a_report_is_counted_once_however_often_it_is_sent(town: TestClient, database: str) -> None:
    body = report_body(town)
    answers = [send(town, body).json() for _ in range(3)]
    assert [answer["duplicate"] for answer in answers] == [False, True, True]
    assert all(
        (answer["ok"], answer["error"], answer["errors"], answer["status"]) == (True, None, [], 200)
        for answer in answers
    )
    close(town)
    assert sum(town.get("/api/v1/campaigns/town/estimate").json()["cycle"]["counts"]) == 1


def test_replayed_forged_expired_and_foreign_tickets_are_refused(
    town: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(town, "other")
    good = report_body(town)
    assert send(town, good).status_code == 200
    replayed = {**report_body(town), "ticket": good["ticket"]}
    refused(send(town, replayed), 409, "already spent on another report")
    fresh = ticket(town)
    last = fresh[-1]
    forged = fresh[:-1] + ("0" if last != "0" else "1")
    longer = "-".join([*fresh.split("-")[:2], str(int(fresh.split("-")[2]) + 10_000), *fresh.split("-")[3:]])
    other_nonce = "-".join([*fresh.split("-")[:3], os.urandom(16).hex(), fresh.split("-")[4]])
    for wrong in (forged, longer, other_nonce, ticket(town, "other")):
        refused(send(town, report_body(town, ticket=wrong)), 401, "not one of this server's")
    collector = town.app.state.collector  # type: ignore[attr-defined]
    now = collector.now()
    body = report_body(town, ticket=fresh)
    collector.now = lambda: now + collector.settings.whole("ticket_lifetime_s") + 10
    refused(send(town, body), 401, "has expired")
    renewed = ticket(town, secret=b"x" * 32)
    collector.now = lambda: now
    assert send(town, {**body, "ticket": renewed}).status_code == 200


def test_a_device_has_one_ticket_per_cycle_and_issuing_leaves_no_trace(town: TestClient, database: str) -> None:
    def dump() -> bytes:
        import sqlite3

        path = database.removeprefix("sqlite:///")
        return "\n".join(sqlite3.connect(path).iterdump()).encode()

    before = dump()
    one, two = ticket(town, secret=b"a" * 32), ticket(town, secret=b"a" * 32)
    other = ticket(town, secret=b"b" * 32)
    assert one.split("-")[3] == two.split("-")[3] != other.split("-")[3]
    assert dump() == before
    assert send(town, report_body(town, ticket=one)).status_code == 200
    refused(send(town, report_body(town, ticket=two)), 409, "one report per device and cycle")


def test_where_each_device_reports_once_a_ticket_of_the_next_cycle_is_spent_already(town: TestClient) -> None:
    create(town, "once", reporting="once")
    secret = b"d" * 32
    first = report_body(town, "once", ticket=ticket(town, "once", secret=secret, scope="once"))
    assert send(town, first, "once").status_code == 200
    close(town, "once")
    second = ticket(town, "once", cycle=2, secret=secret, scope="once")
    refused(send(town, report_body(town, "once", ticket=second), "once"), 409, "already spent")


def test_a_closed_version_an_unknown_version_and_a_missing_cell_are_told_apart(town: TestClient) -> None:
    body = report_body(town)
    assert send(town, body).status_code == 200
    late = report_body(town)
    refused(send(town, {**late, "cell": 36}), 409, "there are 36 cells, numbered from 0")
    refused(send(town, {**late, "version": "0" * 64}), 409, "never published that version")
    assert close(town)["closed"] is True
    assert send(town, body).json()["duplicate"] is True
    assert send(town, late).json()["duplicate"] is False
    assert send(town, late).json()["duplicate"] is True
    send(town, report_body(town, ticket=ticket(town, cycle=2)))
    assert close(town)["closed"] is True, "the cycle before is forgotten when the next is handed over"
    for closed in (late, body):
        refused(send(town, closed), 410, "is closed; do not draw again")
    refused(send(town, late, "nowhere"), 404, "no campaign of that name")


def test_a_key_is_forgotten_when_its_cycle_takes_no_more_reports_and_is_never_beside_the_cell(database: str) -> None:
    with client(database, late_reports_s=0, tick_s=0.05) as town:
        create(town)
        _keys_come_and_go(town, database)


def _keys_come_and_go(town: TestClient, database: str) -> None:
    import sqlite3

    body = report_body(town, cell=11)
    send(town, body)
    path = database.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT hex(key) FROM report_keys").fetchall() == [(body["key"].upper(),)]
        assert connection.execute("SELECT cell, reports FROM tallies").fetchall() == [(11, 1)]
    close(town)
    deadline = time.monotonic() + 120
    with sqlite3.connect(path) as connection:
        while connection.execute("SELECT count(*) FROM report_keys").fetchone() != (0,):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert connection.execute("SELECT count(*) FROM spent_tickets").fetchone() == (0,)


def test_the_channel_is_signed_hashed_and_in_the_public_log(town: TestClient) -> None:
    offered = channel(town)
    parsed = verify_payload(
        offered["payload"].encode(),
        version=offered["version"],
        signature=offered["signature"],
        public_key=offered["public_key"],
    )
    assert set(parsed) == {"campaign", "cycle", "grid", "beta_per_m", "output_weights", "floor", "reporting"}
    assert offered["version"] == channel_version(offered["payload"].encode())
    assert math.fsum(parsed["output_weights"]) == pytest.approx(1, abs=1e-9)
    assert min(parsed["output_weights"]) >= (1 - 1e-9) * parsed["floor"] / 36
    assert "rows" in parsed["grid"]
    assert offered == channel(town), "the same text for everybody"
    send(town, report_body(town))
    close(town)
    previous = "0" * 64
    log = town.get("/api/v1/campaigns/town/log").json()["log"]
    assert [entry["cycle"] for entry in log] == [1, 2]
    for entry in log:
        fields = {name: entry[name] for name in ("campaign", "cycle", "version", "index")}
        assert entry["previous"] == previous
        assert entry["entry"] == log_entry(previous=previous, **fields)
        verify_signature(entry["entry"].encode(), signature=entry["signature"], public_key=offered["public_key"])
        previous = entry["entry"]
    assert log[0]["version"] == offered["version"]
    assert log[1]["version"] == channel(town)["version"] != offered["version"]


def test_a_cycle_needs_its_minimum_of_tickets_and_of_time(town: TestClient) -> None:
    create(town, "few", minimum_tickets=3)
    create(town, "young", minimum_cycle_s=3600)
    for _ in range(2):
        send(town, report_body(town, "few", ticket=ticket(town, "few")), "few")
    send(town, report_body(town, "young", ticket=ticket(town, "young")), "young")
    for name, why in (("few", "fewer than 3 tickets"), ("young", "younger than 3600 s")):
        answer = close(town, name)
        assert answer["closed"] is False
        assert why in answer["reason"]
        assert channel(town, name)["log_index"] == 0


def test_a_full_cycle_closes_by_itself(town: TestClient, database: str) -> None:
    create(town, "full", cycle_reports=3)
    for _ in range(3):
        send(town, report_body(town, "full", ticket=ticket(town, "full")), "full")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        answer = town.get("/api/v1/campaigns/full/channel")
        if answer.status_code == 200 and answer.json()["log_index"] == 1:
            break
        time.sleep(0.1)
    assert town.get("/api/v1/campaigns/full/channel").json()["log_index"] == 1


def test_relaying_is_off_by_default_needs_the_operator_and_is_capped(town: TestClient) -> None:
    address = "/api/v1/campaigns/{}/report-batches"
    body = {"version": channel(town)["version"], "key": os.urandom(16).hex(), "cells": [1, 2, 2]}
    refused(town.post(address.format("town"), json=body, headers=operator()), 403, "takes no relayed reports")
    create(town, "relay", relayed=True, relayed_cap_reports=5)
    body["version"] = channel(town, "relay")["version"]
    refused(town.post(address.format("relay"), json=body), 401, "needs the operator's token")
    answer = town.post(address.format("relay"), json=body, headers=operator())
    assert (answer.json()["duplicate"], answer.json()["reports"]) == (False, 3)
    assert town.post(address.format("relay"), json=body, headers=operator()).json()["duplicate"] is True
    more = {**body, "key": os.urandom(16).hex()}
    refused(town.post(address.format("relay"), json=more, headers=operator()), 409, "cap of 5 relayed reports")
    send(town, report_body(town, "relay", ticket=ticket(town, "relay"), cell=9), "relay")
    close(town, "relay")
    cycle = town.get("/api/v1/campaigns/relay/estimate").json()["cycle"]
    assert (sum(cycle["counts"]), cycle["counts"][9], sum(cycle["relayed_counts"])) == (1, 1, 3)
    assert (cycle["tickets"], cycle["relayed_reports"]) == (1, 3)


def test_relayed_reports_alone_never_close_a_cycle(town: TestClient) -> None:
    create(town, "relay", relayed=True)
    body = {"version": channel(town, "relay")["version"], "key": os.urandom(16).hex(), "cells": [1] * 500}
    assert town.post("/api/v1/campaigns/relay/report-batches", json=body, headers=operator()).status_code == 200
    assert close(town, "relay")["closed"] is False


@pytest.mark.slow
def test_honest_reports_raise_no_alarm_and_five_percent_of_fakes_at_one_cell_do(
    town: TestClient, database: str
) -> None:
    rng = np.random.default_rng(3)
    offered = channel_from_payload(channel(town)["payload"])
    people = rng.choice(36, size=4000, p=rng.dirichlet(np.full(36, 0.3)))
    honest = draw_reports(offered, people, rng=4)
    fill(database, honest)
    close(town)
    fill(database, draw_reports(offered, people, rng=5), cycle=2)
    close(town)
    first = town.get("/api/v1/campaigns/town/estimate").json()["cycle"]
    assert first["alarm"] == {"raised": False, "reasons": []}
    assert 0 < first["influence"]["0.01"] < first["influence"]["0.05"]
    offered = channel_from_payload(channel(town)["payload"])
    empty = int(np.argmin(first["estimate"]))
    fakes = np.full(200, empty)
    fill(database, np.concatenate([draw_reports(offered, people, rng=5), fakes]), cycle=3)
    close(town)
    second = town.get("/api/v1/campaigns/town/estimate").json()["cycle"]
    assert second["alarm"]["raised"] is True
    assert str(empty) in second["alarm"]["reasons"][0]
    assert second["emd_to_previous_m"] > 0
    assert second["change_capped"] is False
    # The channel of cycle 4 was opened before this estimate; that of cycle 5 follows it, and so is kept.
    fourth = channel_from_payload(channel(town)["payload"])
    assert np.abs(fourth.output_weights - offered.output_weights).max() > 0
    fill(database, draw_reports(fourth, people, rng=6), cycle=4)
    close(town)
    fifth = channel_from_payload(channel(town)["payload"])
    np.testing.assert_array_equal(fifth.output_weights, fourth.output_weights)


def test_output_weights_change_by_at_most_the_cap_between_cycles(town: TestClient, database: str) -> None:
    before = np.array(json.loads(channel(town)["payload"])["output_weights"])
    offered = channel_from_payload(channel(town)["payload"])
    for cycle in (1, 2):
        fill(database, draw_reports(offered, np.zeros(500, dtype=np.int64), rng=6), cycle=cycle)
        close(town)
        after = np.array(json.loads(channel(town)["payload"])["output_weights"])
        # A cycle opens before the estimate of the one before: the second has the first channel.
        assert np.array_equal(after, before) == (cycle == 1)
    assert np.abs(np.log(after / before)).max() <= 0.2 + 1e-9
    assert np.abs(np.log(after / before)).max() > 0.19
    assert after.min() >= (1 - 1e-9) * 0.01 / 36


def test_the_exact_epsilon_is_published_and_is_at_most_two_beta(town: TestClient) -> None:
    campaign = town.get("/api/v1/campaigns/town").json()["campaign"]
    level = campaign["cycle"]["epsilon_per_km"]
    assert level["exact"] is True
    offered = channel_from_payload(channel(town)["payload"])
    rows = np.stack([offered.log_row(x) for x in range(36)])
    ratio = np.max(np.abs(rows[:, None, :] - rows[None, :, :]), axis=2)
    brute = np.max(ratio / np.where(offered.grid.distance_matrix() > 0, offered.grid.distance_matrix(), np.inf))
    assert level["upper"] == pytest.approx(1000 * brute, rel=1e-9)
    assert level["upper"] <= campaign["two_beta_per_km"] + 1e-12


def test_epsilon_may_be_given_instead_of_beta(town: TestClient) -> None:
    campaign = create(town, "by-epsilon", beta_per_m=None, epsilon_per_km=1.5)
    assert campaign["two_beta_per_km"] == pytest.approx(1.5)
    assert campaign["cycle"]["epsilon_per_km"]["upper"] <= 1.5


def test_nobody_but_an_operator_counts_an_open_cycle_however_many_reports_they_forge(
    town: TestClient, database: str
) -> None:
    shown = ("/api/v1/campaigns/town", "/api/v1/campaigns", "/campaigns/town.json", "/index.json", "/campaigns/town")
    shown += (
        "/campaigns/town/dashboard.json",
        "/campaigns/town/dashboard",
        "/api/v1/campaigns/town/cycles",
        "/",
        "/ready",
    )
    fill(database, np.arange(27))
    before = [town.get(path).text for path in shown]
    cycle = town.get(shown[0], headers={"Authorization": "Bearer " + "x" * 40}).json()["campaign"]["cycle"]
    assert (cycle["tickets"], cycle["reports"], cycle["relayed_reports"]) == (None, None, None)
    for forged in range(12):  # in 0.2.0 a step of ten was passed on the way: the exact count, and who arrives between
        send(town, report_body(town, cell=forged))
        assert [town.get(path).text for path in shown] == before
    assert about(town)["cycle"]["tickets"] == 39


def test_the_operators_token_is_stored_only_as_a_hash(tmp_path: Path) -> None:
    from sfumato.collect.service.app import create_app
    from sfumato.collect.service.rounds.collector import Collector

    spoken: list[str] = []
    chosen = settings(f"sqlite:///{tmp_path}/x.db", operator_token="")
    with TestClient(create_app(chosen, collector=Collector(chosen, announce=spoken.append))) as visitor:
        token = spoken[0].split()[-1]
        assert len(token) >= 32
        good = {"Authorization": f"Bearer {token}"}
        refused(visitor.post("/api/v1/campaigns", json={}, headers=good), 422, "name: Field required")
        for wrong in ({}, {"Authorization": f"Bearer {token[:-1]}"}, {"Authorization": f"Basic {token}"}, operator()):
            refused(visitor.post("/api/v1/campaigns", json={}, headers=wrong), 401, "needs the operator's token")
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert token.encode() not in stored
    with TestClient(create_app(chosen, collector=Collector(chosen, announce=spoken.append))):
        assert len(spoken) == 1, "printed once"
    assert TOKEN not in spoken[0]


def test_the_mac_of_a_ticket_covers_every_field() -> None:
    key = b"k" * 32
    good = issue_ticket(key, campaign="town", cycle=3, scope="3", device="0" * 64, expires_at_s=1000)
    nonce = device_nonce(key, campaign="town", scope="3", device="0" * 64)
    assert check_ticket(key, good, campaign="town", cycle=3, now_s=999) == nonce
    forged = "not one of this server's"
    attempts: list[tuple[bytes, str, dict[str, Any], str]] = [
        (b"j" * 32, good, {}, forged),
        (key, good, {"campaign": "town2"}, forged),
        (key, good, {"cycle": 4}, "of another cycle"),
        (key, good, {"now_s": 1001}, "has expired"),
        (key, good.upper(), {}, forged),
        (key, good + "0", {}, forged),
        (key, "", {}, forged),
        (key, good.replace("-1000-", "-2000-"), {}, forged),
    ]
    for used_key, text, changes, words in attempts:
        with pytest.raises(TicketRefused, match=words):
            check_ticket(used_key, text, **{"campaign": "town", "cycle": 3, "now_s": 999, **changes})


def test_the_head_of_the_log_is_the_same_words_in_the_interface_on_the_page_and_in_the_notice(
    town: TestClient, tmp_path: Path
) -> None:
    log = town.get("/api/v1/campaigns/town/log").json()["log"]
    [head] = [one for one in town.get("/api/v1/heads").json()["heads"] if one["campaign"] == "town"]
    assert (head["index"], head["entry"]) == (len(log) - 1, log[-1]["entry"])
    assert head["words"] == head_words(log[-1]["entry"])
    check_head(head_from(head, head["public_key"], head["index"]))
    for page in ("/campaigns/town", "/campaigns/town?language=de", "/campaigns/town/privacy-notice"):
        assert head["words"] in town.get(page).text
    heads = tmp_path / "heads.json"
    heads.write_text(json.dumps({"heads": [head]}))
    with client(f"sqlite:///{tmp_path}/other.db", heads_file=str(heads)) as other:  # another collector is the witness
        assert head in other.get("/api/v1/heads").json()["heads"]
        heads.write_text(json.dumps({"heads": [{**head, "index": 7}]}))
        assert other.get("/api/v1/heads").json()["heads"] == []
