"""Backups: one private SQLite file with every table, of either database, into either database.

A running collector may be backed up: SQLite's online backup copies one consistent state, PostgreSQL is read in one
transaction that sees one. A backup holds the keys that sign channels and tickets, and whatever was not yet deleted when
it was made: guard it like the database, and delete it when what it holds should be gone. A database is looked at
(:func:`inspect_database`) without changing it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, Table, create_engine, func, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.schema import campaigns, cycles, metadata, secrets, tallies
from sfumato.collect.service.store.store import Store

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Held:
    """What a database or a backup holds, in numbers, and the version of its tables."""

    revision: str
    campaigns: int
    reports: int


async def back_up(url: str, to: Path, *, replace: bool = False) -> Held:
    """Write a backup of the database beside, check it, and put it in place."""
    if to.exists() and not replace:
        raise InputError(f"There is already a file {to.name}.", "Name another, or say --replace.")
    if not to.absolute().parent.is_dir():
        raise InputError(f"There is no folder {to.parent}.", "Make it, or write the backup elsewhere.")
    new = to.with_name(f".{to.name}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        await _copy_out(url, new)
        held = await asyncio.to_thread(_checked, new)
        os.replace(new, to)
    finally:
        _remove(new)
    return held


async def restore(url: str, backup: Path) -> Held:
    """Fill an empty database from a backup (of either kind), brought to the newest tables; refuses one in use."""
    held = await asyncio.to_thread(_checked, backup)
    if make_url(url).drivername.partition("+")[0] == "sqlite":
        await asyncio.to_thread(_copy_in, backup, Path(str(make_url(url).database)))
    store = Store(url)
    try:
        await store.open()
        if store.database.dialect != "sqlite":
            await _fill(store.database, backup)
        found = await _held(store.database)
    finally:
        await store.close()
    if (found.campaigns, found.reports) != (held.campaigns, held.reports):
        raise VerificationFailed("The restored database does not hold what the backup holds.", "Do not use it.")
    return found


async def upgrade(url: str) -> tuple[str, Held]:
    """Bring the tables to the newest version; returns the version they had and what is there now."""
    database = Database(url)
    try:
        before = await _revision(database)
    finally:
        await database.close()
    store = Store(url)
    try:
        await store.open()
        return before, await _held(store.database)
    finally:
        await store.close()


async def _copy_out(url: str, to: Path) -> None:
    database = Database(url)
    try:
        if not await _revision(database):
            raise InputError("There is no collector's database there.", "Check --database.")
        if database.dialect == "sqlite":
            await asyncio.to_thread(_online_backup, Path(str(database.engine.url.database)), to)
        else:
            await _dump(database, to)
    finally:
        await database.close()


def _online_backup(source: Path, to: Path) -> None:
    with sqlite3.connect(source) as old, sqlite3.connect(to) as new:
        old.backup(new, pages=1024)
        new.execute("PRAGMA journal_mode=DELETE")
    old.close()
    new.close()


def _copy_in(backup: Path, to: Path) -> None:
    if to.exists():
        raise InputError(
            f"There is already a database {to.name}.", "Move it away first: restoring never writes over one."
        )
    new = to.with_name(f".{to.name}.new")
    os.close(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    _online_backup(backup, new)
    os.replace(new, to)


async def _dump(database: Database, to: Path) -> None:
    """Every table of PostgreSQL as of one moment, into tables of the same version in SQLite."""
    target = _sqlite(to)
    fresh = Database(f"sqlite:///{to}")
    try:
        await fresh.migrate()
        async with database.engine.connect() as plain:
            source = await plain.execution_options(isolation_level="REPEATABLE READ")
            async with source.begin():
                for table in metadata.sorted_tables:
                    rows = [dict(row) for row in (await source.execute(select(table))).mappings()]
                    await asyncio.to_thread(_write, target, table, rows)
    finally:
        await fresh.close()
        target.dispose()


async def _fill(database: Database, backup: Path) -> None:
    """Every table of a backup into an empty PostgreSQL database, in one transaction."""
    source = _sqlite(backup)
    try:
        async with database.writing() as connection:
            if (await connection.execute(select(campaigns.c.id).limit(1))).first() is not None:
                raise InputError("The database is in use.", "Restore into an empty one: createdb NAME.")
            await connection.execute(secrets.delete())
            for table in metadata.sorted_tables:
                for rows in _read(source, table):
                    await connection.execute(insert(table), rows)
            for name in ("campaigns", "notices"):
                following = f"(SELECT COALESCE(max(id), 0) + 1 FROM {name})"
                await connection.execute(
                    text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {following}, false)")
                )
    finally:
        source.dispose()


def _sqlite(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}", hide_parameters=True)


def _write(target: Engine, table: Table, rows: list[dict[str, object]]) -> None:
    with target.begin() as connection:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            connection.execute(insert(table), rows[start : start + _ROWS_AT_ONCE])


def _read(source: Engine, table: Table) -> list[list[dict[str, object]]]:
    """A table's rows in portions; a table, or a column, that the backup's version did not have has its default."""
    with source.connect() as connection:
        there = inspect(connection)
        if not there.has_table(table.name):
            return []
        names = {column["name"] for column in there.get_columns(table.name)}
        columns = [column for column in table.columns if column.name in names]
        rows = [dict(row) for row in connection.execute(select(*columns)).mappings()]
    return [rows[start : start + _ROWS_AT_ONCE] for start in range(0, len(rows), _ROWS_AT_ONCE)]


def _checked(path: Path) -> Held:
    """What a backup holds, if it is whole."""
    if not path.is_file():
        raise InputError(f"There is no file {path.name}.", "Name a backup.")
    engine = _sqlite(path)
    try:
        with engine.connect() as connection:
            if list(connection.exec_driver_sql("PRAGMA integrity_check").scalars()) != ["ok"]:
                raise VerificationFailed(f"{path.name} is damaged.", "Use another backup.")
            if not _version(connection):
                raise InputError(f"{path.name} is no backup of a collector.", "Make one: sfumato collector backup.")
            return _count(connection)
    except DBAPIError as error:
        raise VerificationFailed(f"{path.name} is damaged, or no backup.", "Use another.") from error
    finally:
        engine.dispose()


def _count(connection: Connection) -> Held:
    reports = connection.execute(select(func.coalesce(func.sum(tallies.c.reports), 0))).scalar_one()
    return Held(_version(connection), connection.execute(select(func.count(campaigns.c.id))).scalar_one(), int(reports))


async def _held(database: Database) -> Held:
    async with database.reading() as connection:
        return await connection.run_sync(_count)


async def _revision(database: Database) -> str:
    async with database.engine.connect() as connection:
        return await connection.run_sync(_version)


def _version(connection: Connection) -> str:
    """The version of the tables, or nothing where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())


