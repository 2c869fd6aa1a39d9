"""What travels between a device and a collector: canonical JSON, the channel's version, its signature, the device tag.

A channel is published as text, and the text itself is signed and hashed, so that two programs in two languages
agree on it byte for byte. The text is canonical JSON (RFC 8785): keys sorted, no spaces, numbers as ECMAScript
prints them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Mapping

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.collect.client.ed25519 import is_signature


def canonical_json(value: object) -> bytes:
    """``value`` as RFC 8785 text in UTF-8. NaN, infinities, integers beyond 2**53 and half characters have none."""
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError("Half a character has no canonical JSON.") from error


def channel_version(payload: bytes) -> str:
    """The version of a channel: SHA-256, in hex, of the text that publishes its grid, beta, weights and cycle."""
    return hashlib.sha256(payload).hexdigest()


def report_epoch(reporting: str, cycle: int, epoch_cycles: int | None) -> str:
    """The period in which a device draws one report: "once", the cycle's number, or "epoch N" of so many cycles."""
    if reporting == "once":
        return "once"
    return str(cycle) if epoch_cycles is None else f"epoch {(cycle - 1) // epoch_cycles + 1}"


def device_tag(campaign: str, scope: str, secret: bytes) -> str:
    """What a device shows to get its ticket: a hash that differs between campaigns and (by ``scope``) cycles.

    ``scope`` is the :func:`report_epoch`: the cycle's number, ``"once"`` or ``"epoch N"``. Without the
    device's ``secret`` (32 random bytes) two tags cannot be recognised as the same device.
    """
    if len(secret) != 32:
        raise InputError(f"The device secret has {len(secret)} bytes.", "It must have 32.")
    return hashlib.sha256(f"sfumato device|{campaign}|{scope}|{secret.hex()}".encode()).hexdigest()


def epoch_turn(campaign: str, scope: str, secret: bytes, epoch_cycles: int) -> int:
    """Which of an epoch's cycles (0 is the first) is this device's own: reports spread evenly over the epoch.

    From the device's ``secret``, so that nobody else can tell whose turn it is; another one in every epoch.
    """
    if len(secret) != 32:
        raise InputError(f"The device secret has {len(secret)} bytes.", "It must have 32.")
    digest = hashlib.sha256(f"sfumato turn|{campaign}|{scope}|{secret.hex()}".encode()).hexdigest()
    return int(digest[:13], 16) % epoch_cycles


def to_base64url(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """The bytes :func:`to_base64url` wrote."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError("The text is not base64url.") from error


def verify_payload(payload: bytes, *, version: str, signature: str, public_key: str) -> Mapping[str, object]:
    """The parsed channel if its version and its Ed25519 signature are right; otherwise :class:`VerificationFailed`."""
    if channel_version(payload) != version:
        raise VerificationFailed("The channel's version is not the hash of its text.", "Do not report through it.")
    verify_signature(payload, signature=signature, public_key=public_key)
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise VerificationFailed("The channel's text is not an object.", "Do not report through it.")
    return value


def verify_signature(message: bytes, *, signature: str, public_key: str) -> None:
    """Raise :class:`VerificationFailed` unless ``signature`` is the Ed25519 signature of ``message``."""
    try:
        right = is_signature(message, signature=from_base64url(signature), public_key=from_base64url(public_key))
    except InputError:
        right = False
    if not right:
        raise VerificationFailed("The signature is not the server's.", "Do not report through it.")


def log_entry(*, campaign: str, index: int, cycle: int, version: str, previous: str) -> str:
    """The hash of one entry of the public log of versions, chained to the entry before (64 zeros for the first)."""
    fields = {"campaign": campaign, "cycle": cycle, "index": index, "previous": previous, "version": version}
    return hashlib.sha256(canonical_json(fields)).hexdigest()


def _text(value: object) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) > 2**53:
            raise InputError("An integer beyond 2**53 has no canonical JSON.")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]).encode("utf-16-be"))
        return "{" + ",".join(f"{_text(str(key))}:{_text(item)}" for key, item in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    raise InputError(f"A {type(value).__name__} has no canonical JSON.", "Use plain values.")


def _number(value: float) -> str:
    """ECMAScript's Number::toString: the shortest digits that read back, exponents only outside 1e-7 .. 1e21."""
    if not math.isfinite(value):
        raise InputError("NaN and infinities have no canonical JSON.")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits * 10**point.
    point = len(whole) + int(exponent_text or 0) if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")))
    digits = digits.rstrip("0") or "0"
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits + "0" * (point - len(digits))
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * (-point) + digits
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + exponent
