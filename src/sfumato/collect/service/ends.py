"""Campaigns that end by themselves: when the end that the operator chose has come, as if the operator had said so."""

from __future__ import annotations

import asyncio
import logging

from sfumato.collect.service import lifecycle
from sfumato.collect.service.answers import Refused
from sfumato.collect.service.collector import Collector

SCHEDULE = "schedule"
"""Who ended it, in the audit log."""
_log = logging.getLogger("sfumato.collect.service")


async def end_what_is_over(collector: Collector) -> list[str]:
    """End every campaign whose time has come; of several servers exactly one does."""
    ended = []
    for offer in await collector.offers():
        campaign = offer.campaign
        ends_at_s = campaign.specification.ends_at_s
        if campaign.state in ("running", "paused") and ends_at_s is not None and ends_at_s <= collector.now():
            try:
                await lifecycle.end(collector, campaign.name, who=SCHEDULE, reason="its end had come")
            except Refused:  # another server was quicker
                await collector.current.refresh()
            else:
                ended.append(campaign.name)
    return ended


async def watch_ends(collector: Collector) -> None:
    """Look now and then, for as long as the server runs."""
    pause_s = max(collector.settings.number("tick_s"), 0.2)
    while True:
        await asyncio.sleep(pause_s)
        try:
            await end_what_is_over(collector)
        except Exception as error:
            # It is tried again; the type only, a message could quote data.
            _log.warning("Looking at the campaigns' ends failed: %s", type(error).__name__)
