"""Campaigns, cycles, estimates and the public log, on SQLite or PostgreSQL alike."""

from __future__ import annotations

import asyncio
import hashlib

import numpy as np
from sqlalchemy import ColumnElement, Executable, Table, delete, func, insert, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.base.errors import InputError
from sfumato.collect.service.models.kept import EstimateFacts, Specification
from sfumato.collect.service.store.engine import Database, make_private, scrub_files
from sfumato.collect.service.store.operations import AuditLog, Deed, Operations, Outbox, change_one, write_deed
from sfumato.collect.service.store.records import (
    CYCLE_COLUMNS,
    Campaign,
    CellCounts,
    CycleProgress,
    LoggedVersion,
    NewCycle,
    StoredCycle,
    StoredEstimate,
    campaign_of,
    change_cycle,
    closed_with_estimates,
    counts_of,
    cycle_of,
    estimate_columns,
    estimate_of,
    open_cycle,
    read_record,
)
from sfumato.collect.service.store.report_counter import ReportCounter
from sfumato.collect.service.store.schema import (
    campaigns,
    channel_log,
    cycles,
    estimates,
    issued_tickets,
    report_keys,
    secrets,
    spent_tickets,
    tallies,
    ticket_keys,
)

_PROGRESS_COLUMNS = [cycles.c[name] for name in CycleProgress.__dataclass_fields__]
_LOG_COLUMNS = [channel_log.c[name] for name in LoggedVersion.__dataclass_fields__]
_ROWS_AT_ONCE = 2_000
_STAMPED = 60
# A closed cycle keeps a time in its lease for as long as it takes late reports.
_KEPT = (cycles.c.state == "closed") & cycles.c.lease_until_s.is_not(None)


