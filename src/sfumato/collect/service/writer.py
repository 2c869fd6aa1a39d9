"""Group commit: reports that arrive while a transaction runs share the next one, and are answered after its commit.

A failed commit is tried again: its keys tell the reports that did reach the disk from those that did not, so trying
again counts nothing twice. A report is answered only when a commit that holds it, or held it before, has returned.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sfumato.collect.service.answers import Refused
from sfumato.collect.service.health import Health
from sfumato.collect.service.metrics import Metrics
from sfumato.collect.service.store import Destination, Outcome, RelayedBatch, Report
from sfumato.collect.service.store.engine import UNREACHABLE
from sfumato.collect.service.store.records import Counted

Item = Report | RelayedBatch
_MOMENTS_S = 0.05


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
            found = self._health.failed(error)
            refused = Refused(503, f"{found.what} Send the same report again.", headers={"retry-after": "2"})
            refused.__cause__ = error
            for _, future in group:
                if not future.done():
                    future.set_exception(refused)
            return
        self._health.succeeded()
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
                self._health.failed(error)
                if self._stopping or time.monotonic() + pause_s > deadline:
                    raise
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 0.5)
