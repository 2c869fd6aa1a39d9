"""Notices on their way to the operator: kept until delivered, so that no restart and no full mailbox loses one."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import insert, select, update

from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.schema import notices


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice to one place: ``way`` is webhook or email."""

    id: int
    way: str
    subject: str
    body: str
    created_at_s: int
    attempts: int


class Outbox:
    """The notices of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def put(self, ways: tuple[str, ...], *, subject: str, body: str, now_s: int) -> None:
        """A notice for each way."""
        common = {"subject": subject, "body": body, "created_at_s": now_s, "attempts": 0, "next_try_at_s": float(now_s)}
        async with self.database.writing() as connection:
            for way in ways:
                await connection.execute(insert(notices).values(way=way, state="waiting", **common))

    async def take(self, *, now_s: float, pauses_s: tuple[float, ...]) -> list[Notice]:
        """The notices that are due, each counted as one more attempt and put off, so that no other server takes it."""
        due = (notices.c.state == "waiting") & (notices.c.next_try_at_s <= now_s)
        columns = [notices.c[name] for name in Notice.__dataclass_fields__]
        async with self.database.reading() as connection:
            found = [Notice(*row) for row in await connection.execute(select(*columns).where(due).limit(20))]
        mine = []
        for one in found:
            last = one.attempts + 1 >= len(pauses_s)
            later = {"attempts": one.attempts + 1, "next_try_at_s": now_s + pauses_s[one.attempts]}
            change = update(notices).where(notices.c.id == one.id, notices.c.attempts == one.attempts)
            async with self.database.writing() as connection:
                done = await connection.execute(change.values(state="failed" if last else "waiting", **later))
                if done.rowcount == 1:
                    mine.append(one)
        return mine

    async def delivered(self, notice: Notice) -> None:
        """It arrived."""
        async with self.database.writing() as connection:
            await connection.execute(update(notices).where(notices.c.id == notice.id).values(state="sent"))
