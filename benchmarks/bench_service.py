"""Durable reports per second of the collector, against an empty FastAPI POST that validates the same body.

    python benchmarks/bench_service.py [--quick]

wrk sends prepared bodies (each with its own key and ticket) to three servers started alike (one uvicorn process,
access log off): the empty one, the collector on SQLite and the collector on PostgreSQL. Rounds alternate, the median
counts. Then relayed batches of 1,000 reports. Every answered report is looked for in the tallies afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "helpers")]

import httpx  # noqa: E402
from collector_harness import TOKEN, CollectorProcess, create  # noqa: E402
from postgres_server import postgres_server, programs  # noqa: E402

from needs import missing, need  # noqa: E402
from sfumato.collect.client.wire import device_tag  # noqa: E402

NEEDED_SHARE = 0.50
NEEDED_RELAYED_PER_S = 50_000
CONNECTIONS = 256


def main() -> int:
    """Run, print, and return 1 if a required number is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Shorter rounds.")
    arguments = parser.parse_args()
    need("wrk")
    seconds, rounds = (3, 2) if arguments.quick else (6, 3)
    passed = []
    with tempfile.TemporaryDirectory() as folder, empty_server() as empty:
        stores = {"SQLite": f"sqlite:///{folder}/bench.db"}
        if programs() is None:
            print(f"PostgreSQL's part is left out: {missing('postgres') or 'its programs were not found'}.")
            return report_on(stores, empty, Path(folder), seconds, rounds, passed)
        with postgres_server() as postgres:
            stores["PostgreSQL"] = postgres.create_database("bench")
            return report_on(stores, empty, Path(folder), seconds, rounds, passed)


def report_on(
    stores: dict[str, str], empty: CollectorProcess, folder: Path, seconds: int, rounds: int, passed: list[bool]
) -> int:
    """Measure each store."""
    for name, url in stores.items():
        with CollectorProcess(url) as collector:
            passed += [
                single_reports(name, collector, empty, folder, seconds, rounds),
                relayed(name, collector, folder),
            ]
            print(f"{name}: SIGTERM stopped the server in {collector.terminate():.2f} s")
    return 0 if all(passed) else 1


def empty_server() -> CollectorProcess:
    """The yardstick, started like the collector."""
    server = CollectorProcess("unused")
    server.command = [
        sys.executable, "-m", "uvicorn", "empty_service:app", "--app-dir", str(HERE), "--port", str(server.port),
        "--no-access-log", "--log-level", "warning", "--no-server-header", "--no-date-header",
    ]  # fmt: skip
    return server


def single_reports(
    name: str, collector: CollectorProcess, empty: CollectorProcess, folder: Path, seconds: int, rounds: int
) -> bool:
    """Reports with tickets, one per request."""
    create(collector.visitor, "bench", minimum_tickets=1_000_000_000)
    rates: dict[str, list[float]] = {"empty": [], name: []}
    latest, answered = {}, 0
    for _ in range(rounds):
        bodies = folder / "bodies"
        write_bodies(bodies, collector, count=9_000 * seconds)
        for which, server, path in (
            ("empty", empty, "/reports"),
            (name, collector, "/api/v1/campaigns/bench/reports"),
        ):
            result = wrk(server, path, bodies, seconds)
            assert result["failed"] == 0, result
            rates[which].append(result["requests"] / result["duration_s"])
            latest[which] = result
            answered += result["requests"] if which == name else 0
    share = statistics.median(rates[name]) / statistics.median(rates["empty"])
    print(
        f"{name}: {statistics.median(rates[name]):.0f} durable reports/s (p50 {latest[name]['p50_ms']:.1f} ms, "
        f"p99 {latest[name]['p99_ms']:.1f} ms); empty POST {statistics.median(rates['empty']):.0f}/s "
        f"(p99 {latest['empty']['p99_ms']:.1f} ms); share {share:.2f}, needed {NEEDED_SHARE:.2f}: "
        f"{verdict(share >= NEEDED_SHARE)}"
    )
    counted = exact_tickets(collector, "bench")
    # wrk stops without waiting for its last answers, so a few more than it saw may be counted; never fewer.
    kept = answered <= counted <= answered + rounds * 2 * CONNECTIONS
    print(f"{name}: {answered} answers seen, {counted} reports in the tallies: {verdict(kept)}")
    return share >= NEEDED_SHARE and kept


