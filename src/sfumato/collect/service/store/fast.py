"""A batch of new reports in as few round trips as the database allows: one thread hop, or one statement.

Each counter writes the batch as if every key and ticket in it were new, and checks that they were before it commits;
otherwise it rolls back and returns None.

SQLite's write-ahead log may lie on a disk that is small or full, and is kept short. A commit appends the pages it
changed to the log; a checkpoint copies them into the database, after which the log begins anew. SQLite does that by
itself, but only after a commit that leaves 1,000 pages (4 MB) in the log. If the disk is full before that, no commit
succeeds any more and no checkpoint follows; one may even fail, because the database has to grow by the pages that only
the log holds. A collector on such a disk would refuse reports for ever although everything would fit. So the thread
that writes reports keeps three rules:

* it writes nothing unless the disk would still have room for copying the log back (:meth:`WriteAheadLog.leave_room`);
* when the disk is full, it copies the log back, cuts it to nothing and tries once more (:meth:`WriteAheadLog.cut`);
* when the log is longer than :data:`LONGEST_BYTES`, for instance because somebody read one old state for long, it is
  cut as soon as it can be (:meth:`WriteAheadLog.keep_short`).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import ARRAY, BigInteger, Engine, Integer, LargeBinary, bindparam, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.pool import SingletonThreadPool

from sfumato.collect.service.store.engine import Database, prepare_sqlite
from sfumato.collect.service.store.faults import fault
from sfumato.collect.service.store.records import Counted, Gathered, Outcome

LONGEST_BYTES = 32 << 20
"""How long the log may become while nobody holds an old state of the database."""
ROOM_BYTES = 256 << 10
"""What is left free beside that: for what the operator and closing cycles write, and for new pages of a group."""
_SPARE_PAGES, _LARGEST_PAGE_BYTES = 16, 65_536
# How long to wait for those who read an old state: when the disk is full, and when the log is merely long.
_FULL_WAITS_MS, _LONG_WAITS_MS, _BUSY_MS = 500, 50, 10_000
_CUT_EVERY_S = 1.0


class WriteAheadLog:
    """The log beside one database, for the one connection whose cursors it is given."""

    def __init__(self, database: Path) -> None:
        self._folder, self._database = str(database.absolute().parent), str(database.absolute())
        self._file = f"{self._database}-wal"
        self._cut_again_at_s = 0.0

    def leave_room(self, cursor: DBAPICursor, rows: int) -> None:
        """Fail as a full disk does if, after ``rows`` more rows, the log could no longer be copied back.

        Room is needed for the pages that the rows change, in the log (each row one page and a few that split, but no
        more than there are), and for those that the database has to grow by when the log is copied.
        """
        free_bytes = shutil.disk_usage(self._folder).free - ROOM_BYTES
        # The usual case, without asking the database: no page is larger, and each new page is in the log.
        if free_bytes > (rows + rows // 8 + _SPARE_PAGES) * _LARGEST_PAGE_BYTES + _size(self._file):
            return
        pages, page_bytes = _pragma(cursor, "page_count"), _pragma(cursor, "page_size")
        changed = min(rows, pages) + rows // 8 + _SPARE_PAGES
        growth_bytes = max(pages * page_bytes - _size(self._database), 0)
        if free_bytes < changed * page_bytes + growth_bytes:
            raise OSError(errno.ENOSPC, "no room to copy the write-ahead log back")

    def cut(self, cursor: DBAPICursor, *, wait_ms: int = _FULL_WAITS_MS) -> bool:
        """Copy the log into the database and cut it to nothing; False if there was none, or it cannot be done now.

        It cannot while somebody reads an old state (for ``wait_ms`` that is waited for), or while the disk has no room
        for the pages that are new.
        """
        if _size(self._file) == 0:
            return False
        cursor.execute(f"PRAGMA busy_timeout={wait_ms}")
        try:
            with contextlib.suppress(sqlite3.Error):
                return _pragma(cursor, "wal_checkpoint(TRUNCATE)") == 0  # 1: somebody reads
        finally:
            cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        return False

    def keep_short(self, cursor: DBAPICursor) -> None:
        """Cut a log that is too long; tried at most once a second, since it may have to wait for who reads."""
        if _size(self._file) > LONGEST_BYTES and time.monotonic() >= self._cut_again_at_s:
            self.cut(cursor, wait_ms=_LONG_WAITS_MS)
            self._cut_again_at_s = time.monotonic() + _CUT_EVERY_S


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except FileNotFoundError:
        return 0


def _pragma(cursor: DBAPICursor, name: str) -> int:
    """The first number that a pragma answers."""
    cursor.execute(f"PRAGMA {name}")
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])


# Larger than a page, so that a probe needs a page that was not there.
_PROBE_BYTES = 8_192
# A probe asks for the room of a group of some 60 reports.
_PROBE_ROWS = 128
Value = TypeVar("Value")
# The update locks the cycle's row and is what every other part waits for: if the cycle is not open, nothing happens.
_WRITE_ALL = text(
    """
    WITH cycle AS (
        UPDATE cycles SET tickets = tickets + :tickets, relayed_reports = relayed_reports + :relayed
        WHERE campaign_id = :campaign AND number = :cycle AND state = 'open'
          AND relayed_reports + :relayed <= :relayed_cap
        RETURNING tickets, relayed_reports
    ), added_keys AS (
        INSERT INTO report_keys SELECT :campaign, :cycle, value FROM cycle, unnest(:keys) AS value
        ON CONFLICT DO NOTHING RETURNING 1
    ), added_nonces AS (
        INSERT INTO spent_tickets SELECT :campaign, :scope, value FROM cycle, unnest(:nonces) AS value
        ON CONFLICT DO NOTHING RETURNING 1
    ), added_tally AS (
        INSERT INTO tallies SELECT :campaign, :cycle, entry.kind, entry.cell, entry.reports
        FROM cycle, unnest(:kinds, :cells, :reports) AS entry (kind, cell, reports)
        ON CONFLICT (campaign_id, cycle, relayed, cell) DO UPDATE SET reports = tallies.reports + excluded.reports
        RETURNING 1
    )
    SELECT tickets, relayed_reports, (SELECT count(*) FROM added_keys), (SELECT count(*) FROM added_nonces),
           (SELECT count(*) FROM added_tally) FROM cycle
    """
).bindparams(
    *(bindparam(name, type_=Integer) for name in ("campaign", "cycle", "scope")),
    *(bindparam(name, type_=BigInteger) for name in ("tickets", "relayed", "relayed_cap")),
    *(bindparam(name, type_=ARRAY(LargeBinary)) for name in ("keys", "nonces")),
    *(bindparam(name, type_=ARRAY(Integer)) for name in ("kinds", "cells")),
    bindparam("reports", type_=ARRAY(BigInteger)),
)
_WRITE_PROBE = text(
    "INSERT INTO probes VALUES (1, :written) ON CONFLICT (id) DO UPDATE SET written = excluded.written"
).bindparams(bindparam("written", type_=LargeBinary))


class FastCounter(Protocol):
    """Counts a batch whose keys and tickets are all new, or does nothing and returns None."""

    async def count(self, batch: Gathered) -> Counted | None: ...

    async def probe(self) -> None: ...

    async def close(self) -> None: ...


def fast_counter(database: Database) -> FastCounter:
    """The counter of this kind of database."""
    return SqliteCounter(database) if database.dialect == "sqlite" else PostgresCounter(database)


class SqliteCounter:
    """The whole transaction on one thread, with the driver's own executemany."""

    def __init__(self, database: Database) -> None:
        self._engine: Engine = create_engine(
            database.engine.url.set(drivername="sqlite"), hide_parameters=True, poolclass=SingletonThreadPool
        )
        event.listen(self._engine, "connect", prepare_sqlite)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reports")
        self._file = Path(str(database.engine.url.database))
        self._log = WriteAheadLog(self._file)

    async def count(self, batch: Gathered) -> Counted | None:
        """Count on the thread of the one connection."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._count, batch)

    async def close(self) -> None:
        """Close the connection on its own thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        self._thread.shutdown()

    async def probe(self) -> None:
        """Write a row where reports are written, with room to spare beside the database."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._probe)

    def _count(self, batch: Gathered) -> Counted | None:
        rows = len(batch.keys) + len(batch.nonces) + len(batch.tally)
        return self._commit(lambda cursor: self._write(cursor, batch), partial(self._log.leave_room, rows=rows))

    def _probe(self) -> None:
        def leave_room(cursor: DBAPICursor) -> None:
            self._log.leave_room(cursor, _PROBE_ROWS)
            _need_room(self._file)

        self._commit(_write_probe, leave_room)

    def _commit(
        self, write: Callable[[DBAPICursor], Value | None], leave_room: Callable[[DBAPICursor], None]
    ) -> Value | None:
        """Commit what ``write`` writes; on a full disk once more after the write-ahead log has given its room back."""
        with self._engine.connect() as connection:
            cursor = connection.connection.cursor()
            try:
                leave_room(cursor)
                written = _transaction(cursor, write)
            except (sqlite3.Error, OSError) as error:
                if fault(error).kind != "full" or not self._log.cut(cursor):
                    raise
                leave_room(cursor)
                written = _transaction(cursor, write)
            self._log.keep_short(cursor)
            return written

    def _write(self, cursor: DBAPICursor, batch: Gathered) -> Counted | None:
        to = batch.destination
        where = (to.campaign_id, to.cycle)
        cursor.execute("SELECT state, tickets, relayed_reports FROM cycles WHERE campaign_id = ? AND number = ?", where)
        row = cursor.fetchone()
        if row is None or row[0] != "open" or row[2] + batch.relayed_reports > to.relayed_cap:
            return None
        cursor.executemany("INSERT OR IGNORE INTO report_keys VALUES (?, ?, ?)", [(*where, key) for key in batch.keys])
        if cursor.rowcount != len(batch.keys):
            return None
        if batch.nonces:
            place = (to.campaign_id, to.scope)
            rows = [(*place, nonce) for nonce in batch.nonces]
            cursor.executemany("INSERT OR IGNORE INTO spent_tickets VALUES (?, ?, ?)", rows)
            if cursor.rowcount != len(batch.nonces):
                return None
        cursor.executemany(
            "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
            [(*where, *entry) for entry in batch.tally],
        )
        cursor.execute(
            "UPDATE cycles SET tickets = tickets + ?, relayed_reports = relayed_reports + ?"
            " WHERE campaign_id = ? AND number = ?",
            (len(batch.nonces), batch.relayed_reports, *where),
        )
        return _all_counted(batch, row[1] + len(batch.nonces), row[2] + batch.relayed_reports)


class PostgresCounter:
    """The whole batch in one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, batch: Gathered) -> Counted | None:
        """Count in a transaction of one statement."""
        async with self._database.engine.connect() as connection, connection.begin() as transaction:
            row = (await connection.execute(_WRITE_ALL, _parameters(batch))).one_or_none()
            if row is None or tuple(row[2:4]) != (len(batch.keys), len(batch.nonces)):
                await transaction.rollback()
                return None
        return _all_counted(batch, row[0], row[1])

    async def probe(self) -> None:
        """Write a row in a transaction of its own."""
        async with self._database.engine.connect() as connection, connection.begin():
            await connection.execute(_WRITE_PROBE, {"written": os.urandom(_PROBE_BYTES)})

    async def close(self) -> None:
        """Nothing of its own to give back."""


