"""Closing a cycle exactly once, however many workers and servers look at it.

    open --(one conditional UPDATE wins)--> closing --(estimate; one transaction)--> closed, and the next cycle open

Whoever wins holds a lease that it renews while estimating. If it vanishes, another takes over after the lease; the
final transaction checks that the lease is still its own, so at most one estimate is ever published. A cycle that is
due with fewer than k tickets, or too soon, is not closed: it is merged with the period that follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Callable

from sfumato.service.estimating import CycleResult, estimate_cycle
from sfumato.service.metrics import Metrics
from sfumato.service.offers import Signer, new_cycle
from sfumato.service.settings import Settings
from sfumato.service.store import Campaign, CellCounts, CycleProgress, Store, StoredCycle, StoredEstimate


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
        """Close the cycle if it is due and may be; merge it if it is due and may not; take over a forgotten one."""
        asked, now_s = campaign.specification, self.now()
        if cycle.state == "closing":
            lease_until_s = now_s + self.settings.number("closing_lease_s")
            if await self.store.take_over_closing(cycle, closer=self.name, now_s=now_s, lease_until_s=lease_until_s):
                await self._estimate_and_finish(campaign, cycle)
            return
        due = cycle.due_at_s is not None and now_s >= cycle.due_at_s
        full = asked.cycle_reports is not None and cycle.tickets >= asked.cycle_reports
        if (due or full) and not self.missing(campaign, cycle):
            await self.close(campaign, cycle)
        elif due:
            # Only a cycle that lasts a given time is ever due.
            assert cycle.due_at_s is not None
            assert asked.cycle_duration_s is not None
            periods = 1 + int((now_s - cycle.due_at_s) // asked.cycle_duration_s)
            if await self.store.extend_cycle(cycle, due_at_s=cycle.due_at_s + periods * asked.cycle_duration_s):
                self.metrics.merged_cycles.inc()

    async def close(self, campaign: Campaign, cycle: StoredCycle) -> bool:
        """Close this open cycle, unless somebody else does."""
        claimed = await self.store.claim_closing(
            cycle,
            closer=self.name,
            minimum_tickets=campaign.specification.minimum_tickets,
            lease_until_s=self.now() + self.settings.number("closing_lease_s"),
        )
        return claimed and await self._estimate_and_finish(campaign, cycle)

    async def _estimate_and_finish(self, campaign: Campaign, cycle: StoredCycle) -> bool:
        renewing = asyncio.get_running_loop().create_task(self._keep_lease(cycle))
        try:
            began = time.perf_counter()
            cells, pooled = campaign.specification.cell_count, self.settings.whole("pooled_cycles")
            counts = await self.store.counts(campaign.id, cells=cells, up_to=cycle.number, pooled=pooled)
            latest = await self.store.closed_cycle(campaign.id)
            before = None if latest is None else latest[1]
            result = await in_daemon_thread(lambda: self._estimate(campaign, counts, before))
            self.metrics.estimate_seconds.observe(time.perf_counter() - began)
            return await self._publish(campaign, cycle, result)
        except asyncio.CancelledError:
            # A stop: another server, or this one when it is back, may take over at once.
            with contextlib.suppress(Exception):
                await self.store.renew_lease(cycle, closer=self.name, lease_until_s=0.0)
            raise
        except Exception:
            # The cycle takes no report until an estimate succeeds; it is tried again when the lease has run out.
            self.metrics.failed_estimates.inc()
            raise
        finally:
            renewing.cancel()

    def _estimate(self, campaign: Campaign, counts: list[CellCounts], before: StoredEstimate | None) -> CycleResult:
        return estimate_cycle(
            campaign.specification,
            counts,
            previous=None if before is None else before.probabilities,
            settings=self.settings,
            spent_before_per_km=None if before is None else before.facts.spent_epsilon_per_km,
            now_s=self.now(),
        )

    async def _publish(self, campaign: Campaign, cycle: StoredCycle, result: CycleResult) -> bool:
        log = await self.store.log(campaign.id)
        following = new_cycle(
            self.signer,
            name=campaign.name,
            specification=campaign.specification,
            number=cycle.number + 1,
            channel=result.next_channel,
            facts=result.next_facts,
            previous=log[-1].entry,
            now_s=int(self.now()),
        )
        arrays = (result.probabilities, result.low, result.high, result.this_cycle)
        estimate = StoredEstimate(cycle.number, result.facts, *arrays)
        asked = campaign.specification
        # Tickets are forgotten when what they are spent for is over: the cycle, the epoch, or never.
        over = asked.ticket_scope(cycle.number) != asked.ticket_scope(cycle.number + 1)
        forget = asked.ticket_scope(cycle.number) if over else None
        done = await self.store.finish_closing(cycle, estimate, following, closer=self.name, forget_scope=forget)
        if done:
            self.metrics.closed_cycles.inc()
        return done

    async def _keep_lease(self, cycle: StoredCycle) -> None:
        lease_s = self.settings.number("closing_lease_s")
        while True:
            await asyncio.sleep(lease_s / 4)
            with contextlib.suppress(Exception):
                await self.store.renew_lease(cycle, closer=self.name, lease_until_s=self.now() + lease_s)


async def in_daemon_thread(work: Callable[[], CycleResult]) -> CycleResult:
    """Run ``work`` in a thread that does not keep the process alive: a stop never waits for an estimate."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[CycleResult] = loop.create_future()

    def settle(value: CycleResult | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        try:
            value, error = work(), None
        except BaseException as caught:
            value, error = None, caught
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="estimate", daemon=True).start()
    return await future
