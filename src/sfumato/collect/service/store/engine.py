"""Reaching the database: SQLite in WAL mode or PostgreSQL, durable either way, migrated before first use, kept private.

*Deleted secrets in SQLite's files.* ``secure_delete`` overwrites what is deleted within the database's pages. The
write-ahead log still holds the pages as they were: it is copied into the database and cut to nothing
(``wal_checkpoint(TRUNCATE)``) after every forgetting, and at the start, for a server that died in between. PostgreSQL
offers neither; docs/operator_threats.md says what that means.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Executable, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from sfumato.base.errors import InputError
from sfumato.collect.service.store.schema import TableRow

# Any fixed number does, as long as every server that shares a database uses the same.
_MIGRATION_LOCK = 0x5F0A_70
_WRITES = "sfumato_writes"

UNREACHABLE: tuple[type[Exception], ...] = (
    SQLAlchemyError,
    sqlite3.Error,  # the fast path speaks to the driver itself
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
)
"""What a database that is away, full, locked, starting or restarting raises."""
_WAIT_MS = 500
SIDE_FILES = ("", "-wal", "-shm", "-journal")
"""What SQLite puts after the database's name."""


class Database:
    """One database and its connections. :meth:`reading` and :meth:`writing` give one transaction each."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self.dialect = self.engine.dialect.name

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection in a transaction that only reads."""
        async with self.engine.connect() as connection, connection.begin():
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A connection in a transaction that may write; on disk when the block has ended without an error."""
        async with self.engine.connect() as plain:
            connection = await plain.execution_options(**{_WRITES: True})
            async with connection.begin():
                yield connection

    async def rows(self, statement: Executable) -> list[TableRow]:
        """What a statement reads, in a transaction of its own."""
        async with self.reading() as connection:
            return list(await connection.execute(statement))

    async def first(self, statement: Executable) -> TableRow | None:
        """The first row that a statement reads, or None."""
        return next(iter(await self.rows(statement)), None)

    async def migrate(self) -> None:
        """Bring the tables to the newest version; servers that start together take turns."""
        async with self.writing() as connection:
            if self.dialect == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.run_sync(_upgrade)

    async def durability(self) -> dict[str, str]:
        """What the live connection says about durability."""
        async with self.reading() as connection:
            if self.dialect == "sqlite":
                names = ("journal_mode", "synchronous")
                rows = [(await connection.execute(text(f"PRAGMA {name}"))).scalar_one() for name in names]
            else:
                names = ("fsync", "synchronous_commit")
                rows = [(await connection.execute(text(f"SHOW {name}"))).scalar_one() for name in names]
        return {name: str(row) for name, row in zip(names, rows, strict=True)}

    async def insist_on_durability(self) -> None:
        """Refuse a database that may forget an acknowledged report."""
        wrong = forgetful(await self.durability())
        if wrong:
            raise InputError(
                f"The database would not keep an acknowledged report: {', '.join(wrong)}.",
                "Switch it on (PostgreSQL: fsync = on in postgresql.conf).",
            )

    async def close(self) -> None:
        """Give back every connection."""
        await self.engine.dispose()


def forgetful(durability: dict[str, str]) -> list[str]:
    """What a live connection says that could cost an acknowledged report."""
    wanted = {"journal_mode": "wal", "synchronous": "2", "fsync": "on", "synchronous_commit": "on"}
    return [f"{name} is {value}" for name, value in durability.items() if value != wanted[name]]


def _engine(url: str) -> AsyncEngine:
    try:
        parsed = make_url(re.sub(r"^postgres://", "postgresql://", url))
    except ArgumentError as error:
        raise InputError(
            "The database is not a URL.", "Write sqlite:///file.db or postgresql://user@host/name."
        ) from error
    family = parsed.drivername.partition("+")[0]
    if family == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise InputError("The database has no file.", "Write sqlite:///file.db.")
        folder = Path(parsed.database).absolute().parent
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.", "Make it, or name another file.")
        engine = create_async_engine(parsed.set(drivername="sqlite+aiosqlite"), hide_parameters=True, pool_size=4)
        event.listen(engine.sync_engine, "connect", prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine
    if family == "postgresql":
        return create_async_engine(
            parsed.set(drivername="postgresql+asyncpg"),
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=4,
            connect_args={"server_settings": {"synchronous_commit": "on", "application_name": "sfumato"}},
        )
    raise InputError(f"There is no store for {family}.", "Use sqlite:///file.db or postgresql://user@host/name.")


def prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Make a new SQLite connection durable, patient and forgetful of what it deletes."""
    # Transactions are begun by _begin_sqlite, not by the driver's guess.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the write lock at once: two read-then-write transactions never deadlock.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", "sfumato.collect.service:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def scrub_files(database: Database) -> bool:
    """Empty the write-ahead log; False if somebody was reading from it, so that it must be tried again."""
    if database.dialect != "sqlite":
        return True
    return await asyncio.to_thread(_truncated, Path(str(database.engine.url.database)))


def _truncated(file: Path) -> bool:
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
        connection.execute("PRAGMA secure_delete=ON")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
    finally:
        connection.close()


def make_private(url: URL) -> None:
    """Make the database's file for its owner alone, or refuse one that others can read.

    SQLite gives the side files the mode of the database.
    """
    file = Path(str(url.database))
    # Whatever stands in the way is said by the first statement, with the advice that fits.
    with contextlib.suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if os.name != "posix":
        return
    for side in SIDE_FILES:
        one = Path(f"{file}{side}")
        if one.is_file() and stat.S_IMODE(one.stat().st_mode) & stat.S_IRWXO:
            raise InputError(
                f"Everybody on this machine can read {one.name}, which holds the keys that sign channels and tickets.",
                f"Close it to others first: chmod 600 {file.name}*",
            )
