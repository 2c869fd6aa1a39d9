"""What is now: what every campaign takes, as this server last read it, and a clock that does not jump.

Routes and the clock read at the same time, and a reading that began earlier may end later. It never replaces one that
began after it: a campaign that an operator paused, ended or deleted would take reports again, in this server only,
until somebody changed it once more. An open cycle was opened in the past and is due within one duration from now,
whatever has happened: where a clock that was wrong wrote otherwise, its time begins again.

    now = the machine's time, as long as it agrees (within ``tolerance_s``) with what has passed since it was last asked
        = what it was, plus what has passed since, while it does not

Small corrections are followed; a step (an operator's mistake, a broken time server, a machine that wakes up in 1970) is
said once and ignored until the clock agrees again, :meth:`SteadyClock.adopt` accepts it, or the server starts again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from sqlalchemy.exc import NoResultFound

from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.store.records import Campaign, Destination, StoredCycle
from sfumato.collect.service.store.store import Store

DELETED = Refused(410, "That campaign was deleted by its operator.")
_SLACK_S = 300
Marks = dict[int, tuple[str, str]]
_log = logging.getLogger("sfumato.collect.service")
_TOLERANCE_S = 300.0


@dataclass(frozen=True, slots=True, eq=False)
class CurrentOffer:
    """What a campaign takes right now."""

    campaign: Campaign
    cycle: StoredCycle
    cells: int
    destination: Destination


class CurrentOffers:
    """One for each campaign's name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offers: dict[str, CurrentOffer] = {}
        self._began = count(1)
        self._last: dict[str, int] = {}  # when the reading began that was kept

    def get(self, name: str) -> CurrentOffer | None:
        """That of a campaign, if it is known."""
        return self._offers.get(name)

    def all(self) -> list[CurrentOffer]:
        """Every campaign's, oldest first."""
        return sorted(self._offers.values(), key=lambda offer: offer.campaign.id)

    async def reload(self, campaign: Campaign) -> CurrentOffer:
        """As it is in the database now, its campaign too; 410 if that was deleted."""
        began = next(self._began)
        found = await self._store.campaign(campaign.id)
        if found is None:
            self.forget(campaign.name)
            raise DELETED
        offer = await self._read(found, began)
        if campaign.name not in self._offers:
            raise DELETED
        return offer

    async def refresh(self) -> None:
        """Look at every campaign again."""
        began = next(self._began)
        found = await self._store.campaigns()
        for campaign in found:
            with suppress(NoResultFound):  # deleted meanwhile
                await self._read(campaign, began)
        for gone in set(self._offers) - {campaign.name for campaign in found}:
            if self._last[gone] < began:  # else it was made meanwhile
                self.forget(gone)

    def forget(self, name: str) -> None:
        """A campaign that is no longer there."""
        self._offers.pop(name, None)
        self._last[name] = next(self._began)

    async def _read(self, campaign: Campaign, began: int) -> CurrentOffer:
        cycle = await self._store.current_cycle(campaign.id)
        asked = campaign.specification
        destination = Destination(campaign.id, cycle.number, asked.spent_scope(cycle.number), asked.relayed_cap_reports)
        offer = CurrentOffer(campaign, cycle, asked.cell_count, destination)
        if began < self._last.get(campaign.name, 0):
            return self._offers.get(campaign.name, offer)
        self._offers[campaign.name], self._last[campaign.name] = offer, began
        return offer


class Changes:
    """What this server has seen of the campaigns' rows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: Marks = {}

    async def what_happened(self, known: set[int]) -> Marks | None:
        """The campaigns' marks if a state or text changed, or one came or went, since they were last kept."""
        found = await self._store.operations.marks()
        return found if found != self._marks or set(found) != known else None

    def keep(self, marks: Marks) -> None:
        """They were acted upon; until then a failure leaves the change to be found again."""
        self._marks = marks

    async def set_right(self, campaign: Campaign, cycle: StoredCycle, *, now_s: float) -> bool:
        """Begin a running campaign's open cycle again if its times lie in the future; False if they do not."""
        times = sane_times(campaign.specification, cycle, now_s)
        if times is None or campaign.state != "running":
            return False
        return await self._store.operations.reschedule(cycle, opened_at_s=times[0], due_at_s=times[1])


def sane_times(asked: Specification, cycle: StoredCycle, now_s: float) -> tuple[int, int | None] | None:
    """Times for a cycle that was opened in the future, or is due later than it could be; None if its own are sane."""
    duration_s = asked.cycle_duration_s
    # A round that waits for a Monday may be half as long again, and longer by an hour when summer time ends.
    most_s = None if duration_s is None else duration_s if asked.begins_hour is None else 1.5 * duration_s + 3_600
    late = cycle.due_at_s is not None and most_s is not None and cycle.due_at_s > now_s + most_s + _SLACK_S
    if cycle.state != "open" or not (late or cycle.opened_at_s > now_s + _SLACK_S):
        return None
    return int(now_s), asked.due_at_s(now_s)


def takes_reports(campaign: Campaign) -> None:
    """Refuse what a device sends to a campaign that is paused or over: it keeps its report, and pays no second time."""
    if campaign.state == "paused":
        raise Refused(
            409,
            "The campaign is paused by its operator. Keep the report and send the same one again later.",
            headers={"retry-after": "600"},
        )
    if campaign.state != "running":
        raise Refused(410, "The campaign has ended; it takes no more reports.")


def passed_s() -> float:
    """Seconds since the machine started, sleep included where the system says."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SteadyClock:
    """Call it for the time in Unix seconds."""

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        passed: Callable[[], float] = passed_s,
        tolerance_s: float = _TOLERANCE_S,
    ) -> None:
        self._wall = wall
        self._passed = passed
        self._tolerance_s = tolerance_s
        self.stepped_by_s = 0.0
        self.adopt()

    def adopt(self) -> None:
        """Take the machine's time as it is now."""
        self._then, self._since = self._wall(), self._passed()
        self.stepped_by_s = 0.0

    def __call__(self) -> float:
        """The time."""
        wall, passed = self._wall(), self._passed()
        expected = self._then + (passed - self._since)
        if abs(wall - expected) <= self._tolerance_s:
            if self.stepped_by_s:
                _log.warning("The machine's clock agrees again.")
            self._then, self._since, self.stepped_by_s = wall, passed, 0.0
            return wall
        if not self.stepped_by_s:
            _log.error(
                "The machine's clock stepped by %.0f s; the collector goes on without it. If the new time is right: "
                "sfumato campaign reschedule NAME, or start the collector again.",
                wall - expected,
            )
        self.stepped_by_s = wall - expected
        return expected
