"""What operators do and are told: their acts on campaigns, the append-only audit log, who may act, notices under way.

Each change and its line in the audit log are one transaction. Notices are kept until delivered, so that no restart and
no full mailbox loses one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Delete, Update, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.base.errors import InputError
from sfumato.collect.service.models.kept import CampaignState, EstimateFacts, Specification
from sfumato.collect.service.models.replies import AuditView
from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.records import StoredCycle, StoredEstimate, change_cycle, estimate_columns
from sfumato.collect.service.store.schema import (
    audit_log,
    campaigns,
    channel_log,
    cycles,
    estimates,
    issued_tickets,
    notices,
    operators,
    report_keys,
    spent_tickets,
    tallies,
    ticket_keys,
)

# Any fixed number does, as long as every server that shares a database uses the same.
_LOG_LOCK = 0x5F0A_71
_OF_REPORTERS = (report_keys, spent_tickets, issued_tickets, ticket_keys)
_OF_CAMPAIGN = (tallies, estimates, *_OF_REPORTERS)
# No lease and no time for late reports reaches farther (see their settings): a clock was wrong when it was written.
_LONGEST_LEASE_S = 100_000


@dataclass(frozen=True, slots=True)
class Deed:
    """One act of one operator: when, who, what, on which campaign, and what it said."""

    at_s: int
    operator: str
    action: str
    campaign: str | None = None
    detail: Mapping[str, object] | None = None


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


async def change_one(database: Database, change: Update | Delete, deed: Deed | None = None) -> bool:
    """Change exactly one row, and append the deed that it was; False, and nothing is done, if there is none such."""
    async with database.writing() as connection:
        if (await connection.execute(change)).rowcount != 1:
            return False
        if deed is not None:
            await write_deed(connection, deed)
        return True


class AuditLog:
    """The log and the operators of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def write(self, deed: Deed) -> None:
        """Append a deed that changes nothing else here."""
        async with self.database.writing() as connection:
            await write_deed(connection, deed)

    async def entries(self, *, campaign: str | None = None, latest: int = 1000) -> list[AuditView]:
        """The latest entries (of one campaign), oldest first."""
        statement = select(audit_log).order_by(audit_log.c.position.desc()).limit(latest)
        if campaign is not None:
            statement = statement.where(audit_log.c.campaign == campaign)
        return [AuditView(**row._mapping) for row in reversed(await self.database.rows(statement))]

    async def was_deleted(self, name: str) -> bool:
        """Whether a campaign of this name was deleted here that devices may remember: one that had a report."""
        which = (audit_log.c.action == "delete") & (audit_log.c.campaign == name)
        rows = await self.database.rows(select(audit_log.c.detail).where(which))
        return any(json.loads(row.detail).get("reports", 1) for row in rows)

    async def operators(self) -> dict[str, tuple[bytes, int]]:
        """Every named operator's token hash and since when."""
        rows = await self.database.rows(select(operators).order_by(operators.c.created_at_s))
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
        change = update(operators).where(operators.c.name == name).values(token_sha256=token_sha256)
        return await change_one(self.database, change, deed)

    async def remove_operator(self, name: str, deed: Deed) -> bool:
        """Take an operator's right away; False if there is none of that name."""
        return await change_one(self.database, delete(operators).where(operators.c.name == name), deed)


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
        found = [Notice(**row._mapping) for row in await self.database.rows(select(*columns).where(due).limit(20))]
        mine = []
        for one in found:
            last = one.attempts + 1 >= len(pauses_s)
            later = {"attempts": one.attempts + 1, "next_try_at_s": now_s + pauses_s[one.attempts]}
            change = update(notices).where(notices.c.id == one.id, notices.c.attempts == one.attempts)
            if await change_one(self.database, change.values(state="failed" if last else "waiting", **later)):
                mine.append(one)
        return mine

    async def mark_delivered(self, notice: Notice) -> None:
        """It arrived."""
        await change_one(self.database, update(notices).where(notices.c.id == notice.id).values(state="sent"))


