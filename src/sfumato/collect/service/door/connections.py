"""How connections are kept: so many for each address, and each request's header and body within a time.

uvicorn waits for ever for a request's header, and counts every connection against one limit: a few thousand half-sent
requests from one machine leave everybody else with 503. This is its own protocol with two clocks and one count.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sfumato.collect.service.door.guard import TrustedProxies, household
from sfumato.collect.service.settings import Settings

_TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_open: Counter[bytes] = Counter()


@cache
def _rules() -> tuple[int, float, float, TrustedProxies]:
    chosen = Settings.from_environment()
    proxies = TrustedProxies.of(chosen.text("trusted_proxies"), chosen.text("forwarded_header"))
    most = chosen.whole("connections_per_address")
    return most, chosen.number("header_timeout_s"), chosen.number("body_timeout_s"), proxies


class TimedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """One connection. Proxies that are trusted may hold as many as they like: they stand for many visitors."""

    _holder: bytes | None = None
    _clock: asyncio.TimerHandle | None = None
    _waits_for = ""
    _turned_away = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Count it; turn it away if its address holds enough already; start the header's clock."""
        most, header_s, _, proxies = _rules()
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
        if most and address and not proxies.trusts(address):
            self._holder = household(address)
            _open[self._holder] += 1
            if _open[self._holder] > most:
                self._turned_away = True
                transport.write(_TOO_MANY)
                transport.close()
                return
        super().connection_made(transport)
        self._wait("header", header_s)

    def data_received(self, data: bytes) -> None:
        """Read, then wait for the rest of what has begun, and only for so long."""
        if self._turned_away:
            return
        super().data_received(data)
        _, header_s, body_s, _ = _rules()
        request = self.cycle
        if request is None or request.response_complete:
            self._wait("header", header_s)
        elif request.more_body:
            self._wait("body", body_s)
        else:
            self._wait("", 0.0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._wait("", 0.0)
        if self._holder is not None:
            _open[self._holder] -= 1
            if not _open[self._holder]:
                del _open[self._holder]
            self._holder = None
        if not self._turned_away:
            super().connection_lost(exc)

    def _wait(self, what: str, within_s: float) -> None:
        """Start the clock of ``what`` unless it runs already; nothing stops it."""
        if what == self._waits_for:
            return
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._waits_for = what
        if what and within_s > 0:
            self._clock = asyncio.get_running_loop().call_later(within_s, self._too_slow)

    def _too_slow(self) -> None:
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self._waits_for == "header":
            transport.write(_TOO_SLOW)
            transport.close()
        else:
            transport.abort()
