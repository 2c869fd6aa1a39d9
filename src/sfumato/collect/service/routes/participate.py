"""What a device asks: the channel, a ticket, and to count its report."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from sfumato.collect.service import views
from sfumato.collect.service.answers import respond
from sfumato.collect.service.models.replies import ChannelAnswer, ReportAnswer, TicketAnswer
from sfumato.collect.service.models.requests import ReportRequest, TicketRequest
from sfumato.collect.service.routes.common import Name, Running, body_of, collector_of, read_body, refusals

router = APIRouter(prefix="/api/v1/campaigns/{campaign}", tags=["take part"])


@router.get("/channel", response_model=ChannelAnswer, responses=refusals(404, 409, 422))
async def channel(campaign: Name, collector: Running) -> Response:
    """The open cycle's channel as signed text: the same for everybody, no ticket needed."""
    offer = await collector.open_offer(campaign)
    found = views.channel_answer(offer.cycle, collector.signer.public_key)
    return respond(found, headers={"cache-control": "no-cache", "etag": f'"{offer.cycle.version}"'})


@router.post(
    "/tickets",
    response_model=TicketAnswer,
    responses=refusals(400, 404, 409, 413, 415, 422),
    openapi_extra=body_of(TicketRequest),
)
async def ticket(campaign: Name, request: Request) -> Response:
    """The device's ticket for one report in this cycle; asking again gives the same right, not another."""
    asked = await read_body(request, TicketRequest)
    issued, expires_at_s = await collector_of(request).issue_ticket(campaign, asked)
    return respond(TicketAnswer(ticket=issued, expires_at_s=expires_at_s), headers={"cache-control": "no-store"})


@router.post(
    "/reports",
    response_model=ReportAnswer,
    responses=refusals(400, 401, 404, 409, 410, 413, 415, 422, 503),
    openapi_extra=body_of(ReportRequest),
)
async def report(campaign: Name, request: Request) -> Response:
    """Count one obfuscated report; the answer comes after it is on disk."""
    asked = await read_body(request, ReportRequest)
    return respond(ReportAnswer(duplicate=await collector_of(request).count_report(campaign, asked)))
