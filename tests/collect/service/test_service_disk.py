"""A disk that is full, read-only or damaged: nothing acknowledged is lost, and /ready and the advice are right."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from collector_harness import CollectorProcess, client, create, refused, report_body, run, send
from small_disk import fill_up, remount, small_disk

from sfumato.collect.service.rounds.writer import Health
from sfumato.collect.service.store import fast
from sfumato.collect.service.store.faults import fault
from sfumato.collect.service.store.records import Destination, Report
from sfumato.collect.service.store.store import Store


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as folder:
        if folder is None:
            pytest.skip("this machine does not let tests mount a disk of their own")
        yield folder


def counted(database: Path) -> int:
    with sqlite3.connect(database) as connection:
        return int(connection.execute("SELECT COALESCE(sum(reports), 0) FROM tallies").fetchone()[0])


def test_a_full_disk_is_said_logged_once_and_over_when_there_is_room(
    disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="sfumato.collect.service")
    with client(f"sqlite:///{disk}/x.db", tick_s=60, commit_retry_s=0.2) as visitor:
        create(visitor)
        health = visitor.app.state.collector.health
        assert visitor.get("/ready").status_code == 200
        first = report_body(visitor)
        assert send(visitor, first).status_code == 200
        ballast = fill_up(disk)
        bodies = [report_body(visitor) for _ in range(30)]
        statuses = []
        for body in bodies:  # the pages that are there already may take a few
            answer = send(visitor, body)
            statuses.append(answer.status_code)
            if answer.status_code == 503:
                break
        refused(answer, 503, "The disk of the database is full")
        health._known_until_s = 0.0
        refused(visitor.get("/ready"), 503, "The disk of the database is full")
        refused(send(visitor, bodies[-1]), 503, "Send the same report again")
        told = [record for record in caplog.records if "disk of the database is full" in record.getMessage()]
        assert len(told) == 1
        assert "Make room" in told[0].getMessage()
        ballast.unlink()
        for body in bodies[: len(statuses)]:
            again = send(visitor, body)
            assert again.status_code == 200
        health._known_until_s = 0.0
        assert visitor.get("/ready").status_code == 200
        assert sum("takes reports again" in record.getMessage() for record in caplog.records) == 1
        assert counted(disk / "x.db") == 1 + len(statuses)


def test_a_failed_commit_is_tried_again_for_as_long_as_the_setting_says(disk: Path) -> None:
    with client(f"sqlite:///{disk}/x.db", tick_s=60, commit_retry_s=5) as visitor:
        create(visitor)
        bodies = [report_body(visitor) for _ in range(30)]
        ballast = fill_up(disk)
        threading.Timer(0.7, ballast.unlink).start()
        # Somebody waits while the disk is full, and is answered when there is room: nobody is sent away.
        assert {send(visitor, body).status_code for body in bodies} == {200}
        time.sleep(0.8)
        assert counted(disk / "x.db") == 30


def test_a_database_that_turns_read_only_is_said_with_the_right_advice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60, commit_retry_s=0.1) as visitor:
        create(visitor)
        body = report_body(visitor)
        fast = visitor.app.state.collector.store.reports._fast

        def read_only(yes: bool) -> None:
            with fast._engine.connect() as connection:
                connection.exec_driver_sql(f"PRAGMA query_only = {int(yes)}")

        fast._thread.submit(read_only, True).result()
        assert send(visitor, body).status_code == 503
        visitor.app.state.collector.health._known_until_s = 0.0
        refused(visitor.get("/ready"), 503, "cannot be written, at most read")
        assert "mount the disk read-write" in caplog.text
        fast._thread.submit(read_only, False).result()
        assert send(visitor, body).json()["duplicate"] is False
        assert counted(tmp_path / "x.db") == 1


def test_a_collector_does_not_start_on_a_read_only_disk_and_says_why(
    disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with client(f"sqlite:///{disk}/x.db", tick_s=60) as visitor:
        create(visitor)
    capsys.readouterr()
    remount(disk, "ro")
    with pytest.raises(Exception), client(f"sqlite:///{disk}/x.db", tick_s=60):  # noqa: B017
        pass
    told = capsys.readouterr().err
    assert "cannot be written, at most read" in told
    assert "mount the disk read-write" in told


@pytest.mark.service
def test_reports_to_a_disk_that_fills_and_empties_are_counted_once_or_refused(disk: Path) -> None:
    """Eight devices send while the disk fills up and is emptied three times: 0 acknowledged lost, 0 double."""
    with CollectorProcess(f"sqlite:///{disk}/x.db", commit_retry_s=0.3, tick_s=5) as running:
        create(running.visitor, "town")
        acknowledged: set[str] = set()
        stop = threading.Event()
        lies: list[int] = []

        def device() -> None:
            with httpx.Client(base_url=running.url, timeout=30) as visitor:
                while not stop.is_set():
                    body = report_body(visitor)
                    while not stop.is_set():
                        answer = send(visitor, body)
                        if answer.status_code == 200:
                            acknowledged.add(body["key"])
                            time.sleep(0.03)  # a fast machine would fill so small a disk with reports alone
                            break
                        lies.extend([answer.status_code] if answer.status_code != 503 else [])

        threads = [threading.Thread(target=device) for _ in range(8)]
        for thread in threads:
            thread.start()

        def ready() -> int:
            return httpx.get(f"{running.url}/ready", timeout=30).status_code

        for _ in range(3):
            time.sleep(0.4)
            ballast = fill_up(disk)
            deadline = time.monotonic() + 20
            while (status := ready()) == 200 and time.monotonic() < deadline:
                time.sleep(0.1)
                fill_up(disk)  # the collector may have cut its log, and with it have room again
            assert status == 503
            ballast.unlink()
            deadline = time.monotonic() + 20
            while (status := ready()) == 503 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert status == 200
        stop.set()
        for thread in threads:
            thread.join()
        running.terminate()
        assert lies == []
        assert len(acknowledged) > 20
        with sqlite3.connect(disk / "x.db") as connection:
            kept = {row[0].hex() for row in connection.execute("SELECT key FROM report_keys")}
        assert acknowledged <= kept
        assert counted(disk / "x.db") == len(kept) <= len(acknowledged) + 8


async def report_to(store: Store, reports: int = 1) -> None:
    """Count so many reports in the first campaign, each in a transaction of its own."""
    for _ in range(reports):
        await store.reports.count(Destination(1, 1, 1, 0), [Report(7, os.urandom(16), os.urandom(16))])


def log_bytes(folder: Path) -> int:
    return (folder / "x.db-wal").stat().st_size


@contextmanager
def old_state(database: Path) -> Iterator[None]:
    """Somebody who reads the database as it is now and keeps on reading: its log cannot be cut meanwhile."""
    reader = sqlite3.connect(database, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM tallies").fetchall()
    yield
    reader.close()


def town(folder: Path) -> Path:
    """A database with one campaign."""
    with client(f"sqlite:///{folder}/x.db", tick_s=60) as visitor:
        create(visitor)
    return folder / "x.db"


def test_many_reports_fit_on_a_disk_that_is_smaller_than_the_log_would_become(disk: Path) -> None:
    database = town(disk)

    async def work() -> None:
        store = Store(f"sqlite:///{database}")
        await report_to(store, 800)  # 4 pages each: 13 MB of log on 4 MiB
        assert log_bytes(disk) < 4 << 20
        await store.close()

    run(work())
    assert counted(database) == 800


def test_a_disk_that_the_log_has_filled_takes_reports_again_when_nobody_reads_an_old_state(disk: Path) -> None:
    database = town(disk)

    async def work() -> int:
        store = Store(f"sqlite:///{database}")
        with old_state(database):
            with pytest.raises((sqlite3.OperationalError, OSError)) as full:
                await report_to(store, 2000)
            assert fault(full.value).kind == "full"
            assert log_bytes(disk) > 3_000_000
            with pytest.raises(OSError, match="room"):
                await store.reports.probe()
        # Nobody made room, and nobody restarted anything.
        kept = counted(database)
        await store.reports.probe()
        assert log_bytes(disk) < 100_000
        await report_to(store, 50)
        await store.close()
        return kept

    kept = run(work())
    assert counted(database) == kept + 50 > 200


def test_a_log_that_grew_while_somebody_read_is_cut_by_the_next_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "LONGEST_BYTES", 1 << 20)
    monkeypatch.setattr(fast, "_CUT_EVERY_S", 0.0)
    database = town(tmp_path)

    async def work() -> None:
        store = Store(f"sqlite:///{database}")
        with old_state(database):
            await report_to(store, 150)
            assert log_bytes(tmp_path) > 2 << 20
        await report_to(store)
        assert log_bytes(tmp_path) == 0
        await report_to(store)
        await store.close()

    run(work())
    assert counted(database) == 152


def test_a_collector_that_nobody_asks_finds_by_itself_that_there_is_room_again(disk: Path) -> None:
    with client(f"sqlite:///{disk}/x.db", tick_s=0.1, commit_retry_s=0.1) as visitor:
        create(visitor)
        health = visitor.app.state.collector.health
        body = report_body(visitor)
        ballast = fill_up(disk)
        refused(send(visitor, body), 503, "The disk of the database is full")
        ballast.unlink()
        deadline = time.monotonic() + 30
        while health.trouble is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert health.trouble is None
        assert send(visitor, body).json()["duplicate"] is False


def test_the_probe_writes_where_reports_are_written_and_is_asked_at_most_once_a_second() -> None:
    async def work() -> None:
        asked = []

        async def probe() -> None:
            asked.append(1)
            if len(asked) == 1:
                raise sqlite3.OperationalError("no code")

        health = Health(probe, remembered_s=60)
        assert [await health.ready() for _ in range(5)] == [False] * 5
        assert len(asked) == 1
        health.tell_failure(OSError(28, "No space left on device"))  # news: the answer of before says nothing
        assert await health.ready()
        assert len(asked) == 2

    run(work())


def test_the_probe_is_a_commit_and_leaves_no_file(tmp_path: Path) -> None:
    async def work() -> None:
        store = Store(f"sqlite:///{tmp_path}/x.db")
        await store.open()
        await store.reports.probe()
        await store.reports.probe()
        await store.close()

    run(work())
    with sqlite3.connect(tmp_path / "x.db") as connection:
        assert connection.execute("SELECT count(*), length(written) FROM probes").fetchall() == [(1, 8192)]
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".probe")] == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("not a database", "restore a backup"),
        ("half of it overwritten", "restore a backup"),
        ("a folder", "There is no such database|cannot be written"),
    ],
)
def test_a_damaged_database_is_refused_at_the_start_with_the_right_advice(
    tmp_path: Path, damage: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.db"
    if damage == "a folder":
        path.mkdir()
    else:
        with client(f"sqlite:///{path}", tick_s=60) as visitor:
            create(visitor)
        content = path.read_bytes()
        path.write_bytes(
            b"junk" * 2000 if damage == "not a database" else content[:4096] + os.urandom(len(content) - 4096)
        )
    capsys.readouterr()
    with pytest.raises(Exception), client(f"sqlite:///{path}", tick_s=60):  # noqa: B017
        pass
    told = capsys.readouterr().err
    assert any(word in told for word in words.split("|")), told
    assert "Is it running" not in told


def test_every_code_has_its_own_words() -> None:
    def broken(code: int) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError("words that are never quoted")
        error.sqlite_errorcode = code
        return error

    assert fault(broken(sqlite3.SQLITE_FULL)).kind == "full"
    assert fault(broken(sqlite3.SQLITE_IOERR_WRITE)).kind == "full"
    assert fault(broken(sqlite3.SQLITE_READONLY_DBMOVED)).kind == "read-only"
    assert fault(broken(sqlite3.SQLITE_CORRUPT_INDEX)).kind == "damaged"
    assert fault(broken(sqlite3.SQLITE_BUSY)).kind == "locked"
    assert fault(OSError(28, "x")).kind == "full"
    assert fault(ConnectionRefusedError(111, "x")).kind == "away"
    assert "words" not in fault(broken(sqlite3.SQLITE_FULL)).what
