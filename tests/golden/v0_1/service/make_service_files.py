"""How the files of the collector and of a device were made: run with the first edition (0.1.0), never with today's.

    PYTHONPATH=FIRST_EDITION/src python tests/golden/v0_1/service/make_service_files.py

A collector with two campaigns (one with two closed cycles and an open one, one that reports once and takes relayed
batches, not closed yet), a device that took part and shared a live trace, and the estimate's files as they were served.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from sfumato import __version__
from sfumato.accountant.device import Device
from sfumato.collect.client.exact_draw import WORDS_PER_REPORT, cell_from_words, weights
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.participant import Participant
from sfumato.collect.client.wire import device_tag
from sfumato.collect.service.app import create_app
from sfumato.collect.service.settings import Settings
from sfumato.tracks.live.live_trace import LiveTrace

HERE = Path(__file__).resolve().parent
TOKEN = "a-token-for-tests-only-0123456789abcdef"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
GRID = {"south": 48.84, "west": 2.30, "north": 48.8535, "east": 2.3204, "cell_size_m": 500.0}
TOWN = {"name": "town", "grid": GRID, "beta_per_m": 0.001, "minimum_cycle_s": 0, "minimum_tickets": 1}


def crowd(visitor: TestClient, name: str, people: int, rng: np.random.Generator) -> None:
    """Reports of people in one cell, each with a ticket."""
    offer = check_offer(visitor.get(f"/api/v1/campaigns/{name}/channel").json(), caps=Caps())
    v, k = weights(offer.grid, offer.output_weights, 4, beta_per_m=offer.beta_per_m)
    for _ in range(people):
        tag = device_tag(name, offer.epoch, rng.bytes(32))
        asked = visitor.post(f"/api/v1/campaigns/{name}/tickets", json={"cycle": offer.cycle, "device": tag})
        cell = cell_from_words(v, k, rng.integers(0, 2**64, WORDS_PER_REPORT, dtype=np.uint64))
        body = {"cell": cell, "version": offer.version, "key": rng.bytes(16).hex(), "ticket": asked.json()["ticket"]}
        assert visitor.post(f"/api/v1/campaigns/{name}/reports", json=body).status_code == 200


class InProcess(Participant):
    """A device that asks the server in this process."""

    visitor: TestClient

    def _call(self, method: str, address: str, body: object) -> tuple[int, dict[str, object]]:  # type: ignore[override]
        answer = self.visitor.request(method, address.removeprefix(self.url), json=body)
        return answer.status_code, answer.json()


def main() -> None:
    """Write everything beside this script."""
    assert __version__ == "0.1.0", __version__
    rng = np.random.default_rng(20261115)
    database, memory = HERE / "collector.sqlite", HERE / "device.json"
    for old in (database, memory):
        old.unlink(missing_ok=True)
    settings = Settings.of(
        database=f"sqlite:///{database}", city="none", operator_token=TOKEN, requests_per_minute_per_address=0
    )
    with TestClient(create_app(settings)) as visitor:
        assert visitor.post("/api/v1/campaigns", json=TOWN, headers=OPERATOR).status_code == 201
        once = {**TOWN, "name": "once", "reporting": "once", "relayed": True, "cycle_reports": 1000}
        assert visitor.post("/api/v1/campaigns", json=once, headers=OPERATOR).status_code == 201
        for people in (40, 30):
            crowd(visitor, "town", people, rng)
            assert visitor.post("/api/v1/campaigns/town/close", json={}, headers=OPERATOR).json()["closed"]
        crowd(visitor, "town", 12, rng)
        crowd(visitor, "once", 5, rng)
        version = visitor.get("/api/v1/campaigns/once/channel").json()["version"]
        batch = {"version": version, "key": rng.bytes(16).hex(), "cells": [0, 4, 4, 8]}
        assert visitor.post("/api/v1/campaigns/once/report-batches", json=batch, headers=OPERATOR).status_code == 200
        device = Device(memory)
        person = InProcess("https://collector.example", "town", device=device, longest_delay_s=0)
        person.visitor = visitor
        person.prepare(48.8465, 2.3105)
        assert person.send() == "counted"
        LiveTrace(noise_m=1000, device=device).release(48.8465, 2.3105, 1_790_000_000.0)
        for ending in ("csv", "geojson", "parquet", "json"):
            (HERE / f"estimate.{ending}").write_bytes(visitor.get(f"/api/v1/campaigns/town/estimate.{ending}").content)
        twins = {name: visitor.get(f"/campaigns/{name}.json").json() for name in ("town", "once")}
        twins["dashboard"] = visitor.get("/campaigns/town/dashboard.json").json()
        twins["channel"] = visitor.get("/api/v1/campaigns/town/channel").json()
        twins["log"] = visitor.get("/api/v1/campaigns/town/log").json()
        (HERE / "answers.json").write_text(json.dumps(twins, indent=1) + "\n", encoding="utf-8")
    with sqlite3.connect(database) as connection:  # one file, without its journal
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    for leftover in ("device.json.lock", "collector.sqlite-wal", "collector.sqlite-shm"):
        (HERE / leftover).unlink(missing_ok=True)
    os.chmod(memory, 0o644)  # as git keeps it; the tests make a private copy


if __name__ == "__main__":
    main()