class Store:
    """Everything the service remembers. Each method is one transaction."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.reports = ReportCounter(self.database)
        self.audit = AuditLog(self.database)
        self.operations = Operations(self.database)
        self.outbox = Outbox(self.database)
        self.scrubbing_due = True
        """Whether something deleted may still be readable in the files; a server that died may have left such."""

    async def open(self) -> None:
        """Migrate, and refuse a database that others can read or that would lose reports."""
        if self.database.dialect == "sqlite":
            make_private(self.database.engine.url)
        await self.database.migrate()
        await self.database.insist_on_durability()

    async def close(self) -> None:
        """Give back every connection."""
        await self.reports.close()
        await self.database.close()

    async def secret(self, name: str, new: bytes) -> tuple[bytes, bool]:
        """The secret called ``name``, made from ``new`` if there is none yet; True if it was made now."""
        async with self.database.writing() as connection:
            await connection.execute(self._insert(secrets).values(name=name, value=new).on_conflict_do_nothing())
            found = (await connection.execute(select(secrets.c.value).where(secrets.c.name == name))).scalar_one()
        return bytes(found), bytes(found) == new

    async def kept_secret(self, name: str) -> bytes | None:
        """The secret called ``name``, or None."""
        found = await self.database.first(select(secrets.c.value).where(secrets.c.name == name))
        return None if found is None else bytes(found.value)

    async def replace_secret(self, name: str, value: bytes) -> None:
        """Put ``value`` in the place of a secret."""
        add = self._insert(secrets).values(name=name, value=value)
        async with self.database.writing() as connection:
            await connection.execute(
                add.on_conflict_do_update(index_elements=[secrets.c.name], set_={"value": add.excluded.value})
            )

    async def ticket_key(self, campaign_id: int, cycle: int) -> bytes | None:
        """The private key of a round's blind tickets, as long as it takes reports."""
        which = (ticket_keys.c.campaign_id == campaign_id) & (ticket_keys.c.cycle == cycle)
        found = await self.database.first(select(ticket_keys.c.private).where(which))
        return None if found is None else bytes(found.private)

    async def claim_ticket(self, campaign_id: int, *, scope: int, holder: bytes, shown: bytes) -> bool:
        """Give this holder its one ticket of ``scope``: True if it may have what it showed signed, now or once more."""
        known = hashlib.sha256(shown).digest()
        row = {"campaign_id": campaign_id, "scope": scope, "holder": holder}
        which = [issued_tickets.c[name] == value for name, value in row.items()]
        async with self.database.writing() as connection:
            add = self._insert(issued_tickets).values(**row, blinded_sha256=known)
            await connection.execute(add.on_conflict_do_nothing())
            found = await connection.execute(select(issued_tickets.c.blinded_sha256).where(*which))
            return bytes(found.scalar_one()) == known

    async def campaigns(self) -> list[Campaign]:
        """Every campaign, oldest first."""
        return [campaign_of(row) for row in await self.database.rows(select(campaigns).order_by(campaigns.c.id))]

    async def campaign(self, campaign_id: int) -> Campaign | None:
        """One campaign as it is now; None if it was deleted."""
        row = await self.database.first(select(campaigns).where(campaigns.c.id == campaign_id))
        return None if row is None else campaign_of(row)

    async def create_campaign(
        self, name: str, specification: Specification, first: NewCycle, *, deed: Deed | None = None
    ) -> Campaign | None:
        """A new campaign with its first cycle open; without a deed only in an empty store (None otherwise)."""
        try:
            async with self.database.writing() as connection:
                if deed is None and (await connection.execute(select(campaigns.c.id).limit(1))).first() is not None:
                    return None
                text = specification.model_dump_json()
                row = (
                    await connection.execute(
                        insert(campaigns)
                        .values(name=name, specification=text, created_at_s=first.opened_at_s)
                        .returning(*campaigns.c)
                    )
                ).one()
                await open_cycle(connection, row.id, first)
                if deed is not None:
                    await write_deed(connection, deed)
                return campaign_of(row)
        except IntegrityError as error:
            if deed is None:
                return None
            raise InputError(f"There is already a campaign '{name}'.", "Choose another name.") from error

    async def current_cycle(self, campaign_id: int) -> StoredCycle:
        """The campaign's latest cycle, open or closing."""
        statement = (
            select(*CYCLE_COLUMNS).where(cycles.c.campaign_id == campaign_id).order_by(cycles.c.number.desc()).limit(1)
        )
        async with self.database.reading() as connection:
            return cycle_of((await connection.execute(statement)).one())

    async def progress(self) -> list[CycleProgress]:
        """How far every cycle that is not closed has come."""
        statement = select(*_PROGRESS_COLUMNS).where(cycles.c.state != "closed")
        return [CycleProgress(**row._mapping) for row in await self.database.rows(statement)]

    async def cycle(self, campaign_id: int, number: int) -> StoredCycle:
        """One cycle of a campaign, whatever its state."""
        statement = select(*CYCLE_COLUMNS).where(cycles.c.campaign_id == campaign_id, cycles.c.number == number)
        async with self.database.reading() as connection:
            return cycle_of((await connection.execute(statement)).one())

    async def late_cycle(self, campaign_id: int, *, version: str = "", number: int = 0) -> int | None:
        """The number of the cycle of that version (or number) if it was handed over and still takes late reports."""
        which = cycles.c.version == version if version else cycles.c.number == number
        late = (cycles.c.state == "closing") | _KEPT
        found = await self.database.first(
            select(cycles.c.number).where(cycles.c.campaign_id == campaign_id, which, late)
        )
        return None if found is None else int(found.number)

    async def version_exists(self, campaign_id: int, version: str) -> bool:
        """Whether this campaign ever published that version."""
        statement = select(cycles.c.number).where(cycles.c.campaign_id == campaign_id, cycles.c.version == version)
        return await self.database.first(statement) is not None

    async def extend_cycle(self, cycle: StoredCycle, *, due_at_s: int) -> bool:
        """Merge a due cycle with the period after it: it stays open until ``due_at_s``. False if somebody else did."""
        change = change_cycle(cycle, cycles.c.state == "open", cycles.c.due_at_s == cycle.due_at_s)
        merged = cycles.c.merged_periods + 1
        return await change_one(self.database, change.values(due_at_s=due_at_s, merged_periods=merged))

    async def hand_over(
        self, cycle: StoredCycle, following: NewCycle, *, closer: str, minimum_tickets: int, lease_until_s: float,
        deed: Deed | None = None,
    ) -> bool:  # fmt: skip
        """Make ``closer`` the only one who closes this cycle, and open the next; False if somebody else did.

        What cycles before this one kept for late reports is forgotten.
        """
        mine = (cycles.c.state == "open") & (cycles.c.tickets >= minimum_tickets)
        mine |= (cycles.c.state == "closing") & (cycles.c.closer == closer)
        claim = change_cycle(cycle, mine).values(
            state="closing", closer=closer, lease_until_s=lease_until_s, closed_at_s=following.opened_at_s
        )
        async with self.database.writing() as connection:
            if (await connection.execute(claim)).rowcount != 1:
                return False
            await open_cycle(connection, cycle.campaign_id, following)
            older = (cycles.c.campaign_id == cycle.campaign_id) & (cycles.c.number < cycle.number)
            await self._forget(connection, older)
            if deed is not None:
                await write_deed(connection, deed)
        return True

    async def take_over_closing(self, cycle: StoredCycle, *, closer: str, now_s: float, lease_until_s: float) -> bool:
        """Become the closer of a cycle whose closer has not been heard of."""
        change = change_cycle(cycle, cycles.c.state == "closing", cycles.c.lease_until_s < now_s)
        return await change_one(self.database, change.values(closer=closer, lease_until_s=lease_until_s))

    async def renew_lease(self, cycle: StoredCycle, *, closer: str, lease_until_s: float) -> bool:
        """Say that ``closer`` is still at it (or, with a lease in the past, that it gives up)."""
        change = change_cycle(cycle, cycles.c.state == "closing", cycles.c.closer == closer)
        return await change_one(self.database, change.values(lease_until_s=lease_until_s))

    async def finish_closing(
        self, cycle: StoredCycle, estimate: StoredEstimate, *, closer: str, late_until_s: float
    ) -> bool:
        """Publish the estimate; late reports are taken until then or until forgotten. False if it is not ours."""
        close = change_cycle(cycle, cycles.c.state == "closing", cycles.c.closer == closer)
        close = close.values(state="closed", closer=None, lease_until_s=late_until_s)
        async with self.database.writing() as connection:
            if (await connection.execute(close)).rowcount != 1:
                return False
            of_cycle = {"campaign_id": cycle.campaign_id, "cycle": cycle.number}
            await connection.execute(insert(estimates).values(**of_cycle, **estimate_columns(estimate)))
            return True

    async def forget_late(self, *, now_s: float) -> bool:
        """Forget keys and tickets of closed cycles whose time for late reports is over; False if there was none."""
        over = cycles.c.lease_until_s <= now_s
        if await self.database.first(select(cycles.c.number).where(_KEPT, over).limit(1)) is None:
            return False
        async with self.database.writing() as connection:
            await self._forget(connection, over)
        return True

    async def _forget(self, connection: AsyncConnection, which: ColumnElement[bool]) -> None:
        """Take no more reports of these closed cycles, and delete their keys and tickets, in one transaction.

        Tickets are forgotten when what they are spent for is over: the cycle, the epoch, or never.
        """
        closed = await connection.execute(
            update(cycles)
            .where(_KEPT, which)
            .values(lease_until_s=None)
            .returning(cycles.c.campaign_id, cycles.c.number)
        )
        for campaign_id, number in closed.all():
            for table in (report_keys, ticket_keys):
                await connection.execute(
                    delete(table).where(table.c.campaign_id == campaign_id, table.c.cycle == number)
                )
            text = select(campaigns.c.specification).where(campaigns.c.id == campaign_id)
            asked = read_record(Specification, (await connection.execute(text)).scalar_one())
            for table, scope in ((spent_tickets, asked.spent_scope), (issued_tickets, asked.ticket_scope)):
                if scope(number) != scope(number + 1):
                    over = (table.c.campaign_id == campaign_id) & (table.c.scope == scope(number))
                    await connection.execute(delete(table).where(over))
            self.scrubbing_due = True

    async def scrub(self) -> None:
        """Take what was deleted out of the database's files too, once it is due; see :mod:`.scrubbing`."""
        if self.scrubbing_due and await scrub_files(self.database):
            self.scrubbing_due = False

    async def counts(self, campaign_id: int, *, cells: int, up_to: int, pooled: int) -> list[CellCounts]:
        """The reports per cell of the latest ``pooled`` cycles up to cycle ``up_to``, oldest first."""
        which = (cycles.c.campaign_id == campaign_id) & (cycles.c.number <= up_to) & (cycles.c.number > up_to - pooled)
        columns = (cycles.c.number, cycles.c.payload, cycles.c.opened_at_s, cycles.c.closed_at_s)
        published: Executable = select(*columns).where(which).order_by(cycles.c.number)
        counted = select(tallies.c.cycle, tallies.c.relayed, tallies.c.cell, tallies.c.reports).where(
            tallies.c.campaign_id == campaign_id, tallies.c.cycle <= up_to, tallies.c.cycle > up_to - pooled
        )
        async with self.database.reading() as connection:
            rows = list(await connection.execute(published))
            counts = {row.number: np.zeros((4, cells), dtype=np.int64) for row in rows}
            # In parts, so that the loop goes on: 30 cycles of 65,536 cells are two million rows.
            async for part in (await connection.stream(counted)).partitions(_ROWS_AT_ONCE):
                cycle, kind, cell, reports = np.array([tuple(row) for row in part], dtype=np.int64).T
                for number in np.unique(cycle):
                    at = cycle == number
                    counts[int(number)][kind[at], cell[at]] = reports[at]
                await asyncio.sleep(0)
        return [counts_of(row, counts[row.number]) for row in rows]

    async def closed_cycles(
        self, campaign_id: int, *, latest: int | None = None
    ) -> list[tuple[StoredCycle, StoredEstimate]]:
        """Every closed cycle (or the ``latest`` ones) with its estimate, oldest first."""
        statement = closed_with_estimates(campaign_id).order_by(cycles.c.number.desc()).limit(latest)
        return [(cycle_of(row), estimate_of(row)) for row in reversed(await self.database.rows(statement))]

    async def closed_facts(
        self, campaign_id: int, *, latest: int | None = None
    ) -> list[tuple[StoredCycle, EstimateFacts]]:
        """The same in numbers alone: without arrays, and without the text of the channel."""
        columns = [literal("").label("payload") if one.name == "payload" else one for one in CYCLE_COLUMNS]
        statement = closed_with_estimates(campaign_id).with_only_columns(
            *columns, estimates.c.facts.label("estimate_facts")
        )
        rows = await self.database.rows(statement.order_by(cycles.c.number.desc()).limit(latest))
        return [(cycle_of(row), read_record(EstimateFacts, row.estimate_facts)) for row in reversed(rows)]

    async def shown_stamp(self, campaign_id: int, *, number: int | None = None) -> str:
        """Changes when what the latest closed cycles (or that one) show does: also when one is left out or put back."""
        statement = closed_with_estimates(campaign_id).with_only_columns(
            cycles.c.number, cycles.c.excluded, estimates.c.facts
        )
        if number is not None:
            statement = statement.where(cycles.c.number == number)
        rows = await self.database.rows(statement.order_by(cycles.c.number.desc()).limit(_STAMPED))
        return hashlib.sha256(repr([tuple(row) for row in rows]).encode("utf-8")).hexdigest()

    async def last_closed(self, campaign_id: int) -> int:
        """The number of the latest cycle with an estimate that is not left out; 0 if there is none."""
        statement = closed_with_estimates(campaign_id).with_only_columns(func.max(cycles.c.number))
        statement = statement.where(cycles.c.excluded == 0)
        async with self.database.reading() as connection:
            return int((await connection.execute(statement)).scalar_one() or 0)

    async def closed_cycle(
        self, campaign_id: int, number: int | None = None
    ) -> tuple[StoredCycle, StoredEstimate] | None:
        """One closed cycle (by default the latest that is not left out) with its estimate, or None."""
        statement = closed_with_estimates(campaign_id).order_by(cycles.c.number.desc()).limit(1)
        which = cycles.c.excluded == 0 if number is None else cycles.c.number == number
        row = await self.database.first(statement.where(which))
        return None if row is None else (cycle_of(row), estimate_of(row))

    async def alarms(self) -> int:
        """How many campaigns' latest map (of a cycle that is not left out) raised the alarm."""
        newest = select(cycles.c.campaign_id, func.max(cycles.c.number).label("number"))
        newest = newest.where(cycles.c.state == "closed", cycles.c.excluded == 0).group_by(cycles.c.campaign_id)
        latest = newest.subquery()
        alive = campaigns.c.state.in_(("running", "paused"))
        statement = (
            select(estimates.c.facts)
            .join(latest, (latest.c.campaign_id == estimates.c.campaign_id) & (latest.c.number == estimates.c.cycle))
            .join(campaigns, (campaigns.c.id == estimates.c.campaign_id) & alive)
        )
        found = await self.database.rows(statement)
        return sum(read_record(EstimateFacts, row.facts).alarm.raised for row in found)

    async def log(self, campaign_id: int) -> list[LoggedVersion]:
        """The public log of versions, oldest first."""
        statement = select(*_LOG_COLUMNS).where(channel_log.c.campaign_id == campaign_id)
        return [
            LoggedVersion(**row._mapping)
            for row in await self.database.rows(statement.order_by(channel_log.c.position))
        ]

    async def log_head(self, campaign_id: int) -> LoggedVersion:
        """The last entry of the public log."""
        statement = select(*_LOG_COLUMNS).where(channel_log.c.campaign_id == campaign_id)
        found = await self.database.first(statement.order_by(channel_log.c.position.desc()).limit(1))
        assert found is not None  # a campaign is made with its first entry
        return LoggedVersion(**found._mapping)

    def _insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        return sqlite.insert(table) if self.database.dialect == "sqlite" else postgresql.insert(table)
