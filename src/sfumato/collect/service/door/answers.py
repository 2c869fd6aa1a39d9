"""One envelope for every JSON answer, also for errors nobody expected, and a report's own short way to one.

The framework's routing, dependency solving and request objects cost more than the report itself. :class:`HotReports`
answers ``POST .../reports`` before them, in the same words, and leaves everything else to them; the contract's route
stays, and both end in :meth:`~sfumato.collect.service.rounds.collector.Collector.count_report`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.base.errors import SfumatoError
from sfumato.collect.service.models.bodies import ReportRequest
from sfumato.collect.service.models.replies import Answer, Refusal, Refused, ReportAnswer
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.writer import Health
from sfumato.collect.service.sentences import chosen_language, in_language
from sfumato.collect.service.store.engine import UNREACHABLE

_log = logging.getLogger("sfumato.collect.service")
Model = TypeVar("Model", bound=BaseModel)
_PATH = re.compile(r"/api/v1/campaigns/([a-z0-9][a-z0-9-]{0,62})/reports", re.ASCII)
# Written once: the two answers that everybody gets.
COUNTED, KNOWN = (ReportAnswer(duplicate=known).model_dump_json().encode() for known in (False, True))


def respond(answer: Answer, *, headers: Mapping[str, str] | None = None) -> Response:
    """An answer on its way out, as JSON."""
    text = answer.model_dump_json()
    return Response(text, status_code=answer.status, headers=dict(headers or {}), media_type="application/json")


def refusal(refused: Refused, language: str = "en") -> Response:
    """An error in the envelope."""
    errors = [in_language(error, language) for error in refused.errors]
    envelope = Refusal(error=in_language(refused.error, language), errors=errors, status=refused.status)
    return respond(envelope, headers=refused.headers)


def tongue_of(request: Request) -> str:
    """The language of an operator's screens; devices and programs without a token are answered in English."""
    headers = request.headers
    return chosen_language(None, "", headers.get("accept-language", "")) if "authorization" in headers else "en"


def from_validation(error: ValidationError | RequestValidationError) -> Refused:
    """What is wrong with which field; never the value that was sent."""
    details = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"] if part != "body")
        details.append(f"{place}: {item['msg']}" if place else str(item["msg"]))
    return Refused(422, "The request does not fit the schema; see errors and /openapi.json.", errors=details[:20])


def checked_body(kind: str, body: bytes, model: type[Model]) -> Model:
    """The body as ``model``: parsed and validated in one pass that knows its own depth and size limits.

    Only JSON that calls itself JSON is read: another page can make a browser send text/plain anywhere without asking.
    """
    if kind != "application/json" and kind.partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "The body must be JSON: Content-Type: application/json.")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise from_validation(error) from None


def surprise(error: Exception) -> Response:
    """An error nobody expected. Only its type is logged: a message, or a traceback, could quote the request."""
    _log.error("Unexpected %s", type(error).__name__)
    return refusal(Refused(500, "The server made a mistake. It was not your request; try again later."))


def answer_to(error: Exception, health: Health, language: str = "en") -> Response | None:
    """The answer to an error that a route may end with; None if nobody expected it."""
    for kind in type(error).__mro__:
        if kind is Refused:
            assert isinstance(error, Refused)
            return refusal(error, language)
        if kind is SfumatoError:
            # Well-formed, but it cannot be done here: 422 is for what does not fit the schema.
            return refusal(Refused(409, str(error)), language)
        if kind in UNREACHABLE:
            found = health.tell_failure(error)
            return refusal(Refused(503, f"{found.what} Try again.", headers={"retry-after": "2"}), language)
    return None


def install(app: FastAPI, shown: Callable[[Request, int], Response | None]) -> None:
    """Make every expected error of ``app`` an answer in the envelope, or a page where one is ``shown`` to a person.

    :mod:`.guard` answers the others.
    """

    async def on_expected(request: Request, error: Exception) -> Response:
        answer = answer_to(error, request.app.state.collector.health, tongue_of(request))
        assert answer is not None
        return shown(request, answer.status_code) or answer

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return shown(request, 422) or refusal(from_validation(error), tongue_of(request))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["allow"] = ", ".join(_methods(app, request.url.path))
        answer = refusal(Refused(error.status_code, str(error.detail), headers=headers), tongue_of(request))
        return shown(request, error.status_code) or answer

    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    for kind in (Refused, SfumatoError, *UNREACHABLE):
        app.add_exception_handler(kind, on_expected)


def _methods(app: FastAPI, path: str) -> list[str]:
    """The methods the contract lists for this path; the framework would name only those of one route."""
    found: set[str] = set()
    for template, methods in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            found |= {method.upper() for method in methods}
    return sorted(found)


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
            answer = answer_to(error, self.collector.health)
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
