"""Clocks that step by ten years, either way, while the server runs or while it is down: no campaign stands still."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest
from collector_harness import (
    about,
    campaign_request,
    client,
    close,
    create,
    fill,
    operator,
    report_body,
    run,
    send,
    settings,
)
from sqlalchemy import update

from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.current import SteadyClock
from sfumato.collect.service.store.records import Campaign, StoredCycle
from sfumato.collect.service.store.schema import cycles

YEARS = 10 * 365.25 * 86_400


class Machine:
    """A machine whose clock can be set and whose time can pass."""

    def __init__(self) -> None:
        self.wall_s = 1_790_000_000.0
        self.passed_s = 1000.0

    def sleep(self, seconds: float) -> None:
        self.wall_s += seconds
        self.passed_s += seconds

    def clock(self) -> SteadyClock:
        return SteadyClock(wall=lambda: self.wall_s, passed=lambda: self.passed_s)


@pytest.mark.parametrize("step_s", [YEARS, -YEARS])
def test_a_steady_clock_ignores_a_step_says_so_once_and_follows_small_corrections(
    step_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.sleep(3600)
    machine.wall_s += 2.5  # a correction
    assert clock() == machine.wall_s
    began = clock()
    machine.wall_s += step_s
    machine.sleep(60)
    assert clock() == pytest.approx(began + 60)
    machine.sleep(60)
    assert clock() == pytest.approx(began + 120)
    assert sum("stepped by" in record.getMessage() for record in caplog.records) == 1
    assert "reschedule" in caplog.text
    machine.wall_s -= step_s
    assert clock() == machine.wall_s
    machine.wall_s += step_s
    clock()
    clock.adopt()
    assert clock() == machine.wall_s


def test_a_machine_that_slept_is_no_step() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.sleep(30 * 86_400)
    assert clock() == machine.wall_s
    assert clock.stepped_by_s == 0


@pytest.mark.parametrize("step_s", [YEARS, -YEARS], ids=["forward", "back"])
def test_a_step_while_the_server_runs_closes_nothing_early_and_freezes_nothing(tmp_path: Path, step_s: float) -> None:
    machine = Machine()
    database = f"sqlite:///{tmp_path}/x.db"

    async def work() -> None:
        collector = Collector(settings(database, tick_s=60), now=machine.clock())
        await collector.start()
        asked = {"cycle_duration_s": 1000, "minimum_cycle_s": 500}
        request = CampaignRequest.model_validate({**_town(), **asked})
        await collector.create_campaign(request, who="operator")
        fill_now(database, 60)
        machine.wall_s += step_s
        machine.sleep(100)
        await collector._close_due()
        assert await collector.close_cycle("town", who="operator") == (False, 1, "the cycle is younger than 500 s")
        machine.sleep(950)
        await collector._close_due()
        _, cycle = await _settled(collector)
        assert cycle.number == 2
        assert abs(cycle.opened_at_s - 1_790_001_050) < 5
        await collector.stop()

    run(work())


@pytest.mark.parametrize("step_s", [YEARS, -YEARS], ids=["forward", "back"])
def test_a_step_while_the_server_is_down_and_back_again_freezes_nothing(tmp_path: Path, step_s: float) -> None:
    """Started in the wrong decade, it opens a cycle there; started again in the right one, that cycle begins now."""
    machine = Machine()
    database = f"sqlite:///{tmp_path}/x.db"

    async def visit(create_it: bool = False) -> tuple[int, int, int | None]:
        collector = Collector(settings(database, tick_s=60), now=machine.clock())
        await collector.start()
        if create_it:
            asked = {"cycle_duration_s": 1000, "minimum_cycle_s": 0}
            await collector.create_campaign(CampaignRequest.model_validate({**_town(), **asked}), who="operator")
        await collector._close_due()
        _, cycle = await _settled(collector)
        await collector.stop()
        return cycle.number, cycle.opened_at_s, cycle.due_at_s

    run(visit(create_it=True))
    fill_now(database, 60)
    machine.wall_s += step_s
    run(visit())
    machine.wall_s -= step_s
    machine.sleep(10)
    number, opened_at_s, due_at_s = run(visit())
    assert opened_at_s <= machine.wall_s + 1
    assert due_at_s is not None
    assert due_at_s <= machine.wall_s + 1001
    fill_now(database, 60, cycle=number)
    machine.sleep(1100)
    assert run(visit())[0] > number


def test_a_lease_from_the_wrong_decade_does_not_keep_a_cycle_closing(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    machine = Machine()

    async def work() -> None:
        collector = Collector(settings(database, tick_s=60), now=machine.clock())
        await collector.start()
        await collector.create_campaign(CampaignRequest.model_validate(_town()), who="operator")
        campaign = await collector.campaign("town")
        cycle = await collector.store.current_cycle(campaign.id)
        fill_now(database, 60)
        async with collector.store.database.writing() as connection:
            wrong = {"state": "closing", "closer": "gone", "lease_until_s": machine.wall_s + YEARS}
            await connection.execute(update(cycles).values(**wrong))
        assert cycle.number == 1
        await collector._close_due()
        _, cycle = await _settled(collector)
        assert (cycle.number, cycle.state) == (2, "open")
        await collector.stop()

    run(work())


def test_the_operators_way_out_begins_the_cycle_again_by_the_machines_clock(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        create(visitor, cycle_duration_s=1000)
        collector = visitor.app.state.collector
        machine = Machine()
        collector.now = machine.clock()
        machine.wall_s += YEARS
        assert abs(collector.now() - 1_790_000_000) < 5
        answer = visitor.post("/api/v1/campaigns/town/reschedule", json={"reason": "NTP"}, headers=operator())
        assert answer.status_code == 200
        cycle = about(visitor)["cycle"]
        assert cycle["opened_at_s"] == int(machine.wall_s)
        assert cycle["due_at_s"] == int(machine.wall_s) + 1000
        assert collector.now() == machine.wall_s
        assert send(visitor, report_body(visitor)).status_code == 200
        assert close(visitor)["closed"]


def test_a_step_loses_no_acknowledged_report_and_counts_none_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=0.02) as visitor:
        create(visitor, cycle_duration_s=86_400)
        machine = Machine()
        visitor.app.state.collector.now = machine.clock()
        acknowledged = 0
        for step_s in (0, YEARS, -2 * YEARS, YEARS, -3600, 3600):
            machine.wall_s += step_s
            machine.sleep(1)
            body = report_body(visitor)
            first, again = send(visitor, body), send(visitor, body)
            acknowledged += first.status_code == 200
            assert (first.json()["duplicate"], again.json()["duplicate"]) == (False, True)
        assert close(visitor)["closed"]
        counted = visitor.get("/api/v1/campaigns/town/estimate").json()["cycle"]
        assert (counted["tickets"], sum(counted["counts"])) == (acknowledged, acknowledged) == (6, 6)


def _town() -> dict[str, object]:
    return campaign_request("town")


def fill_now(database: str, reports: int, cycle: int = 1) -> None:
    # The harness runs a loop of its own.
    thread = threading.Thread(target=fill, args=(database, [3] * reports), kwargs={"cycle": cycle})
    thread.start()
    thread.join()


async def _settled(collector: Collector) -> tuple[Campaign, StoredCycle]:
    """The campaign and its cycle once nothing is being closed any more."""
    for _ in range(200):
        campaign, cycle = await collector.fresh("town")
        progress = await collector.store.progress()
        if all(one.state == "open" for one in progress):
            return campaign, cycle
        await asyncio.sleep(0.05)
    raise AssertionError("The cycle is still being closed.")
