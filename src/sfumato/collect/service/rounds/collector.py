"""The running collector: its keys, what each campaign offers now, the queue of reports, the closing of cycles."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.collect.service.models.bodies import BatchRequest, CampaignRequest, ReportRequest, TicketRequest
from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.rounds.closing import Closer
from sfumato.collect.service.rounds.current import (
    DELETED,
    Changes,
    CurrentOffer,
    CurrentOffers,
    SteadyClock,
    takes_reports,
)
from sfumato.collect.service.rounds.cycle_estimate import channel_facts, first_channel
from sfumato.collect.service.rounds.signed_offers import (
    FIRST_PREVIOUS,
    Signer,
    demonstration,
    new_cycle,
    refuse_brackets,
    refuse_what_devices_refuse,
    specification,
)
from sfumato.collect.service.rounds.staff import Notifier, Operators
from sfumato.collect.service.rounds.tickets import TicketOffice, TicketRefused
from sfumato.collect.service.rounds.writer import GroupCommit, Health, Metrics
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.engine import UNREACHABLE
from sfumato.collect.service.store.faults import fault
from sfumato.collect.service.store.operations import Deed
from sfumato.collect.service.store.records import (
    Campaign,
    Counted,
    Destination,
    Outcome,
    RelayedBatch,
    Report,
    StoredCycle,
)
from sfumato.collect.service.store.store import Store

_log = logging.getLogger("sfumato.collect.service")
_CLOSED = Refused(410, "The cycle of that version is closed; do not draw again for it.")
_CLOSING = Refused(409, "The cycle is being closed; try again in a moment.", headers={"retry-after": "1"})
# With the 3 s the server gives requests on their way (cli/serve.py), a stop takes less than 10 s.
_LEASE_WITHIN_S, _WRITE_WITHIN_S, _CLOSE_WITHIN_S = 0.5, 1.5, 0.5


class Collector:
    """Everything behind the routes. ``now`` is the clock, in Unix seconds."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        now: Callable[[], float] | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self.store = store or Store(settings.text("database"))
        self.metrics = Metrics()
        self.health = Health(self.store.reports.probe)
        self.now = now or SteadyClock()
        self.operators = Operators(self.store, settings, now=lambda: self.now())
        self.notifier = Notifier(self.store, settings)
        self._announce = announce or (lambda line: print(line, file=sys.stderr, flush=True))
        self.current = CurrentOffers(self.store)
        self._ticker: asyncio.Task[None] | None = None
        self._messenger: asyncio.Task[None] | None = None
        self.changes = Changes(self.store)
        self._look = asyncio.Event()
        self._refresh_again_at = 0.0

    async def start(self) -> None:
        """Open the store, load or make the keys, and begin to write and to close."""
        await self.store.open()
        seed, _ = await self.store.secret("signing_seed", os.urandom(32))
        self.signer = Signer.from_seed(seed)
        key, _ = await self.store.secret("tickets_key", os.urandom(32))
        self.tickets = TicketOffice(self.store, key, lifetime_s=self.settings.whole("ticket_lifetime_s"))
        await self._load_token()
        await self._make_demonstration()
        self.writer = GroupCommit(
            self.store.reports,
            most_in_commit=self.settings.whole("group_commit_reports"),
            most_waiting=self.settings.whole("waiting_reports"),
            retry_s=self.settings.number("commit_retry_s"),
            metrics=self.metrics,
            health=self.health,
            on_counted=self._after_commit,
        )
        self.closer = Closer(self.store, self.signer, self.settings, self.metrics, now=lambda: self.now())
        await self.current.refresh()
        self.writer.start()
        self._ticker = asyncio.get_running_loop().create_task(self._tick())
        self._messenger = asyncio.get_running_loop().create_task(self._tell())

    async def stop(self) -> None:
        """Write what is waiting, let go of a cycle being closed, and close the store.

        Each step is given up after a while: a database that is frozen rather than gone would hold the process for
        ever. Nothing acknowledged is lost by that, and an unacknowledged report is sent again by its device.
        """
        if self._messenger is not None:
            self._messenger.cancel()
            await asyncio.wait({self._messenger}, timeout=_LEASE_WITHIN_S)
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.wait({self._ticker}, timeout=_LEASE_WITHIN_S)
            await asyncio.wait({asyncio.ensure_future(self.closer.stop())}, timeout=_LEASE_WITHIN_S)
        for step, within_s in ((self.writer.stop(), _WRITE_WITHIN_S), (self.store.close(), _CLOSE_WITHIN_S)):
            try:
                await asyncio.wait_for(step, within_s)
            except UNREACHABLE:  # a TimeoutError is an OSError
                _log.warning("The database does not answer; stopping without it.")

    # -- what the routes ask ------------------------------------------------------------------------------------

    async def campaign(self, name: str) -> Campaign:
        """The campaign of that name, or 404."""
        return (await self.offer(name)).campaign

    async def offer(self, name: str) -> CurrentOffer:
        """What the campaign takes right now, or 404."""
        found = self.current.get(name)
        if found is None and time.monotonic() > self._refresh_again_at:
            # Another server may have made it; looking at most once a second keeps guesses cheap.
            self._refresh_again_at = time.monotonic() + 1
            await self.current.refresh()
            found = self.current.get(name)
        if found is None:
            if await self.store.audit.was_deleted(name):
                raise DELETED
            raise Refused(404, "There is no campaign of that name; see /api/v1/campaigns.")
        return found

    async def open_offer(self, name: str) -> CurrentOffer:
        """The same, refused while the cycle is being closed (409), the campaign paused (409) or ended (410)."""
        offer = await self.offer(name)
        takes_reports(offer.campaign)
        if offer.cycle.state != "open":
            offer = await self._reloaded(offer)
        if offer.cycle.state != "open":
            raise _CLOSING
        return offer

    async def offers(self) -> list[CurrentOffer]:
        """Every campaign, oldest first."""
        return self.current.all()

    async def fresh(self, name: str) -> tuple[Campaign, StoredCycle]:
        """The campaign and its current cycle with counts as they are now."""
        offer = await self.current.reload(await self.campaign(name))
        return offer.campaign, offer.cycle

    async def create_campaign(self, request: CampaignRequest, *, who: str) -> tuple[Campaign, StoredCycle]:
        """A new campaign with its first cycle open."""
        return await self._open(request.name, specification(request, self.settings), who=who)

    async def copy_campaign(self, rehearsal: str, name: str, *, who: str) -> tuple[Campaign, StoredCycle]:
        """The real campaign that was rehearsed: the same in everything but its name, its reports and that it counts."""
        asked = (await self.campaign(rehearsal)).specification
        if not asked.rehearsal:
            raise Refused(409, "Only a rehearsal is copied into the real campaign.")
        return await self._open(name, asked.model_copy(update={"rehearsal": False}), who=who, copy_of=rehearsal)

    async def _open(self, name: str, asked: Specification, *, who: str, **told: object) -> tuple[Campaign, StoredCycle]:
        if await self.store.audit.was_deleted(name):
            raise Refused(409, "A campaign of that name was deleted; devices remember it. Choose another name.")
        refuse_brackets(asked, self.settings)
        if asked.ends_at_s is not None and asked.ends_at_s <= self.now():
            raise Refused(409, "ends_at_s: it would have ended already. Choose a later end.")
        campaign = await self._create(name, asked, Deed(int(self.now()), who, "create", name, told))
        assert campaign is not None
        return campaign, (await self.current.reload(campaign)).cycle

    async def issue_ticket(self, name: str, request: TicketRequest) -> tuple[str, int | None]:
        """A ticket (or the signature of a blinded one) and when it expires; None: with its round."""
        offer = await self.open_offer(name)
        if request.cycle != offer.cycle.number:
            offer = await self._reloaded(offer)
        late = request.cycle < offer.cycle.number and await self.store.late_cycle(
            offer.campaign.id, number=request.cycle
        )
        if request.cycle != offer.cycle.number and not late:
            raise Refused(409, "That is not the open cycle; fetch the channel again.", headers={"retry-after": "1"})
        issued = await self.tickets.issue(offer.campaign, request, now_s=int(self.now()))
        self.metrics.tickets.inc()
        return issued

    async def count_report(self, name: str, request: ReportRequest) -> bool:
        """Count one report; True if it was counted before. Returns only after the commit."""
        offer, to = await self._destination(name, request.version)
        if request.cell >= offer.cells:
            raise Refused(409, f"cell: there are {offer.cells} cells, numbered from 0.")
        try:
            nonce = await self.tickets.nonce_of(offer.campaign, request.ticket, cycle=to.cycle, now_s=self.now())
        except TicketRefused as error:
            self.metrics.refused_tickets.inc()
            raise Refused(401, str(error)) from error
        report = Report(request.cell, bytes.fromhex(request.key), nonce)
        outcome = await self._submit(offer.campaign, to, request.version, report)
        self.metrics.reports[outcome].inc()
        return self._duplicate(offer, outcome)

    async def count_batch(self, name: str, request: BatchRequest) -> bool:
        """Count relayed reports; True if they were counted before. Returns only after the commit."""
        offer, to = await self._destination(name, request.version)
        if not offer.campaign.specification.relayed:
            raise Refused(403, "This campaign takes no relayed reports.")
        counts: dict[int, int] = {}
        for cell in request.cells:
            counts[cell] = counts.get(cell, 0) + 1
        if max(counts) >= offer.cells:
            raise Refused(409, f"cells: there are {offer.cells} cells, numbered from 0.")
        batch = RelayedBatch(tuple(counts.items()), len(request.cells), bytes.fromhex(request.key))
        outcome = await self._submit(offer.campaign, to, request.version, batch)
        self.metrics.relayed_batches[outcome].inc()
        return self._duplicate(offer, outcome)

    async def close_cycle(self, name: str, *, who: str) -> tuple[bool, int, str]:
        """Close the open cycle now if it has enough tickets and time; otherwise say what is missing."""
        campaign, cycle = await self.fresh(name)
        if any(one.campaign_id == campaign.id and one.state == "closing" for one in await self.store.progress()):
            raise _CLOSING
        missing = self.closer.missing(campaign, cycle)
        if missing:
            return False, cycle.number, missing
        deed = Deed(int(self.now()), who, "close", name, {"cycle": cycle.number})
        closed = await self.closer.close(campaign, cycle, deed)
        await self.current.reload(campaign)
        return closed, cycle.number, "closed" if closed else "somebody else is closing it"

    # -- inside --------------------------------------------------------------------------------------------------

    async def _destination(self, name: str, version: str) -> tuple[CurrentOffer, Destination]:
        """Where a report of this version is counted: in the open cycle, or late in the one before."""
        offer = await self.offer(name)
        takes_reports(offer.campaign)
        if offer.cycle.version != version or offer.cycle.state != "open":
            offer = await self._reloaded(offer)
        if offer.cycle.version == version and offer.cycle.state == "open":
            return offer, offer.destination
        number = await self.store.late_cycle(offer.campaign.id, version=version)
        if number is not None:
            asked = offer.campaign.specification
            scope, cap = asked.spent_scope(number), asked.relayed_cap_reports
            return offer, Destination(offer.campaign.id, number, scope, cap, late=True)
        if await self.store.version_exists(offer.campaign.id, version):
            raise _CLOSED
        raise Refused(409, "version: this campaign never published that version.")

    async def _submit(
        self, campaign: Campaign, destination: Destination, version: str, item: Report | RelayedBatch
    ) -> Outcome:
        """Queue and wait for the commit; a cycle that was handed over on the way counts the item late."""
        outcome = await self.writer.submit(destination, item)
        if outcome is Outcome.CYCLE_CLOSED and not destination.late:
            await self.current.reload(campaign)
            _, destination = await self._destination(campaign.name, version)
            outcome = await self.writer.submit(destination, item)
        return outcome

    def _duplicate(self, offer: CurrentOffer, outcome: Outcome) -> bool:
        if outcome is Outcome.CYCLE_CLOSED:
            raise _CLOSED
        if outcome is Outcome.TICKET_SPENT:
            raise Refused(409, "The ticket was already spent on another report; one report per device and cycle.")
        if outcome is Outcome.OVER_CAP:
            cap = offer.campaign.specification.relayed_cap_reports
            raise Refused(409, f"The cap of {cap} relayed reports per cycle would be passed.")
        return outcome is Outcome.DUPLICATE

    async def _reloaded(self, offer: CurrentOffer) -> CurrentOffer:
        """The same as it is now, refused as in :meth:`open_offer` if it was paused or ended meanwhile."""
        offer = await self.current.reload(offer.campaign)
        takes_reports(offer.campaign)
        return offer

    def _after_commit(self, destination: Destination, counted: Counted) -> None:
        for offer in self.current.all():
            if offer.destination == destination:
                size = offer.campaign.specification.cycle_reports
                if size is not None and counted.tickets >= size:
                    self._look.set()

    async def _tick(self) -> None:
        """Close what is due, now and then and whenever a commit filled a cycle."""
        pause_s = self.settings.number("tick_s")
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._look.wait(), pause_s)
            self._look.clear()
            try:
                if self.health.trouble is not None:
                    await self.health.ready()  # nobody may ask, and asking is what makes room in the database's log
                await self._close_due()
            except Exception as error:
                if fault(error).kind == "full":
                    self.health.tell_failure(error)
                # Closing goes on whatever happened; the type only, a message could quote data.
                _log.warning("Looking at the cycles failed: %s", type(error).__name__)
                await asyncio.sleep(pause_s)

    async def _close_due(self) -> None:
        await self._see_changes()
        unfinished = await self.store.progress()
        closing = {progress.campaign_id for progress in unfinished if progress.state == "closing"}
        for progress in unfinished:
            known = {offer.campaign.id: offer for offer in self.current.all()}
            offer = known.get(progress.campaign_id)
            if offer is None:
                await self.current.refresh()
                continue
            if progress.state == "open" and progress.version != offer.cycle.version:
                offer = await self.current.reload(offer.campaign)
            if progress.state == "open" and offer.campaign.state != "running":
                continue
            # A cycle waits, open, for the estimate of the one before.
            waits = progress.state == "open" and progress.campaign_id in closing
            if not waits and self.closer.wants(offer.campaign, progress, self.now()):
                cycle = await self.store.cycle(progress.campaign_id, progress.number)
                await self.closer.look(offer.campaign, cycle)
                await self.current.reload(offer.campaign)
        await self.store.forget_late(now_s=self.now())
        await self.store.scrub()

    async def _see_changes(self) -> None:
        """What operators changed through another server, and times that a wrong clock wrote."""
        changed = await self.changes.what_happened({offer.campaign.id for offer in self.current.all()})
        if changed is not None:
            await self.current.refresh()
            self.changes.keep(changed)
        await self.store.operations.shorten_leases(self.now())
        for offer in self.current.all():
            if await self.changes.set_right(offer.campaign, offer.cycle, now_s=self.now()):
                _log.warning("A cycle's times lay in the future: a clock was wrong. It begins now.")
                await self.current.reload(offer.campaign)

    async def _tell(self) -> None:
        """Deliver notices; slow mail servers keep nobody waiting."""
        while True:
            await asyncio.sleep(max(self.settings.number("tick_s"), 0.2))
            try:
                await self.notifier.look(now_s=self.now())
            except Exception as error:
                _log.warning("Looking at the notices failed: %s", type(error).__name__)
                await asyncio.sleep(1)

    async def _load_token(self) -> None:
        token = await self.operators.load()
        if token is None:
            return
        path = self.settings.text("operator_token_file")
        if path:
            write_text(path, token + "\n", private=True)
            self._announce(f"The operator's token was written to {path}.")
        else:
            self._announce(f"Operator token (shown once, keep it): {token}")

    async def _make_demonstration(self) -> None:
        city = self.settings.text("city")
        if city != "none":
            name, asked = demonstration(city, self.settings)
            await self._create(name, asked)

    async def _create(self, name: str, asked: Specification, deed: Deed | None = None) -> Campaign | None:
        channel = await asyncio.to_thread(first_channel, asked)
        facts = await asyncio.to_thread(channel_facts, channel, None)
        first = await asyncio.to_thread(
            new_cycle,
            self.signer,
            name=name,
            specification=asked,
            number=1,
            channel=channel,
            facts=facts,
            previous=FIRST_PREVIOUS,
            now_s=int(self.now()),
        )
        await asyncio.to_thread(refuse_what_devices_refuse, asked, first, self.signer.public_key)
        try:
            return await self.store.create_campaign(name, asked, first, deed=deed)
        except InputError as error:
            raise Refused(409, str(error)) from error
