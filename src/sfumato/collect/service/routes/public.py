"""What devices and readers ask: the channel, a ticket, to count a report; maps, files, the log, how the server is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from sfumato.base.version import __version__
from sfumato.collect.service.door.answers import respond
from sfumato.collect.service.door.looks import has_already, packed_for, packed_pieces, takes_packed
from sfumato.collect.service.models import replies
from sfumato.collect.service.models.bodies import ReportRequest, TicketRequest
from sfumato.collect.service.models.outlook import ComparisonView, PlaceView
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.operating.gazetteer import gazetteer
from sfumato.collect.service.pages import answer_views as views
from sfumato.collect.service.pages import exports
from sfumato.collect.service.pages.dashboard import changed_in
from sfumato.collect.service.pages.district_files import (
    csv_bytes,
    district_geojson,
    district_geoparquet,
    district_rows,
    period_of,
)
from sfumato.collect.service.pages.district_page import comparison
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.routes.common import (
    Name,
    Responses,
    Running,
    bearer,
    collector_of,
    looks_of,
    operator_only,
    post,
    read_body,
    refusals,
    shows_token,
)
from sfumato.collect.service.settings import LOOPBACK
from sfumato.collect.service.store.records import Campaign, CellCounts, StoredCycle, StoredEstimate

devices = APIRouter(prefix="/api/v1/campaigns/{campaign}", tags=["take part"])
readers = APIRouter(tags=["read"])
PathNumber = Annotated[int, Path(ge=1, le=999_999_999, description="A closed cycle.")]
CycleNumber = Annotated[int | None, Query(ge=1, le=999_999_999, description="A closed cycle; the latest if left out.")]

Rounds = Annotated[
    str, Query(pattern=r"^([0-9]{1,9}(,[0-9]{1,9}){0,99})?$", max_length=500, description="Closed rounds: 1,2,5.")
]

_NAMES = 200
SHOWN_CYCLES = 60
"""The latest cycles that pages tell of."""
_FILES: dict[str, tuple[str, Callable[[exports.MapTable], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", exports.to_csv),
    "geojson": ("application/geo+json", exports.to_geojson),
    "parquet": ("application/vnd.apache.parquet", exports.to_geoparquet),
}


_DISTRICTS: Responses = {
    200: {"content": {kind.partition(";")[0]: {} for kind, _ in _FILES.values()}, "description": "The file."},
    **refusals(404, 422),
}


@devices.get("/channel", response_model=replies.ChannelAnswer, responses=refusals(404, 409, 422))
async def channel(campaign: Name, collector: Running, request: Request) -> Response:
    """The open cycle's channel as signed text: the same for everybody, no ticket needed."""
    offer = await collector.open_offer(campaign)
    found = views.channel_answer(offer.cycle, collector.signer.public_key)
    answer = respond(found, headers={"cache-control": "no-cache", "etag": f'W/"{offer.cycle.version}"'})
    return packed_for(request, answer)


@post(devices, "/tickets", TicketRequest, replies.TicketAnswer, 404)
async def ticket(campaign: Name, request: Request) -> Response:
    """The device's ticket for one report in this cycle; asking again gives the same right, not another."""
    asked = await read_body(request, TicketRequest)
    issued, expires_at_s = await collector_of(request).issue_ticket(campaign, asked)
    return respond(
        replies.TicketAnswer(ticket=issued, expires_at_s=expires_at_s), headers={"cache-control": "no-store"}
    )


@post(devices, "/reports", ReportRequest, replies.ReportAnswer, 401, 404, 410, 503)
async def report(campaign: Name, request: Request) -> Response:
    """Count one obfuscated report; the answer comes after it is on disk."""
    asked = await read_body(request, ReportRequest)
    return respond(replies.ReportAnswer(duplicate=await collector_of(request).count_report(campaign, asked)))


@readers.get("/api/v1/server", response_model=replies.ServerAnswer, responses=refusals())
async def server(collector: Running) -> Response:
    """What this server is and the key it signs with."""
    tile_url = collector.settings.text("tile_url") or None
    key = collector.signer.public_key
    about = replies.ServerView(name="sfumato", version=__version__, public_key=key, tile_url=tile_url)
    return respond(replies.ServerAnswer(server=about))


