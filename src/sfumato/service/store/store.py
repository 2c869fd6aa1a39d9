"""Campaigns, cycles, estimates and the public log, on SQLite or PostgreSQL alike."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Row, Select, Table, Update, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.arrays import FloatArray, IntArray, read_only
from sfumato.errors import InputError
from sfumato.service.models.kept import ChannelFacts, EstimateFacts, Record, Specification
from sfumato.service.store.engine import Database
from sfumato.service.store.records import (
    Campaign,
    CellCounts,
    CycleProgress,
    LoggedVersion,
    NewCycle,
    StoredCycle,
    StoredEstimate,
)
from sfumato.service.store.reports import ReportCounter
from sfumato.service.store.schema import (
    campaigns,
    channel_log,
    cycles,
    estimates,
    report_keys,
    secrets,
    spent_tickets,
    tallies,
)

_CYCLE_COLUMNS = [cycles.c[name] for name in StoredCycle.__dataclass_fields__]
_PROGRESS_COLUMNS = [cycles.c[name] for name in CycleProgress.__dataclass_fields__]
_LOG_COLUMNS = [channel_log.c[name] for name in LoggedVersion.__dataclass_fields__]
Kept = TypeVar("Kept", bound=Record)


class Store:
    """Everything the service remembers. Each method is one transaction."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.reports = ReportCounter(self.database)

    async def open(self) -> None:
        """Migrate, and refuse a database that would lose reports."""
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

    async def replace_secret(self, name: str, value: bytes) -> None:
        """Put ``value`` in the place of a secret."""
        add = self._insert(secrets).values(name=name, value=value)
        async with self.database.writing() as connection:
            await connection.execute(
                add.on_conflict_do_update(index_elements=[secrets.c.name], set_={"value": add.excluded.value})
            )

    async def campaigns(self) -> list[Campaign]:
        """Every campaign, oldest first."""
        async with self.database.reading() as connection:
            rows = await connection.execute(select(campaigns).order_by(campaigns.c.id))
            return [_campaign(row) for row in rows]

    async def create_campaign(
        self, name: str, specification: Specification, first: NewCycle, *, only_if_empty: bool = False
    ) -> Campaign | None:
        """A new campaign with its first cycle open; None if ``only_if_empty`` and there is already one."""
        try:
            async with self.database.writing() as connection:
                if only_if_empty and (await connection.execute(select(campaigns.c.id).limit(1))).first() is not None:
                    return None
                text = specification.model_dump_json()
                row = (
                    await connection.execute(
                        insert(campaigns)
                        .values(name=name, specification=text, created_at_s=first.opened_at_s)
                        .returning(*campaigns.c)
                    )
                ).one()
                await _open_cycle(connection, row.id, first)
                return _campaign(row)
        except IntegrityError as error:
            if only_if_empty:
                return None
            raise InputError(f"There is already a campaign '{name}'.", "Choose another name.") from error

    async def current_cycle(self, campaign_id: int) -> StoredCycle:
        """The campaign's latest cycle, open or closing."""
        statement = (
            select(*_CYCLE_COLUMNS).where(cycles.c.campaign_id == campaign_id).order_by(cycles.c.number.desc()).limit(1)
        )
        async with self.database.reading() as connection:
            return _cycle((await connection.execute(statement)).one())

    async def progress(self) -> list[CycleProgress]:
        """How far every cycle that is not closed has come."""
        statement = select(*_PROGRESS_COLUMNS).where(cycles.c.state != "closed")
        async with self.database.reading() as connection:
            return [CycleProgress(*row) for row in await connection.execute(statement)]

    async def version_exists(self, campaign_id: int, version: str) -> bool:
        """Whether this campaign ever published that version."""
        statement = select(cycles.c.number).where(cycles.c.campaign_id == campaign_id, cycles.c.version == version)
        async with self.database.reading() as connection:
            return (await connection.execute(statement)).first() is not None

    async def extend_cycle(self, cycle: StoredCycle, *, due_at_s: int) -> bool:
        """Merge a due cycle with the period after it: it stays open until ``due_at_s``. False if somebody else did."""
        statement = (
            update(cycles)
            .where(*_is(cycle), cycles.c.state == "open", cycles.c.due_at_s == cycle.due_at_s)
            .values(due_at_s=due_at_s, merged_periods=cycles.c.merged_periods + 1)
        )
        return await self._changed_one(statement)

    async def claim_closing(
        self, cycle: StoredCycle, *, closer: str, minimum_tickets: int, lease_until_s: float
    ) -> bool:
        """Make ``closer`` the only one who closes this cycle; from now on it takes no report."""
        statement = (
            update(cycles)
            .where(*_is(cycle), cycles.c.state == "open", cycles.c.tickets >= minimum_tickets)
            .values(state="closing", closer=closer, lease_until_s=lease_until_s)
        )
        return await self._changed_one(statement)

    async def take_over_closing(self, cycle: StoredCycle, *, closer: str, now_s: float, lease_until_s: float) -> bool:
        """Become the closer of a cycle whose closer has not been heard of."""
        statement = (
            update(cycles)
            .where(*_is(cycle), cycles.c.state == "closing", cycles.c.lease_until_s < now_s)
            .values(closer=closer, lease_until_s=lease_until_s)
        )
        return await self._changed_one(statement)

    async def renew_lease(self, cycle: StoredCycle, *, closer: str, lease_until_s: float) -> bool:
        """Say that ``closer`` is still at it (or, with a lease in the past, that it gives up)."""
        statement = (
            update(cycles)
            .where(*_is(cycle), cycles.c.state == "closing", cycles.c.closer == closer)
            .values(lease_until_s=lease_until_s)
        )
        return await self._changed_one(statement)

    async def finish_closing(
        self,
        cycle: StoredCycle,
        estimate: StoredEstimate,
        following: NewCycle,
        *,
        closer: str,
        forget_scope: int | None,
    ) -> bool:
        """Publish the estimate, open the next cycle and forget keys and tickets, all or nothing; False if not ours."""
        close = (
            update(cycles)
            .where(*_is(cycle), cycles.c.state == "closing", cycles.c.closer == closer)
            .values(state="closed", closed_at_s=following.opened_at_s, closer=None, lease_until_s=None)
        )
        async with self.database.writing() as connection:
            if (await connection.execute(close)).rowcount != 1:
                return False
            await connection.execute(
                insert(estimates).values(
                    campaign_id=cycle.campaign_id,
                    cycle=cycle.number,
                    facts=estimate.facts.model_dump_json(),
                    probabilities=_bytes(estimate.probabilities),
                    low=_bytes(estimate.low),
                    high=_bytes(estimate.high),
                    this_cycle=None if estimate.this_cycle is None else _bytes(estimate.this_cycle),
                )
            )
            await _open_cycle(connection, cycle.campaign_id, following)
            keys = (report_keys.c.campaign_id == cycle.campaign_id) & (report_keys.c.cycle == cycle.number)
            await connection.execute(delete(report_keys).where(keys))
            if forget_scope is not None:
                spent = (spent_tickets.c.campaign_id == cycle.campaign_id) & (spent_tickets.c.scope == forget_scope)
                await connection.execute(delete(spent_tickets).where(spent))
            return True

    async def counts(self, campaign_id: int, *, cells: int, up_to: int, pooled: int) -> list[CellCounts]:
        """The reports per cell of the latest ``pooled`` cycles up to cycle ``up_to``, oldest first."""
        which = (cycles.c.campaign_id == campaign_id) & (cycles.c.number <= up_to) & (cycles.c.number > up_to - pooled)
        columns = (cycles.c.number, cycles.c.payload, cycles.c.opened_at_s, cycles.c.closed_at_s)
        published = select(*columns).where(which).order_by(cycles.c.number)
        counted = select(tallies.c.cycle, tallies.c.relayed, tallies.c.cell, tallies.c.reports).where(
            tallies.c.campaign_id == campaign_id, tallies.c.cycle <= up_to, tallies.c.cycle > up_to - pooled
        )
        async with self.database.reading() as connection:
            rows = list(await connection.execute(published))
            counts = {row.number: np.zeros((2, cells), dtype=np.int64) for row in rows}
            for row in await connection.execute(counted):
                counts[row.cycle][row.relayed, row.cell] = row.reports
        return [_counts(row, counts[row.number]) for row in rows]

    async def closed_cycles(
        self, campaign_id: int, *, latest: int | None = None
    ) -> list[tuple[StoredCycle, StoredEstimate]]:
        """Every closed cycle (or the ``latest`` ones) with its estimate, oldest first."""
        statement = _closed(campaign_id).order_by(cycles.c.number.desc()).limit(latest)
        async with self.database.reading() as connection:
            rows = list(await connection.execute(statement))
        return [(_cycle(row), _estimate(row)) for row in reversed(rows)]

    async def closed_cycle(
        self, campaign_id: int, number: int | None = None
    ) -> tuple[StoredCycle, StoredEstimate] | None:
        """One closed cycle (the latest by default) with its estimate, or None."""
        statement = _closed(campaign_id).order_by(cycles.c.number.desc()).limit(1)
        if number is not None:
            statement = statement.where(cycles.c.number == number)
        async with self.database.reading() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else (_cycle(row), _estimate(row))

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
        async with self.database.reading() as connection:
            found = (await connection.execute(statement)).scalars()
            return sum(_read(EstimateFacts, text).alarm.raised for text in found)

    async def log(self, campaign_id: int) -> list[LoggedVersion]:
        """The public log of versions, oldest first."""
        statement = select(*_LOG_COLUMNS).where(channel_log.c.campaign_id == campaign_id)
        async with self.database.reading() as connection:
            rows = await connection.execute(statement.order_by(channel_log.c.position))
            return [LoggedVersion(*row) for row in rows]

    def _insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        return sqlite.insert(table) if self.database.dialect == "sqlite" else postgresql.insert(table)

    async def _changed_one(self, statement: Update) -> bool:
        async with self.database.writing() as connection:
            return bool((await connection.execute(statement)).rowcount == 1)


