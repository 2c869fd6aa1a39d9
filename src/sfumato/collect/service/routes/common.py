"""What every route shares: the collector, the body as a strict model, the operator's token."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Path, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from starlette.responses import Response

from sfumato.collect.service.door.answers import Model, checked_body
from sfumato.collect.service.door.looks import Looks
from sfumato.collect.service.models.replies import Answer, Refusal, Refused
from sfumato.collect.service.pages.svg_maps import Ground
from sfumato.collect.service.rounds.collector import Collector

Handler = TypeVar("Handler", bound=Callable[..., object])
Responses = dict[int | str, dict[str, object]]  # as FastAPI takes them
Name = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63, description="A campaign's name.")]
bearer = HTTPBearer(auto_error=False, description="The operator's token.")


def collector_of(request: Request) -> Collector:
    """The running collector."""
    found: Collector = request.app.state.collector
    return found


def ground_of(request: Request) -> Ground:
    """What lies under this server's maps."""
    found = request.app.state.ground
    assert isinstance(found, Ground)
    return found


def looks_of(request: Request) -> Looks:
    """The answers that many look at."""
    found: Looks = request.app.state.looks
    return found


class Act(APIRoute):
    """A route of the operator: what it has changed is seen by the next look."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """The route's handler, and word to those who keep answers."""
        handler = super().get_route_handler()

        async def act(request: Request) -> Response:
            answer = await handler(request)
            if request.method != "GET":
                looks_of(request).look_again()
            return answer

        return act


Running = Annotated[Collector, Depends(collector_of)]


async def operator_only(
    collector: Running, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """The operator's name; everybody else is refused."""
    name = None if credentials is None else await collector.operators.name_of(credentials.credentials)
    if name is None:
        headers = {"www-authenticate": "Bearer"}
        raise Refused(401, "This needs the operator's token: Authorization: Bearer TOKEN.", headers=headers)
    return name


async def shows_token(collector: Collector, request: Request) -> bool:
    """Whether an operator asks, of what anybody may."""
    credentials = await bearer(request)
    return credentials is not None and await collector.operators.name_of(credentials.credentials) is not None


Operator = Annotated[str, Depends(operator_only)]


async def read_body(request: Request, model: type[Model]) -> Model:
    """The body as ``model``."""
    return checked_body(request.headers.get("content-type", ""), await request.body(), model)


def body_of(model: type[BaseModel]) -> dict[str, object]:
    """The OpenAPI description of a body that :func:`read_body` reads."""
    schema = model.model_json_schema()
    whole = _inlined(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": whole}}}}


def _inlined(part: object, definitions: Mapping[str, object]) -> object:
    """A JSON schema with its references replaced by what they refer to."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(value, definitions) for name, value in part.items()}


def refusals(*statuses: int) -> Responses:
    """The OpenAPI description of the errors a route answers with; what may not be there may also be gone (410)."""
    gone = (410,) if 404 in statuses else ()
    return {status: {"model": Refusal} for status in (*statuses, *gone, 429)}


def post(
    router: APIRouter, path: str, body: type[BaseModel], answer: type[Answer], *statuses: int, made: bool = False
) -> Callable[[Handler], Handler]:
    """``POST path`` as the contract describes it: its body, its answer, and beside the usual refusals ``statuses``."""
    return router.post(
        path,
        status_code=201 if made else None,
        response_model=answer,
        responses=refusals(*sorted({400, 409, 413, 415, 422, *statuses})),
        openapi_extra=body_of(body),
    )
