"""What operators ask, each with a token and each act in the audit log: about campaigns, cycles, colleagues, backups."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as Segment
from starlette.responses import Response

from sfumato.base.errors import InputError
from sfumato.collect.qr import qr_svg
from sfumato.collect.service.door.answers import respond, tongue_of
from sfumato.collect.service.models import bodies, replies
from sfumato.collect.service.models.bodies import ActRequest
from sfumato.collect.service.models.outlook import PlaceView
from sfumato.collect.service.operating import lifecycle
from sfumato.collect.service.operating.gazetteer import gazetteer, read_soon
from sfumato.collect.service.operating.plan_view import plan_of
from sfumato.collect.service.pages.answer_views import campaign_view
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.routes.common import Act, Name, Operator, Running, operator_only, post, read_body, refusals
from sfumato.collect.service.sentences import in_language

router = APIRouter(prefix="/api/v1", tags=["operate"], dependencies=[Depends(operator_only)], route_class=Act)
ClosedCycle = Annotated[int, Segment(ge=1, le=999_999_999, description="A closed cycle.")]
OperatorsName = Annotated[str, Segment(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63, description="An operator.")]
BackupName = Annotated[str, Segment(pattern=lifecycle.BACKUP_NAME, max_length=40, description="A backup's name.")]
_ACTS = {
    "pause": (lifecycle.pause, "Take no report until resumed."),
    "resume": (lifecycle.resume, "Take reports again."),
    "archive": (lifecycle.archive, "Take an ended campaign out of the lists."),
    "reschedule": (lifecycle.reschedule, "Begin the open cycle's time again now: after a clock was wrong."),
}
_UNSEEN = {"cache-control": "no-store"}
_ANSWERS, _NAMES = 8, 60
_READING_S = 60.0


@post(router, "/campaigns", bodies.CampaignRequest, replies.CampaignAnswer, 401, made=True)
async def create(collector: Running, who: Operator, request: Request) -> Response:
    """A new campaign, with its first cycle open."""
    found = await collector.create_campaign(await read_body(request, bodies.CampaignRequest), who=who)
    if not request.app.state.ground.tiles:
        read_soon()
    return respond(replies.CampaignAnswer(status=201, campaign=campaign_view(*found, counts=True)))


@post(router, "/campaigns/{campaign}/copy", bodies.CopyRequest, replies.CampaignAnswer, 401, 404, made=True)
async def copy(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """The real campaign that was rehearsed, with its first cycle open: none of the rehearsal's reports go with it."""
    asked = await read_body(request, bodies.CopyRequest)
    found = await collector.copy_campaign(campaign, asked.name, who=who)
    return respond(replies.CampaignAnswer(status=201, campaign=campaign_view(*found, counts=True)))


_RELAY = (401, 403, 404, 410, 503)


@post(router, "/campaigns/{campaign}/report-batches", bodies.BatchRequest, replies.BatchAnswer, *_RELAY)
async def relay(campaign: Name, collector: Running, request: Request) -> Response:
    """Count relayed reports, apart from the others and up to a cap, in campaigns that allow it."""
    asked = await read_body(request, bodies.BatchRequest)
    duplicate = await collector.count_batch(campaign, asked)
    return respond(replies.BatchAnswer(duplicate=duplicate, reports=len(asked.cells)))


