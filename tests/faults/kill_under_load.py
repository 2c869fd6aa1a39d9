"""Kill a collector with -9 at random moments under load, and look for lost and double reports.

    python tests/faults/kill_under_load.py --database sqlite --kills 50
    python tests/faults/kill_under_load.py --database postgresql --kills 50 --restarts 3
    python tests/faults/kill_under_load.py --closes 5 --cells 1600

Threads send reports, send again whatever was not acknowledged, and send some acknowledged ones again on purpose; cycles
are closed on the way. Afterwards the tallies of every cycle must lie between what was acknowledged and that plus what
nobody knows about (reports whose cycle closed before an answer came): 0 lost, 0 double.
Each of them first asks for a ticket, as devices do: with ``--tickets blind`` (the usual) it blinds it, asks again until
the answer arrives, takes the blinding out, and sometimes tries to have a second ticket, or to spend one twice.
``--closes`` kills nobody: so many cycles of a large grid are closed under load, and every report must be answered 200.
``--broken replies_before_commit`` and ``--broken forgets_keys`` run collectors that are wrong on purpose.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "helpers")]

import httpx  # noqa: E402
from collector_harness import CollectorProcess, about, close, create, history, operator  # noqa: E402
from postgres_server import PostgresServer, postgres_server  # noqa: E402

from sfumato.collect.client.blind_tickets import blind_ticket, signature_from, terms_from, ticket_text  # noqa: E402
from sfumato.collect.service.rounds.tickets import issue_ticket  # noqa: E402
from sfumato.collect.service.store.store import Store  # noqa: E402

CELLS = 36


@dataclass
class Ledger:
    """What the senders know, by cycle: acknowledged cells and cells nobody knows about."""

    acknowledged: dict[int, Counter[int]] = field(default_factory=dict)
    unknown: dict[int, Counter[int]] = field(default_factory=dict)
    resent: int = 0
    tickets: int = 0
    wrong: list[str] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def total(self) -> int:
        """How many reports were acknowledged."""
        with self.lock:
            return sum(book.total() for book in self.acknowledged.values())

    def note(self, cycle: int, cell: int, *, acknowledged: bool) -> None:
        """One report's fate."""
        with self.lock:
            book = self.acknowledged if acknowledged else self.unknown
            book.setdefault(cycle, Counter())[cell] += 1


