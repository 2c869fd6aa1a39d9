"""What the operator's screens at /operate ask beside the operator's acts: a plan, a code to print, backups."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from sfumato.base.qr import qr_svg
from sfumato.collect.service import backups
from sfumato.collect.service.answers import respond
from sfumato.collect.service.collector import Collector
from sfumato.collect.service.models.operating import ActRequest
from sfumato.collect.service.models.screens import BackupsAnswer, CodeAnswer, CodeRequest, PlanAnswer, PlanRequest
from sfumato.collect.service.plans import planned
from sfumato.collect.service.routes.common import Operator, Running, body_of, operator_only, read_body, refusals

router = APIRouter(prefix="/api/v1", tags=["operate"], dependencies=[Depends(operator_only)])
BackupName = Annotated[str, Path(pattern=backups.NAME, max_length=40, description="A backup's name.")]
_REFUSALS = refusals(400, 401, 409, 413, 415, 422)
_ACT = body_of(ActRequest)


@router.post("/plans", response_model=PlanAnswer, responses=_REFUSALS, openapi_extra=body_of(PlanRequest))
async def plan(collector: Running, request: Request) -> Response:
    """How fine a map so many people would draw, and what each report costs; nothing is created."""
    asked = await read_body(request, PlanRequest)
    return respond(PlanAnswer(plan=await asyncio.to_thread(planned, asked, collector.settings)))


@router.post("/codes", response_model=CodeAnswer, responses=_REFUSALS, openapi_extra=body_of(CodeRequest))
async def code(request: Request) -> Response:
    """An address as a QR code."""
    asked = await read_body(request, CodeRequest)
    svg = await asyncio.to_thread(qr_svg, asked.address, label=f"QR code of {asked.address}")
    return respond(CodeAnswer(address=asked.address, svg=svg))


@router.get("/backups", response_model=BackupsAnswer, responses=refusals(401))
async def list_backups(collector: Running) -> Response:
    """The backups on the server's disk, newest first."""
    return respond(_backups(collector))


@router.post(
    "/backups",
    status_code=201,
    response_model=BackupsAnswer,
    responses=refusals(400, 401, 409, 413, 415, 422, 503),
    openapi_extra=_ACT,
)
async def make_backup(collector: Running, who: Operator, request: Request) -> Response:
    """Back the database up, on the server's disk."""
    await read_body(request, ActRequest)
    await backups.make(collector, who=who)
    return respond(_backups(collector, status=201))


@router.post(
    "/backups/{name}/delete",
    response_model=BackupsAnswer,
    responses=refusals(400, 401, 404, 409, 413, 415, 422, 503),
    openapi_extra=_ACT,
)
async def delete_backup(name: BackupName, collector: Running, who: Operator, request: Request) -> Response:
    """Delete a backup."""
    await read_body(request, ActRequest)
    await backups.remove(collector, name, who=who)
    return respond(_backups(collector))


def _backups(collector: Collector, *, status: int = 200) -> BackupsAnswer:
    folder = backups.folder_of(collector)
    return BackupsAnswer(
        status=status, backups=backups.listed(collector), folder=None if folder is None else str(folder)
    )
