"""Campaigns with blind tickets: one for each device and round, spent once, in a round of its own key, on either kind of
database; and everybody else is refused in words."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from collector_harness import (
    Visitor,
    about,
    ask_blind,
    blind,
    channel,
    client,
    close,
    create,
    crowd,
    history,
    operator,
    refused,
    run,
    send,
    ticket,
)
from sqlalchemy import text

from sfumato.collect.client.blind_tickets import blind_ticket, blinded_with, signature_from, ticket_text
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.wire import from_base64url
from sfumato.collect.service.rounds.round_key import RoundKey
from sfumato.collect.service.store.store import Store


@pytest.fixture
def town(database: str) -> Iterator[Visitor]:
    with client(database) as visitor:
        create(visitor, tickets="blind")
        yield visitor


def body(visitor: Visitor, right: str, **changes: object) -> dict[str, object]:
    version = channel(visitor)["version"]
    return {"cell": 7, "version": version, "key": secrets.token_hex(16), "ticket": right, **changes}


def rows(database: str, table: str) -> list[tuple[object, ...]]:
    async def work() -> list[tuple[object, ...]]:
        store = Store(database)
        found = [tuple(row) for row in await store.database.rows(text(f"SELECT * FROM {table}"))]
        await store.close()
        return found

    return run(work())


def modulus(visitor: Visitor) -> int:
    found = check_offer(channel(visitor), caps=Caps()).tickets
    assert found is not None
    return found.modulus


def test_a_report_with_a_blind_ticket_is_counted_and_sent_again_is_the_same_report(town: Visitor) -> None:
    sent = body(town, blind(town))
    answers = [send(town, sent) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert [answer.json()["duplicate"] for answer in answers] == [False, True, True]
    assert about(town)["cycle"]["tickets"] == 1


def test_a_ticket_is_spent_once_also_when_two_reports_come_at_the_same_moment(town: Visitor) -> None:
    right = blind(town)
    bodies = [body(town, right, cell=cell) for cell in range(8)]
    with ThreadPoolExecutor(8) as threads:
        statuses = sorted(answer.status_code for answer in threads.map(lambda one: send(town, one), bodies))
    assert statuses == [200, *[409] * 7]
    refused(send(town, body(town, right)), 409, "already spent")
    assert about(town)["cycle"]["tickets"] == 1


def test_a_device_has_one_ticket_a_round_a_lost_answer_is_given_again_and_a_lost_ticket_is_not(town: Visitor) -> None:
    kept, mine = blind_ticket(modulus(town)), os.urandom(32)
    first = ask_blind(town, cycle=1, blinded=kept["blinded"], secret=mine)
    again = ask_blind(town, cycle=1, blinded=kept["blinded"], secret=mine)
    assert first.json()["ticket"] == again.json()["ticket"], "the answer was lost on its way"
    assert first.json()["expires_at_s"] is None
    other = blind_ticket(modulus(town))["blinded"]
    refused(ask_blind(town, cycle=1, blinded=other, secret=mine), 409, "A ticket that was lost is not given twice")
    crowd(town, 1)
    assert close(town)["closed"]
    fresh = blind_ticket(modulus(town))
    assert ask_blind(town, cycle=2, blinded=fresh["blinded"], secret=mine).status_code == 200, "it comes back"


def test_every_round_has_a_key_of_its_own_in_its_signed_text_and_no_other_round_takes_its_tickets(
    town: Visitor, database: str
) -> None:
    late, first = blind(town), modulus(town)
    drawn_from = channel(town)["version"]
    crowd(town, 2)
    assert close(town)["closed"]
    assert modulus(town) != first
    refused(send(town, body(town, late)), 401, "another cycle")
    assert send(town, body(town, late, version=drawn_from)).json()["duplicate"] is False, "late, where it belongs"
    assert [row[1] for row in rows(database, "ticket_keys")] == [1, 2]
    crowd(town, 1)
    assert close(town)["closed"]
    assert [row[1] for row in rows(database, "ticket_keys")] == [2, 3], "the first takes no more reports"
    assert len({row[1] for row in rows(database, "issued_tickets")} & {1}) == 0, "who had one then is forgotten"
    refused(send(town, body(town, late, version=drawn_from)), 410, "closed")
    kept = blind_ticket(first)
    refused(ask_blind(town, cycle=1, blinded=kept["blinded"]), 409, "not the open cycle")


def test_a_round_goes_on_after_a_restart_with_the_same_key(database: str) -> None:
    with client(database) as visitor:
        create(visitor, tickets="blind")
        right, key = blind(visitor), modulus(visitor)
    with client(database) as visitor:
        assert modulus(visitor) == key
        assert send(visitor, body(visitor, right)).status_code == 200


def test_clients_of_either_kind_are_told_what_the_campaign_takes(town: Visitor) -> None:
    old = {"cycle": 1, "device": "0" * 64}
    refused(town.post("/api/v1/campaigns/town/tickets", json=old), 409, "Update the client")
    refused(send(town, body(town, f"1-1-9999999999-{'0' * 32}-{'0' * 64}")), 401, "Update the client")
    kept, answer = blind_ticket(modulus(town)), channel(town)
    small = "00" * 255 + "01"
    refused(ask_blind(town, cycle=1, blinded="ff" * 256), 409, "does not fit this round's key")
    assert ask_blind(town, cycle=1, blinded=small).status_code == 200
    assert town.post("/api/v1/campaigns/town/tickets", json={**old, "blinded": "7"}).status_code == 422
    assert "tickets" in json.loads(answer["payload"])
    create(town, "open", tickets="linkable")
    assert "tickets" not in json.loads(channel(town, "open")["payload"])
    refused(ask_blind(town, "open", cycle=1, blinded=kept["blinded"]), 409, "not blind")
    assert send(
        town, {**body(town, ticket(town, "open")), "version": channel(town, "open")["version"]}, "open"
    ).is_success
    forged = blind(town)
    refused(send(town, {**body(town, forged), "version": channel(town, "open")["version"]}, "open"), 401, "server's")


def test_a_device_that_reports_once_has_one_ticket_in_the_campaigns_life(database: str) -> None:
    with client(database) as visitor:
        create(visitor, tickets="blind", reporting="once")
        mine = os.urandom(32)
        assert send(visitor, body(visitor, blind(visitor, secret=mine, scope="once"))).is_success
        crowd(visitor, 2)
        assert close(visitor)["closed"]
        crowd(visitor, 2)
        assert close(visitor)["closed"]
        again = blind_ticket(modulus(visitor))["blinded"]
        refused(ask_blind(visitor, cycle=3, blinded=again, secret=mine, scope="once"), 409, "has had its ticket")
        assert len(rows(database, "spent_tickets")) == 2, "of the cycle that still takes late reports"
        assert len(rows(database, "issued_tickets")) == 5


def test_one_number_is_not_signed_by_the_keys_of_two_rounds_for_who_reports_once(database: str) -> None:
    """A device that blinds with 1 shows a number that means the same under every round's key."""
    with client(database) as visitor:
        create(visitor, tickets="blind", reporting="once")
        mine, message, salt, counted = os.urandom(32), os.urandom(64), os.urandom(48), []
        for cycle in (1, 2, 3):
            kept = blinded_with(modulus(visitor), message, salt, 1)
            answer = ask_blind(visitor, cycle=cycle, blinded=kept["blinded"], secret=mine, scope="once")
            if cycle > 1:
                refused(answer, 409, "has had its ticket")
            else:
                right = ticket_text(cycle, {**kept, "signature": signature_from(kept, answer.json()["ticket"])})
                counted.append(send(visitor, body(visitor, right)).is_success)
            crowd(visitor, 1)
            assert close(visitor)["closed"]
        assert counted == [True]


