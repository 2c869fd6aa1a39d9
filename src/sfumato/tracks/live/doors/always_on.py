"""The bridge that is always on: HTTP, and beside it MQTT, a receiver, what is sent on, and forgetting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import uvicorn

from sfumato.tracks.live.audiences import LiveConfig
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.broker import Broker
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.sending import Sending
from sfumato.tracks.live.doors.web import LiveDoor, create_app
from sfumato.tracks.live.positions import from_receiver_line
from sfumato.tracks.live.store import LiveStore, live_key

_WATCH = b'?WATCH={"enable":true,"json":true}\n'
_AGAIN_S = 5.0
_STOP_WITHIN_S = 3


def serve(
    config: LiveConfig,
    *,
    host: str,
    port: int,
    passphrase: str | None,
    receiver: tuple[str, str, int] | None,
) -> None:
    """Serve until told to stop; ``receiver`` is a person, and host and port of gpsd or of NMEA over TCP."""
    key = live_key(config.folder)
    writing, looking = (Bridge(config, key, LiveStore(config.folder, key), passphrase=passphrase) for _ in range(2))
    commits = Commits(writing)
    door = LiveDoor(config, commits, looking)
    own = [to.replace("{audience}", one.name)[5:] for one in config.audiences for to in one.send if to[:5] == "mqtt:"]
    broker = Broker(config.mqtt_url, config.mqtt_topics, commits.take, own) if config.mqtt_url else None
    tasks: list[Callable[[], Awaitable[None]]] = [commits.tidy]
    if broker is not None or any(one.send for one in config.audiences):
        tasks.append(Sending(looking, door.views, commits, broker).run)
    if broker is not None:
        tasks.append(broker.run)
    if receiver is not None:
        tasks.append(lambda: listen_to(commits, *receiver))
    app = create_app(door, tasks)
    running = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False)
    running.server_header = running.date_header = running.proxy_headers = False
    running.timeout_graceful_shutdown = _STOP_WITHIN_S
    uvicorn.Server(running).run()


async def listen_to(commits: Commits, person: str, host: str, port: int) -> None:
    """Positions of gpsd (or NMEA sentences) over TCP, connected anew when it ends."""
    while True:
        with contextlib.suppress(OSError, ValueError):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(_WATCH)
                async for line in _lines(reader):
                    position = from_receiver_line(person, line)
                    if position is not None:
                        await commits.take(position)
            finally:
                writer.close()
        await asyncio.sleep(_AGAIN_S)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    while line := await reader.readline():
        yield line.decode("ascii", "replace")
