"""Can an honest but curious operator tell whose report is whose? With the whole database, every request as it came and
the exact times: no better than chance for devices that wait, and nearly always for pages, as is said."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom

from collector_harness import TOKEN, Visitor, channel, create, run, settings
from sqlalchemy import text
from starlette.testclient import TestClient

from sfumato.collect.client.blind_tickets import blind_ticket, signature_from, ticket_text
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.wire import device_tag
from sfumato.collect.service.app import create_app
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.store.engine import Database

PEOPLE, ROUNDS, ROUND_S, BEGAN_S = 6, 16, 86_400, 1_800_000_000.0


@dataclass(frozen=True)
class Seen:
    """What an operator can have of one round: when each ticket was asked for and what was signed, when each report came
    and what it showed, and the rows of both tables in the order in which the database gives them."""

    asked_s: list[float]
    blinded: list[str]
    reported_s: list[float]
    tickets: list[str]
    issued_rows: list[bytes]
    spent_rows: list[bytes]


Attack = Callable[[Seen], list[int]]
"""For each report, in the order of the log, the request for a ticket that it is said to belong to."""


def by_rank(seen: Seen) -> list[int]:
    """First asked, first reported: both lists are in order of time."""
    return list(range(PEOPLE))


def by_rank_backwards(seen: Seen) -> list[int]:
    return list(reversed(range(PEOPLE)))


def by_the_shortest_wait(seen: Seen) -> list[int]:
    """Each report takes the latest ticket before it that no other has taken."""
    free, out = set(range(PEOPLE)), []
    for moment in seen.reported_s:
        before = [one for one in free if seen.asked_s[one] <= moment] or list(free)
        out.append(max(before, key=lambda one: seen.asked_s[one]))
        free.remove(out[-1])
    return out


def by_what_looks_alike(seen: Seen) -> list[int]:
    """The bytes of what was signed against the bytes of what is shown, as numbers modulo many small primes."""
    signed = [int(one, 16) for one in seen.blinded]
    shown = [int(one.split("-")[3], 16) for one in seen.tickets]
    primes = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
    alike = {(i, j): sum(a % p == b % p for p in primes) for i, a in enumerate(signed) for j, b in enumerate(shown)}
    free, out = set(range(PEOPLE)), []
    for j in range(PEOPLE):
        out.append(max(free, key=lambda i: alike[i, j]))
        free.remove(out[-1])
    return out


def by_the_order_of_rows(seen: Seen) -> list[int]:
    """The n-th row of who had a ticket and the n-th row of what was spent. Which row belongs to whom is known."""
    spent = {nonce: place for place, nonce in enumerate(seen.spent_rows)}
    places = sorted(range(PEOPLE), key=lambda j: spent[_nonce(seen.tickets[j])])
    out = [0] * PEOPLE
    for place, j in enumerate(places):
        out[j] = int.from_bytes(seen.issued_rows[place][:1])
    return out


ATTACKS: tuple[Attack, ...] = (
    by_rank, by_rank_backwards, by_the_shortest_wait, by_what_looks_alike, by_the_order_of_rows,
)  # fmt: skip


def _nonce(ticket: str) -> bytes:
    return hashlib.sha256(bytes.fromhex(ticket.split("-")[2])).digest()[:16]


def one_round(
    visitor: Visitor, clock: list[float], database: str, number: int, *, waits: bool
) -> tuple[Seen, list[int]]:
    """People take part at random moments; what the operator has of it, and who truly sent each report."""
    name, random = f"round-{number}", SystemRandom()
    clock[0] = BEGAN_S
    create(visitor, name, tickets="blind", cycle_duration_s=ROUND_S)
    offer = check_offer(channel(visitor, name), caps=Caps())
    assert offer.tickets is not None
    half_s = ROUND_S / 2
    moments = sorted(BEGAN_S + random.random() * half_s for _ in range(PEOPLE))
    blinded, holding = [], []
    for person, moment in enumerate(moments):
        clock[0] = moment
        kept, tag = blind_ticket(offer.tickets.modulus), device_tag(name, "1", os.urandom(32))
        asked = {"cycle": 1, "device": tag, "blinded": kept["blinded"]}
        answer = visitor.post(f"/api/v1/campaigns/{name}/tickets", json=asked)
        assert answer.status_code == 200, answer.text
        blinded.append(kept["blinded"])
        later = offer.tickets.report_moment_s(moment) if waits else moment + 10 * random.random()
        assert later is not None
        holding.append((later, person, {**kept, "signature": signature_from(kept, answer.json()["ticket"])}))
    reported, tickets, truth = [], [], []
    for moment, person, signed in sorted(holding, key=lambda one: one[0]):
        clock[0] = moment
        body = {"cell": random.randrange(36), "version": offer.version, "key": secrets.token_hex(16)}
        body["ticket"] = ticket_text(1, signed)
        assert visitor.post(f"/api/v1/campaigns/{name}/reports", json=body).status_code == 200
        reported.append(moment)
        tickets.append(str(body["ticket"]))
        truth.append(person)
    issued, spent = run(_rows(database, name))
    round_number = (1).to_bytes(4)  # the claim is on the round and what was blinded, together
    shown = [hashlib.sha256(round_number + bytes.fromhex(one)).digest() for one in blinded]
    known = {one: bytes([person]) for person, one in enumerate(shown)}
    return Seen(moments, blinded, reported, tickets, [known[one] for one in issued], spent), truth


async def _rows(database: str, name: str) -> tuple[list[bytes], list[bytes]]:
    store = Database(database)
    of = f"FROM {{}} WHERE campaign_id = (SELECT id FROM campaigns WHERE name = '{name}')"
    issued = await store.rows(text(f"SELECT blinded_sha256 {of.format('issued_tickets')}"))
    spent = await store.rows(text(f"SELECT nonce {of.format('spent_tickets')}"))
    await store.close()
    return [bytes(row[0]) for row in issued], [bytes(row[0]) for row in spent]


def right_guesses(database: str, *, waits: bool) -> Counter[str]:
    """How many of all reports each attack gives to the right person."""
    clock = [BEGAN_S]
    chosen = settings(database, operator_token=TOKEN, tick_s=60)
    app = create_app(chosen, collector=Collector(chosen, now=lambda: clock[0]))
    right: Counter[str] = Counter()
    with TestClient(app) as visitor:
        for number in range(ROUNDS):
            seen, truth = one_round(visitor, clock, database, number, waits=waits)
            for attack in ATTACKS:
                guess = attack(seen)
                assert sorted(guess) == list(range(PEOPLE))
                right[attack.__name__] += sum(a == b for a, b in zip(guess, truth, strict=True))
    return right


def test_of_devices_that_wait_the_operator_guesses_the_author_no_better_than_chance(database: str) -> None:
    """Any way to pair them is right for one person a round on average, with variance one."""
    for attack, right in right_guesses(database, waits=True).items():
        assert right <= ROUNDS + 5 * ROUNDS**0.5, f"{attack} was right {right} times of {ROUNDS * PEOPLE}"


def test_of_pages_the_operator_guesses_nearly_everybody_by_the_times_alone_as_is_said(database: str) -> None:
    right = right_guesses(database, waits=False)
    assert right["by_rank"] >= 0.95 * ROUNDS * PEOPLE
    assert right["by_the_shortest_wait"] >= 0.95 * ROUNDS * PEOPLE
    assert right["by_what_looks_alike"] <= ROUNDS + 5 * ROUNDS**0.5, "what is signed says nothing, of pages too"
    if database.startswith("postgresql"):
        assert right["by_the_order_of_rows"] >= 0.9 * ROUNDS * PEOPLE, "its tables keep the order of writing"
    else:
        assert right["by_the_order_of_rows"] <= ROUNDS + 5 * ROUNDS**0.5
