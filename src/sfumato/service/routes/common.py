"""What every route shares: the collector, the body as a strict model, the operator's token."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ValidationError

from sfumato.service.answers import Refused, from_validation
from sfumato.service.collector import Collector
from sfumato.service.models import Refusal

Model = TypeVar("Model", bound=BaseModel)
Name = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63, description="A campaign's name.")]
_bearer = HTTPBearer(auto_error=False, description="The operator's token.")


def collector_of(request: Request) -> Collector:
    """The running collector."""
    found: Collector = request.app.state.collector
    return found


Running = Annotated[Collector, Depends(collector_of)]


def operator_only(
    collector: Running, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Refuse everybody but the operator."""
    if credentials is None or not collector.is_operator(credentials.credentials):
        headers = {"www-authenticate": "Bearer"}
        raise Refused(401, "This needs the operator's token: Authorization: Bearer TOKEN.", headers=headers)


async def read_body(request: Request, model: type[Model]) -> Model:
    """The body as ``model``: parsed and validated in one pass that knows its own depth and size limits."""
    body = await request.body()
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise from_validation(error) from None


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The OpenAPI description of a body that :func:`read_body` reads."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of the errors a route answers with."""
    return {status: {"model": Refusal} for status in (*statuses, 429)}
