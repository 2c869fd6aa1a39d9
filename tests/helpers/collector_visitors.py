"""What tests do to a collector: an operator, devices, and a store filled quickly."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
from served_collector import TOKEN, campaign_request, operator
from starlette.testclient import TestClient

from sfumato.client.wire import device_tag
from sfumato.service.app import create_app
from sfumato.service.settings import Settings
from sfumato.service.store import Report, Store

Value = TypeVar("Value")


def run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end."""
    return asyncio.run(work)


def settings(database: str, **changes: Any) -> Settings:
    """Settings of a test server: no demonstration, a known token, no rate limit."""
    chosen = {"city": "none", "operator_token": TOKEN, "requests_per_minute_per_address": 0, **changes}
    return Settings.of(database=database, **chosen)


def client(database: str, **changes: Any) -> TestClient:
    """A server in this process; use it as a context."""
    return TestClient(create_app(settings(database, **changes)), raise_server_exceptions=False)


def create(visitor: TestClient, name: str = "town", **changes: Any) -> dict[str, Any]:
    """A new campaign of 36 cells."""
    answer = visitor.post("/api/v1/campaigns", json=campaign_request(name, **changes), headers=operator())
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["campaign"])


def channel(visitor: TestClient, name: str = "town") -> dict[str, Any]:
    """The open cycle's channel."""
    return dict(visitor.get(f"/api/v1/campaigns/{name}/channel").json())


def ticket(
    visitor: TestClient, name: str = "town", *, cycle: int = 1, secret: bytes | None = None, scope: str = ""
) -> str:
    """A device's ticket."""
    tag = device_tag(name, scope or str(cycle), secret or os.urandom(32))
    answer = visitor.post(f"/api/v1/campaigns/{name}/tickets", json={"cycle": cycle, "device": tag})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["ticket"])


def report_body(visitor: TestClient, name: str = "town", **changes: Any) -> dict[str, Any]:
    """A report that would be counted."""
    return {
        "cell": 7,
        "version": channel(visitor, name)["version"],
        "key": secrets.token_hex(16),
        "ticket": changes.get("ticket") or ticket(visitor, name),
        **changes,
    }


def send(visitor: TestClient, body: Any, name: str = "town") -> Any:
    """Post one report."""
    return visitor.post(f"/api/v1/campaigns/{name}/reports", json=body)


def close(visitor: TestClient, name: str = "town") -> dict[str, Any]:
    """Ask for the cycle to be closed."""
    answer = visitor.post(f"/api/v1/campaigns/{name}/close", json={}, headers=operator())
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def fill(database: str, cells: Any, name: str = "town", *, cycle: int = 1) -> None:
    """Count reports of these cells straight in the store, each with its own key and ticket."""

    async def work() -> None:
        store = Store(database)
        campaign = next(one for one in await store.campaigns() if one.name == name)
        reports = [Report(int(cell), os.urandom(16), os.urandom(16)) for cell in np.asarray(cells)]
        await store.reports.count(campaign.id, cycle, reports, scope=cycle, relayed_cap=0)
        await store.close()

    run(work())
