"""What the first edition wrote (a database, answers, files, a device's memory) is read, or refused in words."""

from __future__ import annotations

import copy
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from collector_harness import client, close, history, run, send, ticket
from repository import GOLDEN

from sfumato.base.errors import InputError
from sfumato.base.things.frames import differences_m
from sfumato.collect.client import Device
from sfumato.collect.client.offer import Caps, check_log, check_offer
from sfumato.collect.service.store.store import Store
from sfumato.tracks.live.live_trace import LiveTrace

OLD = GOLDEN / "v0_1" / "service"
NEW = ["round_reports", "averaged_rounds", "from", "until", "level"]  # what every file says of its map
ANSWERS: dict[str, Any] = json.loads((OLD / "answers.json").read_text(encoding="utf-8"))


@pytest.fixture
def database(tmp_path: Path) -> str:
    shutil.copy(OLD / "collector.sqlite", tmp_path / "collector.db")
    (tmp_path / "collector.db").chmod(0o600)
    return f"sqlite:///{tmp_path}/collector.db"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "device.json"
    shutil.copy(OLD / "device.json", path)
    path.chmod(0o600)
    return path


def kept(now: Any, then: Any) -> None:
    """Everything that was said is still said, to the last digit; what is said besides is new."""
    if isinstance(then, dict):
        assert set(then) <= set(now)
        for name, value in then.items():
            kept(now[name], value)
    elif isinstance(then, list):
        assert len(now) == len(then)
        for one, other in zip(now, then, strict=True):
            kept(one, other)
    else:
        assert now == then


def untold(then: dict[str, Any]) -> dict[str, Any]:
    """An old answer without the counts of its open cycle, which are told to operators only."""
    now = copy.deepcopy(then)
    if "campaign" in now:
        now["campaign"]["cycle"] |= dict.fromkeys(("tickets", "reports", "relayed_reports"))
    return now


def test_an_old_collectors_answers_are_the_same_to_the_last_digit(database: str) -> None:
    with client(database, tick_s=60) as visitor:
        for address, then in (
            ("/campaigns/town.json", ANSWERS["town"]),
            ("/campaigns/once.json", ANSWERS["once"]),
            ("/api/v1/campaigns/town/channel", ANSWERS["channel"]),
            ("/api/v1/campaigns/town/log", ANSWERS["log"]),
            ("/api/v1/campaigns/town/estimate", json.loads((OLD / "estimate.json").read_text(encoding="utf-8"))),
        ):
            kept(visitor.get(address).json(), untold(then))
        # The dashboard's arrays are pages of their own now.
        now = visitor.get("/campaigns/town/dashboard.json").json()
        then = untold(ANSWERS["dashboard"])
        arrays = [(one.pop("estimate"), one.pop("low"), one.pop("high")) for one in then["history"]]
        kept(now, then)
        for one, (estimate, low, high) in zip(now["history"], arrays, strict=True):
            page = visitor.get(f"/campaigns/town/maps/{one['cycle']}/1.json").json()["map"]
            assert (page["estimate"], page["low"], page["high"]) == (estimate, low, high)
            assert (page["pages"], page["this_cycle"]) == (1, None)


def test_an_old_collectors_files_are_the_same_and_say_when_and_of_how_many(database: str, tmp_path: Path) -> None:
    """What an old file held, to the last digit, and beside it how many reported in which time, and the level."""
    address = "/api/v1/campaigns/town/estimate"
    with client(database, tick_s=60) as visitor:
        lines = visitor.get(f"{address}.csv").text.splitlines()
        shapes = visitor.get(f"{address}.geojson").json()
        (tmp_path / "now.parquet").write_bytes(visitor.get(f"{address}.parquet").content)
    before = (OLD / "estimate.csv").read_text(encoding="utf-8").splitlines()
    columns = before[0].count(",") + 1
    assert [line.split(",")[:columns] for line in lines] == [line.split(",") for line in before]
    assert lines[0].split(",")[columns:] == NEW
    now, then = pq.read_table(tmp_path / "now.parquet"), pq.read_table(OLD / "estimate.parquet")
    assert now.select(then.column_names).equals(then)
    assert set(now.column_names) == {*then.column_names, *NEW}
    assert now.schema.metadata[b"geo"] == then.schema.metadata[b"geo"]
    old_shapes = json.loads((OLD / "estimate.geojson").read_bytes())
    for shape, old in zip(shapes["features"], old_shapes["features"], strict=True):
        assert list(shape["properties"]) == [*old["properties"], *NEW]
        shape["properties"] = {name: shape["properties"][name] for name in old["properties"]}
    assert shapes == old_shapes


