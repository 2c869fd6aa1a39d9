"""Tickets: the right to one report per device and round, signed by the server, of the kind the campaign chose.

*blind* [RFC 9474; :mod:`sfumato.collect.client.blind_tickets`]: every round has an RSA key of its own. The server keeps
which devices' tags have had their ticket (without a time or an order) and signs what a tag showed first, again and
again, so that a lost answer costs nobody a ticket. What is spent later is a number it has never seen before:

    ticket = 2-cycle-message-signature

*linkable*, as in version 0.2.0:

    nonce  = HMAC(key, "nonce"  | campaign | scope | device tag), 128 bits: the same device gets the same nonce again
    ticket = 1-cycle-expiry-nonce-HMAC(key, "ticket" | campaign | cycle | expiry | nonce)

``scope`` is the cycle's number, or "once" where each device reports once. Issuing leaves no row, no time and no order
behind, but the server computes the nonce from the tag: an operator who keeps a log of both endpoints can link them.
The office holds the keys of the rounds that are open or late.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re

from sfumato.base.errors import SfumatoError
from sfumato.collect.client.wire import report_epoch
from sfumato.collect.service.models.bodies import TICKET_PATTERN, TicketRequest
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.rounds.round_key import RoundKey
from sfumato.collect.service.store.records import Campaign
from sfumato.collect.service.store.store import Store

_TICKET = re.compile(TICKET_PATTERN, re.ASCII)


class TicketRefused(SfumatoError, PermissionError):
    """A ticket that is forged, expired or of another cycle."""


def device_nonce(key: bytes, *, campaign: str, scope: str, device: str) -> bytes:
    """What stands for the device with tag ``device`` in this campaign and scope, 128 bits."""
    return bytes.fromhex(_mac(key, f"nonce|{campaign}|{scope}|{device}")[:32])


def issue_ticket(key: bytes, *, campaign: str, cycle: int, scope: str, device: str, expires_at_s: int) -> str:
    """The linkable ticket of the device with tag ``device``."""
    nonce = device_nonce(key, campaign=campaign, scope=scope, device=device).hex()
    return f"1-{cycle}-{expires_at_s}-{nonce}-{_ticket_mac(key, campaign, cycle, expires_at_s, nonce)}"


def check_ticket(key: bytes, ticket: str, *, campaign: str, cycle: int, now_s: float) -> bytes:
    """The nonce of a linkable ticket if this server signed it for this campaign and cycle and it has not expired."""
    if _TICKET.fullmatch(ticket) is None or not ticket.startswith("1-"):
        raise TicketRefused("The ticket is not one of this server's.", "Ask for a ticket.")
    _, ticket_cycle, expires_at_s, nonce, mac = ticket.split("-")
    wanted = _ticket_mac(key, campaign, int(ticket_cycle), int(expires_at_s), nonce)
    if not hmac.compare_digest(mac, wanted):
        raise TicketRefused("The ticket is not one of this server's.", "Ask for a ticket.")
    _of_this_cycle(ticket_cycle, cycle)
    if int(expires_at_s) < now_s:
        raise TicketRefused("The ticket has expired.", "Ask for another and send the same report with the same key.")
    return bytes.fromhex(nonce)


def check_blind_ticket(key: RoundKey, ticket: str, *, cycle: int) -> bytes:
    """The nonce of a blind ticket, a hash of its message, if this round's key signed it."""
    if _TICKET.fullmatch(ticket) is None or not ticket.startswith("2-"):
        raise TicketRefused("This campaign's tickets are blind, and this is none.", "Update the client.")
    _, ticket_cycle, text, signature = ticket.split("-")
    _of_this_cycle(ticket_cycle, cycle)
    message = bytes.fromhex(text)
    if not key.verifies(message, bytes.fromhex(signature)):
        raise TicketRefused("The ticket is not signed by this round's key.", "Ask for a ticket.")
    return hashlib.sha256(message).digest()[:16]


def _of_this_cycle(ticket_cycle: str, cycle: int) -> None:
    if int(ticket_cycle) != cycle:
        raise TicketRefused("The ticket is of another cycle.", "Ask for a ticket of the report's cycle.")


def _ticket_mac(key: bytes, campaign: str, cycle: int, expires_at_s: int, nonce: str) -> str:
    return _mac(key, f"ticket|{campaign}|{cycle}|{expires_at_s}|{nonce}")


def _mac(key: bytes, message: str) -> str:
    return hmac.digest(key, message.encode("utf-8"), hashlib.sha256).hex()


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