async def _open_cycle(connection: AsyncConnection, campaign_id: int, new: NewCycle) -> None:
    await connection.execute(
        insert(cycles).values(
            campaign_id=campaign_id,
            number=new.number,
            version=new.version,
            payload=new.payload,
            signature=new.signature,
            facts=new.facts.model_dump_json(),
            state="open",
            opened_at_s=new.opened_at_s,
            due_at_s=new.due_at_s,
            merged_periods=0,
            tickets=0,
            relayed_reports=0,
        )
    )
    await connection.execute(
        insert(channel_log).values(
            campaign_id=campaign_id,
            position=new.number - 1,
            cycle=new.number,
            version=new.version,
            previous=new.previous,
            entry=new.entry,
            signature=new.entry_signature,
        )
    )


def _closed(campaign_id: int) -> Select[Any]:
    together = (estimates.c.campaign_id == cycles.c.campaign_id) & (estimates.c.cycle == cycles.c.number)
    return (
        select(*_CYCLE_COLUMNS, estimates.c.facts.label("estimate_facts"), *estimates.c[3:])
        .join(estimates, together)
        .where(cycles.c.campaign_id == campaign_id)
    )


def _is(cycle: StoredCycle) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return cycles.c.campaign_id == cycle.campaign_id, cycles.c.number == cycle.number


