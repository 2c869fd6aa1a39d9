"""MQTT both ways: OwnTracks' topics in, what audiences may see out. A message is acknowledged after it is in the store.

The broker keeps what it has for this client while the bridge is away (one client name, a session that stays, QoS 1); an
acknowledgement to the broker is given by hand, after the commit, so that a killed bridge gets the message again.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from sfumato.base.errors import InputError
from sfumato.tracks.live.positions import Position, from_owntracks, json_object

PASSWORD = "SFUMATO_MQTT_PASSWORD"
_LARGEST_BYTES = 65_536
_PUBLISHED_WITHIN_S = 20.0


def person_of_topic(topic: str) -> str:
    """``owntracks/anna/phone`` is anna's."""
    parts = topic.split("/")
    return parts[1] if len(parts) > 2 else parts[-1]


class Broker:
    """A connection that is made anew for ever."""

    def __init__(
        self,
        url: str,
        topics: tuple[str, ...],
        take: Callable[[Position], Awaitable[object]],
        own: Sequence[str] = (),
    ) -> None:
        """``own`` are the addresses that the bridge itself writes to: what comes from there is no position."""
        parts = urlsplit(url)
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
            raise InputError("The broker's address is none.", 'Write [mqtt] url = "mqtt://user@host:1883".')
        self._take, self._topics = take, topics
        self._own = [re.compile(re.escape(one).replace(r"\{person\}", ".+")) for one in own]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client = Client(
            CallbackAPIVersion.VERSION2, client_id="sfumato-live", clean_session=False, manual_ack=True
        )
        if parts.username:
            self._client.username_pw_set(parts.username, os.environ.get(PASSWORD, parts.password))
        if parts.scheme == "mqtts":
            self._client.tls_set()
        self._client.reconnect_delay_set(1, 30)
        self._client.max_inflight_messages_set(200)
        self._client.on_connect = self._subscribe
        self._client.on_message = self._came
        self._client.on_disconnect = self._lost
        self._last_sent: dict[str, MQTTMessageInfo] = {}
        self._connection = 0  # a number means another message in another connection
        self._where = parts.hostname, parts.port or (8883 if parts.scheme == "mqtts" else 1883)

    async def run(self) -> None:
        """Connected until cancelled."""
        self._loop = asyncio.get_running_loop()
        self._client.connect_async(*self._where, keepalive=30)
        self._client.loop_start()
        try:
            await asyncio.Event().wait()
        finally:
            self._client.disconnect()
            self._client.loop_stop()

    def _subscribe(
        self,
        client: Client,
        _data: object,
        _flags: ConnectFlags | DisconnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        self._connection += 1
        if not reason.is_failure:
            for topic in self._topics:
                client.subscribe(topic, qos=1)

    def _lost(self, *_: object) -> None:
        self._connection += 1

    def _came(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        try:
            if len(message.payload) > _LARGEST_BYTES:
                raise InputError("A message is larger than 64 KiB.", "Send one position.")
            echo = any(own.fullmatch(message.topic) for own in self._own)
            person = person_of_topic(message.topic)
            position = None if echo else from_owntracks(person, json_object(bytes(message.payload)))
        except InputError:  # it will be no better the next time
            self._client.ack(message.mid, message.qos)
            return
        if position is None or self._loop is None:
            self._client.ack(message.mid, message.qos)
            return
        asyncio.run_coroutine_threadsafe(self._store(position, message, self._connection), self._loop)

    async def _store(self, position: Position, message: MQTTMessage, connection: int) -> None:
        while True:
            try:
                await self._take(position)
                break
            except Exception:  # a full disk; the broker keeps it meanwhile
                await asyncio.sleep(5.0)
        if connection == self._connection:
            self._client.ack(message.mid, message.qos)

    async def publish(self, topic: str, payload: bytes) -> bool:
        """Retained, and True once the broker has it.

        Without a payload it takes back: only after what is still on its way there, or that would come behind it.
        """
        before = self._last_sent.get(topic)
        on_its_way = before is not None and before.rc == 0 and not before.is_published()
        if not self._client.is_connected() or (on_its_way and not payload):
            return False
        sent = self._last_sent[topic] = self._client.publish(topic, payload, qos=1, retain=True)
        for _ in range(int(_PUBLISHED_WITHIN_S / 0.02)):
            if sent.is_published():
                return True
            await asyncio.sleep(0.02)
        return False
