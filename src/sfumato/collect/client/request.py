"""One request on a connection of its own, by the standard library alone: no cookie, no redirect, no name of the device.

Proxies are those of the environment (``HTTPS_PROXY``). The server's certificate is checked against the system's
authorities, or certifi's where that package is installed.
"""

from __future__ import annotations

import json
import ssl
import zlib
from collections.abc import Mapping
from http.client import HTTPException
from urllib.parse import quote, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from sfumato.base.errors import InputError

try:
    import certifi
except ImportError:
    certifi = None

_LARGEST_ANSWER = 64 * 2**20  # bytes; a channel of 65,536 cells takes 2 MB, a log of 100,000 cycles 40 MB
_HEADERS = {"User-Agent": "sfumato", "Accept": "application/json", "Accept-Encoding": "gzip", "Connection": "close"}


class RequestFailed(OSError):
    """No answer; the text says why in a few words and names no place."""


def request(method: str, address: str, body: Mapping[str, object] | None) -> tuple[int, dict[str, object]]:
    """The status and the JSON object of the answer ({} where it is none), or :class:`RequestFailed`."""
    content = None if body is None else json.dumps(body).encode("utf-8")
    headers = _HEADERS if content is None else {**_HEADERS, "Content-Type": "application/json"}
    asked = Request(quote(address, safe="%:/?&=[]@~,;+"), data=content, headers=headers, method=method)
    authorities = None if certifi is None else certifi.where()
    opener = OpenerDirector()  # without the handlers that follow redirects, keep cookies and raise on an error's status
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(context=ssl.create_default_context(cafile=authorities)),
    ):
        opener.add_handler(handler)
    try:
        with opener.open(asked, timeout=30) as reply:
            answer = reply.read(_LARGEST_ANSWER + 1)
            if reply.headers.get("Content-Encoding") == "gzip":
                answer = zlib.decompressobj(wbits=31).decompress(answer, _LARGEST_ANSWER + 1)
            status = int(reply.status)
    except (OSError, HTTPException, ValueError, zlib.error) as error:
        cause = getattr(error, "reason", error)  # of a URLError
        raise RequestFailed(type(cause if isinstance(cause, Exception) else error).__name__) from error
    if len(answer) > _LARGEST_ANSWER:
        raise RequestFailed("its answer is larger than 64 MB")
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        value = {}
    return status, value if isinstance(value, dict) else {}


def server_address(url: str) -> str:
    """One spelling for one server: another spelling would be another campaign, and another report of the same cycle."""
    advice = "Write it like https://collector.example."
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise InputError("The server's address is not a URL.", advice) from error
    usual = {"http": 80, "https": 443}
    if parts.scheme not in usual or not parts.hostname or parts.username is not None or parts.query or parts.fragment:
        raise InputError("The server's address is not a plain http or https URL.", advice)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.rstrip(".")
    where = host if port in (None, usual[parts.scheme]) else f"{host}:{port}"
    return f"{parts.scheme}://{where}{parts.path.rstrip('/')}"
