"""Listening: the port is ours, and the store opened, before anybody is told that the collector runs."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable

import uvicorn

from sfumato.base.errors import InputError, SfumatoError
from sfumato.collect.service.pages.layout import has_bundle
from sfumato.collect.service.pages.svg_maps import Ground
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.engine import UNREACHABLE
from sfumato.collect.service.store.faults import fault
from sfumato.collect.service.store.store import Store

_APP = "sfumato.collect.service.app:create_app"
_CONNECTIONS = 4096
_STOP_WITHIN_S = 3
NO_BUNDLE = (
    "Warning: the pages' bundle is not installed: maps are plain pictures and nobody can take part in a browser. "
    "Install a released wheel or sdist, or run `make web` in the clone (needs Node)."
)
_NAMES = (
    *("app", "factory", "host", "port", "workers", "access_log", "log_level", "server_header", "date_header"),
    *("proxy_headers", "timeout_graceful_shutdown", "limit_concurrency", "timeout_keep_alive"),
    *("h11_max_incomplete_event_size", "http"),
)


class _Announcing(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._announce()


def serve(*, host: str, port: int, workers: int, announce: Callable[[str], None]) -> None:
    """Serve until told to stop; ``announce`` is called with the address once requests are answered."""
    if workers > 1 and port == 0:
        raise InputError("Several workers need a port of their own.", "Choose one with --port.")
    Ground.of(Settings.from_environment())  # what is wrong with a map is said here, before anybody is told an address
    listening = _listen(host, port)
    if not has_bundle():
        print(NO_BUNDLE, file=sys.stderr, flush=True)
    _raise_file_limit()
    port = int(listening.getsockname()[1])
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    # No access log, no server name, and a stop that waits for reports on their way but not for ever. Who a request
    # comes from is the guard's business, not uvicorn's.
    config = uvicorn.Config(
        _APP,
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_WITHIN_S,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=65536,
        http="sfumato.collect.service.door.connections:TimedConnection",
    )
    if workers == 1:
        server = _Announcing(config, lambda: announce(url))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        if not server.started:
            raise SystemExit(3)
        return
    listening.close()
    _open_once()
    threading.Thread(target=_announce_when_answering, args=(host, port, lambda: announce(url)), daemon=True).start()
    uvicorn.run(**{name: getattr(config, name) for name in _NAMES})


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, or why it cannot."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.set_inheritable(True)
        return listening
    except PermissionError as error:
        raise InputError(f"This user may not listen on port {port}.", "Choose a port above 1023.") from error
    except socket.gaierror as error:
        raise InputError(f"There is no address {host}.", "Choose another --host.") from error
    except OSError as error:
        raise InputError(
            f"Port {port} of {host} cannot be listened on ({error.strerror}).",
            "Stop the program that has it, or choose another with --port.",
        ) from error


def _raise_file_limit() -> None:
    """As many open files as connections are allowed, where the machine lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _CONNECTIONS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _open_once() -> None:
    """Open and close the store, so that a database that cannot be used ends the parent and not every worker again."""

    async def look() -> None:
        store = Store(Settings.from_environment().text("database"))
        try:
            await store.open()
        finally:
            await store.close()

    try:
        asyncio.run(look())
    except UNREACHABLE as error:
        if isinstance(error, SfumatoError):
            raise
        found = fault(error)
        raise InputError(found.what, found.advice) from error


def _announce_when_answering(host: str, port: int, announce: Callable[[], None]) -> None:
    where = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    for _ in range(1200):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(where, port, timeout=1)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                announce()
                return
        time.sleep(0.05)
