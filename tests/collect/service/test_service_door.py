"""The door under pressure: slow requests, many connections, aborted uploads, proxies, a port that is taken."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from collector_harness import CollectorProcess, channel, client, create, refused, report_body, send

from sfumato.base.errors import InputError
from sfumato.collect.service.door.guard import TrustedProxies, household

_SERVE = [sys.executable, "-c", "from sfumato.cli import main; main()", "serve"]


def xff(text: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", text.encode())]


@pytest.mark.parametrize(
    ("peer", "header", "visitor"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # no proxy: its word counts for nothing
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),  # what the visitor wrote itself is never reached
        ("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.7", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ],
)
def test_the_visitor_is_the_first_from_the_right_who_is_no_proxy(peer: str, header: str, visitor: str) -> None:
    assert TrustedProxies.of("10.0.0.0/8").visitor(peer, xff(header)) == visitor


def test_forwarded_is_read_as_rfc_7239_says_and_only_where_it_is_chosen() -> None:
    proxies = TrustedProxies.of("10.0.0.0/8", "forwarded")
    text = 'for=6.6.6.6, for="[2001:db8:cafe::17]:4711";proto=https;by=203.0.113.43, for=10.0.0.4'
    headers = [(b"forwarded", text.encode()), *xff("9.9.9.9")]
    assert proxies.visitor("10.0.0.1", headers) == "2001:db8:cafe::17"
    assert TrustedProxies.of("10.0.0.0/8").visitor("10.0.0.1", headers) == "9.9.9.9"


@pytest.mark.parametrize(
    ("networks", "header"), [("10.0.0.300", "forwarded"), ("0.0.0.0/0", "forwarded"), ("::1", "via")]
)
def test_settings_that_would_trust_anybody_or_nobody_are_refused(networks: str, header: str) -> None:
    with pytest.raises(InputError):
        TrustedProxies.of(networks, header)


def test_one_household_is_an_address_or_a_prefix() -> None:
    assert household("2001:db8::1") == household("2001:db8::2")
    assert household("192.0.2.1") == household("::ffff:192.0.2.1") != household("192.0.2.2")


def test_behind_a_trusted_proxy_everybody_has_a_rate_of_their_own(tmp_path: Path) -> None:
    """Starlette's client calls itself 'testclient': here it is a proxy on another machine."""
    settings = {"requests_per_minute_per_address": 3, "tick_s": 60}
    for trusted, last in (("127.0.0.1", 429), ("10.1.0.0/16", 200)):
        with client(f"sqlite:///{tmp_path}/{last}.db", trusted_proxies=trusted, **settings) as visitor:
            visitor._transport.client = ("10.1.2.3", 50000)  # type: ignore[attr-defined]
            for who in range(6):
                answer = visitor.get("/health", headers={"x-forwarded-for": f"203.0.113.{who}"})
            assert answer.status_code == last
            flood = [visitor.get("/health", headers={"x-forwarded-for": "203.0.113.77"}) for _ in range(6)]
            refused(flood[-1], 429, "Too many requests")


def test_an_upload_that_breaks_off_is_nothing_unexpected(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        create(visitor)
        sent: list[object] = []
        parts = iter([{"type": "http.request", "body": b'{"cell"', "more_body": True}, {"type": "http.disconnect"}])

        async def receive() -> object:
            return next(parts)

        async def answer(message: object) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/api/v1/campaigns/town/reports", "query_string": b"",
            "headers": [(b"content-type", b"application/json")], "client": ("203.0.113.5", 5), "http_version": "1.1",
            "server": ("testserver", 80), "scheme": "http", "root_path": "", "raw_path": b"",
        }  # fmt: skip
        asyncio.run(visitor.app(scope, receive, answer))
        assert sent == []
        assert "Unexpected" not in caplog.text


# -- a real server -----------------------------------------------------------------------------------------------


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    with CollectorProcess(
        f"sqlite:///{tmp_path}/x.db", header_timeout_s=1.5, body_timeout_s=1.5, connections_per_address=40
    ) as running:
        create(running.visitor, "town")
        yield running


def from_address(address: str, port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(address, 0))


@pytest.mark.service
def test_half_sent_requests_from_one_address_leave_the_others_served(collector: CollectorProcess) -> None:
    """A hundred half-sent requests from one address (4,200 by tests/faults/slow_headers.py): 40 are kept."""
    attack = []
    for _ in range(100):
        half = from_address("127.0.0.2", collector.port)
        half.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        attack.append(half)
    time.sleep(0.2)
    transport = httpx.HTTPTransport(local_address="127.0.0.3")
    with httpx.Client(base_url=collector.url, transport=transport, timeout=5) as visitor:
        assert send(visitor, report_body(visitor)).status_code == 200
        answers = [half.recv(64).split(b" ")[1] for half in attack]
        assert set(answers) == {b"429", b"408"}
        # 40, and on a machine so slow that the first are timed out while the last come, a few in their place.
        assert 40 <= answers.count(b"408") <= 60
        time.sleep(0.1)
        assert visitor.get("/ready").status_code == 200
    for half in attack:
        half.close()
    again = from_address("127.0.0.2", collector.port)
    again.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert again.recv(64).split(b" ")[1] == b"200"
    again.close()


@pytest.mark.service
def test_a_body_that_never_comes_is_cut_off_and_not_logged_as_unexpected(collector: CollectorProcess) -> None:
    with from_address("127.0.0.2", collector.port) as half:
        half.sendall(
            b"POST /api/v1/campaigns/town/reports HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n"
            b"content-length: 500\r\n\r\n{"
        )
        half.settimeout(6)
        with contextlib.suppress(ConnectionResetError):
            assert half.recv(64) == b""
    with from_address("127.0.0.2", collector.port) as aborted:
        aborted.sendall(
            b"POST /api/v1/campaigns/town/reports HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n"
            b"content-length: 500\r\n\r\n{"
        )
    time.sleep(0.3)
    assert httpx.get(f"{collector.url}/health").status_code == 200
    assert "Unexpected" not in collector.log.read_text()


@pytest.mark.service
def test_a_connection_that_is_kept_between_requests_is_not_too_slow(collector: CollectorProcess) -> None:
    with httpx.Client(base_url=collector.url, timeout=5) as visitor:
        assert channel(visitor)["ok"]
        time.sleep(2)  # longer than a header may take
        assert channel(visitor)["ok"]
    assert re.search(r"\b408\b", collector.log.read_text()) is None  # a port may have these digits in it


@pytest.mark.service
def test_a_port_that_is_taken_is_said_before_anything_is_called_ok(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*_SERVE, "--port", str(taken.getsockname()[1]), "--database", f"sqlite:///{tmp_path}/x.db", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["ok"] is False
    assert "choose another with --port" in done.stderr
    assert not (tmp_path / "x.db").exists()


@pytest.mark.service
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_database_that_cannot_be_used_is_said_before_anything_is_called_ok(tmp_path: Path, workers: str) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database " * 1000)
    (tmp_path / "x.db").chmod(0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [*_SERVE, "--port", port, "--database", f"sqlite:///{tmp_path}/x.db", "--json", "--workers", workers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert '"ok": true' not in done.stdout
    assert "restore a backup" in done.stderr
