"""The pages, their JSON twins, and the streets under their maps. No page's address ever depends on a location."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sfumato.collect.service import pages
from sfumato.collect.service.door.answers import respond
from sfumato.collect.service.door.looks import packed_for
from sfumato.collect.service.models import replies
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.operating.gazetteer import read_soon
from sfumato.collect.service.pages import answer_views as views
from sfumato.collect.service.pages.privacy import NoticeLanguage
from sfumato.collect.service.pages.svg_maps import OUTLINE, TILES
from sfumato.collect.service.pages.words import words
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.routes.common import Name, Responses, Running, ground_of, looks_of, refusals
from sfumato.collect.service.routes.public import (
    SHOWN_CYCLES,
    PathNumber,
    Rounds,
    all_campaigns,
    compared_rounds,
    log_head,
    numbers_of,
)
from sfumato.collect.service.sentences import chosen_language

router = APIRouter(tags=["pages"])
PageNumber = Annotated[int, Path(ge=1, le=999_999, description="A page of a map, from 1.")]
_HTML: Responses = {200: {"content": {"text/html": {}}, "description": "A page."}}
_SVG: Responses = {200: {"content": {"image/svg+xml": {}}, "description": "The picture."}}
_CSV: Responses = {200: {"content": {"text/csv": {}}, "description": "The table."}}
_KEPT = {"cache-control": "public, max-age=3600"}
_TILES: Responses = {200: {"content": {"application/vnd.pmtiles": {}}, "description": "The file; ranges are answered."}}
_OUTLINE: Responses = {200: {"content": {"application/geo+json": {}}, "description": "The file."}}


@router.get("/", response_class=Response, responses={**_HTML, **refusals(422)})
async def home(collector: Running, request: Request, language: NoticeLanguage | None = None) -> Response:
    """The only campaign's page, or the list of campaigns."""
    offers = await collector.offers()
    if len(offers) == 1:
        return await _participant(collector, offers[0].campaign.name, request, language)
    tongue = _tongue(language, "", request)
    return await _page(request, pages.home_page(await all_campaigns(collector), language=tongue, kept=_kept(language)))


@router.get("/operate", response_class=Response, responses={**_HTML, **refusals(422)})
async def operate(request: Request, language: NoticeLanguage | None = None) -> Response:
    """The operator's screens; they ask for the token, and this page knows nothing without it."""
    read_soon()  # it searches places by name, and so will who takes part in what is made here
    return await _page(request, pages.operate_page(ground_of(request), language=_tongue(language, "", request)))


@router.get("/campaigns/{campaign}/privacy-notice", response_class=Response, responses={**_HTML, **refusals(404, 422)})
async def privacy_notice(
    campaign: Name, collector: Running, request: Request, language: NoticeLanguage | None = None
) -> Response:
    """A privacy notice to complete and publish, filled in with what this campaign does."""
    found = await collector.fresh(campaign)
    view, head = views.campaign_view(*found), await log_head(collector, found[0])
    closed = await collector.store.closed_facts(found[0].id, latest=1)
    odds = closed[-1][1].map_odds if closed else None
    return await _page(request, pages.privacy_notice(view, language or view.language or "en", head.words, odds))


@router.get("/index.json", response_model=replies.CampaignsAnswer, responses=refusals())
async def home_twin(collector: Running) -> Response:
    """What the first page shows, as JSON."""
    return respond(replies.CampaignsAnswer(campaigns=await all_campaigns(collector)))


@router.get("/campaigns/{campaign}.json", response_model=replies.CampaignAnswer, responses=refusals(404, 422))
async def participant_twin(campaign: Name, collector: Running) -> Response:
    """What a campaign's page shows, as JSON."""
    return respond(replies.CampaignAnswer(campaign=views.campaign_view(*await collector.fresh(campaign))))


@router.get("/campaigns/{campaign}", response_class=Response, responses={**_HTML, **refusals(404, 422)})
async def participant(
    campaign: Name, collector: Running, request: Request, language: NoticeLanguage | None = None
) -> Response:
    """A campaign's page, in the language asked for, its own, or the browser's: what is sent, and what it reveals."""
    return await _participant(collector, campaign, request, language)


