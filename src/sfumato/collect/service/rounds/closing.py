"""Closing a cycle exactly once, however many workers and servers look at it, and turning nobody away meanwhile.

    open --(hand over: one transaction)--> closing, and the next cycle open --(estimate)--> closed --(late)--> forgotten

Whoever wins the conditional UPDATE of the handover holds a lease that it renews while estimating, from a snapshot and
in another process. If it vanishes, another takes over after the lease; the final transaction checks that the lease is
still its own, so at most one estimate is ever published. The next cycle's channel follows the latest estimate there is
when it opens, which is that of the cycle before: an estimate is never waited for. Reports drawn from the cycle that was
handed over are still counted, apart, until it is forgotten. A cycle that is due with fewer than k tickets, too soon, or
while the one before it is being estimated, is not closed: it stays open.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable

from sfumato.collect.service.rounds.cycle_estimate import EstimateTask, estimate_apart, following_channel
from sfumato.collect.service.rounds.signed_offers import Signer, new_cycle
from sfumato.collect.service.rounds.writer import Metrics
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.operations import Deed
from sfumato.collect.service.store.records import Campaign, CycleProgress, StoredCycle, StoredEstimate
from sfumato.collect.service.store.store import Store

_log = logging.getLogger("sfumato.collect.service")


class Closer:
    """One process's part in closing cycles."""

    def __init__(
        self, store: Store, signer: Signer, settings: Settings, metrics: Metrics, *, now: Callable[[], float]
    ) -> None:
        self.store = store
        self.signer = signer
        self.settings = settings
        self.metrics = metrics
        self.now = now
        self.name = secrets.token_hex(16)
        self._estimates: dict[tuple[int, int], asyncio.Task[bool]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    def wants(self, campaign: Campaign, progress: CycleProgress, now_s: float) -> bool:
        """Whether this cycle deserves a closer look."""
        size = campaign.specification.cycle_reports
        due = progress.due_at_s is not None and now_s >= progress.due_at_s
        return progress.state == "closing" or due or (size is not None and progress.tickets >= size)

    def missing(self, campaign: Campaign, cycle: StoredCycle) -> str:
        """Why the cycle may not be closed yet, or nothing."""
        asked = campaign.specification
        if cycle.tickets < asked.minimum_tickets:
            return f"fewer than {asked.minimum_tickets} tickets were spent in this cycle"
        if self.now() - cycle.opened_at_s < asked.minimum_cycle_s:
            return f"the cycle is younger than {asked.minimum_cycle_s} s"
        return ""

    async def look(self, campaign: Campaign, cycle: StoredCycle) -> None:
        """Hand the cycle over if it is due and may be; merge it if it may not; take over a forgotten estimate."""
        asked, now_s = campaign.specification, self.now()
        if cycle.state == "closing":
            await self._take_over(campaign, cycle)
            return
        due = cycle.due_at_s is not None and now_s >= cycle.due_at_s
        full = asked.cycle_reports is not None and cycle.tickets >= asked.cycle_reports
        if (due or full) and not self.missing(campaign, cycle):
            if await self._hand_over(campaign, cycle):
                self._begin(campaign, cycle)
        elif due:
            # Only a cycle that lasts a given time is ever due.
            assert cycle.due_at_s is not None
            assert asked.cycle_duration_s is not None
            periods = int((now_s - cycle.due_at_s) // asked.cycle_duration_s)
            due_s = asked.calendar.due_s(cycle.due_at_s + periods * asked.cycle_duration_s, asked.cycle_duration_s)
            if await self.store.extend_cycle(cycle, due_at_s=due_s):
                self.metrics.merged_cycles.inc()

    async def close(self, campaign: Campaign, cycle: StoredCycle, deed: Deed | None = None) -> bool:
        """Close this open cycle, unless somebody else does, and wait for its estimate."""
        if not await self._hand_over(campaign, cycle, deed):
            return False
        # Whoever asked may go away; the estimate goes on.
        return await asyncio.shield(self._begin(campaign, cycle))

    async def stop(self) -> None:
        """Give up every estimate, so that another server, or this one when it is back, may take over at once."""
        tasks = list(self._estimates.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _take_over(self, campaign: Campaign, cycle: StoredCycle) -> None:
        if (campaign.id, cycle.number) in self._estimates:
            return
        now_s = self.now()
        lease_until_s = now_s + self.settings.number("closing_lease_s")
        if not await self.store.take_over_closing(cycle, closer=self.name, now_s=now_s, lease_until_s=lease_until_s):
            return
        current = await self.store.current_cycle(campaign.id)
        # A version that opened the next cycle only after the estimate may have left this one without.
        if current.number > cycle.number or await self._hand_over(campaign, cycle):
            self._begin(campaign, cycle)

    async def _hand_over(self, campaign: Campaign, cycle: StoredCycle, deed: Deed | None = None) -> bool:
        """Stop counting into this cycle and open the next, in one transaction; False if somebody else did."""
        latest = await self.store.closed_cycle(campaign.id)
        channel, facts = await asyncio.to_thread(
            following_channel, campaign.specification, cycle, None if latest is None else latest[1], self.settings
        )
        log = await self.store.log(campaign.id)
        following = await asyncio.to_thread(
            new_cycle,
            self.signer,
            name=campaign.name,
            specification=campaign.specification,
            number=cycle.number + 1,
            channel=channel,
            facts=facts,
            previous=log[-1].entry,
            now_s=int(self.now()),
        )
        return await self.store.hand_over(
            cycle,
            following,
            closer=self.name,
            minimum_tickets=campaign.specification.minimum_tickets,
            lease_until_s=self.now() + self.settings.number("closing_lease_s"),
            deed=deed,
        )

    def _begin(self, campaign: Campaign, cycle: StoredCycle) -> asyncio.Task[bool]:
        key = (campaign.id, cycle.number)
        task = asyncio.get_running_loop().create_task(self._estimate_and_finish(campaign, cycle))
        self._estimates[key] = task

        def forget(ended: asyncio.Task[bool]) -> None:
            self._estimates.pop(key, None)
            error = None if ended.cancelled() else ended.exception()
            if error is not None:
                # The type only: a message could quote data. It is tried again when the lease has run out.
                _log.warning("The estimate of a cycle failed: %s", type(error).__name__)

        task.add_done_callback(forget)
        return task

    async def _estimate_and_finish(self, campaign: Campaign, cycle: StoredCycle) -> bool:
        renewing = asyncio.get_running_loop().create_task(self._keep_lease(cycle))
        try:
            async with self._one_at_a_time:
                began = time.perf_counter()
                result = await estimate_apart(await self._snapshot(campaign, cycle))
            self.metrics.estimate_seconds.observe(time.perf_counter() - began)
            return await self._publish(campaign, cycle, result)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await self.store.renew_lease(cycle, closer=self.name, lease_until_s=0.0)
            raise
        except Exception:
            self.metrics.failed_estimates.inc()
            raise
        finally:
            renewing.cancel()

    async def _snapshot(self, campaign: Campaign, cycle: StoredCycle) -> EstimateTask:
        cells, pooled = campaign.specification.cell_count, self.settings.whole("pooled_cycles")
        counts = await self.store.counts(campaign.id, cells=cells, up_to=cycle.number, pooled=pooled)
        out = await self.store.operations.cycles_left_out(campaign.id)
        latest = await self.store.closed_cycle(campaign.id)
        return EstimateTask(
            campaign.specification,
            tuple(one for one in counts if one.cycle not in out),
            None if latest is None else latest[1].probabilities,
            self.settings,
            await self.store.operations.spent_per_km(campaign.id),
            tuple(await self.store.operations.alarms_of(campaign.id)),
            tuple(one for one in out if one < cycle.number),
        )

    async def _publish(self, campaign: Campaign, cycle: StoredCycle, estimate: StoredEstimate) -> bool:
        late_until_s = self.now() + self.settings.number("late_reports_s")
        done = await self.store.finish_closing(cycle, estimate, closer=self.name, late_until_s=late_until_s)
        if done:
            self.metrics.closed_cycles.inc()
        return done

    async def _keep_lease(self, cycle: StoredCycle) -> None:
        lease_s = self.settings.number("closing_lease_s")
        while True:
            await asyncio.sleep(lease_s / 4)
            with contextlib.suppress(Exception):
                await self.store.renew_lease(cycle, closer=self.name, lease_until_s=self.now() + lease_s)
