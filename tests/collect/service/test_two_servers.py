"""Two servers on one database: both take reports, a cycle closes once, and nothing is lost or counted twice."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import httpx
import pytest
from collector_harness import CollectorProcess, create, history, operator, run
from postgres_server import postgres_server, programs
from sqlalchemy import text

from sfumato.collect.client.wire import device_tag
from sfumato.collect.service.store.store import Store

pytestmark = [pytest.mark.service, pytest.mark.slow]


def both_take_reports(database: str) -> None:
    """Four devices send to either server, each report to both; a cycle is closed through both at once meanwhile."""
    with CollectorProcess(database, tick_s=0.05) as one, CollectorProcess(database, tick_s=0.05) as other:
        create(one.visitor, "town")
        acknowledged: list[int] = []
        double: list[str] = []
        stop = threading.Event()

        def device(first: str, second: str) -> None:
            with httpx.Client(timeout=30) as visitor:
                while not stop.is_set():
                    home = f"{first}/api/v1/campaigns/town"
                    offered = visitor.get(f"{home}/channel").json()
                    cycle = offered["log_index"] + 1
                    tag = device_tag("town", str(cycle), os.urandom(32))
                    ticket = visitor.post(f"{home}/tickets", json={"cycle": cycle, "device": tag}).json().get("ticket")
                    if ticket is None:
                        continue
                    body = {"cell": 5, "version": offered["version"], "key": os.urandom(16).hex(), "ticket": ticket}
                    answers = [
                        visitor.post(f"{where}/api/v1/campaigns/town/reports", json=body) for where in (first, second)
                    ]
                    counted = [answer.json()["duplicate"] for answer in answers if answer.status_code == 200]
                    if counted:
                        acknowledged.append(cycle)
                    if counted.count(False) > 1:
                        double.append(body["key"])

        ways = [(one.url, other.url), (other.url, one.url)] * 2
        threads = [threading.Thread(target=device, args=way) for way in ways]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        closes = [
            threading.Thread(target=httpx.post, args=(f"{where.url}/api/v1/campaigns/town/close",),
                             kwargs={"json": {}, "headers": operator(), "timeout": 60})
            for where in (one, other)
        ]  # fmt: skip
        for closing in closes:
            closing.start()
        for closing in closes:
            closing.join()
        time.sleep(1)
        stop.set()
        for thread in threads:
            thread.join()
        log = httpx.get(f"{other.url}/api/v1/campaigns/town/log").json()["log"]
        assert [entry["cycle"] for entry in log] == [1, 2]
        final = one.visitor.post("/api/v1/campaigns/town/close", json={}, headers=operator())
        assert final.json()["closed"], final.text
        assert double == []
        assert len(acknowledged) > 10
        assert len(history(other.visitor)) == 2
        # Late reports are tallied apart from their cycle's own.
        assert run(held(database)) == len(acknowledged)


async def held(database: str) -> int:
    store = Store(database)
    try:
        async with store.database.reading() as connection:
            return int((await connection.execute(text("SELECT sum(reports) FROM tallies"))).scalar_one())
    finally:
        await store.close()


def test_two_servers_on_one_sqlite_file_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    both_take_reports(f"sqlite:///{tmp_path}/x.db")


@pytest.mark.postgres
def test_two_servers_on_one_postgresql_lose_nothing_and_count_nothing_twice() -> None:
    if programs() is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with postgres_server() as server:
        both_take_reports(server.url)
