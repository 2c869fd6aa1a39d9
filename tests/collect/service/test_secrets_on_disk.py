"""What was forgotten is in no file of the database, and no file of the database is for others."""

from __future__ import annotations

import base64
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from collector_harness import channel, client, close, create, refused, report_body, run, send, ticket

from sfumato.base.errors import InputError
from sfumato.collect.service.store.records import Destination, Report
from sfumato.collect.service.store.store import Store


def found(folder: Path, secrets: list[bytes]) -> dict[str, int]:
    """How many of these secrets each file holds, as bytes, hexadecimal or base64.

    The log is read before the database: pages only move that way, so a checkpoint between the two hides nothing.
    """
    held = {}
    for file in sorted(folder.iterdir(), reverse=True):
        content = file.read_bytes()
        held[file.name] = sum(
            secret in content
            or secret.hex().encode() in content
            or secret.hex().upper().encode() in content
            or base64.b64encode(secret).rstrip(b"=") in content
            for secret in secrets
        )
    return held


def counted(database: str, cycle: int, count: int) -> list[bytes]:
    """Count so many reports, in batches, and return their keys and nonces."""
    reports = [Report(k % 36, os.urandom(16), os.urandom(16)) for k in range(count)]

    async def work() -> None:
        store = Store(database)
        for first in range(0, count, 97):
            await store.reports.count(Destination(1, cycle, cycle, 0), reports[first : first + 97])
        await store.close()

    run(work())
    return [secret for report in reports for secret in (report.key, report.nonce)]


@pytest.mark.slow
def test_no_file_of_the_database_holds_a_key_or_nonce_that_was_forgotten(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/town.db"
    secrets: list[bytes] = []
    with client(database, late_reports_s=0, tick_s=0.05) as town:
        create(town)
        for cycle in (1, 2):
            body = report_body(town, ticket=ticket(town, cycle=cycle), version=channel(town)["version"])
            assert send(town, body).status_code == 200
            mine = [bytes.fromhex(body["key"]), bytes.fromhex(body["ticket"].split("-")[3])]
            mine += counted(database, cycle, 1_500)
            assert sum(found(tmp_path, mine).values()) >= len(mine), "the scan finds what is there"
            secrets += mine
            close(town)
        deadline = time.monotonic() + 120
        while any(found(tmp_path, secrets).values()):
            assert time.monotonic() < deadline, found(tmp_path, secrets)
            time.sleep(0.1)
        assert (tmp_path / "town.db-wal").exists(), "the server still runs: nothing was lost by stopping"
    assert not any(found(tmp_path, secrets).values())


def test_a_server_that_died_before_it_cleaned_up_cleans_up_at_its_next_start(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/town.db"
    with client(database, late_reports_s=0, tick_s=60) as town:
        create(town)
        secrets = counted(database, 1, 300)
        close(town)
        # Copied while it runs: as if it had been killed now.
        left = tmp_path / "left"
        left.mkdir()
        for file in tmp_path.glob("town.db*"):
            (left / file.name).write_bytes(file.read_bytes())
            (left / file.name).chmod(0o600)
    (left / "town.db-shm").unlink()
    assert sum(found(left, secrets).values())
    with client(f"sqlite:///{left}/town.db", late_reports_s=0, tick_s=0.05):
        deadline = time.monotonic() + 120
        while any(found(left, secrets).values()):
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_database_and_its_side_files_are_for_their_owner_from_the_start(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with client(f"sqlite:///{tmp_path}/town.db") as town:
            create(town)
            counted(f"sqlite:///{tmp_path}/town.db", 1, 50)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {"town.db", "town.db-wal", "town.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("side", ["", "-wal"])
def test_a_database_that_everybody_can_read_is_refused_in_words(tmp_path: Path, side: str) -> None:
    database = f"sqlite:///{tmp_path}/town.db"
    with client(database) as town:
        create(town)
    (tmp_path / f"town.db{side}").touch()
    (tmp_path / f"town.db{side}").chmod(0o604)

    async def start() -> None:
        store = Store(database)
        try:
            await store.open()
        finally:
            await store.close()

    with pytest.raises(InputError, match=rf"Everybody on this machine can read town.db{side}.*chmod 600 town.db\*"):
        run(start())
    (tmp_path / f"town.db{side}").chmod(0o640)
    run(start())


def test_late_reports_are_counted_once_apart_and_in_the_next_estimate(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/town.db"
    with client(database, tick_s=60) as town:
        create(town)
        counted(database, 1, 100)
        late = report_body(town, cell=5)
        unasked = {**report_body(town), "cell": 6}
        close(town)
        published = town.get("/api/v1/campaigns/town/estimate").json()["cycle"]
        assert send(town, late).json() == {**send(town, report_body(town, ticket=ticket(town, cycle=2))).json()}
        assert send(town, late).json()["duplicate"] is True
        refused(send(town, {**late, "key": "0" * 32}), 409, "already spent")
        # The device drew in time and asks for its ticket only now.
        assert send(town, {**unasked, "ticket": ticket(town, cycle=1)}).status_code == 200
        again = town.get("/api/v1/campaigns/town/estimate").json()["cycle"]
        assert again == published, "what was published does not change"
        assert town.get("/api/v1/campaigns/town").json()["campaign"]["cycle"]["number"] == 2

    async def look() -> tuple[list[int], list[int]]:
        store = Store(database)
        one, two = await store.counts(1, cells=36, up_to=2, pooled=2)
        await store.close()
        assert one.late is not None
        assert two.late is not None
        return one.late.tolist(), [int(one.everything.sum()), int(two.everything.sum())]

    counts, totals = run(look())
    assert counts == np.bincount([5, 6], minlength=36).tolist()
    assert totals == [102, 1]
