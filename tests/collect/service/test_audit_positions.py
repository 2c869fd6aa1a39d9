"""Operators act at the same time, on several servers: every act has its own line, none is refused for another's."""

from __future__ import annotations

import asyncio
import os

from sfumato.collect.service.store.operations import Deed
from sfumato.collect.service.store.store import Store


async def acts_at_once(database: str, *, servers: int, each: int) -> tuple[list[int], list[BaseException]]:
    """So many operators added through every server at the same moment: the positions, and what was refused."""
    first = Store(database)
    await first.database.migrate()
    stores = [first, *(Store(database) for _ in range(servers - 1))]

    def one(server: int, number: int) -> asyncio.Future[None]:
        name = f"operator-{server}-{number}"
        deed = Deed(1_790_000_000, "operator", "add operator", detail={"name": name})
        return asyncio.ensure_future(stores[server].audit.add_operator(name, os.urandom(32), deed))

    done = await asyncio.gather(
        *(one(server, number) for number in range(each) for server in range(servers)), return_exceptions=True
    )
    positions = [entry.position for entry in await first.audit.entries()]
    for store in stores:
        await store.close()
    return positions, [error for error in done if error is not None]


def test_acts_at_the_same_time_have_lines_of_their_own(database: str) -> None:
    positions, refused = asyncio.run(acts_at_once(database, servers=3, each=8))
    assert refused == []
    assert positions == list(range(1, 25))
