"""A report is answered before the framework is asked, in the framework's own words; and readers leave room for it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from collector_harness import client, create, report_body, settings, ticket
from starlette.requests import Request
from starlette.testclient import TestClient

from sfumato.collect.service.app import create_app
from sfumato.collect.service.door.answers import HotReports
from sfumato.collect.service.door.looks import Looks

JSON = {"content-type": "application/json"}


def _without_the_short_way(database: str) -> TestClient:
    app = create_app(settings(database))
    app.user_middleware = [one for one in app.user_middleware if one.cls is not HotReports]
    return TestClient(app, raise_server_exceptions=False)


def _asked(town: TestClient) -> list[tuple[str, dict[str, Any]]]:
    """Requests of every kind that ends in an answer of its own."""
    right = report_body(town, ticket=ticket(town))
    path = "/api/v1/campaigns/town/reports"
    wrong = {**right, "ticket": right["ticket"][:-1] + ("0" if right["ticket"][-1] != "0" else "1")}
    return [
        (path, {"json": right}),
        (path, {"json": right}),
        (path, {"json": {**right, "key": "0" * 32}}),
        (path, {"json": wrong}),
        (path, {"json": {**right, "cell": 36}}),
        (path, {"json": {**right, "cell": -1}}),
        (path, {"json": {**right, "lat": 48.85}}),
        (path, {"json": {**right, "version": "0" * 64}}),
        (path, {"content": b"{", "headers": JSON}),
        (path, {"content": b"", "headers": JSON}),
        (path, {"json": right, "headers": {"content-type": "text/plain"}}),
        (path, {"json": right, "headers": {"content-type": "Application/JSON; charset=utf-8"}}),
        (path, {"content": b" " * 100_000, "headers": JSON}),
        ("/api/v1/campaigns/nowhere/reports", {"json": right}),
        ("/api/v1/campaigns/NOWHERE/reports", {"json": right}),
        (f"{path}/", {"json": right}),
    ]


def test_the_short_way_answers_as_the_framework_does(tmp_path: Path) -> None:
    answers = []
    for name, make in (("short", client), ("long", _without_the_short_way)):
        with make(f"sqlite:///{tmp_path}/{name}.db") as town:
            create(town)
            answers.append([town.post(path, **asked) for path, asked in _asked(town)])
            assert town.get("/api/v1/campaigns/town/reports").status_code == 405
    for short, long in zip(*answers, strict=True):
        assert (short.status_code, short.json()) == (long.status_code, long.json())
        differing = {
            name for name in {*short.headers, *long.headers} if short.headers.get(name) != long.headers.get(name)
        }
        assert not differing
    assert [answer.status_code for answer in answers[0]] == [
        *(200, 200, 409, 401, 409, 422, 422, 409, 422, 422, 415, 200, 413, 404, 422, 404)
    ]  # fmt: skip


def test_answers_to_readers_leave_apart_while_reports_come_in() -> None:
    async def taken_s() -> float:
        looks = Looks(lambda: True)
        request = Request({"type": "http", "headers": []})

        async def stamp() -> str:
            return "same"

        async def make() -> bytes:
            return b"{}"

        began = time.perf_counter()
        answers = await asyncio.gather(*(looks.answer(request, "key", stamp, make) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        return time.perf_counter() - began

    assert asyncio.run(taken_s()) >= 20 * 0.004
