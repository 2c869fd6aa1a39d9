"""Who did what: the append-only audit log, and the named operators whose tokens open the door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.base.errors import InputError
from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.schema import audit_log, operators

# Any fixed number does, as long as every server that shares a database uses the same.
_LOG_LOCK = 0x5F0A_71


@dataclass(frozen=True, slots=True)
class Deed:
    """One act of one operator: when, who, what, on which campaign, and what it said."""

    at_s: int
    operator: str
    action: str
    campaign: str | None = None
    detail: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A deed as it stands in the log."""

    position: int
    at_s: int
    operator: str
    action: str
    campaign: str | None
    detail: str


async def write_deed(connection: AsyncConnection, deed: Deed) -> None:
    """Append a deed, in the transaction that does it: neither is there without the other.

    Whoever writes takes the next position, so writers take turns. SQLite has one writer at a time anyhow; in PostgreSQL
    the last one's line is not seen before it is committed, and the turn lasts until then. It is asked for last in every
    transaction, after all rows it changes: nobody who holds it waits for anybody.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOG_LOCK})
    last = select(func.coalesce(func.max(audit_log.c.position), 0) + 1).scalar_subquery()
    detail = json.dumps(dict(deed.detail or {}), ensure_ascii=False, sort_keys=True)
    values = {"at_s": deed.at_s, "operator": deed.operator, "action": deed.action, "campaign": deed.campaign}
    await connection.execute(insert(audit_log).values(position=last, detail=detail, **values))


class AuditLog:
    """The log and the operators of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def write(self, deed: Deed) -> None:
        """Append a deed that changes nothing else here."""
        async with self.database.writing() as connection:
            await write_deed(connection, deed)

    async def entries(self, *, campaign: str | None = None, latest: int = 1000) -> list[AuditEntry]:
        """The latest entries (of one campaign), oldest first."""
        statement = select(audit_log).order_by(audit_log.c.position.desc()).limit(latest)
        if campaign is not None:
            statement = statement.where(audit_log.c.campaign == campaign)
        async with self.database.reading() as connection:
            rows = list(await connection.execute(statement))
        return [AuditEntry(*row) for row in reversed(rows)]

    async def deleted(self, name: str) -> bool:
        """Whether a campaign of this name was deleted here."""
        which = (audit_log.c.action == "delete") & (audit_log.c.campaign == name)
        async with self.database.reading() as connection:
            return (await connection.execute(select(audit_log.c.position).where(which).limit(1))).first() is not None

    async def operators(self) -> dict[str, tuple[bytes, int]]:
        """Every named operator's token hash and since when."""
        async with self.database.reading() as connection:
            rows = await connection.execute(select(operators).order_by(operators.c.created_at_s))
            return {row.name: (bytes(row.token_sha256), row.created_at_s) for row in rows}

    async def add_operator(self, name: str, token_sha256: bytes, deed: Deed) -> None:
        """A new operator."""
        try:
            async with self.database.writing() as connection:
                values = {"name": name, "token_sha256": token_sha256, "created_at_s": deed.at_s}
                await connection.execute(insert(operators).values(**values))
                await write_deed(connection, deed)
        except IntegrityError as error:
            raise InputError(
                f"There is already an operator '{name}'.", "Rotate its token, or choose a name."
            ) from error

    async def replace_token(self, name: str, token_sha256: bytes, deed: Deed) -> bool:
        """A new token for an operator; False if there is none of that name."""
        async with self.database.writing() as connection:
            change = update(operators).where(operators.c.name == name).values(token_sha256=token_sha256)
            if (await connection.execute(change)).rowcount != 1:
                return False
            await write_deed(connection, deed)
            return True

    async def remove_operator(self, name: str, deed: Deed) -> bool:
        """Take an operator's right away; False if there is none of that name."""
        async with self.database.writing() as connection:
            if (await connection.execute(delete(operators).where(operators.c.name == name))).rowcount != 1:
                return False
            await write_deed(connection, deed)
            return True
