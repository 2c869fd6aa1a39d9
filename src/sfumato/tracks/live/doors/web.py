"""HTTP in and out: phones and trackers post, audiences read. Nothing is logged, and errors repeat nothing of a request.

Unknown, wrong, ended and revoked all answer the same 404. Tokens come as a password (OwnTracks), a bearer token, or the
parameter ``id`` or ``token`` (Traccar, GPSLogger); only hashes are compared, each in constant time.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sfumato.base.errors import InputError
from sfumato.tracks.live.audiences import Audience, LiveConfig, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.page import events_text, page
from sfumato.tracks.live.doors.views import View, Views
from sfumato.tracks.live.positions import Position, from_owntracks, from_query, from_traccar, json_object

_BODY_BYTES = 65_536
_HEARTBEAT_S = 15.0
_WRONG_PER_MINUTE = 60
_COMMON = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex",
}
_STORED = Response("[]", 200, {"cache-control": "no-store"}, "application/json")  # to a device, no browser
_Act = Callable[[Request], Awaitable[Response]]


class Buckets:
    """So many a minute for each name, refilled evenly; 0 is no limit."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute, self._left = per_minute, OrderedDict[str, tuple[float, float]]()

    def spend(self, name: str) -> bool:
        """Whether there was one left."""
        if not self._per_minute:
            return True
        now, most = time.monotonic(), float(self._per_minute)
        left, then = self._left.pop(name, (most, now))
        left = min(most, left + (now - then) * most / 60.0)
        self._left[name] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._left) > 100_000:
            self._left.popitem(last=False)
        return left >= 1.0


def missing() -> Response:
    """What every address that leads nowhere answers."""
    return Response("Not found\n", 404, _COMMON, "text/plain")