def test_what_is_kept_of_an_issued_ticket_holds_no_number_that_is_spent(town: Visitor, database: str) -> None:
    texts = [blind(town) for _ in range(5)]
    for right in texts:
        assert send(town, body(town, right)).is_success
    issued, spent = rows(database, "issued_tickets"), rows(database, "spent_tickets")
    assert len(issued) == len(spent) == 5
    assert not {bytes(row[2]) for row in issued} & {bytes(row[2]) for row in spent}
    assert all(len(row) == 4 for row in issued), "campaign, scope, device, hash: no time, no order, no ticket"
    if database.startswith("sqlite"):  # PostgreSQL keeps the order of writing; docs/operator_threats.md says so
        assert [bytes(row[2]) for row in issued] == sorted(bytes(row[2]) for row in issued)


def test_ending_and_deleting_a_campaign_take_its_keys_and_tickets_along(town: Visitor, database: str) -> None:
    crowd(town, 3)
    answer = town.post("/api/v1/campaigns/town/end", json={}, headers=operator())
    assert answer.is_success, answer.text
    assert rows(database, "issued_tickets") == rows(database, "ticket_keys") == []


def test_a_round_that_also_ends_by_its_number_of_reports_promises_no_end(town: Visitor) -> None:
    told = json.loads(channel(town)["payload"])["tickets"]
    assert (told["round_s"], len(from_base64url(told["key"]))) == (86_400, 256)
    create(town, "counted", tickets="blind", cycle_reports=50)
    assert "round_s" not in json.loads(channel(town, "counted")["payload"])["tickets"]


def test_maps_are_closed_and_published_as_always(town: Visitor) -> None:
    crowd(town, 20)
    assert close(town)["closed"]
    [closed] = history(town)
    assert closed["tickets"] == 20


def test_a_rounds_key_is_loaded_once_however_many_come_at_once(town: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """256 at once loaded it 256 times, which took ten seconds of processor time."""
    loaded, load = [], RoundKey.load
    monkeypatch.setattr(RoundKey, "load", lambda kept: loaded.append(1) or load(kept))
    version, forged = channel(town)["version"], f"2-1-{'0' * 128}-{'0' * 512}"
    bodies = [body(town, forged, version=version) for _ in range(30)]
    with ThreadPoolExecutor(15) as threads:
        answers = list(threads.map(lambda one: send(town, one).status_code, bodies))
    assert set(answers) == {401}
    assert len(loaded) == 1


def test_rounds_that_begin_on_mondays_say_one_length_however_long_the_first_is(town: Visitor) -> None:
    """Devices pin the length of rounds: one that differs by the seconds between two rounds would be refused by all."""
    week = 604_800
    create(town, "mondays", tickets="blind", cycle_duration_s=week, cycle_reports=None, begins_hour=8)
    told = check_offer(channel(town, "mondays"), caps=Caps()).tickets
    due_s = about(town, "mondays")["cycle"]["due_at_s"]
    assert told is not None
    assert (told.round_s, told.opened_at_s) == (week, due_s - week), "the second half ends when the round does"