def _transaction(cursor: DBAPICursor, write: Callable[[DBAPICursor], Value | None]) -> Value | None:
    """Commit what ``write`` writes, or roll back if it says None."""
    cursor.execute("BEGIN IMMEDIATE")
    try:
        written = write(cursor)
        cursor.execute("COMMIT" if written is not None else "ROLLBACK")
    except BaseException:
        _rollback(cursor)
        raise
    return written


def _write_probe(cursor: DBAPICursor) -> bool:
    cursor.execute("INSERT OR REPLACE INTO probes VALUES (1, ?)", (os.urandom(_PROBE_BYTES),))
    return True


def _rollback(cursor: DBAPICursor) -> None:
    """Roll back, where the failure itself has not done so already (a full disk does)."""
    with contextlib.suppress(sqlite3.Error):
        cursor.execute("ROLLBACK")


def _need_room(database: Path) -> None:
    """Fail unless the folder takes a file as large as a group of reports: a commit into old pages says little."""
    beside = database.with_name(f".{database.name}.{os.getpid()}.probe")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(os.urandom(ROOM_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        beside.unlink(missing_ok=True)


def _parameters(batch: Gathered) -> dict[str, object]:
    return {
        "campaign": batch.destination.campaign_id,
        "cycle": batch.destination.cycle,
        "scope": batch.destination.scope,
        "tickets": len(batch.nonces),
        "relayed": batch.relayed_reports,
        "relayed_cap": batch.destination.relayed_cap,
        "keys": list(batch.keys),
        "nonces": list(batch.nonces),
        "kinds": [entry[0] for entry in batch.tally],
        "cells": [entry[1] for entry in batch.tally],
        "reports": [entry[2] for entry in batch.tally],
    }


def _all_counted(batch: Gathered, tickets: int, relayed_reports: int) -> Counted:
    return Counted((Outcome.COUNTED,) * batch.size, tickets, relayed_reports)