@readers.get("/api/v1/campaigns", response_model=replies.CampaignsAnswer, responses=refusals(422))
async def campaigns(
    collector: Running, request: Request, archived: Annotated[bool, Query(description="Archived ones too.")] = False
) -> Response:
    """Every campaign that is not archived; counts of open cycles with the operator's token only."""
    counts = await shows_token(collector, request)
    return respond(replies.CampaignsAnswer(campaigns=await all_campaigns(collector, archived=archived, counts=counts)))


@readers.get("/api/v1/campaigns/{campaign}", response_model=replies.CampaignAnswer, responses=refusals(404, 422))
async def campaign(campaign: Name, collector: Running, request: Request) -> Response:
    """One campaign and its current cycle, whose counts need the operator's token."""
    counts = await shows_token(collector, request)
    return respond(
        replies.CampaignAnswer(campaign=views.campaign_view(*await collector.fresh(campaign), counts=counts))
    )


@readers.get("/api/v1/campaigns/{campaign}/log", response_model=replies.LogAnswer, responses=refusals(404, 422))
async def log(campaign: Name, collector: Running) -> Response:
    """Every channel version this campaign ever published, chained and signed."""
    found = await collector.campaign(campaign)
    return respond(replies.LogAnswer(log=views.log_view(found, await collector.store.log(found.id))))


@readers.get("/api/v1/heads", response_model=replies.HeadsAnswer, responses=refusals())
async def heads(collector: Running) -> Response:
    """The heads of every campaign's log here, and of other collectors' logs that the operator republishes."""
    own = [await log_head(collector, offer.campaign) for offer in await collector.offers()]
    return respond(
        replies.HeadsAnswer(heads=[*own, *await asyncio.to_thread(views.republished_heads, collector.settings)])
    )


async def log_head(collector: Collector, campaign: Campaign) -> replies.HeadView:
    """The head of a campaign's log."""
    return views.head_view(campaign.name, await collector.store.log_head(campaign.id), collector.signer.public_key)


@readers.get("/api/v1/campaigns/{campaign}/cycles", response_model=replies.HistoryAnswer, responses=refusals(404, 422))
async def cycles(campaign: Name, collector: Running) -> Response:
    """The closed cycles, without their arrays."""
    found = await collector.campaign(campaign)
    closed = await collector.store.closed_facts(found.id)
    return respond(replies.HistoryAnswer(history=[views.closed_view(found, *pair) for pair in closed]))


@readers.get(
    "/api/v1/campaigns/{campaign}/cycles/{number}", response_model=replies.CycleAnswer, responses=refusals(404, 422)
)
async def cycle(campaign: Name, number: PathNumber, collector: Running, request: Request) -> Response:
    """One closed cycle with its estimate, intervals, counts and output weights."""
    return await _cycle_answer(request, collector, campaign, number)


@readers.get("/api/v1/campaigns/{campaign}/estimate", response_model=replies.CycleAnswer, responses=refusals(404, 422))
@readers.get(
    "/api/v1/campaigns/{campaign}/estimate.json", response_model=replies.CycleAnswer, responses=refusals(404, 422)
)
async def estimate(campaign: Name, collector: Running, request: Request, cycle: CycleNumber = None) -> Response:
    """The latest estimate (or that of ``cycle``) with everything that belongs to it."""
    return await _cycle_answer(request, collector, campaign, cycle)


async def _cycle_answer(request: Request, collector: Collector, name: str, number: int | None) -> Response:
    """Made once per change, off the loop."""
    found = await collector.campaign(name)
    chosen = await collector.store.last_closed(found.id) if number is None else number

    async def stamp() -> str:
        return await collector.store.shown_stamp(found.id, number=chosen)

    async def make() -> bytes:
        whole = await full_cycle(collector, found, chosen)
        return await asyncio.to_thread(
            lambda: replies.CycleAnswer(cycle=views.counted_view(found, *whole)).model_dump_json().encode("utf-8")
        )

    return await looks_of(request).answer(request, ("cycle", found.id, chosen), stamp, make)


