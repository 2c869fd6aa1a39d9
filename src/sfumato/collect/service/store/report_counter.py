"""Counting reports: one transaction for many, each key once, each ticket once, only while the cycle is open.

The cycle's row is locked first, so transactions of one cycle take turns and a cycle that is being closed has no
report still on its way. Keys and nonces are written in sorted order: their place says nothing about who came when.

Almost every batch holds only new keys and new tickets. It is therefore first written as if it did, in as few round
trips as the database allows (:mod:`.fast`); if anything was not new, that is rolled back and each report is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.fast import FastCounter, fast_counter
from sfumato.collect.service.store.records import LATE, Counted, Destination, Outcome, RelayedBatch, Report, gather
from sfumato.collect.service.store.schema import cycles, report_keys, spent_tickets, tallies

_CYCLE = (cycles.c.campaign_id == bindparam("b_campaign")) & (cycles.c.number == bindparam("b_cycle"))
_LOCK_CYCLE = (
    select(cycles.c.state, cycles.c.tickets, cycles.c.relayed_reports, cycles.c.lease_until_s)
    .where(_CYCLE)
    .with_for_update()
)
_LATE_RELAYED = select(func.coalesce(func.sum(tallies.c.reports), 0)).where(
    tallies.c.campaign_id == bindparam("b_campaign"),
    tallies.c.cycle == bindparam("b_cycle"),
    tallies.c.relayed == LATE + 1,
)
_KNOWN_KEYS = select(report_keys.c.key).where(
    report_keys.c.campaign_id == bindparam("b_campaign"),
    report_keys.c.cycle == bindparam("b_cycle"),
    report_keys.c.key.in_(bindparam("b_keys", expanding=True)),
)
_SPENT_NONCES = select(spent_tickets.c.nonce).where(
    spent_tickets.c.campaign_id == bindparam("b_campaign"),
    spent_tickets.c.scope == bindparam("b_scope"),
    spent_tickets.c.nonce.in_(bindparam("b_nonces", expanding=True)),
)
_ADD_KEYS = insert(report_keys)
_ADD_NONCES = insert(spent_tickets)
_ADD_COUNTS = (
    update(cycles)
    .where(_CYCLE)
    .values(
        tickets=cycles.c.tickets + bindparam("b_tickets"),
        relayed_reports=cycles.c.relayed_reports + bindparam("b_relayed"),
    )
)
_COLUMNS = [tallies.c.campaign_id, tallies.c.cycle, tallies.c.relayed, tallies.c.cell]
_ADD_TALLIES = {
    "sqlite": (_sqlite := sqlite.insert(tallies)).on_conflict_do_update(
        index_elements=_COLUMNS, set_={"reports": tallies.c.reports + _sqlite.excluded.reports}
    ),
    "postgresql": (_postgresql := postgresql.insert(tallies)).on_conflict_do_update(
        index_elements=_COLUMNS, set_={"reports": tallies.c.reports + _postgresql.excluded.reports}
    ),
}


class ReportCounter:
    """Counts batches of reports in one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._fast: FastCounter = fast_counter(database)

    async def count(self, destination: Destination, reports: Sequence[Report | RelayedBatch]) -> Counted:
        """Count ``reports`` in one transaction; when this returns, they are on disk."""
        batch = None if destination.late else gather(destination, reports)
        if batch is not None:
            counted = await self._fast.count(batch)
            if counted is not None:
                return counted
        async with self.database.writing() as connection:
            return await self._count(connection, destination, reports)

    async def probe(self) -> None:
        """Write as a report is written; raises what a report would meet."""
        await self._fast.probe()

    async def close(self) -> None:
        """Give back what the fast path holds."""
        await self._fast.close()

    async def _count(
        self, connection: AsyncConnection, destination: Destination, reports: Sequence[Report | RelayedBatch]
    ) -> Counted:
        where = {"b_campaign": destination.campaign_id, "b_cycle": destination.cycle}
        row = (await connection.execute(_LOCK_CYCLE, where)).one_or_none()
        if row is None or not _takes(row.state, row.lease_until_s, late=destination.late):
            return Counted((Outcome.CYCLE_CLOSED,) * len(reports), 0, 0)
        known = await self._known_keys(connection, where, [report.key for report in reports])
        nonces = [report.nonce for report in reports if isinstance(report, Report) and report.key not in known]
        spent = await self._spent_nonces(connection, destination, nonces)
        outcomes, new_keys, new_nonces = [], [], []
        direct: Counter[int] = Counter()
        relayed: Counter[int] = Counter()
        before = row.relayed_reports
        if destination.late:
            before += int((await connection.execute(_LATE_RELAYED, where)).scalar_one())
        relayed_reports = before
        for report in reports:
            outcome = Outcome.COUNTED
            if report.key in known:
                outcome = Outcome.DUPLICATE
            elif isinstance(report, Report):
                if report.nonce in spent:
                    outcome = Outcome.TICKET_SPENT
                else:
                    spent.add(report.nonce)
                    new_nonces.append(report.nonce)
                    direct[report.cell] += 1
            elif relayed_reports + report.reports > destination.relayed_cap:
                outcome = Outcome.OVER_CAP
            else:
                relayed_reports += report.reports
                for cell, count in report.cells:
                    relayed[cell] += count
            if outcome is Outcome.COUNTED:
                known.add(report.key)
                new_keys.append(report.key)
            outcomes.append(outcome)
        if new_keys:
            await self._add(connection, destination, new_keys, new_nonces, direct, relayed)
            if not destination.late:
                gained = {"b_tickets": len(new_nonces), "b_relayed": relayed_reports - before}
                await connection.execute(_ADD_COUNTS, {**where, **gained})
        return Counted(tuple(outcomes), row.tickets + len(new_nonces), relayed_reports)

    async def _known_keys(self, connection: AsyncConnection, where: dict[str, int], keys: list[bytes]) -> set[bytes]:
        return set((await connection.execute(_KNOWN_KEYS, {**where, "b_keys": keys})).scalars())

    async def _spent_nonces(
        self, connection: AsyncConnection, destination: Destination, nonces: list[bytes]
    ) -> set[bytes]:
        if not nonces:
            return set()
        where = {"b_campaign": destination.campaign_id, "b_scope": destination.scope}
        return set((await connection.execute(_SPENT_NONCES, {**where, "b_nonces": nonces})).scalars())

    async def _add(
        self,
        connection: AsyncConnection,
        destination: Destination,
        new_keys: list[bytes],
        new_nonces: list[bytes],
        direct: Counter[int],
        relayed: Counter[int],
    ) -> None:
        campaign_id, cycle = destination.campaign_id, destination.cycle
        keys = [{"campaign_id": campaign_id, "cycle": cycle, "key": key} for key in sorted(new_keys)]
        await connection.execute(_ADD_KEYS, keys)
        if new_nonces:
            where = {"campaign_id": campaign_id, "scope": destination.scope}
            nonces = [{**where, "nonce": nonce} for nonce in sorted(new_nonces)]
            await connection.execute(_ADD_NONCES, nonces)
        rows = [
            {"campaign_id": campaign_id, "cycle": cycle, "relayed": kind, "cell": cell, "reports": counts[cell]}
            for kind, counts in enumerate((direct, relayed), start=LATE if destination.late else 0)
            for cell in sorted(counts)
        ]
        await connection.execute(_ADD_TALLIES[self.database.dialect], rows)


def _takes(state: str, lease_until_s: float | None, *, late: bool) -> bool:
    """Whether a cycle counts such reports: an open one the usual, one that was handed over late ones until forgotten.

    A closed cycle keeps a time in its lease until its keys are forgotten, in the transaction that forgets them.
    """
    return (state == "closing" or (state == "closed" and lease_until_s is not None)) if late else state == "open"
