"""One harness for everything that tests, benchmarks and faults do to a collector.

``client(database)`` is a server inside this process, ``CollectorProcess(database)`` one of its own, started as people
start it. Both are asked in the same words: ``create``, ``channel``, ``ticket``, ``send``, ``close``, ``crowd`` take
whatever can make requests (a :class:`Visitor`).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
from postgres_server import free_port
from starlette.testclient import TestClient

from sfumato.collect.client.blind_tickets import blind_ticket, signature_from, ticket_text
from sfumato.collect.client.exact_draw import WORDS_PER_REPORT, cell_from_words, weights
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.wire import device_tag
from sfumato.collect.service.app import create_app
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import Destination, Report
from sfumato.collect.service.store.store import Store

TOKEN = "a-token-for-tests-only-0123456789abcdef"
MIDDLE = (48.850, 2.330)
Visitor = httpx.Client  # also Starlette's TestClient, which is one
Value = TypeVar("Value")
_SERVE = "from sfumato.cli import main; main()"
_SERVE_WITHOUT_BUNDLE = (
    "from pathlib import Path; import sfumato.collect.service.pages.layout as layout; "
    "layout._BUNDLE = Path('/nonexistent'); "
)


def run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end."""
    return asyncio.run(work)


def operator() -> dict[str, str]:
    """The operator's header."""
    return {"Authorization": f"Bearer {TOKEN}"}


def campaign_request(name: str, **changes: object) -> dict[str, object]:
    """A campaign of 6 x 6 cells of 500 m in Paris; cycles close on request at one ticket unless told otherwise."""
    return {
        "name": name,
        "grid": {"south": 48.84, "west": 2.30, "north": 48.8669, "east": 2.3408, "cell_size_m": 500.0},
        "beta_per_m": 0.001,
        "promise": "mutual-information",
        "reporting": "every-cycle",
        "cycle_duration_s": 86_400,
        "minimum_cycle_s": 0,
        "minimum_tickets": 1,
        **changes,
    }


# -- a server in this process ------------------------------------------------------------------------------------


def settings(database: str, **changes: Any) -> Settings:
    """Settings of a test server: no demonstration, a known token, no rate limit."""
    chosen = {"city": "none", "operator_token": TOKEN, "requests_per_minute_per_address": 0, "backup_folder": ""}
    chosen["complete_notices"] = 0  # what a notice says is tested where it is asked for
    return Settings.of(database=database, **{**chosen, **changes})


def client(database: str, **changes: Any) -> TestClient:
    """A server in this process; use it as a context."""
    return TestClient(create_app(settings(database, **changes)), raise_server_exceptions=False)


def fill(database: str, cells: Any, name: str = "town", *, cycle: int = 1) -> None:
    """Count reports of these cells straight in the store, each with its own key and ticket."""

    async def work() -> None:
        store = Store(database)
        campaign = next(one for one in await store.campaigns() if one.name == name)
        reports = [Report(int(cell), os.urandom(16), os.urandom(16)) for cell in np.asarray(cells)]
        await store.reports.count(Destination(campaign.id, cycle, cycle, 0), reports)
        await store.close()

    run(work())


# -- a server of its own -----------------------------------------------------------------------------------------


