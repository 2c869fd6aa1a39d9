"""The store keeps what it acknowledged, counts each key and ticket once, and closes a cycle once: on both databases."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest
from collector_harness import campaign_request, run, settings
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from sfumato.base.errors import InputError
from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.rounds.closing import Closer
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.writer import Metrics
from sfumato.collect.service.store.records import Destination, Outcome, RelayedBatch, Report
from sfumato.collect.service.store.schema import metadata
from sfumato.collect.service.store.store import Store


class Town:
    """A collector with one campaign, and its store."""

    def __init__(self, database: str, **changes: object) -> None:
        self.collector = Collector(settings(database, tick_s=60))
        self.changes = changes

    async def __aenter__(self) -> Town:
        await self.collector.start()
        self.store = self.collector.store
        request = CampaignRequest.model_validate(campaign_request("town", **self.changes))
        self.campaign, self.cycle = await self.collector.create_campaign(request, who="operator")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.collector.stop()

    async def count(self, *reports: Report | RelayedBatch, cycle: int = 1, cap: int = 0) -> list[Outcome]:
        counted = await self.store.reports.count(Destination(self.campaign.id, cycle, cycle, cap), reports)
        return list(counted.outcomes)

    async def tally(self, cycle: int = 1) -> np.ndarray:
        [counts] = await self.store.counts(self.campaign.id, cells=36, up_to=cycle, pooled=1)
        return np.stack([counts.direct, counts.relayed])

    async def rows(self, table: str) -> int:
        async with self.store.database.reading() as connection:
            return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())


def new(cell: int = 3) -> Report:
    return Report(cell, os.urandom(16), os.urandom(16))


def test_the_live_connection_is_durable(database: str) -> None:
    async def work() -> dict[str, str]:
        async with Town(database) as town:
            return await town.store.database.durability()

    found = run(work())
    assert found in ({"journal_mode": "wal", "synchronous": "2"}, {"fsync": "on", "synchronous_commit": "on"})


def test_the_connection_that_writes_reports_is_durable_too(tmp_path: Path) -> None:
    async def work() -> list[int]:
        async with Town(f"sqlite:///{tmp_path}/x.db") as town:
            fast = town.store.reports._fast

            def ask() -> int:
                with fast._engine.connect() as connection:
                    return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())

            return [await asyncio.get_running_loop().run_in_executor(fast._thread, ask)]

    assert run(work()) == [2]


def test_a_resent_report_is_counted_once_and_a_spent_ticket_buys_nothing_more(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            first = new()
            assert await town.count(first) == [Outcome.COUNTED]
            assert await town.count(first) == [Outcome.DUPLICATE]
            assert await town.count(Report(5, os.urandom(16), first.nonce)) == [Outcome.TICKET_SPENT]
            assert await town.count(first, new(4), first) == [Outcome.DUPLICATE, Outcome.COUNTED, Outcome.DUPLICATE]
            twin = new(9)
            again = Report(8, os.urandom(16), twin.nonce)
            assert await town.count(twin, twin, again) == [Outcome.COUNTED, Outcome.DUPLICATE, Outcome.TICKET_SPENT]
            tally = (await town.tally())[0]
            assert tally.sum() == 3
            assert tally[[3, 4, 9]].tolist() == [1, 1, 1]
            assert (await town.store.current_cycle(town.campaign.id)).tickets == 3
            assert await town.rows("report_keys") == await town.rows("spent_tickets") == 3

    run(work())


def test_a_refused_ticket_does_not_burn_its_reports_key(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            first = new()
            await town.count(first)
            refused = Report(5, os.urandom(16), first.nonce)
            assert await town.count(refused) == [Outcome.TICKET_SPENT]
            with_a_good_ticket = Report(5, refused.key, os.urandom(16))
            assert await town.count(with_a_good_ticket) == [Outcome.COUNTED]

    run(work())


def test_relayed_batches_are_tallied_apart_counted_once_and_capped(database: str) -> None:
    async def work() -> None:
        async with Town(database, relayed=True) as town:
            batch = RelayedBatch(((1, 600), (2, 400)), 1000, os.urandom(16))
            assert await town.count(batch, new(1), cap=1500) == [Outcome.COUNTED, Outcome.COUNTED]
            assert await town.count(batch, cap=1500) == [Outcome.DUPLICATE]
            other = RelayedBatch(((1, 501),), 501, os.urandom(16))
            assert await town.count(other, cap=1500) == [Outcome.OVER_CAP]
            direct, relayed = await town.tally()
            assert (direct.sum(), relayed[1], relayed[2]) == (1, 600, 400)
            cycle = await town.store.current_cycle(town.campaign.id)
            assert (cycle.tickets, cycle.relayed_reports) == (1, 1000)

    run(work())


def test_many_writers_at_once_lose_nothing_and_count_nothing_twice(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            others = [Store(database) for _ in range(3)]
            batches = [[new(int(cell)) for cell in np.random.default_rng(k).integers(36, size=40)] for k in range(12)]

            async def write(store: Store, mine: list[list[Report]]) -> None:
                for batch in mine:
                    await store.reports.count(Destination(town.campaign.id, 1, 1, 0), batch)

            # Each batch is sent by two servers.
            await asyncio.gather(*(write(store, batches[k:] + batches[:k]) for k, store in enumerate(others)))
            for store in others:
                await store.close()
            wanted = np.bincount([report.cell for batch in batches for report in batch], minlength=36)
            assert (await town.tally())[0].tolist() == wanted.tolist()
            assert (await town.store.current_cycle(town.campaign.id)).tickets == 480

    run(work())


def test_a_cycle_closes_exactly_once_however_many_servers_try(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            await town.count(*(new(k % 36) for k in range(200)))
            servers = [Collector(settings(database, tick_s=60)) for _ in range(3)]
            for server in servers:
                await server.start()

            async def attempt(server: Collector) -> bool:
                cycle = await server.store.current_cycle(town.campaign.id)
                return cycle.number == 1 and cycle.state == "open" and await server.closer.close(town.campaign, cycle)

            won = await asyncio.gather(*(attempt(server) for server in [*servers, town.collector]))
            assert sum(won) == 1
            cycle = await town.store.current_cycle(town.campaign.id)
            assert (cycle.number, cycle.state, cycle.tickets) == (2, "open", 0)
            assert len(await town.store.closed_cycles(town.campaign.id)) == 1
            assert len(await town.store.log(town.campaign.id)) == 2
            assert await town.count(new()) == [Outcome.CYCLE_CLOSED]
            assert await town.rows("report_keys") == await town.rows("spent_tickets") == 200
            assert await town.store.forget_late(now_s=2e12)
            assert not await town.store.forget_late(now_s=2e12)
            assert await town.rows("report_keys") == await town.rows("spent_tickets") == 0
            for server in servers:
                await server.stop()

    run(work())


def test_a_server_that_vanishes_while_closing_is_replaced_and_cannot_publish_later(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            await town.count(*(new(k % 36) for k in range(100)))
            cycle = await town.store.current_cycle(town.campaign.id)
            gone = Closer(town.store, town.collector.signer, settings(database), Metrics(), now=lambda: 100.0)
            assert await gone._hand_over(town.campaign, cycle)
            assert await town.count(new()) == [Outcome.CYCLE_CLOSED]
            assert (await town.store.current_cycle(town.campaign.id)).number == 2, "the next cycle is open at once"
            await town.collector.closer.look(town.campaign, await town.store.cycle(town.campaign.id, 1))
            await asyncio.gather(*town.collector.closer._estimates.values())
            assert (await town.store.cycle(town.campaign.id, 1)).state == "closed"
            assert len(await town.store.log(town.campaign.id)) == 2
            assert not await town.store.renew_lease(cycle, closer=gone.name, lease_until_s=1e12)

    run(work())


def test_a_due_cycle_with_too_few_tickets_is_merged_with_the_next_period(database: str) -> None:
    async def work() -> None:
        async with Town(database, minimum_tickets=50, cycle_duration_s=100) as town:
            closer = town.collector.closer
            await town.count(*(new() for _ in range(49)))
            opened = town.cycle.opened_at_s
            closer.now = lambda: opened + 250.0
            await closer.look(town.campaign, await town.store.current_cycle(town.campaign.id))
            merged = await town.store.current_cycle(town.campaign.id)
            assert (merged.number, merged.state, merged.merged_periods) == (1, "open", 1)
            assert merged.due_at_s == opened + 300
            assert merged.version == town.cycle.version
            await town.count(new())
            closer.now = lambda: opened + 299.0
            await closer.look(town.campaign, await town.store.current_cycle(town.campaign.id))
            assert (await town.store.current_cycle(town.campaign.id)).number == 1
            closer.now = lambda: opened + 301.0
            await closer.look(town.campaign, await town.store.current_cycle(town.campaign.id))
            assert (await town.store.current_cycle(town.campaign.id)).number == 2

    run(work())


def test_the_log_of_versions_cannot_be_changed_or_shortened(database: str) -> None:
    async def work() -> None:
        async with Town(database) as town:
            before = await town.store.log(town.campaign.id)
            statements = ["UPDATE channel_log SET version = 'x'", "DELETE FROM channel_log"]
            columns = "campaign_id, position, cycle, version, previous, entry, signature"
            again = f"INTO channel_log SELECT {columns.replace('version', repr('x'))} FROM channel_log WHERE true"
            if town.store.database.dialect == "sqlite":
                statements.append(f"INSERT OR REPLACE {again}")
            statements.append(f"INSERT {again} ON CONFLICT (campaign_id, position) DO UPDATE SET version = 'x'")
            for statement in statements:
                with pytest.raises(DBAPIError, match="append-only"):
                    async with town.store.database.writing() as connection:
                        await connection.execute(text(statement))
            assert await town.store.log(town.campaign.id) == before

    run(work())


def test_no_table_can_hold_a_place_an_address_or_the_time_of_a_report() -> None:
    columns = {table.name: set(table.columns.keys()) for table in metadata.sorted_tables}
    assert columns["tallies"] == {"campaign_id", "cycle", "relayed", "cell", "reports"}
    assert columns["report_keys"] == {"campaign_id", "cycle", "key"}
    assert columns["spent_tickets"] == {"campaign_id", "scope", "nonce"}
    everything = set().union(*columns.values())
    for word in ("lat", "lon", "ip", "address", "agent", "device", "user"):
        assert not [name for name in everything if word in name.split("_")]


def test_the_migrated_tables_are_those_of_the_schema(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    async def work() -> list[object]:
        async with Town(database) as town, town.store.database.reading() as connection:
            return await connection.run_sync(lambda sync: compare_metadata(MigrationContext.configure(sync), metadata))

    assert run(work()) == []


def test_a_database_that_forgets_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        store = Store(f"sqlite:///{tmp_path}/x.db")

        async def forgetful() -> dict[str, str]:
            return {"fsync": "off", "synchronous_commit": "on"}

        monkeypatch.setattr(store.database, "durability", forgetful)
        try:
            await store.open()
        finally:
            await store.close()

    with pytest.raises(InputError, match="fsync is off"):
        run(work())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://x/y", "There is no store for mysql"),
        ("sqlite://", "has no file"),
        ("sqlite:///:memory:", "has no file"),
        ("nonsense", "is not a URL"),
        ("sqlite:////no/such/folder/x.db", "There is no folder"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_with_advice(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Store(url)
    assert caught.value.advice