def token_of(request: Request) -> str:
    """The token of a request, or an empty text."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        with contextlib.suppress(ValueError):
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
    return request.query_params.get("token") or request.query_params.get("id") or ""


class LiveDoor:
    """All routes over one bridge for writing (in ``commits``) and one for reading."""

    def __init__(self, config: LiveConfig, commits: Commits, reading: Bridge) -> None:
        self.config, self.commits, self.reading = config, commits, reading
        self.views = Views(reading)
        self._devices, self._wrong = Buckets(config.per_minute), Buckets(_WRONG_PER_MINUTE)
        self._known: dict[str, str] = {}  # persons by hash of token, of those that were right before

    def routes(self) -> list[Route]:
        """Every address."""
        into, out = ["POST", "GET"], ["GET"]
        acts: Sequence[tuple[str, _Act, list[str]]] = (
            ("/pub", self.owntracks, ["POST"]),
            ("/osmand", self.osmand, into),
            ("/gpslogger", self.osmand, into),
            ("/traccar", self.traccar, ["POST"]),
            ("/see", self.see, out),
            ("/see/owntracks", self.see_owntracks, into),
            ("/see/events", self.see_events, out),
            ("/s/{link}", self.show, out),
            ("/s/{link}/events", self.show_events, out),
            ("/health", self.health, out),
        )
        return [Route(path, self._guarded(act), methods=methods) for path, act, methods in acts]

    def _guarded(self, act: _Act) -> _Act:
        async def answer(request: Request) -> Response:
            try:
                return await act(request)
            except InputError as error:
                return JSONResponse({"error": f"{error.what} {error.advice}".strip()}, 422, _COMMON)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as error:  # its text could hold what was sent
                print(f"A request failed: {type(error).__name__}.", flush=True)
                return Response("It was not stored; try again.\n", 503, _COMMON, "text/plain")

        return answer

    # In.

    def _device(self, token: str, mark: str) -> str | None:
        person = self._known.get(mark)
        if person is None:
            person = self.config.person_of(token)
            if person is None:
                return None
            self._known[mark] = person
        return person

    async def _take(self, request: Request, token: str, read: Callable[[str], Position | None]) -> Response:
        mark = token_hash(token)
        person = self._device(token, mark)
        if person is None:
            host = request.client.host if request.client else ""
            return missing() if self._wrong.spend(host) else Response(status_code=429, headers=_COMMON)
        if not self._devices.spend(mark):
            return Response(status_code=429, headers={**_COMMON, "retry-after": "60"})
        position = read(person)
        if position is not None:
            await self.commits.take(position)
        return _STORED

    async def owntracks(self, request: Request) -> Response:
        """OwnTracks in HTTP mode."""
        body = await _body(request)
        return await self._take(request, token_of(request), lambda person: from_owntracks(person, json_object(body)))

    async def osmand(self, request: Request) -> Response:
        """OsmAnd's protocol: Traccar's app and GPSLogger, too."""
        if request.method == "POST":
            await _body(request)
        values = dict(request.query_params)
        return await self._take(request, token_of(request), lambda person: from_query(person, values))

    async def traccar(self, request: Request) -> Response:
        """JSON of newer Traccar apps, whose token is the device's identifier."""
        message = json_object(await _body(request))
        token = str(message.get("device_id") or "") or token_of(request)
        return await self._take(request, token, lambda person: from_traccar(person, message))

    # Out.

    def _seen(self, request: Request) -> list[View] | None:
        audience = self.config.audience_of(token_of(request))
        return None if audience is None else self._views_of(audience)

    def _views_of(self, audience: Audience) -> list[View]:
        people = self.reading.store.people_seen(audience.name)
        return [view for person in people if (view := self.views.of(audience, person)) is not None]

    async def see(self, request: Request) -> Response:
        """All that an audience may see now, as JSON."""
        views = self._seen(request)
        if views is None:
            return missing()
        return JSONResponse({"people": [view.to_json() for view in views]}, headers=_COMMON)

    async def see_owntracks(self, request: Request) -> Response:
        """The same as OwnTracks answers in HTTP mode: friends on the app's map. What is posted is not read."""
        views = self._seen(request)
        if views is None:
            return missing()
        messages = [message for view in views if (message := view.to_owntracks()) is not None]
        return JSONResponse(messages, headers=_COMMON)

    async def see_events(self, request: Request) -> Response:
        """The same as a stream of events, one whenever something changes."""
        audience = self.config.audience_of(token_of(request))
        if audience is None:
            return missing()

        def text() -> str:
            return f"data: {json.dumps([view.to_json() for view in self._views_of(audience)])}\n\n"

        return self._stream(text, late=audience.delay_s > 0)

    def _linked(self, request: Request) -> tuple[Audience, str] | None:
        now_ms = int(1000 * self.reading.clock())
        found = self.reading.store.link(token_hash(request.path_params["link"]), now_ms)
        if found is None:
            return None
        audience = next((one for one in self.config.audiences if one.name == found[0]), None)
        ended = audience is None or (audience.until_s is not None and 1000 * audience.until_s <= now_ms)
        if audience is None or ended or not audience.sees_person(found[1]):
            return None
        return audience, found[1]

    async def show(self, request: Request) -> Response:
        """The page behind a link."""
        linked = self._linked(request)
        if linked is None:
            return missing()
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        text = page(linked[1], self.views.of(*linked), self.config.zone, nonce)
        return HTMLResponse(text, headers={**_COMMON, "content-security-policy": policy})

    async def show_events(self, request: Request) -> Response:
        """What changes on the page."""
        first = self._linked(request)
        if first is None:
            return missing()

        def text() -> str | None:
            linked = self._linked(request)
            return None if linked is None else events_text(self.views.of(*linked), self.config.zone)

        return self._stream(text, late=first[0].delay_s > 0)

    def _stream(self, text: Callable[[], str | None], *, late: bool) -> Response:
        """Changes as they come, and a sign of life every 15 s by the clock.

        Neither may show that a position came which this audience does not see (from inside a zone, of somebody else,
        in a pause): so nothing is written when nothing changed, and what is shown ``late`` changes by the clock alone.
        """

        async def events() -> AsyncIterator[str]:
            last, beat_s = "", time.monotonic()
            while True:
                now = text()
                if now is None:
                    yield "event: gone\ndata: \n\n"
                    return
                if now != last:
                    yield now
                last = now
                if time.monotonic() >= beat_s:
                    beat_s += _HEARTBEAT_S
                    yield ": still here\n\n"
                if late:
                    await asyncio.sleep(beat_s - time.monotonic())
                    continue
                async with self.commits.news:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.commits.news.wait(), max(beat_s - time.monotonic(), 0.0))

        return StreamingResponse(events(), headers=_COMMON, media_type="text/event-stream")

    async def health(self, _request: Request) -> Response:
        """That it answers."""
        return Response("ok\n", 200, _COMMON, "text/plain")


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _BODY_BYTES:
            raise InputError("The body is larger than 64 KiB.", "Send one message at a time.")
    return body


def create_app(door: LiveDoor, tasks: Sequence[Callable[[], Awaitable[None]]]) -> Starlette:
    """The application, with what runs beside it."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        running = [asyncio.ensure_future(task()) for task in tasks]
        try:
            yield
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            door.commits.close()

    async def nowhere(_request: Request, _error: Exception) -> Response:
        return missing()

    app = Starlette(routes=door.routes(), lifespan=lifespan, exception_handlers={404: nowhere, 405: nowhere})
    app.router.redirect_slashes = False  # `/s/any/` would tell that there is a `/s/any`
    return app
