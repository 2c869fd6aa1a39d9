"""What is sent on: to a broker, another OwnTracks server, Traccar. What did not arrive is sent again, the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping

import httpx

from sfumato.tracks.live.audiences import Audience
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.broker import Broker
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.views import View, Views
from sfumato.tracks.live.store import Sight

_LONGEST_WAIT_S = 300.0


class Sending:
    """Sends what is due, in the order of its times, until cancelled."""

    def __init__(self, reading: Bridge, views: Views, commits: Commits, broker: Broker | None) -> None:
        self._reading, self._views, self._commits, self._broker = reading, views, commits, broker
        self._client = httpx.AsyncClient(timeout=10.0, follow_redirects=False, trust_env=False)
        self._audiences = {one.name: one for one in reading.config.audiences}

    async def run(self) -> None:
        """For ever; after a failure less and less often."""
        pause_s = 1.0
        async with self._client:
            while True:
                due = self._reading.due()
                arrived = await asyncio.gather(*(self._send(one) for one in due))
                sent = [one for one, there in zip(due, arrived, strict=True) if there]
                if sent:
                    self._reading.store.mark_sent(sent)
                pause_s = 1.0 if len(sent) == len(due) else min(2 * pause_s, _LONGEST_WAIT_S)
                if due and sent:
                    continue
                async with self._commits.news:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._commits.news.wait(), pause_s)
                if pause_s > 1.0:
                    await asyncio.sleep(pause_s)

    async def _send(self, one: Sight) -> bool:
        audience = self._audiences[one.audience]
        view = self._views.after(audience, one, [one])
        arrived = [await self._send_to(target, one, view, audience) for target in audience.send]
        return all(arrived)

    async def _send_to(self, target: str, one: Sight, view: View, audience: Audience) -> bool:
        kind, _, address = target.partition(":")
        address = address.replace("{person}", one.person).replace("{audience}", audience.name)
        message = view.to_owntracks()
        try:
            if kind == "mqtt":
                assert self._broker is not None
                return await self._broker.publish(address, json.dumps(message or view.to_json()).encode())
            if message is None:  # other servers know no names
                return True
            if kind == "owntracks":
                answer = await self._client.post(address, json=message)
            else:
                answer = await self._client.get(address, params=_traccar(one, view))
        except httpx.HTTPError:
            return False
        return answer.is_success


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