@router.get(
    "/campaigns/{campaign}/dashboard.json", response_model=replies.DashboardAnswer, responses=refusals(404, 422)
)
async def dashboard_twin(campaign: Name, collector: Running, request: Request) -> Response:
    """The dashboard's numbers as JSON: the campaign and its latest cycles; maps are pages of their own."""

    async def make() -> bytes:
        about, closed = await _numbers(collector, campaign)
        pages_of_map = views.map_pages(about.cells)
        answer = replies.DashboardAnswer(campaign=about, history=closed, map_pages=pages_of_map)
        return (await asyncio.to_thread(answer.model_dump_json)).encode("utf-8")

    key = ("dashboard.json", campaign)
    return await looks_of(request).answer(request, key, lambda: _stamp(collector, campaign), make)


@router.get(
    "/campaigns/{campaign}/maps/{number}/{page}.json", response_model=replies.MapAnswer, responses=refusals(404, 422)
)
async def map_page(
    campaign: Name, number: PathNumber, page: PageNumber, collector: Running, request: Request
) -> Response:
    """One page of a closed cycle's map: its own, the average, and the average's intervals."""
    found = await collector.campaign(campaign)

    async def stamp() -> str:
        return await collector.store.shown_stamp(found.id, number=number)

    async def make() -> bytes:
        closed = await collector.store.closed_cycle(found.id, number)
        if closed is None or page > views.map_pages(found.specification.cell_count):
            raise Refused(404, "That cycle is not closed (yet), or its map has fewer pages.")
        return replies.MapAnswer(map=views.map_view(closed[1], page)).model_dump_json().encode("utf-8")

    return await looks_of(request).answer(request, ("map", found.id, number, page), stamp, make)


@router.get("/campaigns/{campaign}/dashboard", response_class=Response, responses={**_HTML, **refusals(404, 422)})
async def dashboard(
    campaign: Name, collector: Running, request: Request, language: NoticeLanguage | None = None
) -> Response:
    """The campaign's map, its uncertainty, the rounds and the alarm, in the reader's language like its own page."""
    found = await collector.campaign(campaign)
    tongue, kept = _tongue(language, found.specification.language, request), _kept(language)

    async def make() -> bytes:
        about, closed = await _numbers(collector, campaign)
        latest = await collector.store.closed_cycle(found.id) if closed else None
        compared = await compared_rounds(collector, found, about, *_last_two(about, closed))

        def draw() -> bytes:
            shown = None if latest is None else views.estimated_view(found, *latest)
            ground = ground_of(request)
            drawn = pages.dashboard_page(
                about, closed, shown, language=tongue, kept=kept, ground=ground, compared=compared
            )
            return drawn.encode("utf-8")

        return await asyncio.to_thread(draw)

    key = ("dashboard", campaign, tongue, kept)
    kind, varies = "text/html; charset=utf-8", {"vary": "accept-encoding, accept-language"}
    looks = looks_of(request)
    return await looks.answer(request, key, lambda: _stamp(collector, campaign), make, media_type=kind, headers=varies)


@router.get("/campaigns/{campaign}/report", response_class=Response, responses={**_HTML, **refusals(404, 409, 422)})
async def report(
    campaign: Name,
    collector: Running,
    request: Request,
    language: NoticeLanguage | None = None,
    before: Rounds = "",
    after: Rounds = "",
) -> Response:
    """A report that prints to A4, in the campaign's language: map, districts, what changed, method and limits."""
    paper, tongue = await _paper(collector, campaign, request, language, before, after)
    drawn = await asyncio.to_thread(
        pages.paper_page, paper, language=tongue, kept=_kept(language), address=str(request.url.replace(query=""))
    )
    return await _page(request, drawn)


@router.get("/campaigns/{campaign}/map.svg", response_class=Response, responses={**_SVG, **refusals(404, 422)})
async def map_svg(
    campaign: Name, collector: Running, request: Request, language: NoticeLanguage | None = None
) -> Response:
    """The report's map as a picture of its own."""
    paper, tongue = await _paper(collector, campaign, request, language)
    drawn = await asyncio.to_thread(pages.map_file, paper, words(tongue))
    name = {"content-disposition": f'attachment; filename="{campaign}.svg"', "cache-control": "no-store"}
    return Response(drawn, media_type="image/svg+xml", headers=name)


@router.get("/campaigns/{campaign}/report.csv", response_class=Response, responses={**_CSV, **refusals(404, 422)})
async def report_csv(
    campaign: Name, collector: Running, request: Request, language: NoticeLanguage | None = None
) -> Response:
    """The report's table as spreadsheets of its language read it: semicolons and decimal commas where it has them."""
    paper, tongue = await _paper(collector, campaign, request, language)
    table = await asyncio.to_thread(pages.paper_table, paper, words(tongue))
    name = {"content-disposition": f'attachment; filename="{campaign}.csv"', "cache-control": "no-store"}
    return Response(table, media_type="text/csv; charset=utf-8", headers=name)