def relayed(name: str, collector: CollectorProcess, folder: Path) -> bool:
    """Batches of 1,000 reports under the operator's token."""
    create(collector.visitor, "relayed", relayed=True, relayed_cap_reports=1_000_000_000)
    version = httpx.get(f"{collector.url}/api/v1/campaigns/relayed/channel").json()["version"]
    bodies = folder / "batches"
    with bodies.open("w") as file:
        for _ in range(10_000):  # more than a quiet machine takes in the time: no batch is sent twice
            cells = [byte % 36 for byte in os.urandom(1_000)]
            file.write(json.dumps({"version": version, "key": secrets.token_hex(16), "cells": cells}) + "\n")
    result = wrk(collector, "/api/v1/campaigns/relayed/report-batches", bodies, 3, connections=16, token=TOKEN)
    assert result["failed"] == 0, result
    rate = 1_000 * result["requests"] / result["duration_s"]
    good = rate >= NEEDED_RELAYED_PER_S
    print(
        f"{name}: {rate:.0f} relayed reports/s in batches of 1,000 (p99 {result['p99_ms']:.1f} ms); "
        f"needed {NEEDED_RELAYED_PER_S}: {verdict(good)}"
    )
    return good


def write_bodies(path: Path, collector: CollectorProcess, *, count: int, cycle: int = 1) -> None:
    """Bodies with tickets of ``count`` devices, issued by the server's own key so that issuing costs no time here."""
    from sfumato.collect.service.rounds.tickets import issue_ticket

    key = tickets_key(collector.database)
    version = httpx.get(f"{collector.url}/api/v1/campaigns/bench/channel").json()["version"]
    expires = int(time.time()) + 3600
    with path.open("w") as file:
        for _ in range(count):
            tag = device_tag("bench", str(cycle), secrets.token_bytes(32))
            ticket = issue_ticket(
                key, campaign="bench", cycle=cycle, scope=str(cycle), device=tag, expires_at_s=expires
            )
            body = {"cell": secrets.randbelow(36), "version": version, "key": secrets.token_hex(16), "ticket": ticket}
            file.write(json.dumps(body) + "\n")


def tickets_key(database: str) -> bytes:
    """The key the server signs tickets with."""
    import asyncio

    from sfumato.collect.service.store.store import Store

    async def load() -> bytes:
        store = Store(database)
        found, _ = await store.secret("tickets_key", b"")
        await store.close()
        return found

    return asyncio.run(load())


def exact_tickets(collector: CollectorProcess, name: str) -> int:
    """The spent tickets in the store, once it is quiet."""
    import asyncio

    from sfumato.collect.service.store.store import Store

    async def load() -> int:
        store = Store(collector.database)
        campaign = next(one for one in await store.campaigns() if one.name == name)
        [tally] = await store.counts(campaign.id, cells=36, up_to=1, pooled=1)
        await store.close()
        return int(tally.direct.sum())

    time.sleep(0.5)
    return asyncio.run(load())


def wrk(
    server: CollectorProcess, path: str, bodies: Path, seconds: int, *, connections: int = CONNECTIONS, token: str = ""
) -> dict[str, float]:
    """One run of wrk."""
    command = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(connections),
        "-d",
        f"{seconds}s",
        "--timeout",
        "10s",
        "-s",
        str(HERE / "reports.lua"),
    ]
    done = subprocess.run(
        [*command, server.url, "--", path, str(bodies), *([token] if token else [])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    result: dict[str, float] = json.loads(line.removeprefix("RESULT "))
    return result


def verdict(good: bool) -> str:
    """In words."""
    return "ok" if good else "MISSED"


if __name__ == "__main__":
    raise SystemExit(main())