def _campaign(row: Row[Any]) -> Campaign:
    return Campaign(row.id, row.name, _read(Specification, row.specification), row.created_at_s)


def _cycle(row: Row[Any]) -> StoredCycle:
    values = {name: getattr(row, name) for name in StoredCycle.__dataclass_fields__}
    return StoredCycle(**{**values, "facts": _read(ChannelFacts, row.facts)})


def _estimate(row: Row[Any]) -> StoredEstimate:
    arrays = (_array(row.probabilities), _array(row.low), _array(row.high))
    own = None if row.this_cycle is None else _array(row.this_cycle)
    return StoredEstimate(row.number, _read(EstimateFacts, row.estimate_facts), *arrays, own)


def _read(kind: type[Kept], text: str) -> Kept:
    """A record as the store kept it; what another version wrote otherwise is refused, not guessed."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"The database holds a {kind.__name__} that this version cannot read.",
            "Run the version of sfumato that wrote it, or a newer one.",
        ) from error


def _counts(row: Any, counts: IntArray) -> CellCounts:
    arrays = (read_only(counts[0], np.int64), read_only(counts[1], np.int64))
    return CellCounts(row.number, row.payload, *arrays, row.opened_at_s, row.closed_at_s)


def _bytes(values: FloatArray) -> bytes:
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def _array(data: bytes) -> FloatArray:
    values: FloatArray = read_only(np.frombuffer(data, dtype="<f8"))
    return values
