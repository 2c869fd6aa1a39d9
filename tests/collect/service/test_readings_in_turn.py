"""A reading of the database that began before an operator's act and ends after it undoes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from collector_harness import campaign_request, run, settings

from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.operating import lifecycle
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.store.records import StoredCycle


@asynccontextmanager
async def collecting(folder: Path) -> AsyncIterator[Collector]:
    collector = Collector(settings(f"sqlite:///{folder}/x.db", tick_s=60))
    await collector.start()
    try:
        await collector.create_campaign(CampaignRequest.model_validate(campaign_request("town")), who="operator")
        yield collector
    finally:
        await collector.stop()


@asynccontextmanager
async def slow_reading(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """What the clock does now and then, begun before the block and ending after it."""
    began, go_on, read = asyncio.Event(), asyncio.Event(), collector.store.current_cycle

    async def held(campaign_id: int) -> StoredCycle:
        found = await read(campaign_id)
        began.set()
        await go_on.wait()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(collector.store, "current_cycle", held)
        reading = asyncio.ensure_future(collector.current.refresh())
        await began.wait()
    yield
    go_on.set()
    await reading


@pytest.mark.parametrize(
    ("act", "status"), [("pause", 409), ("end", 410), ("delete", 404)], ids=["pause", "end", "delete"]
)  # without a report the name of what was deleted is free again
def test_what_an_operator_stopped_stays_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, status: int
) -> None:
    async def work() -> None:
        async with collecting(tmp_path) as collector:
            if act == "delete":
                await lifecycle.end(collector, "town", who="operator")
            async with slow_reading(collector, monkeypatch):
                if act == "delete":
                    await lifecycle.delete(collector, "town", confirm="town", who="operator")
                else:
                    await getattr(lifecycle, act)(collector, "town", who="operator")
            with pytest.raises(Refused) as refused:
                await collector.open_offer("town")
            assert refused.value.status == status

    run(work())


def test_a_campaign_that_was_made_meanwhile_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with collecting(tmp_path) as collector:
            async with slow_reading(collector, monkeypatch):
                request = CampaignRequest.model_validate(campaign_request("village"))
                await collector.create_campaign(request, who="operator")
            assert [offer.campaign.name for offer in collector.current.all()] == ["town", "village"]

    run(work())


def test_a_change_is_seen_again_where_acting_on_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with collecting(tmp_path) as collector:
            other = Collector(settings(f"sqlite:///{tmp_path}/x.db", tick_s=60))
            await other.start()
            await lifecycle.pause(other, "town", who="operator")
            await other.stop()

            async def unreachable() -> None:
                raise OSError("gone")

            with monkeypatch.context() as patch:
                patch.setattr(collector.current, "refresh", unreachable)
                with pytest.raises(OSError, match="gone"):
                    await collector._close_due()
            await collector._close_due()
            with pytest.raises(Refused, match="paused"):
                await collector.open_offer("town")

    run(work())
