"""What an operator changes about a campaign: its state, its texts, which cycles count, its times, that it is there.

Each change and its line in the audit log are one transaction.
"""

from __future__ import annotations

import numpy as np
from sqlalchemy import delete, select, text, update

from sfumato.base.arrays import FloatArray
from sfumato.collect.service.models.kept import CampaignState, EstimateFacts, Specification
from sfumato.collect.service.store.audit import Deed, write_deed
from sfumato.collect.service.store.engine import Database
from sfumato.collect.service.store.records import StoredCycle, StoredEstimate
from sfumato.collect.service.store.schema import (
    campaigns,
    channel_log,
    cycles,
    estimates,
    report_keys,
    spent_tickets,
    tallies,
)

_OF_CAMPAIGN = (tallies, report_keys, spent_tickets, estimates)
# No lease and no time for late reports reaches farther (see their settings): a clock was wrong when it was written.
_LONGEST_LEASE_S = 100_000


class Operations:
    """The operator's hand in one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def marks(self) -> dict[int, tuple[str, str]]:
        """Each campaign's state and specification as text: a cheap look at what other servers changed."""
        async with self.database.reading() as connection:
            rows = await connection.execute(select(campaigns.c.id, campaigns.c.state, campaigns.c.specification))
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
        async with self.database.writing() as connection:
            if (await connection.execute(change)).rowcount != 1:
                return False
            await write_deed(connection, deed)
            return True

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
        async with self.database.writing() as connection:
            await connection.execute(change.values(specification=specification.model_dump_json()))
            await write_deed(connection, deed)

    async def forget_reporters(self, campaign_id: int) -> None:
        """Delete the keys and spent tickets of a campaign that takes no more reports."""
        async with self.database.writing() as connection:
            for table in (report_keys, spent_tickets):
                await connection.execute(delete(table).where(table.c.campaign_id == campaign_id))

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
        async with self.database.reading() as connection:
            found = (await connection.execute(newest.order_by(estimates.c.cycle.desc()).limit(1))).scalar_one_or_none()
        return None if found is None else EstimateFacts.model_validate_json(found).spent_epsilon_per_km

    async def alarmed(self, campaign_id: int) -> list[int]:
        """The closed cycles that raised the alarm when they were closed."""
        told = select(estimates.c.cycle, estimates.c.facts).where(estimates.c.campaign_id == campaign_id)
        async with self.database.reading() as connection:
            rows = list(await connection.execute(told))
        return [row.cycle for row in rows if EstimateFacts.model_validate_json(row.facts).alarm.raised]

    async def excluded(self, campaign_id: int) -> list[int]:
        """The closed cycles that are left out."""
        which = (cycles.c.campaign_id == campaign_id) & (cycles.c.excluded != 0)
        async with self.database.reading() as connection:
            return list((await connection.execute(select(cycles.c.number).where(which))).scalars())

    async def leave_out(self, cycle: StoredCycle, *, yes: bool, revised: StoredEstimate | None, deed: Deed) -> bool:
        """Leave a closed cycle out (or take it in again) and put the revised estimate in place; False if it was so."""
        which = (cycles.c.campaign_id == cycle.campaign_id) & (cycles.c.number == cycle.number)
        change = update(cycles).where(which, cycles.c.state == "closed", cycles.c.excluded == int(not yes))
        async with self.database.writing() as connection:
            if (await connection.execute(change.values(excluded=int(yes)))).rowcount != 1:
                return False
            if revised is not None:
                of_cycle = (estimates.c.campaign_id == cycle.campaign_id) & (estimates.c.cycle == revised.cycle)
                await connection.execute(update(estimates).where(of_cycle).values(**_columns(revised)))
            await write_deed(connection, deed)
            return True

    async def reschedule(
        self, cycle: StoredCycle, *, opened_at_s: int, due_at_s: int | None, deed: Deed | None = None
    ) -> bool:
        """Give an open cycle other times, and let anybody take over what is being closed."""
        which = (cycles.c.campaign_id == cycle.campaign_id) & (cycles.c.number == cycle.number)
        change = update(cycles).where(which, cycles.c.state == "open")
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
        async with self.database.reading() as connection:
            if (await connection.execute(select(cycles.c.number).where(far).limit(1))).first() is None:
                return False
        async with self.database.writing() as connection:
            await connection.execute(update(cycles).where(far).values(lease_until_s=0.0))
        return True

    async def unnoticed(self) -> list[tuple[int, str, str, int, EstimateFacts]]:
        """(campaign, name, title, cycle, facts) of every closed cycle its operator was not told of, and tell them once.

        Whoever moves the mark tells: of several servers exactly one.
        """
        together = (estimates.c.campaign_id == campaigns.c.id) & (estimates.c.cycle > campaigns.c.noticed_cycle)
        statement = select(
            campaigns.c.id, campaigns.c.name, campaigns.c.specification, campaigns.c.noticed_cycle, estimates.c.cycle,
            estimates.c.facts,
        ).join(estimates, together)  # fmt: skip
        async with self.database.reading() as connection:
            rows = list(await connection.execute(statement.order_by(campaigns.c.id, estimates.c.cycle)))
        found = []
        for campaign_id in dict.fromkeys(row.id for row in rows):
            mine = [row for row in rows if row.id == campaign_id]
            mark = (campaigns.c.id == campaign_id) & (campaigns.c.noticed_cycle == mine[0].noticed_cycle)
            async with self.database.writing() as connection:
                change = update(campaigns).where(mark).values(noticed_cycle=mine[-1].cycle)
                if (await connection.execute(change)).rowcount == 1:
                    for row in mine:
                        title = Specification.model_validate_json(row.specification).title
                        facts = EstimateFacts.model_validate_json(row.facts)
                        found.append((campaign_id, row.name, title, row.cycle, facts))
        return found


def _columns(estimate: StoredEstimate) -> dict[str, object]:
    def packed(values: FloatArray) -> bytes:
        return np.ascontiguousarray(values, dtype="<f8").tobytes()

    return {
        "facts": estimate.facts.model_dump_json(),
        "probabilities": packed(estimate.probabilities),
        "low": packed(estimate.low),
        "high": packed(estimate.high),
        "this_cycle": None if estimate.this_cycle is None else packed(estimate.this_cycle),
        "without_suspicious": None if estimate.without_suspicious is None else packed(estimate.without_suspicious),
        "areas": None if estimate.areas is None else packed(estimate.areas),
    }
