"""Tickets that the operator signs without seeing them: the device's side of blind RSA signatures [RFC 9474].

The variant is RSABSSA-SHA384-PSS-Randomized with e = 65537. For a key (n, e) of one campaign and one round:

    message  = 32 fresh random bytes (the randomizer) and 32 more (the ticket's own number)
    m        = EMSA-PSS-ENCODE(message, SHA-384, 48 bytes of fresh salt)
    blinded  = m r^e mod n,  r uniform and forgotten but for its inverse     the operator sees this and the device's tag
    answer   = blinded^d mod n                                               accepted only if answer^e = blinded
    ticket   = message and answer r^-1 mod n = m^d mod n                     the operator sees this with the report

For every ticket and every blinded message there is exactly one r that leads from one to the other, so what the operator
signed says nothing about which ticket it became: only *when* and *from where* things are asked can. To make the time
say nothing either, a device that keeps running asks in the first half of a round and reports at a random moment of the
second. The randomizer keeps the ticket blind under a key that the operator made on purpose, and the key is in the
signed text of the round, the same for everybody: another key for one person would be another version in the public log.

Numbers are Python's own, so that small devices need nothing else. Their time varies with the device's own secrets,
which nobody but the device can measure.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.accountant.device_memory import KeptTicket
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.collect.client.wire import from_base64url

KIND = "RSABSSA-SHA384-PSS-Randomized"
EXPONENT = 65537
MESSAGE_BYTES = 64
SALT_BYTES = 48
_HASH_BYTES = 48
_KEY_BYTES = (256, 512)
_LONGEST_ROUND_S = 31_622_400  # a leap year; a report that waits for longer would never go
_DO_NOT = "Do not take part; ask the operator."


@dataclass(frozen=True, slots=True)
class TicketTerms:
    """What a round says about its blind tickets: the modulus n of its key, when it began, how long it lasts."""

    modulus: int
    opened_at_s: int
    round_s: int | None
    """None where a round ends when it has enough reports: nobody can say beforehand until when to wait."""

    def report_moment_s(self, now_s: float) -> float | None:
        """A random moment of this round's second half; None in the second half, when it is too late to wait for one.

        The window is the same for everybody who asks in the first half, so the moment says nothing about who asked
        when. A round that was merged with the next periods begins again with each of them.
        """
        if self.round_s is None:
            return None
        middle_s = self.opened_at_s + self.round_s * (math.floor((now_s - self.opened_at_s) / self.round_s) + 0.5)
        if now_s >= middle_s:
            return None
        return middle_s + secrets.SystemRandom().random() * self.round_s / 2


def blind_ticket(modulus: int) -> KeptTicket:
    """A fresh ticket, blinded, as the device keeps it until it is signed and spent."""
    while True:
        # One in 2^1000 of these has a factor in common with n; another is drawn then.
        drawn = 1 + secrets.randbelow(modulus - 1)
        if math.gcd(drawn, modulus) == 1:
            break
    return blinded_with(modulus, secrets.token_bytes(MESSAGE_BYTES), secrets.token_bytes(SALT_BYTES), drawn)


def blinded_with(modulus: int, message: bytes, salt: bytes, drawn: int) -> KeptTicket:
    """The same with everything random given [RFC 9474, section 4.2]: for the RFC's own vectors."""
    encoded = int.from_bytes(encoded_message(message, salt, bits=modulus.bit_length() - 1))
    if math.gcd(encoded, modulus) != 1:
        raise VerificationFailed("The round's key can be factored.", "Do not take part; tell the operator.")
    blinded = encoded * pow(drawn, EXPONENT, modulus) % modulus
    size = size_of(modulus)
    return {
        "modulus": modulus.to_bytes(size).hex(),
        "message": message.hex(),
        "blinded": blinded.to_bytes(size).hex(),
        "inverse": pow(drawn, -1, modulus).to_bytes(size).hex(),
    }


def signature_from(ticket: KeptTicket, answer: object) -> str:
    """The signature of the ticket's message, or VerificationFailed if the answer is not by this round's key.

    Since answer^e = blinded is checked, and blinded is our own encoded message times r^e, the result is a signature
    of that message: the check of [RFC 9474, section 4.4], made before r is taken out instead of after.
    """
    modulus, inverse = int(ticket["modulus"], 16), int(ticket["inverse"], 16)
    size = size_of(modulus)
    try:
        signed = int.from_bytes(bytes.fromhex(str(answer)))
    except ValueError:
        signed = modulus
    if signed >= modulus or pow(signed, EXPONENT, modulus) != int(ticket["blinded"], 16):
        raise VerificationFailed(
            "The server signed the ticket with another key than the one it shows everybody.",
            "Do not take part: a key for you alone would single you out. Ask the operator.",
        )
    return (signed * inverse % modulus).to_bytes(size).hex()


def ticket_text(cycle: int, ticket: KeptTicket) -> str:
    """A signed ticket as it is shown with the report."""
    return f"2-{cycle}-{ticket['message']}-{ticket['signature']}"


def encoded_message(message: bytes, salt: bytes, *, bits: int) -> bytes:
    """EMSA-PSS-ENCODE [RFC 8017, section 9.1.1] with SHA-384 and MGF1."""
    size = (bits + 7) // 8
    inner = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(size - len(salt) - _HASH_BYTES - 2) + b"\x01" + salt
    masked = int.from_bytes(block) ^ int.from_bytes(_mask(inner, len(block)))
    masked &= (1 << bits - 8 * (_HASH_BYTES + 1)) - 1
    return masked.to_bytes(len(block)) + inner + b"\xbc"


def modulus_from(text: str) -> int:
    """The modulus of a key as it is published, if it is one this device accepts: 2048 to 4096 bits, odd."""
    try:
        data = from_base64url(text)
    except InputError:
        data = b""
    modulus = int.from_bytes(data)
    low, high = _KEY_BYTES
    if not low <= len(data) <= high or modulus.bit_length() != 8 * len(data) or modulus % 2 == 0:
        raise VerificationFailed(
            f"The tickets' key has {modulus.bit_length()} bits; this device accepts {8 * low} to {8 * high}.", _DO_NOT
        )
    return modulus


def terms_from(wire: object) -> TicketTerms:
    """What the signed text of a round says about its tickets."""
    if not isinstance(wire, Mapping) or wire.get("kind") != KIND:
        raise VerificationFailed("The campaign takes a kind of ticket this client does not know.", "Update the client.")
    times = [wire.get("opened_at_s"), wire.get("round_s", 1)]
    if set(wire) - {"round_s", "opened_at_s"} != {"kind", "key"}:
        raise VerificationFailed("What the channel says about tickets has missing or unknown fields.", _DO_NOT)
    if any(isinstance(one, bool) or not isinstance(one, int) or not 0 <= one <= 2**53 for one in times) or not times[1]:
        raise VerificationFailed("The round's times are not whole seconds.", _DO_NOT)
    if times[1] > _LONGEST_ROUND_S:
        raise VerificationFailed("The round's times are longer than a year.", _DO_NOT)
    return TicketTerms(modulus_from(str(wire["key"])), times[0], times[1] if "round_s" in wire else None)


def size_of(modulus: int) -> int:
    """How many bytes a number below the modulus takes."""
    return (modulus.bit_length() + 7) // 8


def _mask(seed: bytes, size: int) -> bytes:
    blocks = (hashlib.sha384(seed + count.to_bytes(4)).digest() for count in range(-(-size // _HASH_BYTES)))
    return b"".join(blocks)[:size]
