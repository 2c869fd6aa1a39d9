"""What anybody may read: campaigns, history, estimates, files, the log, and how the server is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from sfumato.service import exports, views
from sfumato.service.answers import Refused, respond
from sfumato.service.collector import Collector
from sfumato.service.models.kept import GridFields
from sfumato.service.models.replies import (
    CampaignAnswer,
    CampaignsAnswer,
    CycleAnswer,
    HistoryAnswer,
    LogAnswer,
    ServerAnswer,
    StateAnswer,
)
from sfumato.service.models.shown import CampaignView, CountedCycleView, ServerView
from sfumato.service.proxies import LOOPBACK
from sfumato.service.routes.common import Name, Running, bearer, operator_only, refusals
from sfumato.version import __version__

router = APIRouter(tags=["read"])
PathNumber = Annotated[int, Path(ge=1, le=999_999_999, description="A closed cycle.")]
CycleNumber = Annotated[int | None, Query(ge=1, le=999_999_999, description="A closed cycle; the latest if left out.")]

_FILES: dict[str, tuple[str, Callable[[GridFields, CountedCycleView], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", exports.to_csv),
    "geojson": ("application/geo+json", exports.to_geojson),
    "parquet": ("application/vnd.apache.parquet", exports.to_geoparquet),
}


@router.get("/api/v1/server", response_model=ServerAnswer, responses=refusals())
async def server(collector: Running) -> Response:
    """What this server is and the key it signs with."""
    tile_url = collector.settings.text("tile_url") or None
    key = collector.signer.public_key
    about = ServerView(name="sfumato", version=__version__, public_key=key, tile_url=tile_url)
    return respond(ServerAnswer(server=about))


@router.get("/api/v1/campaigns", response_model=CampaignsAnswer, responses=refusals(422))
async def campaigns(
    collector: Running, archived: Annotated[bool, Query(description="Archived ones too.")] = False
) -> Response:
    """Every campaign that is not archived."""
    return respond(CampaignsAnswer(campaigns=await all_campaigns(collector, archived=archived)))


@router.get("/api/v1/campaigns/{campaign}", response_model=CampaignAnswer, responses=refusals(404, 422))
async def campaign(campaign: Name, collector: Running) -> Response:
    """One campaign and its current cycle."""
    return respond(CampaignAnswer(campaign=views.campaign_view(*await collector.fresh(campaign))))


@router.get("/api/v1/campaigns/{campaign}/log", response_model=LogAnswer, responses=refusals(404, 422))
async def log(campaign: Name, collector: Running) -> Response:
    """Every channel version this campaign ever published, chained and signed."""
    found = await collector.campaign(campaign)
    return respond(LogAnswer(log=views.log_view(found, await collector.store.log(found.id))))


@router.get("/api/v1/campaigns/{campaign}/cycles", response_model=HistoryAnswer, responses=refusals(404, 422))
async def cycles(campaign: Name, collector: Running) -> Response:
    """The closed cycles, without their arrays."""
    found = await collector.campaign(campaign)
    closed = await collector.store.closed_cycles(found.id)
    return respond(HistoryAnswer(history=[views.closed_view(found, *pair) for pair in closed]))


@router.get("/api/v1/campaigns/{campaign}/cycles/{number}", response_model=CycleAnswer, responses=refusals(404, 422))
async def cycle(campaign: Name, number: PathNumber, collector: Running) -> Response:
    """One closed cycle with its estimate, intervals, counts and output weights."""
    return respond(CycleAnswer(cycle=(await full_cycle(collector, campaign, number))[1]))


@router.get("/api/v1/campaigns/{campaign}/estimate", response_model=CycleAnswer, responses=refusals(404, 422))
@router.get("/api/v1/campaigns/{campaign}/estimate.json", response_model=CycleAnswer, responses=refusals(404, 422))
async def estimate(campaign: Name, collector: Running, cycle: CycleNumber = None) -> Response:
    """The latest estimate (or that of ``cycle``) with everything that belongs to it."""
    return respond(CycleAnswer(cycle=(await full_cycle(collector, campaign, cycle))[1]))


def _file_route(ending: str) -> Callable[..., Awaitable[Response]]:
    media_type, write = _FILES[ending]

    async def estimate_file(campaign: Name, collector: Running, cycle: CycleNumber = None) -> Response:
        grid, view = await full_cycle(collector, campaign, cycle)
        name = f"{campaign}-cycle-{view.cycle}.{ending}"
        disposition = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(write(grid, view), media_type=media_type, headers=disposition)

    estimate_file.__doc__ = f"The estimate per cell as {ending}."
    return estimate_file


for _ending, (_media_type, _) in _FILES.items():
    _content = {_media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}}
    router.add_api_route(
        f"/api/v1/campaigns/{{campaign}}/estimate.{_ending}",
        _file_route(_ending),
        methods=["GET"],
        name=f"estimate_{_ending}",
        response_class=Response,
        responses={200: {"content": _content, "description": "The file."}, **refusals(404, 422)},
    )


@router.get("/health", response_model=StateAnswer, responses=refusals(), tags=["watch"])
async def health() -> Response:
    """The process is alive."""
    return respond(StateAnswer(state="alive"))


@router.get("/ready", response_model=StateAnswer, responses=refusals(503), tags=["watch"])
async def ready(collector: Running) -> Response:
    """A report sent now would be kept: found out by writing one row where reports are written."""
    if await collector.health.ready() and collector.writer.takes_reports:
        return respond(StateAnswer(state="ready"))
    trouble = collector.health.trouble
    what = "Reports are not being written." if trouble is None else trouble.what
    raise Refused(503, what, headers={"retry-after": "1"})


@router.get(
    "/metrics",
    response_class=Response,
    tags=["watch"],
    responses={200: {"content": {"text/plain": {}}}, **refusals(401)},
)
async def metrics(collector: Running, request: Request) -> Response:
    """Prometheus metrics of this process, for the operator's machine or token: exact totals show single arrivals."""
    if not (request.client and request.client.host in LOOPBACK):
        await operator_only(collector, await bearer(request))
    collector.metrics.alarms.set(await collector.store.alarms())
    return Response(collector.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def all_campaigns(collector: Collector, *, archived: bool = False) -> list[CampaignView]:
    """Every campaign's view, without the archived ones unless asked for."""
    offers = [one for one in await collector.offers() if archived or one.campaign.state != "archived"]
    found = [await collector.fresh(offer.campaign.name) for offer in offers]
    return [views.campaign_view(*pair) for pair in found]


async def full_cycle(collector: Collector, name: str, number: int | None) -> tuple[GridFields, CountedCycleView]:
    """One closed cycle with everything, and the campaign's grid; 404 if there is none."""
    found = await collector.campaign(name)
    closed = await collector.store.closed_cycle(found.id, number)
    if closed is None:
        raise Refused(404, "That cycle is not closed (yet).")
    cycle, estimate = closed
    asked = found.specification
    [counts] = await collector.store.counts(found.id, cells=asked.cell_count, up_to=cycle.number, pooled=1)
    return asked.grid, views.counted_view(found, cycle, estimate, counts)