def _file_route(ending: str) -> Callable[..., Awaitable[Response]]:
    media_type, write = _FILES[ending]

    async def estimate_file(
        campaign: Name, collector: Running, request: Request, cycle: CycleNumber = None
    ) -> Response:
        found = await collector.campaign(campaign)
        chosen = await collector.store.last_closed(found.id) if cycle is None else cycle
        closed, estimate, counts = await full_cycle(collector, found, chosen)
        name = f"{campaign}-cycle-{closed.number}.{ending}"
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "etag": f'W/"{await collector.store.shown_stamp(found.id, number=chosen)}.{ending}"',
            "cache-control": "no-cache",
            "vary": "accept-encoding",
        }
        if has_already(request.headers.get("if-none-match", ""), headers["etag"]):
            return Response(status_code=304, headers=headers)
        alone = await stands_alone(collector, found, views.closed_view(found, closed, estimate.facts))
        pieces = write(exports.MapTable.of(found.specification, closed, estimate, counts, alone=alone))
        if takes_packed(request.headers):
            headers["content-encoding"] = "gzip"
            pieces = packed_pieces(pieces)
        # Made in a thread, piece by piece, as fast as the reader takes them.
        return StreamingResponse(pieces, media_type=media_type, headers=headers)

    estimate_file.__doc__ = f"The estimate per cell as {ending}, sent while it is made."
    return estimate_file


for _ending, (_media_type, _) in _FILES.items():
    # GeoJSON is read as what it is, an object: only the other files are text or bytes to a reader of the contract.
    _schema = {"type": "object"} if "json" in _media_type else {"type": "string", "format": "binary"}
    _content = {_media_type.partition(";")[0]: {"schema": _schema}}
    readers.add_api_route(
        f"/api/v1/campaigns/{{campaign}}/estimate.{_ending}",
        _file_route(_ending),
        methods=["GET"],
        name=f"estimate_{_ending}",
        response_class=Response,
        responses={200: {"content": _content, "description": "The file."}, **refusals(404, 422)},
    )


@readers.get(
    "/api/v1/campaigns/{campaign}/compare", response_model=replies.ComparisonAnswer, responses=refusals(404, 409, 422)
)
async def compare(campaign: Name, collector: Running, before: Rounds, after: Rounds) -> Response:
    """How districts changed from one round, or several, to others: intervals of the difference."""
    found = await collector.campaign(campaign)
    about = views.campaign_view(*await collector.fresh(campaign))
    compared = await compared_rounds(collector, found, about, numbers_of(before), numbers_of(after))
    if compared is None:
        raise Refused(409, "Compare one round, or several, with others: none may be on both sides.")
    return respond(replies.ComparisonAnswer(comparison=compared))


def numbers_of(rounds: str) -> list[int]:
    """The numbers in 1,2,5."""
    return sorted({int(one) for one in rounds.split(",") if one})


async def compared_rounds(
    collector: Collector, campaign: Campaign, about: replies.CampaignView, before: list[int], after: list[int]
) -> ComparisonView | None:
    """Two groups of closed rounds, district by district; None where none are given."""
    if not (before or after):
        return None
    found = {number: await collector.store.closed_cycle(campaign.id, number) for number in {*before, *after}}
    known = {number: one for number, one in found.items() if one is not None}
    if len(known) < len(found):
        raise Refused(404, "That cycle is not closed (yet).")
    return await asyncio.to_thread(comparison, about, [known[one] for one in before], [known[one] for one in after])


@readers.get("/api/v1/campaigns/{campaign}/districts.{ending}", response_class=Response, responses=_DISTRICTS)
async def districts(
    campaign: Name, ending: Literal["csv", "geojson", "parquet"], collector: Running, cycle: CycleNumber = None
) -> Response:
    """The districts of a closed cycle's map, one row each, with how many reported, dates and level."""
    found = await collector.campaign(campaign)
    closed = await collector.store.closed_cycle(found.id, cycle)
    known = None if closed is None else closed[1].districts
    if closed is None or known is None:
        raise Refused(404, "There is no closed cycle with districts.")
    view = views.closed_view(found, closed[0], closed[1].facts)
    asked, alone = found.specification, await stands_alone(collector, found, view)
    rows = district_rows(closed[0].number, known, period_of([view], asked.time_zone, known.level), alone=alone)
    shown = known.this_round if alone else known.average
    write = {"csv": lambda: csv_bytes(rows), "geojson": lambda: district_geojson(asked, rows, shown)}.get(ending)
    whole = await asyncio.to_thread(write or (lambda: district_geoparquet(asked, rows, shown)))
    name = {"content-disposition": f'attachment; filename="{campaign}-districts-{view.cycle}.{ending}"'}
    return Response(whole, media_type=_FILES[ending][0], headers={**name, "cache-control": "no-cache"})


