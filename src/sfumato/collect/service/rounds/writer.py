"""Group commit: reports that arrive while a transaction runs share the next one, and are answered after its commit.

A failed commit is tried again: its keys tell the reports that did reach the disk from those that did not, so trying
again counts nothing twice. A report is answered only when a commit that holds it, or held it before, has returned.

Whether a report sent now would be kept is found out by writing: ``/ready`` asks :meth:`Health.ready`, which writes a
small row on the very connection that writes reports (at most once in ``remembered_s``) and needs room for a group of
reports beside the database. Either way a new kind of trouble is logged once, with advice, and its end once. Metrics are
of this process: totals and times, never by cell, version, ticket, campaign or address.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.store.engine import UNREACHABLE
from sfumato.collect.service.store.faults import Fault, fault
from sfumato.collect.service.store.records import Counted, Destination, Outcome, RelayedBatch, Report

_log = logging.getLogger("sfumato.collect.service")
_COMMIT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
Item = Report | RelayedBatch
_MOMENTS_S = 0.05


class Health:
    """What is known about the store's willingness to keep a report."""

    def __init__(
        self, probe: Callable[[], Awaitable[None]], *, remembered_s: float = 1.0, patience_s: float = 3.0
    ) -> None:
        self._probe = probe
        self._remembered_s = remembered_s
        self._patience_s = patience_s
        self._known_until_s = 0.0
        self._asking = asyncio.Lock()
        self.trouble: Fault | None = None

    def tell_failure(self, error: BaseException) -> Fault:
        """A write failed; logged if this is news."""
        found = fault(TimeoutError() if isinstance(error, asyncio.TimeoutError) else error)
        if self.trouble is None or self.trouble.kind != found.kind:
            _log.error("%s %s (%s)", found.what, found.advice, type(error).__name__)
        self.trouble = found
        # Whoever asks next finds out again: an answer from before this failure says nothing.
        self._known_until_s = 0.0
        return found

    def tell_success(self) -> None:
        """A write is on disk; logged if there was trouble."""
        if self.trouble is not None:
            _log.warning("The database takes reports again.")
        self.trouble = None

    async def ready(self) -> bool:
        """Whether a report would be kept, as of at most ``remembered_s`` ago."""
        async with self._asking:
            if time.monotonic() < self._known_until_s:
                return self.trouble is None
            try:
                await asyncio.wait_for(self._probe(), self._patience_s)
            except Exception as error:  # whatever it is, a report would not be kept
                self.tell_failure(error)
            else:
                self.tell_success()
            self._known_until_s = time.monotonic() + self._remembered_s
            return self.trouble is None


