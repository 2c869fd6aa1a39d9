"""Who a request comes from when proxies stand in between: the first address, from the right, that is no trusted proxy.

    X-Forwarded-For: a, b, c   from peer p  →  p is trusted → c is trusted → b is the visitor (a is what b claims)

A header counts only as far as trusted proxies wrote it: what a visitor writes into it stands to the left of what the
first trusted proxy appended, and is never reached.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.base.errors import InputError

LOOPBACK = ("127.0.0.1", "::1")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_HEADERS = ("x-forwarded-for", "forwarded")
_FORWARDED_FOR = re.compile(r'(?:^|;)\s*for="?(\[[0-9a-f:.]+\]|[^;,"\s]+?)(?::\d+)?"?\s*(?:;|$)', re.IGNORECASE)


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