@devices.get("/places", response_model=replies.PlacesAnswer, responses=refusals(404, 422))
async def places(campaign: Name, collector: Running, request: Request) -> Response:
    """The names in a campaign's area and around it, the same for everybody: a page searches them by itself."""
    found = (await collector.campaign(campaign)).specification
    grid = found.grid

    async def stamp() -> tuple[object, ...]:
        return grid, found.districts

    async def make() -> bytes:
        names = await asyncio.to_thread(gazetteer)
        tall, wide = grid.rows * grid.cell_height_deg, grid.columns * grid.cell_width_deg
        south, east = grid.north_deg - tall - tall / 4, grid.west_deg + wide + wide / 4
        sides = (south, grid.west_deg - wide / 4, grid.north_deg + tall / 4, east)
        near = [] if names is None else names.within(*sides, most=_NAMES)
        known = [PlaceView(**one._asdict()) for one in near]
        return replies.PlacesAnswer(places=known, districts=list(found.districts)).model_dump_json().encode("utf-8")

    return await looks_of(request).answer(request, ("places", campaign), stamp, make)


async def stands_alone(collector: Collector, campaign: Campaign, cycle: replies.ClosedCycleView) -> bool:
    """Whether a cycle's average is no answer, because the map changed within it: files are of the cycle alone."""
    closed = await collector.store.closed_facts(campaign.id, latest=SHOWN_CYCLES)
    return changed_in([views.closed_view(campaign, *pair) for pair in closed], cycle) is not None


@readers.get("/health", response_model=replies.StateAnswer, responses=refusals(), tags=["watch"])
async def health() -> Response:
    """The process is alive."""
    return respond(replies.StateAnswer(state="alive"))


@readers.get("/ready", response_model=replies.StateAnswer, responses=refusals(503), tags=["watch"])
async def ready(collector: Running) -> Response:
    """A report sent now would be kept: found out by writing one row where reports are written."""
    if await collector.health.ready() and collector.writer.takes_reports:
        return respond(replies.StateAnswer(state="ready"))
    trouble = collector.health.trouble
    what = "Reports are not being written." if trouble is None else trouble.what
    raise Refused(503, what, headers={"retry-after": "1"})


@readers.get(
    "/metrics",
    response_class=Response,
    tags=["watch"],
    responses={200: {"content": {"text/plain": {}}}, **refusals(401)},
)
async def metrics(collector: Running, request: Request) -> Response:
    """Prometheus metrics of this process, for the operator's machine or token: exact totals show single arrivals."""
    # A page of elsewhere can make a browser on this machine ask (by a name that leads here): then the name is its own.
    here = request.url.hostname in (*LOOPBACK, "localhost")
    if not (here and request.client and request.client.host in LOOPBACK):
        await operator_only(collector, await bearer(request))
    collector.metrics.alarms.set(await collector.store.alarms())
    return Response(collector.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def all_campaigns(
    collector: Collector, *, archived: bool = False, counts: bool = False
) -> list[replies.CampaignView]:
    """Every campaign's view, without the archived ones and without counts of open cycles unless asked for."""
    offers = [one for one in await collector.offers() if archived or one.campaign.state != "archived"]
    found = [await collector.fresh(offer.campaign.name) for offer in offers]
    return [views.campaign_view(*pair, counts=counts) for pair in found]


async def full_cycle(
    collector: Collector, campaign: Campaign, number: int
) -> tuple[StoredCycle, StoredEstimate, CellCounts]:
    """One closed cycle with everything; 404 if there is none."""
    closed = await collector.store.closed_cycle(campaign.id, number)
    if closed is None:
        raise Refused(404, "That cycle is not closed (yet).")
    cells = campaign.specification.cell_count
    [counts] = await collector.store.counts(campaign.id, cells=cells, up_to=number, pooled=1)
    return *closed, counts