def test_an_old_collector_goes_on_counting_and_closing(database: str) -> None:
    with client(database, tick_s=60) as visitor:
        for name, cycle, before in (("town", 3, 13), ("once", 1, 5)):
            body = {
                "cell": 4,
                "version": visitor.get(f"/api/v1/campaigns/{name}/channel").json()["version"],
                "key": "ab" * 16,
                "ticket": ticket(visitor, name, cycle=cycle, scope="once" if name == "once" else ""),
            }
            assert send(visitor, body, name).json()["duplicate"] is False
            assert close(visitor, name)["reason"] == "closed"
            assert history(visitor, name)[-1]["tickets"] == before + 1
        offer = check_offer(visitor.get("/api/v1/campaigns/town/channel").json(), caps=Caps())
        assert (offer.cycle, offer.public_key) == (4, ANSWERS["channel"]["public_key"])
        log = visitor.get("/api/v1/campaigns/town/log").json()["log"]
        check_log(log, offer, seen={str(one["cycle"]): one["version"] for one in ANSWERS["log"]["log"]})


@pytest.mark.parametrize("change", ["json_remove(specification, '$.floor')", "json_set(specification, '$.later', 1)"])
def test_a_database_that_says_something_else_is_refused_in_words(database: str, change: str) -> None:
    with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
        connection.execute(f"UPDATE campaigns SET specification = {change}")
    connection.close()

    async def look() -> None:
        store = Store(database)
        try:
            await store.open()
            await store.campaigns()
        finally:
            await store.close()

    with pytest.raises(InputError, match=r"holds a Specification that this version cannot read.*that wrote it"):
        run(look())


def test_an_old_devices_budget_reports_and_live_trace_go_on(memory: Path) -> None:
    device = Device(memory)
    budget = device.budget()
    assert [entry["what"] for entry in budget.entries] == ["report", "live trace"]
    assert (budget.cap_per_km, budget.delta) == (30.0, 1e-6)
    assert budget.spent_per_km == pytest.approx(1.6566363956657661 + 20.031647501091975)
    before = device.read()
    trace = LiveTrace(noise_m=1000, device=device)
    assert trace.release(48.8465, 2.3105, 1_790_000_000.0) == tuple(before["live"]["live"]["released"])
    trace.release(48.8465, 2.3105, 1_790_000_060.0)
    after = device.read()
    assert after["entries"] == before["entries"]
    assert after["campaigns"] == before["campaigns"]
    assert after["live"]["live"]["state"]["constant"] == before["live"]["live"]["state"]["constant"]
    assert after["live"]["live"]["shares"] == [0.05, 0.1]  # it goes on as it began, whatever is shipped now


def test_an_old_live_trace_keeps_the_size_of_its_constant(memory: Path) -> None:
    device = Device(memory)
    trace = LiveTrace(noise_m=1000, device=device)
    constant = device.read()["live"]["live"]["state"]["constant"]
    moved = []
    for day in range(1, 400):  # far apart: all but the constant averages out
        lat, lon = trace.release(48.8465, 2.3105, 1_790_000_000.0 + 86_400.0 * 30 * day)
        moved.append(differences_m([48.8465], [2.3105], [lat], [lon])[0])
    assert np.mean(moved, axis=0) == pytest.approx(1000 * np.sqrt(0.1) * np.array(constant), abs=200)


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "sfumato-device/2"},
        {"entries": None},
        {"entries": [{"what": "report"}]},
        {"cap_per_km": "much"},
        {"campaigns": {"x": {"reports": {"1": {"cell": "4"}}}}},
        {"live": {"live": {"noise_m": 5}}},
    ],
    ids=["newer", "no ledger", "an entry without its cost", "a cap in words", "a report in words", "no state"],
)
def test_a_memory_that_is_not_one_is_refused_and_left_alone(memory: Path, damage: dict[str, Any]) -> None:
    memory.write_text(json.dumps({**json.loads(memory.read_text()), **damage}))
    before = memory.read_bytes()
    with pytest.raises(InputError, match="is not a device file"):
        Device(memory).debit("report", epsilon_per_km=0.1)
    assert memory.read_bytes() == before
