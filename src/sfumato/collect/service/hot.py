"""The way of a report: from the door straight to the collector.

The framework's routing, dependency solving and request objects cost more than the report itself. This answers
``POST .../reports`` before them, in the same words, and leaves everything else to them; the contract's route
(:func:`.routes.participate.report`) stays, and both end in :meth:`.collector.Collector.count_report`.
"""

from __future__ import annotations

import re

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.collect.service.answers import expected
from sfumato.collect.service.collector import Collector
from sfumato.collect.service.models.replies import ReportAnswer
from sfumato.collect.service.models.requests import ReportRequest
from sfumato.collect.service.routes.common import checked_body

_PATH = re.compile(r"/api/v1/campaigns/([a-z0-9][a-z0-9-]{0,62})/reports", re.ASCII)
# Written once: the two answers that everybody gets.
COUNTED, KNOWN = (ReportAnswer(duplicate=known).model_dump_json().encode() for known in (False, True))


class HotReports:
    """ASGI middleware inside the guard and whatever adds headers, outside the framework."""

    def __init__(self, app: ASGIApp, *, collector: Collector) -> None:
        self.app = app
        self.collector = collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a report; pass on the rest."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            found = _PATH.fullmatch(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
            return
        try:
            asked = checked_body(_content_type(scope), await _body(receive), ReportRequest)
            body = KNOWN if await self.collector.count_report(found[1], asked) else COUNTED
        except ClientDisconnect:
            raise
        except Exception as error:
            answer = expected(error, self.collector.health)
            if answer is None:
                raise
            await answer(scope, receive, send)
            return
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _content_type(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"content-type":
            return str(value, "latin-1")
    return ""


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message["type"] == "http.request" and message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return body