class CollectorProcess:
    """``sfumato serve`` on a free port (or any other uvicorn application given by ``command``)."""

    def __init__(
        self,
        database: str,
        *,
        workers: int = 1,
        bundle: bool = True,
        command: list[str] | None = None,
        **settings: object,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = database
        start = _SERVE if bundle else _SERVE_WITHOUT_BUNDLE + _SERVE
        serve = [sys.executable, "-c", start, "serve", "--port", str(self.port)]
        self.command = command or [*serve, "--database", database, "--workers", str(workers)]
        changes = {"database": database, "city": "none", "operator_token": TOKEN, "backup_folder": ""}
        changes |= {"complete_notices": 0, **settings}
        self.environment = {
            **os.environ,
            **{f"SFUMATO_{name.upper()}": str(value) for name, value in changes.items()},
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.log = Path(tempfile.mkstemp(prefix="sfumato-serve-", suffix=".log")[1])
        self.process: subprocess.Popen[bytes] | None = None
        self.visitor = Visitor(base_url=self.url, timeout=60)

    def start(self, *, within_s: float = 120.0) -> CollectorProcess:
        """Start and wait until it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"The collector ended with {self.process.returncode}: {self.log.read_text()[-2000:]}"
                )
            try:
                if httpx.get(f"{self.url}/ready", timeout=1).status_code == 200:
                    return self
            except httpx.HTTPError:
                time.sleep(0.02)
        raise RuntimeError(f"The collector was not ready in time: {self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """kill -9 the process and every worker of it."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> float:
        """SIGTERM, and how many seconds it took to stop."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        return time.monotonic() - began

    def close(self) -> None:
        """Stop whatever still runs."""
        self.visitor.close()
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.log.unlink(missing_ok=True)

    def __enter__(self) -> CollectorProcess:
        """Start."""
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()


# -- what an operator and devices ask ----------------------------------------------------------------------------


def create(visitor: Visitor, name: str = "town", **changes: Any) -> dict[str, Any]:
    """A new campaign of 36 cells."""
    answer = visitor.post("/api/v1/campaigns", json=campaign_request(name, **changes), headers=operator())
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["campaign"])


def about(visitor: Visitor, name: str = "town") -> dict[str, Any]:
    """The campaign as its operator sees it."""
    return dict(visitor.get(f"/api/v1/campaigns/{name}", headers=operator()).json()["campaign"])


def history(visitor: Visitor, name: str = "town") -> list[dict[str, Any]]:
    """The closed cycles."""
    return list(visitor.get(f"/api/v1/campaigns/{name}/cycles").json()["history"])


def channel(visitor: Visitor, name: str = "town") -> dict[str, Any]:
    """The open cycle's channel."""
    return dict(visitor.get(f"/api/v1/campaigns/{name}/channel").json())


def ticket(
    visitor: Visitor, name: str = "town", *, cycle: int = 1, secret: bytes | None = None, scope: str = ""
) -> str:
    """A device's ticket."""
    tag = device_tag(name, scope or str(cycle), secret or os.urandom(32))
    answer = visitor.post(f"/api/v1/campaigns/{name}/tickets", json={"cycle": cycle, "device": tag})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["ticket"])


def report_body(visitor: Visitor, name: str = "town", **changes: Any) -> dict[str, Any]:
    """A report that would be counted."""
    return {
        "cell": 7,
        "version": channel(visitor, name)["version"],
        "key": secrets.token_hex(16),
        "ticket": changes.get("ticket") or ticket(visitor, name),
        **changes,
    }


def send(visitor: Visitor, body: Any, name: str = "town") -> httpx.Response:
    """Post one report."""
    return visitor.post(f"/api/v1/campaigns/{name}/reports", json=body)


def refused(answer: httpx.Response, status: int, words: str) -> None:
    """The answer is this refusal, in the envelope, and says so in these words."""
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert (told["ok"], told["status"]) == (False, status)
    assert words in " ".join([told["error"], *told["errors"]]), answer.text


def close(visitor: Visitor, name: str = "town") -> dict[str, Any]:
    """Ask for the cycle to be closed."""
    answer = visitor.post(f"/api/v1/campaigns/{name}/close", json={}, headers=operator())
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def crowd(
    visitor: Visitor, people: int, name: str = "town", *, middle: tuple[float, float] = MIDDLE, seed: int = 0
) -> None:
    """Reports of simulated people around a place, each drawn as on a device and sent with a ticket."""
    offer = check_offer(channel(visitor, name), caps=Caps())
    rng = np.random.default_rng(seed)
    lat, lon = middle[0] + 0.008 * rng.standard_normal(people), middle[1] + 0.012 * rng.standard_normal(people)
    for cell in offer.grid.locate(lat, lon, snap=True).tolist():
        v, k = weights(offer.grid, offer.output_weights, cell, beta_per_m=offer.beta_per_m)
        drawn = cell_from_words(v, k, rng.integers(0, 2**64, WORDS_PER_REPORT, dtype=np.uint64))
        right = ticket(visitor, name, cycle=offer.cycle) if offer.tickets is None else blind(visitor, name)
        body = {"cell": drawn, "version": offer.version, "key": secrets.token_hex(16), "ticket": right}
        answer = send(visitor, body, name)
        assert answer.status_code == 200, answer.text


def blind(visitor: Visitor, name: str = "town", *, secret: bytes | None = None, scope: str = "") -> str:
    """A device's blind ticket of the open cycle."""
    offer = check_offer(channel(visitor, name), caps=Caps())
    assert offer.tickets is not None
    kept = blind_ticket(offer.tickets.modulus)
    answer = ask_blind(visitor, name, cycle=offer.cycle, blinded=kept["blinded"], secret=secret, scope=scope)
    assert answer.status_code == 200, answer.text
    return ticket_text(offer.cycle, {**kept, "signature": signature_from(kept, answer.json()["ticket"])})


def ask_blind(
    visitor: Visitor, name: str = "town", *, cycle: int, blinded: str, secret: bytes | None = None, scope: str = ""
) -> httpx.Response:
    """Ask for the signature of a blinded ticket."""
    tag = device_tag(name, scope or str(cycle), secret or os.urandom(32))
    asked = {"cycle": cycle, "device": tag, "blinded": blinded}
    return visitor.post(f"/api/v1/campaigns/{name}/tickets", json=asked)
