"""One envelope for every JSON answer, also for errors nobody expected."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sfumato.base.errors import SfumatoError
from sfumato.collect.service.health import Health
from sfumato.collect.service.models.replies import Answer, Refusal
from sfumato.collect.service.store.engine import UNREACHABLE

_log = logging.getLogger("sfumato.collect.service")


class Refused(Exception):
    """A request the server will not serve: status, sentence, details and headers."""

    def __init__(
        self, status: int, error: str, *, errors: Sequence[str] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.errors = tuple(errors) or (error,)
        self.headers = dict(headers or {})


def respond(answer: Answer, *, headers: Mapping[str, str] | None = None) -> Response:
    """An answer on its way out, as JSON."""
    text = answer.model_dump_json()
    return Response(text, status_code=answer.status, headers=dict(headers or {}), media_type="application/json")


def refusal(refused: Refused) -> Response:
    """An error in the envelope."""
    envelope = Refusal(error=refused.error, errors=list(refused.errors), status=refused.status)
    return respond(envelope, headers=refused.headers)


def from_validation(error: ValidationError | RequestValidationError) -> Refused:
    """What is wrong with which field; never the value that was sent."""
    details = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"] if part != "body")
        details.append(f"{place}: {item['msg']}" if place else str(item["msg"]))
    return Refused(422, "The request does not fit the schema; see errors and /openapi.json.", errors=details[:20])


def surprise(error: Exception) -> Response:
    """An error nobody expected. Only its type is logged: a message, or a traceback, could quote the request."""
    _log.error("Unexpected %s", type(error).__name__)
    return refusal(Refused(500, "The server made a mistake. It was not your request; try again later."))


def expected(error: Exception, health: Health) -> Response | None:
    """The answer to an error that a route may end with; None if nobody expected it."""
    for kind in type(error).__mro__:
        if kind is Refused:
            assert isinstance(error, Refused)
            return refusal(error)
        if kind is SfumatoError:
            # Well-formed, but it cannot be done here: 422 is for what does not fit the schema.
            return refusal(Refused(409, str(error)))
        if kind in UNREACHABLE:
            found = health.failed(error)
            return refusal(Refused(503, f"{found.what} Try again.", headers={"retry-after": "2"}))
    return None


def install(app: FastAPI, shown: Callable[[Request, int], Response | None]) -> None:
    """Make every expected error of ``app`` an answer in the envelope, or a page where one is ``shown`` to a person.

    :mod:`.guard` answers the others.
    """

    async def on_expected(request: Request, error: Exception) -> Response:
        answer = expected(error, request.app.state.collector.health)
        assert answer is not None
        return shown(request, answer.status_code) or answer

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return shown(request, 422) or refusal(from_validation(error))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["allow"] = ", ".join(_methods(app, request.url.path))
        answer = refusal(Refused(error.status_code, str(error.detail), headers=headers))
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
