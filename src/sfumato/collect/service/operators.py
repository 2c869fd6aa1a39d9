"""The operators' tokens: the first one's, and those of named colleagues; kept as hashes, compared in constant time.

A token that was rotated or taken away stops opening the door within a second on every server of the database.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from sfumato.base.errors import InputError
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store import Store
from sfumato.collect.service.store.audit import Deed

FIRST = "operator"
FIRST_SECRET = "operator_token_sha256"
_LOOK_AGAIN_S = 1.0
LEAST_LENGTH = 32


def token_hash(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Operators:
    """Who may operate this collector."""

    def __init__(self, store: Store, settings: Settings, *, now: Callable[[], float]) -> None:
        self._store = store
        self._chosen = settings.text("operator_token")
        self._now = now
        self._hashes: dict[str, bytes] = {}
        self._look_again_at_s = 0.0

    async def load(self) -> str | None:
        """Look at the tokens, making the first one if there is none; returns it if it was made now."""
        if self._chosen:
            if len(self._chosen) < LEAST_LENGTH:
                raise InputError("The operator's token is shorter than 32 characters.", "Choose a longer one.")
            await self._store.replace_secret(FIRST_SECRET, token_hash(self._chosen))
            made = False
        else:
            token = secrets.token_urlsafe(32)
            _, made = await self._store.secret(FIRST_SECRET, token_hash(token))
        await self._look()
        return token if made else None

    async def name_of(self, token: str) -> str | None:
        """Whose token this is, or None."""
        if time.monotonic() > self._look_again_at_s:
            await self._look()
        given, found = token_hash(token), None
        for name, kept in self._hashes.items():
            if hmac.compare_digest(given, kept):
                found = name
        return found

    async def since(self) -> list[tuple[str, int | None]]:
        """Every operator's name and since when; the first is there from the start."""
        return [(FIRST, None), *((name, since) for name, (_, since) in (await self._store.audit.operators()).items())]

    async def add(self, name: str, *, who: str) -> str:
        """A new operator's token, shown once."""
        if name == FIRST:
            raise InputError(f"'{FIRST}' is the first operator's name.", "Choose another.")
        token = secrets.token_urlsafe(32)
        await self._store.audit.add_operator(name, token_hash(token), self._deed(who, "add operator", name))
        await self._look()
        return token

    async def rotate(self, name: str, *, who: str) -> str:
        """Another token for an operator, shown once; the old one stops working."""
        token = secrets.token_urlsafe(32)
        deed = self._deed(who, "rotate token", name)
        if name == FIRST:
            if self._chosen:
                raise InputError(
                    "The first operator's token comes from the setting operator_token.",
                    "Change it there and start the collector again.",
                )
            await self._store.replace_secret(FIRST_SECRET, token_hash(token))
            await self._store.audit.write(deed)
        elif not await self._store.audit.replace_token(name, token_hash(token), deed):
            raise InputError(f"There is no operator '{name}'.", "See sfumato campaign operators.")
        await self._look()
        return token

    async def remove(self, name: str, *, who: str) -> None:
        """Take a named operator's right away."""
        if name == FIRST:
            raise InputError("The first operator stays.", "Rotate its token instead.")
        if not await self._store.audit.remove_operator(name, self._deed(who, "remove operator", name)):
            raise InputError(f"There is no operator '{name}'.", "See sfumato campaign operators.")
        await self._look()

    async def _look(self) -> None:
        first = await self._store.kept_secret(FIRST_SECRET)
        named = {name: kept for name, (kept, _) in (await self._store.audit.operators()).items()}
        self._hashes = {FIRST: first, **named} if first is not None else named
        self._look_again_at_s = time.monotonic() + _LOOK_AGAIN_S

    def _deed(self, who: str, action: str, name: str) -> Deed:
        return Deed(int(self._now()), who, action, None, {"name": name})