@dataclass(frozen=True)
class Verdict:
    """What the tallies say."""

    acknowledged: int
    unknown: int
    resent: int
    lost: int
    double: int
    cycles: int
    kills: int
    inconsistent: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing lost, nothing double, everything consistent."""
        return self.lost == 0 and self.double == 0 and not self.inconsistent


class Sender(threading.Thread):
    """One connection that sends reports until told to stop, and never gives up on one."""

    def __init__(self, port: int, key: bytes, ledger: Ledger, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.key, self.ledger, self.stop_asked = port, key, ledger, stop
        self.modulus: int | None = None
        self.connection = HTTPConnection("127.0.0.1", port, timeout=20)
        self.cycle, self.version = 0, ""

    def run(self) -> None:
        """Send, resend, note."""
        while not self.stop_asked.is_set():
            if not self.version:
                self._look()
                continue
            cell, right = random.randrange(CELLS), self._ticket()
            if right is None:  # the cycle was over before
                self.version = ""
                continue
            body = self._report(cell, right)
            first = True
            while True:
                status = self._post(body)
                with self.ledger.lock:
                    self.ledger.answers[status] += 1
                if status == 200:
                    self.ledger.note(self.cycle, cell, acknowledged=True)
                    if random.random() < 0.2:
                        self.ledger.resent += 1
                        self._post(body)
                        if self._post(self._report(cell, right)) == 200:
                            self.ledger.wrong.append("a ticket was spent on two reports")
                    if random.random() < 0.2:
                        self.version = ""  # another device, which looks first
                    break
                if status == 410:
                    if not first:
                        self.ledger.note(self.cycle, cell, acknowledged=False)
                    self.version = ""
                    break
                if status in (401, 422):
                    self.ledger.wrong.append(f"a report was answered {status}")
                    break
                first = False
                time.sleep(0.1)

    def _ticket(self) -> str | None:
        """A fresh device's ticket, asked for until it is there; None if its cycle is over before."""
        device, expires_at_s = os.urandom(32).hex(), int(time.time()) + 3600
        if self.modulus is None:
            about = {"campaign": "town", "cycle": self.cycle, "scope": str(self.cycle), "device": device}
            return issue_ticket(self.key, expires_at_s=expires_at_s, **about)
        kept = blind_ticket(self.modulus)
        while not self.stop_asked.is_set():
            status, text = self._ask(device, kept["blinded"])
            if status == 200:
                self.ledger.tickets += 1
                if random.random() < 0.1 and self._ask(device, blind_ticket(self.modulus)["blinded"])[0] == 200:
                    self.ledger.wrong.append("a device had two tickets")
                signed = {**kept, "signature": signature_from(kept, json.loads(text)["ticket"])}
                return ticket_text(self.cycle, signed)
            if b"has had its ticket" in text:
                self.ledger.wrong.append("an answer that was lost cost a ticket")
            if status in (409, 410):
                return None
            time.sleep(0.1)
        return None

    def _ask(self, device: str, blinded: str) -> tuple[int, bytes]:
        asked = json.dumps({"cycle": self.cycle, "device": device, "blinded": blinded})
        return self._call("POST", "/api/v1/campaigns/town/tickets", asked)

    def _report(self, cell: int, right: str) -> str:
        return json.dumps({"cell": cell, "version": self.version, "key": os.urandom(16).hex(), "ticket": right})

    def _look(self) -> None:
        status, text = self._call("GET", "/api/v1/campaigns/town/channel", None)
        if status == 200:
            offer = json.loads(text)
            told = json.loads(offer["payload"])
            self.version, self.cycle = offer["version"], told["cycle"]
            self.modulus = terms_from(told["tickets"]).modulus if "tickets" in told else None
        else:
            time.sleep(0.05)

    def _post(self, body: str) -> int:
        return self._call("POST", "/api/v1/campaigns/town/reports", body)[0]

    def _call(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        try:
            self.connection.request(method, path, body, {"Content-Type": "application/json"})
            reply = self.connection.getresponse()
            return reply.status, reply.read()
        except (OSError, HTTPException):
            self.connection.close()
            return 0, b""


def run(
    database: str, *, kills: int, restarts: int = 0, broken: str = "", senders: int = 12, closes: bool = True,
    postgres: PostgresServer | None = None, pause_s: tuple[float, float] = (0.15, 0.8), tickets: str = "blind",
) -> Verdict:  # fmt: skip
    """Load, kill, look."""
    collector = CollectorProcess(database, closing_lease_s=2, tick_s=0.1)
    if broken:
        collector.command = [
            sys.executable, "-m", "uvicorn", f"broken:{broken}", "--factory", "--app-dir", str(HERE),
            "--port", str(collector.port), "--no-access-log", "--log-level", "warning",
        ]  # fmt: skip
    ledger, stop = Ledger(), threading.Event()
    with collector:
        create(collector.visitor, "town", minimum_tickets=10, tickets=tickets)
        key = asyncio.run(_tickets_key(database))
        threads = [Sender(collector.port, key, ledger, stop) for _ in range(senders)]
        for thread in threads:
            thread.start()
        faults = ["kill"] * kills + ["restart"] * restarts
        random.shuffle(faults)
        for number, fault in enumerate(faults):
            _wait_for_load(ledger)
            time.sleep(random.uniform(*pause_s))
            if closes and number % 4 == 3:
                closing = threading.Thread(target=_ask_to_close, args=(collector.port,), daemon=True)
                closing.start()
                time.sleep(random.uniform(0, 0.3))
            if fault == "restart" and postgres is not None:
                postgres.stop("immediate")
                postgres.start()
            else:
                collector.kill()
                collector.start()
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join(timeout=60)
        assert not any(thread.is_alive() for thread in threads), "a sender never got its answer"
        if broken:
            time.sleep(1)
        _wait_until_open(collector.port)
        return asyncio.run(_judge(database, ledger, len(faults)))


async def _tickets_key(database: str) -> bytes:
    store = Store(database)
    found, _ = await store.secret("tickets_key", b"")
    await store.close()
    return found


async def _judge(database: str, ledger: Ledger, kills: int, *, cells: int = CELLS) -> Verdict:
    store = Store(database)
    [campaign] = await store.campaigns()
    current = await store.current_cycle(campaign.id)
    tallies = await store.counts(campaign.id, cells=cells, up_to=current.number, pooled=10_000)
    closed = {cycle.number: cycle for cycle, _ in await store.closed_cycles(campaign.id)}
    log = await store.log(campaign.id)
    await store.close()
    lost = double = 0
    wrong = sorted(set(ledger.wrong))
    for tally in tallies:
        sure, unsure = ledger.acknowledged.get(tally.cycle, Counter()), ledger.unknown.get(tally.cycle, Counter())
        for cell in range(cells):
            found = int(tally.everything[cell])
            lost += max(0, sure[cell] - found)
            double += max(0, found - sure[cell] - unsure[cell])
        tickets_counted = (closed.get(tally.cycle) or current).tickets
        if tickets_counted != int(tally.direct.sum()):
            wrong.append(f"cycle {tally.cycle} says {tickets_counted} tickets and tallies {int(tally.direct.sum())}")
    if [row.cycle for row in log] != list(range(1, current.number + 1)):
        wrong.append("the log does not list each cycle once")
    if sorted(closed) != list(range(1, current.number)):
        wrong.append("a cycle before the current one is not closed, or closed twice")
    return Verdict(
        ledger.total(),
        sum(book.total() for book in ledger.unknown.values()),
        ledger.resent, lost, double, current.number, kills, tuple(wrong),
    )  # fmt: skip


def _wait_for_load(ledger: Ledger, *, at_least: int = 20, within_s: float = 20.0) -> None:
    """A fault is only worth something under load: wait for some more acknowledged reports."""
    goal, deadline = ledger.total() + at_least, time.monotonic() + within_s
    while ledger.total() < goal and time.monotonic() < deadline:
        time.sleep(0.02)


def _ask_to_close(port: int) -> None:
    with contextlib.suppress(OSError, HTTPException):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Content-Type": "application/json", **operator()}
        connection.request("POST", "/api/v1/campaigns/town/close", "{}", headers)
        connection.getresponse().read()


def _wait_until_open(port: int) -> None:
    """A cycle that was being closed when the collector died is taken over and finished."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, HTTPException):
            connection = HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/api/v1/campaigns/town/channel")
            if connection.getresponse().status == 200 and _all_estimated(port):
                return
        time.sleep(0.2)
    raise AssertionError("the cycle stayed closing")


def _all_estimated(port: int) -> bool:
    """Whether every cycle before the open one has its estimate."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as visitor:
        return len(history(visitor)) == about(visitor)["cycle"]["number"] - 1


def close_under_load(database: str, *, closes: int, cells: int, senders: int = 4) -> tuple[Verdict, Counter[int]]:
    """Close cycles of a large grid while reports come in; what became of them, and every answer by its status."""
    side = math.isqrt(cells)
    height, width = side * 500 / 111_194, side * 500 / 73_200
    grid = {"south": 48.8, "west": 2.2, "north": 48.8 + height, "east": 2.2 + width, "cell_size_m": 500.0}
    ledger, stop = Ledger(), threading.Event()
    with CollectorProcess(database, tick_s=0.1, requests_per_minute_per_address=0) as collector:
        collector.visitor.timeout = httpx.Timeout(300)
        create(collector.visitor, "town", minimum_tickets=10, grid=grid)
        key = asyncio.run(_tickets_key(database))
        threads = [Sender(collector.port, key, ledger, stop) for _ in range(senders)]
        for thread in threads:
            thread.start()
        for _ in range(closes):
            _wait_for_load(ledger, at_least=100)
            answer = close(collector.visitor)
            assert answer["closed"], answer
        _wait_for_load(ledger)
        stop.set()
        for thread in threads:
            thread.join(timeout=60)
        _wait_until_open(collector.port)
        number = about(collector.visitor)["cells"]
        return asyncio.run(_judge(database, ledger, 0, cells=number)), ledger.answers


@contextlib.contextmanager
def databases(kind: str) -> Iterator[tuple[str, PostgresServer | None]]:
    """An empty database of this kind."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="sfumato-faults-") as folder:
            yield f"sqlite:///{folder}/faults.db", None
    else:
        with postgres_server() as server:
            yield server.url, server


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--kills", type=int, default=50, help="Random kill -9 of the collector.")
    parser.add_argument("--restarts", type=int, default=0, help="Crashes and restarts of PostgreSQL itself.")
    parser.add_argument("--tickets", choices=("blind", "linkable"), default="blind", help="Of the campaign.")
    parser.add_argument("--broken", choices=("replies_before_commit", "forgets_keys"), default="")
    parser.add_argument("--closes", type=int, default=0, help="Instead of killing, close so many cycles under load.")
    parser.add_argument("--cells", type=int, default=1_600, help="About so many cells, with --closes.")
    chosen = parser.parse_args()
    if chosen.closes:
        with databases(chosen.database) as (url, _):
            verdict, answers = close_under_load(url, closes=chosen.closes, cells=chosen.cells)
        print(
            f"{chosen.database}: {chosen.closes} cycles of about {chosen.cells} cells closed under load, answers "
            f"{dict(sorted(answers.items()))}: {verdict.lost} lost, {verdict.double} double, "
            f"{len(verdict.inconsistent)} inconsistencies"
        )
        return 0 if verdict.good and set(answers) == {200} else 1
    began = time.monotonic()
    with databases(chosen.database) as (url, postgres):
        verdict = run(
            url,
            kills=chosen.kills,
            restarts=chosen.restarts,
            broken=chosen.broken,
            postgres=postgres,
            tickets=chosen.tickets,
        )
    print(
        f"{chosen.database}, {chosen.tickets} tickets: "
        f"{verdict.kills} faults, {verdict.acknowledged} acknowledged, {verdict.resent} sent again "
        f"on purpose, {verdict.unknown} of closed cycles unanswered, {verdict.cycles} cycles: "
        f"{verdict.lost} lost, {verdict.double} double, {len(verdict.inconsistent)} inconsistencies "
        f"({time.monotonic() - began:.0f} s)"
    )
    for line in verdict.inconsistent:
        print(f"  {line}")
    return 0 if verdict.good else 1


if __name__ == "__main__":
    raise SystemExit(main())
