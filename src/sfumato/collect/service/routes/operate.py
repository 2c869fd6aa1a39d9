"""What the operator asks: a new campaign, a relayed batch, to close a cycle."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from sfumato.collect.service import views
from sfumato.collect.service.answers import respond
from sfumato.collect.service.models.replies import BatchAnswer, CampaignAnswer, CloseAnswer
from sfumato.collect.service.models.requests import BatchRequest, CampaignRequest, CloseRequest
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

router = APIRouter(prefix="/api/v1/campaigns", tags=["operate"], dependencies=[Depends(operator_only)], route_class=Act)


@router.post(
    "",
    status_code=201,
    response_model=CampaignAnswer,
    responses=refusals(400, 401, 409, 413, 415, 422),
    openapi_extra=body_of(CampaignRequest),
)
async def create(collector: Running, who: Operator, request: Request) -> Response:
    """A new campaign, with its first cycle open."""
    campaign, cycle = await collector.create_campaign(await read_body(request, CampaignRequest), who=who)
    return respond(CampaignAnswer(status=201, campaign=views.campaign_view(campaign, cycle)))


@router.post(
    "/{campaign}/report-batches",
    response_model=BatchAnswer,
    responses=refusals(400, 401, 403, 404, 409, 410, 413, 415, 422, 503),
    openapi_extra=body_of(BatchRequest),
)
async def relay(campaign: Name, collector: Running, request: Request) -> Response:
    """Count relayed reports, apart from the others and up to a cap, in campaigns that allow it."""
    asked = await read_body(request, BatchRequest)
    duplicate = await collector.count_batch(campaign, asked)
    return respond(BatchAnswer(duplicate=duplicate, reports=len(asked.cells)))


@router.post(
    "/{campaign}/close",
    response_model=CloseAnswer,
    responses=refusals(400, 401, 404, 409, 413, 415, 422),
    openapi_extra=body_of(CloseRequest),
)
async def close(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Close the open cycle now, if it has its minimum of tickets and time."""
    await read_body(request, CloseRequest)
    closed, cycle, reason = await collector.close_cycle(campaign, who=who)
    return respond(CloseAnswer(closed=closed, cycle=cycle, reason=reason))
