"""Positions of many connections in few transactions: whoever waits while one is written goes into the next."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from sfumato.tracks.live.bridge import Bridge, Taken
from sfumato.tracks.live.positions import Position

_MOST = 2000
_TIDY_S = 60.0


class Commits:
    """A bridge in a thread of its own; :meth:`take` returns once the position is on the disk."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._waiting: list[tuple[Position, asyncio.Future[Taken]]] = []
        self._thread = ThreadPoolExecutor(1, "commits")
        self._writing: asyncio.Task[None] | None = None
        self.news = asyncio.Condition()

    async def take(self, position: Position) -> Taken:
        """LiveStore one position."""
        future: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        self._waiting.append((position, future))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await future

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                await asyncio.sleep(0)  # whoever is ready comes along
                batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                try:
                    positions = [one for one, _ in batch]
                    taken = await loop.run_in_executor(self._thread, self._bridge.take, positions)
                except Exception as error:  # whatever it is, nobody may wait for ever
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (_, future), one in zip(batch, taken, strict=True):
                    if not future.done():
                        future.set_result(one)
                async with self.news:
                    self.news.notify_all()
        finally:
            self._writing = None

    async def tidy(self) -> None:
        """Forget what is over, now and then, for ever."""
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._bridge.tidy)
            except Exception as error:  # a full disk must not end forgetting for ever
                print(f"Forgetting failed: {type(error).__name__}; tried again in a minute.", flush=True)
            await asyncio.sleep(_TIDY_S)

    def close(self) -> None:
        """After what is being written."""
        self._thread.shutdown()