@post(router, "/campaigns/{campaign}/close", bodies.CloseRequest, replies.CloseAnswer, 401, 404)
async def close(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Close the open cycle now, if it has its minimum of tickets and time."""
    await read_body(request, bodies.CloseRequest)
    closed, cycle, reason = await collector.close_cycle(campaign, who=who)
    said = in_language(reason, tongue_of(request))
    return respond(replies.CloseAnswer(closed=closed, cycle=cycle, reason=said))


def _act_route(name: str) -> None:
    act, words = _ACTS[name]

    async def route(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
        asked = await read_body(request, ActRequest)
        found = await act(collector, campaign, who=who, reason=asked.reason)
        return respond(replies.CampaignAnswer(campaign=campaign_view(*found, counts=True)))

    route.__doc__, route.__name__ = words, name
    post(router, f"/campaigns/{{campaign}}/{name}", ActRequest, replies.CampaignAnswer, 401, 404, 503)(route)


for _name in _ACTS:
    _act_route(_name)


@post(router, "/campaigns/{campaign}/texts", bodies.TextsRequest, replies.CampaignAnswer, 401, 404, 503)
async def texts(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Change title, question, organiser, contact, language or end; what the campaign promises never changes."""
    found = await lifecycle.edit(collector, campaign, await read_body(request, bodies.TextsRequest), who=who)
    return respond(replies.CampaignAnswer(campaign=campaign_view(*found, counts=True)))


@post(router, "/campaigns/{campaign}/end", ActRequest, replies.EndAnswer, 401, 404, 503)
async def end(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Never take another report; the open cycle is published if it has its minimum of tickets and time."""
    asked = await read_body(request, ActRequest)
    done = await lifecycle.end(collector, campaign, who=who, reason=asked.reason)
    view = campaign_view(done.campaign, done.cycle, counts=True)
    reason = in_language(done.reason, tongue_of(request))
    return respond(replies.EndAnswer(campaign=view, published=done.published, reason=reason))


@post(router, "/campaigns/{campaign}/delete", bodies.DeleteRequest, replies.DeletedAnswer, 401, 404, 503)
async def delete(campaign: Name, collector: Running, who: Operator, request: Request) -> Response:
    """Delete everything of a campaign that takes no reports. Backups keep what they hold."""
    asked = await read_body(request, bodies.DeleteRequest)
    await lifecycle.delete(collector, campaign, confirm=asked.confirm, who=who)
    return respond(replies.DeletedAnswer(deleted=campaign))


@post(router, "/campaigns/{campaign}/cycles/{number}/exclude", ActRequest, replies.LeftOutAnswer, 401, 404, 503)
async def exclude(campaign: Name, number: ClosedCycle, collector: Running, who: Operator, request: Request) -> Response:
    """Leave a closed cycle out of the map, which is estimated again without it."""
    return await _leave_out(collector, campaign, number, who, request, yes=True)


@post(router, "/campaigns/{campaign}/cycles/{number}/include", ActRequest, replies.LeftOutAnswer, 401, 404, 503)
async def include(campaign: Name, number: ClosedCycle, collector: Running, who: Operator, request: Request) -> Response:
    """Take a cycle that was left out into the map again."""
    return await _leave_out(collector, campaign, number, who, request, yes=False)


async def _leave_out(
    collector: Collector, campaign: str, number: int, who: str, request: Request, *, yes: bool
) -> Response:
    asked = await read_body(request, ActRequest)
    out, revised = await lifecycle.leave_out(collector, campaign, number, yes=yes, who=who, reason=asked.reason)
    return respond(replies.LeftOutAnswer(excluded=out, revised_cycle=revised))


@router.get("/audit", response_model=replies.AuditAnswer, responses=refusals(401, 422))
async def audit(
    collector: Running,
    campaign: Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)] = None,
    latest: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Who did what (to one campaign), oldest first."""
    return respond(replies.AuditAnswer(entries=await collector.store.audit.entries(campaign=campaign, latest=latest)))


@router.get("/operators", response_model=replies.OperatorsAnswer, responses=refusals(401))
async def operators(collector: Running, who: Operator) -> Response:
    """Everybody who may operate this collector."""
    everybody = await collector.operators.since()
    found = [replies.OperatorView(name=name, created_at_s=since) for name, since in everybody]
    return respond(replies.OperatorsAnswer(operators=found, you=who))


@post(router, "/operators", bodies.OperatorRequest, replies.TokenAnswer, 401, 503, made=True)
async def add_operator(collector: Running, who: Operator, request: Request) -> Response:
    """A colleague's token, shown once."""
    asked = await read_body(request, bodies.OperatorRequest)
    token = await collector.operators.add(asked.name, who=who)
    return respond(replies.TokenAnswer(status=201, operator=asked.name, token=token), headers=_UNSEEN)


@post(router, "/operators/{operator}/rotate", ActRequest, replies.TokenAnswer, 401, 404, 503)
async def rotate(operator: OperatorsName, collector: Running, who: Operator, request: Request) -> Response:
    """Another token for an operator, shown once; the old one stops working within a second."""
    await read_body(request, ActRequest)
    token = await collector.operators.rotate(operator, who=who)
    return respond(replies.TokenAnswer(operator=operator, token=token), headers=_UNSEEN)


@post(router, "/operators/{operator}/remove", ActRequest, replies.OperatorsAnswer, 401, 404, 503)
async def remove_operator(operator: OperatorsName, collector: Running, who: Operator, request: Request) -> Response:
    """Take a colleague's right away."""
    await read_body(request, ActRequest)
    await collector.operators.remove(operator, who=who)
    return await operators(collector, who)


@post(router, "/notices/test", ActRequest, replies.NoticesAnswer, 401, 404, 503)
async def notices_test(collector: Running, who: Operator, request: Request) -> Response:
    """Put a test notice on every way there is (webhook, e-mail)."""
    await read_body(request, ActRequest)
    await collector.notifier.announce(
        "test", name="test", title=f"asked for by {who}", language=tongue_of(request), now_s=collector.now()
    )
    return respond(replies.NoticesAnswer(ways=list(collector.notifier.ways)))


@post(router, "/plans", bodies.PlanRequest, replies.PlanAnswer, 401)
async def plan(collector: Running, request: Request) -> Response:
    """How fine a map so many people would draw, and what each report costs; nothing is created."""
    asked = await read_body(request, bodies.PlanRequest)
    plan = await asyncio.to_thread(plan_of, asked, collector.settings, language=tongue_of(request))
    return respond(replies.PlanAnswer(plan=plan))


@post(router, "/places", bodies.PlacesRequest, replies.PlacesAnswer, 401)
async def places(request: Request) -> Response:
    """Where a place is, or which are in a rectangle: from GeoNames on this server; nobody else is asked."""
    asked = await read_body(request, bodies.PlacesRequest)
    found = await asyncio.to_thread(gazetteer)
    if found is None:
        raise InputError("This server knows no names of places.", "Install them: pip install 'sfumato[service]'.")
    sides = asked.within
    chosen = found.within(*sides.edges, most=_NAMES) if sides else found.find(asked.name, most=_ANSWERS)
    return respond(replies.PlacesAnswer(places=[PlaceView(**one._asdict()) for one in chosen]))


@post(router, "/areas", bodies.AreasRequest, replies.AreasAnswer, 401)
async def areas(request: Request) -> Response:
    """The areas of a shapefile or a GeoPackage as GeoJSON, read in a process of its own; nothing is kept."""
    asked = await read_body(request, bodies.AreasRequest)
    try:
        whole = base64.b64decode(asked.file, validate=True)
    except ValueError as error:
        raise replies.Refused(422, "The file is no base64.") from error
    return respond(replies.AreasAnswer(areas=await asyncio.to_thread(_layer_of, whole)))


def _layer_of(whole: bytes) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "The file"  # as errors call it
        file.write_bytes(whole)
        command = [sys.executable, "-P", "-m", "sfumato.base.things.map_layers", str(file)]
        try:
            run = subprocess.run(command, capture_output=True, timeout=_READING_S, check=False)
            said: dict[str, object] = json.loads(run.stdout)
        except (subprocess.TimeoutExpired, ValueError) as error:
            raise InputError("The file cannot be read as areas.", "Simplify it, or save it as GeoJSON.") from error
    if "error" in said:
        raise InputError(str(said["error"]), str(said["advice"]))
    return said


@post(router, "/codes", bodies.CodeRequest, replies.CodeAnswer, 401)
async def code(request: Request) -> Response:
    """An address as a QR code."""
    asked = await read_body(request, bodies.CodeRequest)
    svg = await asyncio.to_thread(qr_svg, asked.address, label=asked.address)
    return respond(replies.CodeAnswer(address=asked.address, svg=svg))


@router.get("/backups", response_model=replies.BackupsAnswer, responses=refusals(401))
async def list_backups(collector: Running) -> Response:
    """The backups on the server's disk, newest first."""
    return _backups(collector)


@post(router, "/backups", ActRequest, replies.BackupsAnswer, 401, 503, made=True)
async def make_backup(collector: Running, who: Operator, request: Request) -> Response:
    """Back the database up, on the server's disk."""
    await read_body(request, ActRequest)
    await lifecycle.make_backup(collector, who=who)
    return _backups(collector, status=201)


@post(router, "/backups/{name}/delete", ActRequest, replies.BackupsAnswer, 401, 404, 503)
async def delete_backup(name: BackupName, collector: Running, who: Operator, request: Request) -> Response:
    """Delete a backup."""
    await read_body(request, ActRequest)
    await lifecycle.remove_backup(collector, name, who=who)
    return _backups(collector)


def _backups(collector: Collector, *, status: int = 200) -> Response:
    folder = lifecycle.folder_of(collector)
    kept = None if folder is None else str(folder)
    return respond(replies.BackupsAnswer(status=status, backups=lifecycle.backups_of(collector), folder=kept))
