"""Tickets: the right to one report per device and cycle, signed by the server and issued without writing anything.

    nonce  = HMAC(key, "nonce"  | campaign | scope | device tag), 128 bits: the same device gets the same nonce again
    ticket = 1-cycle-expiry-nonce-HMAC(key, "ticket" | campaign | cycle | expiry | nonce)

``scope`` is the cycle's number, or "once" where each device reports once. Issuing leaves no row, no time and no order
behind that could be compared with the reports. What is not hidden: the server computes the nonce from the tag, so an
operator who keeps a log of both endpoints can link a ticket to a report.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from sfumato.base.errors import SfumatoError

TICKET_PATTERN = r"^1-[0-9]{1,9}-[0-9]{1,12}-[0-9a-f]{32}-[0-9a-f]{64}$"
_TICKET = re.compile(TICKET_PATTERN, re.ASCII)


class TicketRefused(SfumatoError, PermissionError):
    """A ticket that is forged, expired or of another cycle."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """An accepted ticket's cycle and nonce."""

    cycle: int
    nonce: bytes


def issue(key: bytes, *, campaign: str, cycle: int, scope: str, device: str, expires_at_s: int) -> str:
    """The ticket of the device with tag ``device``."""
    nonce = _mac(key, f"nonce|{campaign}|{scope}|{device}")[:32]
    return f"1-{cycle}-{expires_at_s}-{nonce}-{_ticket_mac(key, campaign, cycle, expires_at_s, nonce)}"


def check(key: bytes, ticket: str, *, campaign: str, cycle: int, now_s: float) -> Ticket:
    """The ticket if this server signed it for this campaign and cycle and it has not expired."""
    if _TICKET.fullmatch(ticket) is None:
        raise TicketRefused("The ticket is not one of this server's.", "Ask for a ticket.")
    _, ticket_cycle, expires_at_s, nonce, mac = ticket.split("-")
    wanted = _ticket_mac(key, campaign, int(ticket_cycle), int(expires_at_s), nonce)
    if not hmac.compare_digest(mac, wanted):
        raise TicketRefused("The ticket is not one of this server's.", "Ask for a ticket.")
    if int(ticket_cycle) != cycle:
        raise TicketRefused("The ticket is of another cycle.", "Ask for a ticket of the report's cycle.")
    if int(expires_at_s) < now_s:
        raise TicketRefused("The ticket has expired.", "Ask for another and send the same report with the same key.")
    return Ticket(cycle, bytes.fromhex(nonce))


def _ticket_mac(key: bytes, campaign: str, cycle: int, expires_at_s: int, nonce: str) -> str:
    return _mac(key, f"ticket|{campaign}|{cycle}|{expires_at_s}|{nonce}")


def _mac(key: bytes, message: str) -> str:
    return hmac.digest(key, message.encode("utf-8"), hashlib.sha256).hex()
