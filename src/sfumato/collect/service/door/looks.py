"""Answers that many look at: made once per change, off the event loop, compressed, and not sent again to who has them.

An answer is kept with its *stamp*, a value that changes when the answer would. Within a second of the last look at the
stamp nothing is asked of the database at all; whoever comes while an answer is being made waits for that one. One
answer leaves at a time, and the loop is given back in between; while reports are being counted, answers leave a few
milliseconds apart. So a crowd of readers delays no report by more than one answer, and never has more than a small
share of the processor to itself.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_FRESH_S = 1.0
_LARGEST_TOTAL = 64 * 2**20
_LEVEL = 6
_APART_S = 0.004
"""How long an answer waits for the one before it while reports are being counted: at most 250 looks a second then."""


@dataclass(slots=True)
class _Made:
    """An answer, plain and compressed."""

    stamp: Hashable
    etag: str
    media_type: str
    plain: bytes
    packed: bytes
    looked_at_s: float


class Looks:
    """The answers made so far, the least looked at forgotten first; ``counting``: whether reports are on their way."""

    def __init__(self, counting: Callable[[], bool]) -> None:
        self._counting = counting
        self._made: OrderedDict[Hashable, _Made] = OrderedDict()
        self._making: dict[Hashable, asyncio.Lock] = {}
        self._leaving = asyncio.Lock()
        self._bytes = 0
        self._changed_s = 0.0

    def look_again(self) -> None:
        """An operator has acted here: what was looked at before is looked at again, not a second later."""
        self._changed_s = time.monotonic()

    def _fresh(self, made: _Made) -> bool:
        return made.looked_at_s > self._changed_s and time.monotonic() - made.looked_at_s <= _FRESH_S

    async def answer(
        self,
        request: Request,
        key: Hashable,
        stamp: Callable[[], Awaitable[Hashable]],
        make: Callable[[], Awaitable[bytes]],
        *,
        media_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Response:
        """The answer of ``key``, made by ``make`` when ``stamp`` has changed; 304 for who has it already."""
        made = self._made.get(key)
        if made is None or not self._fresh(made):
            # Whoever holds the lock makes it; the others find it made.
            async with self._making.setdefault(key, asyncio.Lock()):
                made = await self._current(key, stamp, make, media_type)
        async with self._leaving:
            await asyncio.sleep(_APART_S if self._counting() else 0)
        common = {"etag": made.etag, "cache-control": "no-cache", "vary": "accept-encoding", **(headers or {})}
        if has_already(request.headers.get("if-none-match", ""), made.etag):
            return Response(status_code=304, headers=common)
        if takes_packed(request.headers):
            common["content-encoding"] = "gzip"
            return Response(made.packed, media_type=made.media_type, headers=common)
        return Response(made.plain, media_type=made.media_type, headers=common)

    async def _current(
        self,
        key: Hashable,
        stamp: Callable[[], Awaitable[Hashable]],
        make: Callable[[], Awaitable[bytes]],
        media_type: str,
    ) -> _Made:
        known = self._made.get(key)
        if known is not None and self._fresh(known):
            return known
        began_s = time.monotonic()
        try:
            now = await stamp()
            if known is None or known.stamp != now:
                plain = await make()
                packed, digest = await asyncio.to_thread(_packed, plain)
                known = self._keep(key, _Made(now, f'W/"{digest}"', media_type, plain, packed, 0.0))
        finally:
            self._making.pop(key, None)
        known.looked_at_s = began_s
        return known

    def _keep(self, key: Hashable, made: _Made) -> _Made:
        before = self._made.pop(key, None)
        self._bytes += _size(made) - (0 if before is None else _size(before))
        self._made[key] = made
        while self._bytes > _LARGEST_TOTAL and len(self._made) > 1:
            _, oldest = self._made.popitem(last=False)
            self._bytes -= _size(oldest)
        return made


def _size(made: _Made) -> int:
    return len(made.plain) + len(made.packed)


def _packed(plain: bytes) -> tuple[bytes, str]:
    return gzip.compress(plain, _LEVEL, mtime=0), hashlib.blake2b(plain, digest_size=16).hexdigest()


def packed_for(request: Request, answer: Response) -> Response:
    """An answer made for this request, compressed for who takes that."""
    answer.headers["vary"] = ", ".join(filter(None, (answer.headers.get("vary"), "accept-encoding")))
    if takes_packed(request.headers):
        answer.body = gzip.compress(answer.body, _LEVEL, mtime=0)
        answer.headers["content-encoding"] = "gzip"
        answer.headers["content-length"] = str(len(answer.body))
    return answer


def takes_packed(headers: Headers) -> bool:
    """Whether whoever asks unpacks gzip."""
    return "gzip" in headers.get("accept-encoding", "")


class PackedFiles(StaticFiles):
    """Files that are sent compressed, each packed once."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, or 304 for who has it."""
        plain = super().file_response(full_path, stat_result, scope, status_code)
        plain.headers["vary"] = "accept-encoding"
        if plain.status_code != 200 or not takes_packed(Headers(scope=scope)):
            return plain
        packed = _packed_file(str(full_path), stat_result.st_mtime_ns)
        kept = {name: plain.headers[name] for name in ("etag", "last-modified", "vary")}
        return Response(packed, media_type=plain.media_type, headers={**kept, "content-encoding": "gzip"})


@lru_cache(maxsize=256)
def _packed_file(path: str, _changed_ns: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), 9, mtime=0)


def packed_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same compressed, piece by piece."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        packed = packer.compress(piece)
        if packed:
            yield packed
    yield packer.flush()


def has_already(asked: str, etag: str) -> bool:
    """Whether If-None-Match names this answer."""
    return asked.strip() == "*" or etag in (one.strip() for one in asked.split(","))
