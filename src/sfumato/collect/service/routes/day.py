"""An operator's day over HTTP: each act with the operator's token, each in the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from sfumato.collect.service import lifecycle, views
from sfumato.collect.service.answers import respond
from sfumato.collect.service.models.operating import (
    ActRequest,
    AuditAnswer,
    AuditView,
    DeletedAnswer,
    DeleteRequest,
    EndAnswer,
    LeftOutAnswer,
    NoticesAnswer,
    OperatorRequest,
    OperatorsAnswer,
    OperatorView,
    TextsRequest,
    TokenAnswer,
)
from sfumato.collect.service.models.replies import CampaignAnswer
from sfumato.collect.service.routes.common import (
    Act,
    Name,
    Operator,
    Running,
    body_of,
    operator_only,
    read_body,
    refusals,
)

router = APIRouter(prefix="/api/v1", tags=["operate"], dependencies=[Depends(operator_only)], route_class=Act)
ClosedCycle = Annotated[int, Path(ge=1, le=999_999_999, description="A closed cycle.")]
OperatorsName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63, description="An operator.")]
_REFUSALS = refusals(400, 401, 404, 409, 413, 415, 422, 503)
_ACT = body_of(ActRequest)
_ACTS = {
    "pause": (lifecycle.pause, "Take no report until resumed."),
    "resume": (lifecycle.resume, "Take reports again."),
    "archive": (lifecycle.archive, "Take an ended campaign out of the lists."),
    "reschedule": (lifecycle.reschedule, "Begin the open cycle's time again now: after a clock was wrong."),
}


def _act_route(name: str) -> None:
    act, words = _ACTS[name]

    async def route(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
        asked = await read_body(request, ActRequest)
        found = await act(collector, campaign, who=who, reason=asked.reason)
        return respond(CampaignAnswer(campaign=views.campaign_view(*found)))

    route.__doc__ = words
    router.add_api_route(
        f"/campaigns/{{campaign}}/{name}",
        route,
        methods=["POST"],
        name=name,
        response_model=CampaignAnswer,
        responses=_REFUSALS,
        openapi_extra=_ACT,
    )


for _name in _ACTS:
    _act_route(_name)


@router.post(
    "/campaigns/{campaign}/texts",
    response_model=CampaignAnswer,
    responses=_REFUSALS,
    openapi_extra=body_of(TextsRequest),
)
async def texts(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Change title, question, organiser, contact, language or end; what the campaign promises never changes."""
    found = await lifecycle.edit(collector, campaign, await read_body(request, TextsRequest), who=who)
    return respond(CampaignAnswer(campaign=views.campaign_view(*found)))


@router.post("/campaigns/{campaign}/end", response_model=EndAnswer, responses=_REFUSALS, openapi_extra=_ACT)
async def end(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Never take another report; the open cycle is published if it has its minimum of tickets and time."""
    asked = await read_body(request, ActRequest)
    done = await lifecycle.end(collector, campaign, who=who, reason=asked.reason)
    view = views.campaign_view(done.campaign, done.cycle)
    return respond(EndAnswer(campaign=view, published=done.published, reason=done.reason))


@router.post(
    "/campaigns/{campaign}/delete",
    response_model=DeletedAnswer,
    responses=_REFUSALS,
    openapi_extra=body_of(DeleteRequest),
)
async def delete(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Delete everything of a campaign that takes no reports. Backups keep what they hold."""
    asked = await read_body(request, DeleteRequest)
    await lifecycle.delete(collector, campaign, confirm=asked.confirm, who=who)
    return respond(DeletedAnswer(deleted=campaign))


@router.post(
    "/campaigns/{campaign}/cycles/{number}/exclude",
    response_model=LeftOutAnswer,
    responses=_REFUSALS,
    openapi_extra=_ACT,
)
async def exclude(campaign: Name, number: ClosedCycle, collector: Running, who: Operator, request: Request) -> Response:
    """Leave a closed cycle out of the map, which is estimated again without it."""
    return await _leave_out(collector, campaign, number, who, request, yes=True)


@router.post(
    "/campaigns/{campaign}/cycles/{number}/include",
    response_model=LeftOutAnswer,
    responses=_REFUSALS,
    openapi_extra=_ACT,
)
async def include(campaign: Name, number: ClosedCycle, collector: Running, who: Operator, request: Request) -> Response:
    """Take a cycle that was left out into the map again."""
    return await _leave_out(collector, campaign, number, who, request, yes=False)


async def _leave_out(
    collector: Running, campaign: str, number: int, who: str, request: Request, *, yes: bool
) -> Response:
    asked = await read_body(request, ActRequest)
    out, revised = await lifecycle.leave_out(collector, campaign, number, yes=yes, who=who, reason=asked.reason)
    return respond(LeftOutAnswer(excluded=out, revised_cycle=revised))


@router.get("/audit", response_model=AuditAnswer, responses=refusals(401, 422))
async def audit(
    collector: Running,
    campaign: Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)] = None,
    latest: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Who did what (to one campaign), oldest first."""
    entries = await collector.store.audit.entries(campaign=campaign, latest=latest)
    fields = AuditView.model_fields
    return respond(AuditAnswer(entries=[AuditView(**{name: getattr(one, name) for name in fields}) for one in entries]))


@router.get("/operators", response_model=OperatorsAnswer, responses=refusals(401))
async def operators(collector: Running, who: Operator) -> Response:
    """Everybody who may operate this collector."""
    found = [OperatorView(name=name, created_at_s=since) for name, since in await collector.operators.since()]
    return respond(OperatorsAnswer(operators=found, you=who))


@router.post(
    "/operators",
    status_code=201,
    response_model=TokenAnswer,
    responses=refusals(400, 401, 409, 413, 415, 422, 503),
    openapi_extra=body_of(OperatorRequest),
)
async def add_operator(collector: Running, who: Operator, request: Request) -> Response:
    """A colleague's token, shown once."""
    asked = await read_body(request, OperatorRequest)
    token = await collector.operators.add(asked.name, who=who)
    return respond(TokenAnswer(status=201, operator=asked.name, token=token), headers={"cache-control": "no-store"})


@router.post("/operators/{operator}/rotate", response_model=TokenAnswer, responses=_REFUSALS, openapi_extra=_ACT)
async def rotate(operator: OperatorsName, collector: Running, who: Operator, request: Request) -> Response:
    """Another token for an operator, shown once; the old one stops working within a second."""
    await read_body(request, ActRequest)
    token = await collector.operators.rotate(operator, who=who)
    return respond(TokenAnswer(operator=operator, token=token), headers={"cache-control": "no-store"})


@router.post("/operators/{operator}/remove", response_model=OperatorsAnswer, responses=_REFUSALS, openapi_extra=_ACT)
async def remove_operator(operator: OperatorsName, collector: Running, who: Operator, request: Request) -> Response:
    """Take a colleague's right away."""
    await read_body(request, ActRequest)
    await collector.operators.remove(operator, who=who)
    return await operators(collector, who)


@router.post("/notices/test", response_model=NoticesAnswer, responses=_REFUSALS, openapi_extra=_ACT)
async def notices_test(collector: Running, who: Operator, request: Request) -> Response:
    """Put a test notice on every way there is (webhook, e-mail)."""
    await read_body(request, ActRequest)
    await collector.notifier.announce("test", name="test", title=f"asked for by {who}", now_s=collector.now())
    return respond(NoticesAnswer(ways=list(collector.notifier.ways)))
