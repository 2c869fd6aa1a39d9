"""What is sent on: to a broker, another OwnTracks server, Traccar. What did not arrive is sent again, the same.

What a receiver refuses for good (4xx) is counted and not sent again. What a broker retains is taken back by an empty
message once its audience is paused, has ended, is no more, or was to be forgotten; other receivers keep what they have.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence

import httpx

from sfumato.tracks.live.audiences import Audience
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.broker import Broker
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.views import View, Views
from sfumato.tracks.live.store import NOTHING, Sight

_LONGEST_WAIT_S = 60.0
_AT_ONCE = 40
_LATER = frozenset({408, 425, 429})  # refusals that are not for good
_CONNECTIONS = 4  # to one server: a small one drops more, and each waits a timeout for it


class Sending:
    """Sends what is due, one lane for each audience, until cancelled: who cannot be reached holds up nobody else."""

    def __init__(self, reading: Bridge, views: Views, commits: Commits, broker: Broker | None) -> None:
        self._reading, self._views, self._commits, self._broker = reading, views, commits, broker
        self._client = httpx.AsyncClient(timeout=10.0, follow_redirects=False, trust_env=False)
        targets = {target for one in reading.config.audiences for target in one.send}
        self._free = {target: asyncio.Semaphore(_CONNECTIONS) for target in targets}
        self._came = Counter[str]()  # how many arrived anywhere, by audience
        self._noted = set[tuple[str, str]]()  # audiences and topics that the store has: not one write a message
        self._told = set[tuple[str, str, int]]()  # refusals that were logged
        self._arrived: set[tuple[str, str, str, int]] = set()  # at one target of several; no place is kept

    async def run(self) -> None:
        """For ever."""
        async with self._client:
            every = self._reading.config.audiences
            for one in every:  # topics that it is not sent to any more
                kept = [row for row in self._reading.store.kept_topics(all_of=one.name) if row[0] == one.name]
                self._reading.store.recall(row for row in kept if row[2] not in _topics(one, row[1]))
            lanes = [self._lane(one) for one in every if one.send]
            await asyncio.gather(self._take_back_gone({one.name for one in every if one.send}), *lanes)

    async def _take_back_gone(self, sending: set[str]) -> None:
        """Of audiences that send nothing any more."""
        while True:
            await self._take_back([row for row in self._reading.store.kept_topics() if row[0] not in sending])
            await asyncio.sleep(1.0)

    async def _take_back(self, rows: Sequence[tuple[str, str, str]]) -> None:
        for audience, _, topic in rows:
            if self._broker is not None and await self._broker.publish(topic, b""):
                self._noted.discard((audience, topic))
                self._reading.store.drop_topic(audience, topic)

    async def _lane(self, audience: Audience) -> None:
        """In the order of its times; where nothing arrived, the next ones are tried, less and less often."""
        after, pause_s = NOTHING, 1.0
        while True:
            due, sent, before = list[Sight](), list[Sight](), self._came[audience.name]
            try:
                every = audience.name if self._reading.is_closed(audience) else ""
                kept = self._reading.store.kept_topics(all_of=every)
                await self._take_back([row for row in kept if row[0] == audience.name])
                due = self._reading.due(audience, after=after, most=_AT_ONCE)
                arrived = await asyncio.gather(*(self._send(one, audience) for one in due), return_exceptions=True)
                sent = [one for one, there in zip(due, arrived, strict=True) if there is True]
                self._reading.store.mark_sent(sent)
                self._arrived -= {_mark(target, one) for one in sent for target in audience.send}
            except Exception as error:  # a full disk: the lane goes on
                print(f"Sending to {audience.name} failed: {type(error).__name__}.", flush=True)
                sent = []
            if len(due) == _AT_ONCE:  # there is more; what did not arrive comes again after it
                after = due[-1].due_ms, due[-1].time_ms, due[-1].person
            else:
                after = NOTHING
            if due and len(sent) == len(due):
                pause_s = 1.0
            elif due:
                pause_s = 1.0 if self._came[audience.name] > before else min(2 * pause_s, _LONGEST_WAIT_S)
                await asyncio.sleep(pause_s)
            else:
                await self._news()

    async def _news(self) -> None:
        async with self._commits.news:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._commits.news.wait(), 1.0)

    async def _send(self, one: Sight, audience: Audience) -> bool:
        view = self._views.after(audience, one, [one])
        missing = [target for target in audience.send if _mark(target, one) not in self._arrived]
        arrived = await asyncio.gather(*(self._send_to(target, one, view, audience) for target in missing))
        self._arrived |= {_mark(target, one) for target, there in zip(missing, arrived, strict=True) if there}
        self._came[audience.name] += sum(arrived)
        return all(arrived)

    async def _send_to(self, target: str, one: Sight, view: View, audience: Audience) -> bool:
        kind, _, address = target.partition(":")
        address = _address(address, audience.name, one.person)
        message = view.to_owntracks()
        try:
            if kind == "mqtt":
                assert self._broker is not None
                if (audience.name, address) not in self._noted:
                    self._reading.store.retain(audience.name, one.person, address)
                    self._noted.add((audience.name, address))
                return await self._broker.publish(address, json.dumps(message or view.to_json()).encode())
            if message is None:  # other servers know no names
                return True
            async with self._free[target]:
                if kind == "owntracks":
                    answer = await self._client.post(address, json=message)
                else:
                    answer = await self._client.get(address, params=_traccar(one, view))
        except httpx.HTTPError:
            return False
        if 400 <= answer.status_code < 500 and answer.status_code not in _LATER:
            self._set_aside(audience.name, kind, answer.status_code)
            return True
        return answer.is_success

    def _set_aside(self, audience: str, kind: str, status: int) -> None:
        self._reading.store.refuse(audience, kind, status, int(1000 * self._reading.clock()))
        if (audience, kind, status) not in self._told:
            self._told.add((audience, kind, status))
            print(f"The {kind} server of {audience} answers {status}: what it refuses is not sent again.", flush=True)


def _topics(audience: Audience, person: str) -> list[str]:
    return [_address(to.removeprefix("mqtt:"), audience.name, person) for to in audience.send]


def _address(text: str, audience: str, person: str) -> str:
    return text.replace("{person}", person).replace("{audience}", audience)


def _mark(target: str, one: Sight) -> tuple[str, str, str, int]:
    return target, one.audience, one.person, one.time_ms


def _traccar(one: Sight, view: View) -> Mapping[str, str]:
    """The position as it was released: Traccar keeps a history, and a circle is not one."""
    assert view.circle is not None
    return {
        "id": one.person,
        "timestamp": str(one.time_ms // 1000),
        "lat": f"{one.lat_deg:.7f}",
        "lon": f"{one.lon_deg:.7f}",
        "accuracy": f"{view.circle.radius_m:.0f}",
    }