class Metrics:
    """The numbers and their registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, histogram = partial(Counter, registry=self.registry), partial(Histogram, registry=self.registry)
        reports = counter("sfumato_reports", "Reports by what became of them.", ["outcome"])
        self.reports = {outcome: reports.labels(outcome.value) for outcome in Outcome}
        batches = counter("sfumato_relayed_batches", "Relayed batches by what became of them.", ["outcome"])
        self.relayed_batches = {outcome: batches.labels(outcome.value) for outcome in Outcome}
        self.refused_tickets = counter("sfumato_tickets_refused", "Reports with a forged or expired ticket.")
        self.tickets = counter("sfumato_tickets_issued", "Tickets issued.")
        self.closed_cycles = counter("sfumato_cycles_closed", "Cycles closed by this process.")
        self.merged_cycles = counter("sfumato_cycles_merged", "Cycles that were due without enough tickets.")
        self.failed_commits = counter("sfumato_commits_failed", "Commits given up.")
        self.failed_estimates = counter("sfumato_estimates_failed", "Estimates that failed.")
        self.alarms = Gauge(
            "sfumato_alarms", "Campaigns whose latest cycle raised the poisoning alarm.", registry=self.registry
        )
        self.commit_seconds = histogram("sfumato_commit_seconds", "Time of one group commit.", buckets=_COMMIT_S)
        self.reports_in_commit = histogram("sfumato_reports_in_commit", "Reports in one group commit.", buckets=_SIZES)
        self.estimate_seconds = histogram("sfumato_estimate_seconds", "Time of one estimate.")

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class DurableCounter(Protocol):
    """Whatever can count a batch durably."""

    async def count(self, destination: Destination, reports: list[Item]) -> Counted: ...


class GroupCommit:
    """The queue of reports and the one task that writes them."""

    def __init__(
        self,
        counter: DurableCounter,
        *,
        most_in_commit: int,
        most_waiting: int,
        retry_s: float,
        metrics: Metrics,
        health: Health,
        on_counted: Callable[[Destination, Counted], None] = lambda _destination, _counted: None,
    ) -> None:
        self._counter = counter
        self._most_in_commit = most_in_commit
        self._most_waiting = most_waiting
        self._retry_s = retry_s
        self._metrics = metrics
        self._health = health
        self._on_counted = on_counted
        self._waiting: deque[tuple[Destination, Item, asyncio.Future[Outcome]]] = deque()
        self._arrived = asyncio.Event()
        self._stopping = False
        self._last_s = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin writing."""
        self._task = asyncio.get_running_loop().create_task(self._write())

    async def stop(self) -> None:
        """Write what is waiting, then end."""
        self._stopping = True
        self._arrived.set()
        if self._task is not None:
            await self._task

    @property
    def takes_reports(self) -> bool:
        """Whether the writing task runs and its queue has room."""
        running = self._task is not None and not self._task.done() and not self._stopping
        return running and len(self._waiting) < self._most_waiting

    @property
    def counting(self) -> bool:
        """Whether reports are coming in: one was queued within the last moments."""
        return time.monotonic() - self._last_s < _MOMENTS_S

    def submit(self, destination: Destination, item: Item) -> asyncio.Future[Outcome]:
        """Queue one item; the future is done after its commit."""
        if len(self._waiting) >= self._most_waiting or self._stopping:
            raise Refused(429, "The server is busy; send the same report again.", headers={"retry-after": "1"})
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((destination, item, future))
        self._last_s = time.monotonic()
        self._arrived.set()
        return future

    async def _write(self) -> None:
        while True:
            if not self._waiting:
                if self._stopping:
                    return
                self._arrived.clear()
                await self._arrived.wait()
                continue
            groups: dict[Destination, list[tuple[Item, asyncio.Future[Outcome]]]] = {}
            for _ in range(min(len(self._waiting), self._most_in_commit)):
                destination, item, future = self._waiting.popleft()
                groups.setdefault(destination, []).append((item, future))
            for destination, group in groups.items():
                await self._commit(destination, group)

    async def _commit(self, destination: Destination, group: list[tuple[Item, asyncio.Future[Outcome]]]) -> None:
        began = time.perf_counter()
        try:
            counted = await self._count_until_deadline(destination, [item for item, _ in group])
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._metrics.failed_commits.inc()
            found = self._health.tell_failure(error)
            refused = Refused(503, f"{found.what} Send the same report again.", headers={"retry-after": "2"})
            refused.__cause__ = error
            for _, future in group:
                if not future.done():
                    future.set_exception(refused)
            return
        self._health.tell_success()
        self._metrics.commit_seconds.observe(time.perf_counter() - began)
        self._metrics.reports_in_commit.observe(len(group))
        for (_, future), outcome in zip(group, counted.outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)
        self._on_counted(destination, counted)

    async def _count_until_deadline(self, destination: Destination, items: list[Item]) -> Counted:
        deadline = time.monotonic() + self._retry_s
        pause_s = 0.02
        while True:
            try:
                return await self._counter.count(destination, items)
            except UNREACHABLE as error:
                self._health.tell_failure(error)
                if self._stopping or time.monotonic() + pause_s > deadline:
                    raise
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 0.5)