def _remove(path: Path) -> None:
    for side in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{side}").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found; ``revision`` is empty where there are no tables yet."""

    dialect: str
    revision: str
    durability: dict[str, str]
    clock_behind_s: float
    """How far this machine's clock is behind the database's (or behind the latest time written in it)."""
    campaigns: int


def versions() -> tuple[str, ...]:
    """Every version of the tables that this program knows, newest first."""
    config = Config()
    config.set_main_option("script_location", "sfumato.collect.service:migrations")
    return tuple(one.revision for one in ScriptDirectory.from_config(config).walk_revisions())


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for PostgreSQL."""
    found = Database(url).engine.url
    return Path(str(found.database)) if found.drivername.startswith("sqlite") else None


async def inspect_database(url: str) -> Inspected:
    """Look; raises what an unreachable database raises."""
    database = Database(url)
    try:
        durability = await database.durability()
        async with database.reading() as connection:
            revision, count, latest_s = await connection.run_sync(_look)
            if database.dialect == "postgresql":
                latest_s = float((await connection.execute(text("SELECT extract(epoch FROM now())"))).scalar_one())
    finally:
        await database.close()
    return Inspected(database.dialect, revision, durability, latest_s - time.time(), count)


def _look(connection: Connection) -> tuple[str, int, float]:
    revision = _version(connection)
    if not revision:
        return "", 0, 0.0
    opened = select(func.count(func.distinct(cycles.c.campaign_id)), func.coalesce(func.max(cycles.c.opened_at_s), 0))
    count, latest_s = connection.execute(opened).one()
    return revision, int(count), float(latest_s)
