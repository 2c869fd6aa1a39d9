"""The door: who comes, size limits, rate limits and security headers, before any route sees a request.

Rates are counted in memory under a keyed hash of the address whose key dies with the process; no address is ever
written down. A limit is a bucket that refills evenly. Behind proxies the header is read from the right, and the first
address that is no trusted proxy is the visitor:

    X-Forwarded-For: a, b, c   from peer p  →  p is trusted → c is trusted → b is the visitor (a is what b claims)

Each proxy appends on the right, so what a visitor wrote into the header stands further left and is never reached.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.base.errors import InputError
from sfumato.collect.service.door.answers import refusal, surprise
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.settings import LOOPBACK

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_HEADERS = ("x-forwarded-for", "forwarded")
_FORWARDED_FOR = re.compile(r'(?:^|;)\s*for="?(\[[0-9a-f:.]+\]|[^;,"\s]+?)(?::\d+)?"?\s*(?:;|$)', re.IGNORECASE)
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_COMMON = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "geolocation=(self), camera=(), microphone=()",
    "strict-transport-security": "max-age=31536000",
}
_REMEMBERED_ADDRESSES = 100_000
_READ_OUT_BYTES = 1 << 20
_AREAS, _AREAS_BYTES = "/api/v1/areas", 12_000_000


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The networks whose word about who they forward for is taken, and the header they write."""

    networks: tuple[_Network, ...]
    header: bytes = b"x-forwarded-for"

    @classmethod
    def of(cls, networks: str, header: str = "x-forwarded-for") -> TrustedProxies:
        """From settings: networks like ``10.0.0.0/8, ::1``, separated by commas, and a header's name."""
        found = []
        for part in filter(None, (part.strip() for part in networks.split(","))):
            try:
                found.append(ipaddress.ip_network(part, strict=False))
            except ValueError as error:
                raise InputError(
                    f"The trusted proxy '{part}' is no network.", "Write an address or a CIDR such as 10.0.0.0/8."
                ) from error
            if found[-1].prefixlen == 0:
                raise InputError(
                    f"Trusting {part} would let every visitor choose its address.", "Name your proxies' networks."
                )
        if header.lower() not in _HEADERS:
            raise InputError(f"The header '{header}' is not known.", f"Choose {' or '.join(_HEADERS)}.")
        return cls(tuple(found), header.lower().encode())

    def trusts(self, address: str) -> bool:
        """Whether this is the address of a proxy."""
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self.networks)

    def visitor(self, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The address a request comes from; ``peer`` is who opened the connection."""
        written = [value.decode("latin-1") for name, value in headers if name == self.header]
        if not written or not self.trusts(peer):
            return peer
        text = ",".join(written)
        address = peer
        for hop in reversed(text.split(",")):
            claimed = _hop(hop, self.header)
            if claimed is None:  # nothing that is an address: the proxy that wrote it is all that is known
                break
            address = claimed
            if not self.trusts(address):
                break
        return address


def household(address: str) -> bytes:
    """What one visitor holds: an IPv4 address, or the 64-bit prefix of an IPv6 one, of which it has every address."""
    parsed = _parsed(address)
    if parsed is None:
        return address.encode()
    return parsed.packed[:8] if parsed.version == 6 else parsed.packed


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    # An IPv4 visitor on a socket for both looks like ::ffff:192.0.2.1.
    mapped = parsed.ipv4_mapped if parsed.version == 6 else None
    return parsed if mapped is None else mapped


def _hop(text: str, header: bytes) -> str | None:
    """One hop's address, without port and brackets, or None."""
    text = text.strip()
    if header == b"forwarded":
        found = _FORWARDED_FOR.search(text)
        text = found[1] if found else ""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    parsed = _parsed(text)
    return None if parsed is None else str(parsed)


class RateLimit:
    """A bucket of ``per_minute`` requests for each address; 0 is no limit."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._key = os.urandom(32)
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def wait_s(self, address: str, *, now_s: float | None = None) -> float:
        """0 if this request may pass (it is counted), else after how many seconds the next may."""
        if not self.per_minute or address in LOOPBACK:
            return 0.0
        now = time.monotonic() if now_s is None else now_s
        name = hashlib.blake2b(household(address), key=self._key, digest_size=16).digest()
        left, then = self._buckets.pop(name, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - then) * self.per_minute / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / self.per_minute
        self._buckets[name] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _REMEMBERED_ADDRESSES:
            self._buckets.popitem(last=False)
        return wait


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        per_minute: int,
        body_limit: int,
        report_body_limit: int,
        proxies: TrustedProxies | None = None,
    ) -> None:
        self.app = app
        self.proxies = proxies or TrustedProxies(())
        self.limit = RateLimit(per_minute)
        self.body_limit = body_limit
        self.report_body_limit = report_body_limit
        self.headers = _encoded({**_COMMON, "content-security-policy": _PAGE_POLICY})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on; every answer gets the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        headers = self.headers
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *headers]
            await send(message)

        client = scope.get("client")
        visitor = self.proxies.visitor(client[0], scope["headers"]) if client else ""
        if client and visitor != client[0]:
            scope = {**scope, "client": (visitor, client[1])}
        wait_s = self.limit.wait_s(visitor)
        if wait_s:
            refused = Refused(429, "Too many requests.", headers={"retry-after": str(int(wait_s) + 1)})
            await refusal(refused)(scope, receive, send_with_headers)
            return
        limit = self.report_body_limit if path.endswith(("/reports", "/tickets")) else self.body_limit
        if path == _AREAS:  # an operator's: whoever has no token is refused before anything is read
            limit = max(limit, _AREAS_BYTES)
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value[:20]) > limit):
                await _read_out(scope, receive)
                await refusal(_too_large(limit))(scope, receive, send_with_headers)
                return
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        try:
            await self.app(scope, receive_limited, send_with_headers)
        except asyncio.CancelledError:
            # The server is stopping and this request took too long: nothing was acknowledged.
            if started:
                raise
            stopping = Refused(503, "The server is stopping; send the same again.", headers={"retry-after": "2"})
            await refusal(stopping)(scope, receive, send_with_headers)
        except ClientDisconnect:
            # Whoever was sending has gone: nobody to answer, and nothing that was not expected.
            return
        except Exception as error:
            # Answered here and not raised again: the framework would answer without the headers, and the server would
            # write the message and the traceback, which could quote the request, to its log.
            answered = surprise(error)
            if started:
                raise RuntimeError("An answer broke off.") from None
            if received > limit:
                await _read_out(scope, receive)
            await answered(scope, receive, send_with_headers)


async def _read_out(scope: Scope, receive: Receive) -> None:
    """Read what is on its way before the connection is closed: closed on unread bytes, it takes the answer with it.

    At most a MiB, within the body's clock; whoever asked first (``Expect``) has sent nothing yet and is not told to.
    """
    if any(name == b"expect" for name, _ in scope["headers"]):
        return
    left = _READ_OUT_BYTES
    while left > 0:
        message = await receive()
        if not message.get("more_body"):
            return
        left -= len(message.get("body", b""))


def _too_large(limit: int) -> Refused:
    return Refused(413, f"The body is larger than {limit} bytes.", headers={"connection": "close"})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
