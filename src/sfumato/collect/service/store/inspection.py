"""Looking at a database without changing it: its tables' version, its clock, and whether it would keep a report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select, text

from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.schema import cycles


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
            revision, campaigns, latest_s = await connection.run_sync(_look)
            if database.dialect == "postgresql":
                latest_s = float((await connection.execute(text("SELECT extract(epoch FROM now())"))).scalar_one())
    finally:
        await database.close()
    return Inspected(database.dialect, revision, durability, latest_s - time.time(), campaigns)


def _look(connection: Connection) -> tuple[str, int, float]:
    if not inspect(connection).has_table("alembic_version"):
        return "", 0, 0.0
    revision = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())
    opened = select(func.count(func.distinct(cycles.c.campaign_id)), func.coalesce(func.max(cycles.c.opened_at_s), 0))
    campaigns, latest_s = connection.execute(opened).one()
    return revision, int(campaigns), float(latest_s)