async def _paper(
    collector: Collector,
    name: str,
    request: Request,
    language: str | None,
    before: str = "",
    after: str = "",
) -> tuple[pages.Paper, str]:
    """What a report is made from, and its language."""
    found = await collector.campaign(name)
    about, closed = await _numbers(collector, name)
    latest = await collector.store.closed_cycle(found.id)
    if latest is None:
        raise Refused(404, "No round is closed yet: there is nothing to report.")
    sides = (numbers_of(before), numbers_of(after)) if before or after else _last_two(about, closed)
    compared, refused = None, ""
    try:
        compared = await compared_rounds(collector, found, about, *sides)
    except Refused as error:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        refused = error.error  # somebody typed these rounds: the page says why, and asks again
    tongue = _tongue(language, found.specification.language, request)
    return pages.Paper(about, closed, views.estimated_view(found, *latest), compared, refused), tongue


def _last_two(about: replies.CampaignView, closed: Sequence[replies.ClosedCycleView]) -> tuple[list[int], list[int]]:
    """The last round and the one before it, where there are districts to compare."""
    known = [one.cycle for one in closed if not one.excluded]
    return (known[-2:-1], known[-1:]) if about.districts and len(known) > 1 else ([], [])


@router.get(TILES, response_class=Response, responses={**_TILES, **refusals(404)})
async def tiles(request: Request) -> Response:
    """The operator's PMTiles file, where there is one; ask for ranges."""
    return _sent(ground_of(request).tiles_file, "application/vnd.pmtiles")


@router.get(OUTLINE, response_class=Response, responses={**_OUTLINE, **refusals(404)})
async def outline(request: Request) -> Response:
    """The city's outline as GeoJSON, where there is one."""
    return _sent(ground_of(request).outline_file, "application/geo+json")


def _sent(file: FilePath | None, media_type: str) -> Response:
    if file is None or not file.is_file():
        raise Refused(404, "This server has no such file.")
    return FileResponse(file, media_type=media_type, headers=_KEPT)


def missing(request: Request, status: int) -> Response | None:
    """A page for a person whose link leads nowhere; None for programs, which get the envelope."""
    program = request.url.path.startswith(("/api/", "/static/", "/tiles/")) or request.url.path.endswith(".json")
    if program or status not in (404, 410, 422) or "text/html" not in request.headers.get("accept", ""):
        return None
    return HTMLResponse(pages.missing_page(_tongue(None, "", request)), status_code=status)


async def _participant(collector: Collector, name: str, request: Request, language: str | None) -> Response:
    campaign, cycle = await collector.fresh(name)
    payload = cycle.payload if cycle.state == "open" else None
    tongue = _tongue(language, campaign.specification.language, request)
    view, ground = views.campaign_view(campaign, cycle), ground_of(request)
    head = (await log_head(collector, campaign)).words
    return await _page(
        request, pages.participant_page(view, payload, language=tongue, kept=_kept(language), ground=ground, head=head)
    )


def _tongue(asked: str | None, campaign: str, request: Request) -> str:
    return chosen_language(asked, campaign, request.headers.get("accept-language", ""))


def _kept(asked: str | None) -> str:
    """What the links of a page carry on when its language was chosen by the switch: nothing else remembers it."""
    return f"?language={asked}" if asked else ""


async def _numbers(
    collector: Collector, name: str
) -> tuple[replies.DashboardCampaignView, list[replies.ClosedCycleView]]:
    about = await _about(collector, name)
    campaign = await collector.campaign(name)
    closed = await collector.store.closed_facts(campaign.id, latest=SHOWN_CYCLES)
    return about, [views.closed_view(campaign, *pair) for pair in closed]


async def _about(collector: Collector, name: str) -> replies.DashboardCampaignView:
    return views.dashboard_view(*await collector.fresh(name), tile_url=collector.settings.text("tile_url") or None)


async def _stamp(collector: Collector, name: str) -> tuple[str, str]:
    """What changes when the dashboard does: the campaign as everybody sees it, and the latest estimate."""
    about = await _about(collector, name)
    return about.model_dump_json(), await collector.store.shown_stamp((await collector.campaign(name)).id)


async def _page(request: Request, html: str) -> Response:
    answer = HTMLResponse(html, headers={"cache-control": "no-store"})
    return await asyncio.to_thread(packed_for, request, answer)
