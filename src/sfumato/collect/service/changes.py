"""What changes behind a server's back: campaigns that operators changed elsewhere, and clocks that were wrong.

An open cycle was opened in the past and is due within one duration from now, whatever has happened. Where a clock that
was wrong wrote otherwise, its time begins again: no step of a clock freezes a campaign.
"""

from __future__ import annotations

from sfumato.collect.service.answers import Refused
from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.store import Campaign, Store, StoredCycle

_SLACK_S = 300
Marks = dict[int, tuple[str, str]]


class Changes:
    """What this server has seen of the campaigns' rows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: Marks = {}

    async def happened(self, known: set[int]) -> Marks | None:
        """The campaigns' marks if a state or text changed, or one came or went, since they were last :meth:`seen`."""
        found = await self._store.operations.marks()
        return found if found != self._marks or set(found) != known else None

    def seen(self, marks: Marks) -> None:
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
    late = cycle.due_at_s is not None and duration_s is not None and cycle.due_at_s > now_s + duration_s + _SLACK_S
    if cycle.state != "open" or not (late or cycle.opened_at_s > now_s + _SLACK_S):
        return None
    return int(now_s), None if duration_s is None else int(now_s) + duration_s


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
