"""Notices reach the operator once, signed, after failures too, and only on an alarm or an end."""

from __future__ import annotations

import hashlib
import hmac
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collector_harness import channel, client, close, create, fill, operator, settings

from sfumato.base.errors import InputError
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.service.rounds import staff
from sfumato.collect.service.rounds.signed_offers import channel_from_payload

SECRET = "a secret of the receiver"


class Receiver:
    """A webhook that refuses as often as it is told to, and remembers."""

    def __init__(self) -> None:
        self.refusals = 0
        self.got: list[tuple[dict[str, str], bytes]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if owner.refusals:
                    owner.refusals -= 1
                    self.send_response(500)
                else:
                    owner.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                    self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook?from=sfumato"


class Postbox(socketserver.StreamRequestHandler):
    """As much of a mail server as it takes to get a message."""

    def handle(self) -> None:
        self.wfile.write(b"220 box\r\n")
        lines: list[bytes] | None = None
        for line in self.rfile:
            if lines is not None:
                if line == b".\r\n":
                    self.server.mail.append(b"".join(lines))  # type: ignore[attr-defined]
                    lines = None
                    self.wfile.write(b"250 ok\r\n")
                else:
                    lines.append(line)
            elif line.upper().startswith(b"DATA"):
                lines = []
                self.wfile.write(b"354 go on\r\n")
            elif line.upper().startswith(b"QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 ok\r\n")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


def until(true: Any, within_s: float = 120.0) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("It did not happen in time.")


def genuine(header: str, body: bytes) -> bool:
    parts = dict(part.split("=", 1) for part in header.split(","))
    made = hmac.new(SECRET.encode(), f"{parts['t']}.".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(made, parts["v1"])


def honest(visitor: Any, people: int, name: str = "town") -> np.ndarray:
    """What devices of people who are everywhere would report through the open cycle's channel."""
    published = channel_from_payload(channel(visitor, name)["payload"])
    rng = np.random.default_rng(11)
    tally = draw_tally(published, rng.multinomial(people, np.full(36, 1 / 36)), rng=rng)
    return np.repeat(np.arange(36), tally)


def test_an_alarm_and_an_end_are_told_once_each_and_an_honest_cycle_is_not(tmp_path: Path, receiver: Receiver) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    ways = {"webhook_url": receiver.url, "webhook_secret": SECRET, "tick_s": 0.05}
    with client(database, **ways) as visitor:
        create(visitor)
        fill(database, honest(visitor, 2000))
        close(visitor)
        fill(database, np.concatenate([honest(visitor, 1500), np.full(900, 7)]), cycle=2)
        close(visitor)
        history = visitor.get("/api/v1/campaigns/town/cycles").json()["history"]
        assert [cycle["alarm"]["raised"] for cycle in history] == [False, True]
        until(lambda: len(receiver.got) == 1)
        shown = visitor.get("/api/v1/campaigns/town/estimate").json()["cycle"]
        assert shown["suspicious_cycles"] == [2]
        assert shown["without_suspicious"][7] < shown["estimate"][7]
        assert history[0]["suspicious_cycles"] == []
        assert "sfumato_alarms 1.0" in visitor.get("/metrics", headers=operator()).text
        visitor.post("/api/v1/campaigns/town/end", json={}, headers=operator())
        until(lambda: len(receiver.got) == 2)
        time.sleep(0.3)
    told = [json.loads(body) for _, body in receiver.got]
    assert [(one["event"], one["campaign"], one["cycle"]) for one in told] == [("alarm", "town", 2), ("end", "town", 3)]
    assert told[0]["reasons"]
    for headers, body in receiver.got:
        assert genuine(headers["x-sfumato-signature"], body)
        assert not genuine(headers["x-sfumato-signature"], body + b" ")
    assert len({headers["x-sfumato-delivery"] for headers, _ in receiver.got}) == 2


def test_a_notice_is_tried_again_and_survives_a_restart(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(staff, "PAUSES_S", (0.05, 0.05, 0.05, 60.0))
    database = f"sqlite:///{tmp_path}/x.db"
    ways = {"webhook_url": receiver.url, "webhook_secret": SECRET, "tick_s": 0.05}
    receiver.refusals = 3
    with client(database, **ways) as visitor:
        create(visitor)
        answer = visitor.post("/api/v1/notices/test", json={}, headers=operator())
        assert answer.json()["ways"] == ["webhook"]
        until(lambda: receiver.refusals <= 1)
    with client(database, **ways):
        until(lambda: len(receiver.got) == 1)
        time.sleep(0.2)
    assert len(receiver.got) == 1
    assert (
        sum("was not delivered (ConnectionError); it is tried again" in one.getMessage() for one in caplog.records) == 1
    )


def test_an_e_mail_says_what_happened_through_the_operators_own_server(tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Postbox) as box:
        box.mail = []  # type: ignore[attr-defined]
        threading.Thread(target=box.serve_forever, daemon=True).start()
        ways = {
            "smtp_url": f"smtp://127.0.0.1:{box.server_address[1]}",
            "email_from": "map@example.org",
            "email_to": "ada@example.org, bob@example.org",
            "tick_s": 0.05,
        }
        with client(f"sqlite:///{tmp_path}/x.db", **ways) as visitor:
            create(visitor, title="Bicycles")
            visitor.post("/api/v1/campaigns/town/end", json={}, headers=operator())
            until(lambda: len(box.mail) == 1)  # type: ignore[attr-defined]
        box.shutdown()
        [mail] = box.mail  # type: ignore[attr-defined]
    assert b"Subject: [sfumato] town has ended" in mail
    assert b"To: ada@example.org, bob@example.org" in mail
    assert b"Campaign: town (Bicycles)" in mail


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook_url": "ftp://x/y", "webhook_secret": SECRET},
        {"webhook_url": "https://x/y"},
        {"smtp_url": "mail.example.org", "email_from": "a@x", "email_to": "b@x"},
        {"smtp_url": "smtp://mail.example.org"},
    ],
)
def test_half_a_way_is_refused_at_the_start(tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(InputError):
        staff.ways(settings(f"sqlite:///{tmp_path}/x.db", **wrong))


def test_alarms_of_several_campaigns_are_counted(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    with client(database, tick_s=60) as visitor:
        for name, forged in (("one", 900), ("two", 900), ("three", 0)):
            create(visitor, name)
            fill(database, np.concatenate([honest(visitor, 1500, name), np.full(forged, 7)]), name)
            close(visitor, name)
        assert "sfumato_alarms 2.0" in visitor.get("/metrics", headers=operator()).text
