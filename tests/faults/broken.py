"""Two collectors that are wrong on purpose, to show that the fault test can fail. They exist only here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from fastapi import FastAPI

from sfumato.collect.service.app import create_app
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import Counted, Destination, Outcome, RelayedBatch, Report
from sfumato.collect.service.store.report_counter import ReportCounter
from sfumato.collect.service.store.store import Store


class RepliesBeforeCommit(ReportCounter):
    """Says "counted" first and writes a moment later."""

    async def count(self, destination: Destination, reports: Sequence[Report | RelayedBatch]) -> Counted:
        async def later() -> None:
            await asyncio.sleep(0.2)
            await ReportCounter.count(self, destination, reports)

        self._later = [*getattr(self, "_later", []), asyncio.create_task(later())][-10_000:]
        return Counted((Outcome.COUNTED,) * len(reports), 0, 0)


class ForgetsKeys(ReportCounter):
    """Drops the uniqueness of keys and tickets: every arrival looks new."""

    async def count(self, destination: Destination, reports: Sequence[Report | RelayedBatch]) -> Counted:
        renamed = [Report(one.cell, os.urandom(16), os.urandom(16)) for one in reports if isinstance(one, Report)]
        return await ReportCounter.count(self, destination, renamed)


def _app(kind: type[ReportCounter]) -> FastAPI:
    settings = Settings.from_environment()
    store = Store(settings.text("database"))
    store.reports = kind(store.database)
    return create_app(settings, collector=Collector(settings, store=store))


def replies_before_commit() -> FastAPI:
    """An application that acknowledges too early."""
    return _app(RepliesBeforeCommit)


def forgets_keys() -> FastAPI:
    """An application that counts a resent report again."""
    return _app(ForgetsKeys)