class Operations:
    """The operator's hand in one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def marks(self) -> dict[int, tuple[str, str]]:
        """Each campaign's state and specification as text: a cheap look at what other servers changed."""
        rows = await self.database.rows(select(campaigns.c.id, campaigns.c.state, campaigns.c.specification))
        return {row.id: (row.state, row.specification) for row in rows}

    async def change_state(
        self, campaign_id: int, before: tuple[CampaignState, ...], after: CampaignState, deed: Deed
    ) -> bool:
        """From one of ``before`` to ``after``; False if it was in none of them."""
        paused_at_s = deed.at_s if after == "paused" else None
        change = (
            update(campaigns)
            .where(campaigns.c.id == campaign_id, campaigns.c.state.in_(before))
            .values(state=after, paused_at_s=paused_at_s)
        )
        return await change_one(self.database, change, deed)

    async def resume(self, campaign_id: int, deed: Deed) -> bool:
        """Run again; the open cycle is due as much later as the pause lasted. False if it was not paused."""
        which = (campaigns.c.id == campaign_id) & (campaigns.c.state == "paused")
        async with self.database.writing() as connection:
            paused_at_s = (await connection.execute(select(campaigns.c.paused_at_s).where(which))).scalar_one_or_none()
            change = update(campaigns).where(which).values(state="running", paused_at_s=None)
            if (await connection.execute(change)).rowcount != 1:
                return False
            lasted_s = max(0, deed.at_s - (paused_at_s or deed.at_s))
            is_open = (
                (cycles.c.campaign_id == campaign_id) & (cycles.c.state == "open") & cycles.c.due_at_s.is_not(None)
            )
            await connection.execute(update(cycles).where(is_open).values(due_at_s=cycles.c.due_at_s + lasted_s))
            await write_deed(connection, deed)
            return True

    async def rewrite(self, campaign_id: int, specification: Specification, deed: Deed) -> None:
        """Put another specification in its place."""
        change = update(campaigns).where(campaigns.c.id == campaign_id)
        await change_one(self.database, change.values(specification=specification.model_dump_json()), deed)

    async def forget_reporters(self, campaign_id: int) -> None:
        """Delete the keys and tickets of a campaign that takes no more reports."""
        async with self.database.writing() as connection:
            for table in _OF_REPORTERS:
                await connection.execute(delete(table).where(table.c.campaign_id == campaign_id))

    async def reports_ever(self, campaign_id: int) -> int:
        """How many reports it holds, and tickets that may be one: 0 where no device has taken part."""
        counted = select(func.sum(tallies.c.reports).label("some")).where(tallies.c.campaign_id == campaign_id)
        issued = select(func.count().label("some")).where(issued_tickets.c.campaign_id == campaign_id)
        rows = [await self.database.first(one) for one in (counted, issued)]
        return max(int(row.some or 0) for row in rows if row is not None)

    async def delete(self, campaign_id: int, deed: Deed) -> None:
        """Delete everything of a campaign, its part of the public log too; only the audit log goes on naming it."""
        async with self.database.writing() as connection:
            for table in _OF_CAMPAIGN:
                await connection.execute(delete(table).where(table.c.campaign_id == campaign_id))
            # The log's own triggers forbid this; nothing but a whole campaign ever leaves it.
            entries = delete(channel_log).where(channel_log.c.campaign_id == campaign_id)
            if self.database.dialect == "sqlite":
                made = text("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'channel_log_no_delete'")
                again = (await connection.execute(made)).scalar_one()
                await connection.execute(text("DROP TRIGGER channel_log_no_delete"))
                await connection.execute(entries)
                await connection.execute(text(again))
            else:
                await connection.execute(text("ALTER TABLE channel_log DISABLE TRIGGER channel_log_append_only"))
                await connection.execute(entries)
                await connection.execute(text("ALTER TABLE channel_log ENABLE TRIGGER channel_log_append_only"))
            await connection.execute(delete(cycles).where(cycles.c.campaign_id == campaign_id))
            await connection.execute(delete(campaigns).where(campaigns.c.id == campaign_id))
            await write_deed(connection, deed)

    async def spent_per_km(self, campaign_id: int) -> float | None:
        """What the latest closed cycle, left out or not, published as spent: who reported in it has paid."""
        newest = select(estimates.c.facts).where(estimates.c.campaign_id == campaign_id)
        found = await self.database.first(newest.order_by(estimates.c.cycle.desc()).limit(1))
        return None if found is None else EstimateFacts.model_validate_json(found.facts).spent_epsilon_per_km

    async def alarms_of(self, campaign_id: int) -> list[int]:
        """The closed cycles that raised the alarm when they were closed."""
        told = select(estimates.c.cycle, estimates.c.facts).where(estimates.c.campaign_id == campaign_id)
        rows = await self.database.rows(told)
        return [row.cycle for row in rows if EstimateFacts.model_validate_json(row.facts).alarm.raised]

    async def cycles_left_out(self, campaign_id: int) -> list[int]:
        """The closed cycles that are left out."""
        which = (cycles.c.campaign_id == campaign_id) & (cycles.c.excluded != 0)
        return [row.number for row in await self.database.rows(select(cycles.c.number).where(which))]

    async def leave_out(self, cycle: StoredCycle, *, yes: bool, revised: StoredEstimate | None, deed: Deed) -> bool:
        """Leave a closed cycle out (or take it in again) and put the revised estimate in place; False if it was so."""
        change = change_cycle(cycle, cycles.c.state == "closed", cycles.c.excluded == int(not yes))
        async with self.database.writing() as connection:
            if (await connection.execute(change.values(excluded=int(yes)))).rowcount != 1:
                return False
            if revised is not None:
                of_cycle = (estimates.c.campaign_id == cycle.campaign_id) & (estimates.c.cycle == revised.cycle)
                await connection.execute(update(estimates).where(of_cycle).values(**estimate_columns(revised)))
            await write_deed(connection, deed)
            return True

    async def reschedule(
        self, cycle: StoredCycle, *, opened_at_s: int, due_at_s: int | None, deed: Deed | None = None
    ) -> bool:
        """Give an open cycle other times, and let anybody take over what is being closed."""
        change = change_cycle(cycle, cycles.c.state == "open")
        closing = (cycles.c.campaign_id == cycle.campaign_id) & (cycles.c.state == "closing")
        async with self.database.writing() as connection:
            changed = await connection.execute(change.values(opened_at_s=opened_at_s, due_at_s=due_at_s))
            if deed is not None:
                await connection.execute(update(cycles).where(closing).values(lease_until_s=0.0))
                await write_deed(connection, deed)
            return changed.rowcount == 1

    async def shorten_leases(self, now_s: float) -> bool:
        """End leases that a wrong clock wrote far into the future; False if there was none."""
        far = cycles.c.lease_until_s > now_s + _LONGEST_LEASE_S
        if await self.database.first(select(cycles.c.number).where(far).limit(1)) is None:
            return False
        async with self.database.writing() as connection:
            await connection.execute(update(cycles).where(far).values(lease_until_s=0.0))
        return True

    async def take_unnoticed(self) -> list[tuple[str, Specification, int, EstimateFacts]]:
        """(name, what it is, cycle, facts) of every closed cycle its operator was not told of, and tell them once.

        Whoever moves the mark tells: of several servers exactly one.
        """
        together = (estimates.c.campaign_id == campaigns.c.id) & (estimates.c.cycle > campaigns.c.noticed_cycle)
        statement = select(
            campaigns.c.id, campaigns.c.name, campaigns.c.specification, campaigns.c.noticed_cycle, estimates.c.cycle,
            estimates.c.facts,
        ).join(estimates, together)  # fmt: skip
        rows = await self.database.rows(statement.order_by(campaigns.c.id, estimates.c.cycle))
        found = []
        for campaign_id in dict.fromkeys(row.id for row in rows):
            mine = [row for row in rows if row.id == campaign_id]
            mark = (campaigns.c.id == campaign_id) & (campaigns.c.noticed_cycle == mine[0].noticed_cycle)
            if await change_one(self.database, update(campaigns).where(mark).values(noticed_cycle=mine[-1].cycle)):
                for row in mine:
                    asked = Specification.model_validate_json(row.specification)
                    found.append((row.name, asked, row.cycle, EstimateFacts.model_validate_json(row.facts)))
        return found
