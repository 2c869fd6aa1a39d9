"""Where tickets are issued and looked at: the keys of the rounds that are open or late, and who has had a ticket."""

from __future__ import annotations

import asyncio

from sfumato.collect.client.wire import report_epoch
from sfumato.collect.service.models.bodies import TicketRequest
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.rounds.round_key import RoundKey
from sfumato.collect.service.rounds.tickets import (
    TicketRefused,
    check_blind_ticket,
    check_ticket,
    device_nonce,
    issue_ticket,
)
from sfumato.collect.service.store.records import Campaign
from sfumato.collect.service.store.store import Store

_OLD_CLIENT = Refused(
    409,
    "This campaign's tickets are blind: the operator signs them without seeing them, and this client has shown none to "
    "sign. Update the client.",
)
_OTHER_KIND = Refused(409, "This campaign's tickets are not blind; fetch the channel again.")
_LOST = Refused(
    409,
    "This device has had its ticket, for another blinded one. A ticket that was lost is not given twice: restore the "
    "device's memory, or take part again when its next report is due.",
)
_KEYS_KEPT = 1_000


class TicketOffice:
    """The tickets of one server, of either kind."""

    def __init__(self, store: Store, key: bytes, *, lifetime_s: int) -> None:
        self._store = store
        self._key = key
        self._lifetime_s = lifetime_s
        self._round_keys: dict[tuple[str, int], RoundKey] = {}
        self._loading = asyncio.Lock()

    async def issue(self, campaign: Campaign, request: TicketRequest, *, now_s: int) -> tuple[str, int | None]:
        """The device's ticket of this cycle and when it expires, or the signature of its blinded ticket."""
        asked = campaign.specification
        scope = report_epoch(asked.reporting, request.cycle, asked.epoch_cycles)
        device = {"campaign": campaign.name, "scope": scope, "device": request.device}
        if asked.tickets == "linkable":
            if request.blinded is not None:
                raise _OTHER_KIND
            expires_at_s = now_s + self._lifetime_s
            return issue_ticket(self._key, cycle=request.cycle, expires_at_s=expires_at_s, **device), expires_at_s
        if request.blinded is None:
            raise _OLD_CLIENT
        key, blinded = await self._round_key(campaign, request.cycle), bytes.fromhex(request.blinded)
        if not key.fits(blinded):
            raise Refused(409, "The blinded ticket does not fit this round's key; fetch the channel again.")
        mine = await self._store.claim_ticket(
            campaign.id,
            scope=asked.ticket_scope(request.cycle),
            holder=device_nonce(self._key, **device),
            # With the round: what is not blinded is the same number under every round's key.
            shown=request.cycle.to_bytes(4) + blinded,
        )
        if not mine:
            raise _LOST
        return key.sign(blinded).hex(), None

    async def nonce_of(self, campaign: Campaign, ticket: str, *, cycle: int, now_s: float) -> bytes:
        """What is spent with this ticket, or :class:`TicketRefused`."""
        if campaign.specification.tickets == "linkable":
            return check_ticket(self._key, ticket, campaign=campaign.name, cycle=cycle, now_s=now_s)
        return check_blind_ticket(await self._round_key(campaign, cycle), ticket, cycle=cycle)

    async def _round_key(self, campaign: Campaign, cycle: int) -> RoundKey:
        which = campaign.name, cycle  # a name is never used twice
        if which not in self._round_keys:
            async with self._loading:  # hundreds may come at once, and loading checks the primes
                if which not in self._round_keys:
                    kept = await self._store.ticket_key(campaign.id, cycle)
                    if kept is None:
                        raise TicketRefused("The round of that ticket is over.", "Do not draw again for it.")
                    if len(self._round_keys) >= _KEYS_KEPT:
                        self._round_keys.pop(next(iter(self._round_keys)))
                    self._round_keys[which] = await asyncio.to_thread(RoundKey.load, kept)
        return self._round_keys[which]
