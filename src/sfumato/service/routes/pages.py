"""The pages and their JSON twins. No page's address ever depends on a location."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from sfumato.service import pages, views
from sfumato.service.answers import respond
from sfumato.service.collector import Collector
from sfumato.service.models.replies import CampaignAnswer, CampaignsAnswer, DashboardAnswer
from sfumato.service.models.shown import DashboardCampaignView, EstimatedCycleView
from sfumato.service.routes.common import Name, Responses, Running, refusals
from sfumato.service.routes.read import all_campaigns

router = APIRouter(tags=["pages"])
# Anybody may ask for the dashboard, with its arrays over all cells: without a limit a year of cycles is 50 MB per look.
_SHOWN_CYCLES = 60
_HTML: Responses = {200: {"content": {"text/html": {}}, "description": "A page."}}


@router.get("/", response_class=Response, responses={**_HTML, **refusals()})
async def home(collector: Running) -> Response:
    """The only campaign's page, or the list of campaigns."""
    offers = await collector.offers()
    if len(offers) == 1:
        return await _participant(collector, offers[0].campaign.name)
    return _page(pages.home_page(await all_campaigns(collector)))


@router.get("/index.json", response_model=CampaignsAnswer, responses=refusals())
async def home_twin(collector: Running) -> Response:
    """What the first page shows, as JSON."""
    return respond(CampaignsAnswer(campaigns=await all_campaigns(collector)))


@router.get("/campaigns/{campaign}.json", response_model=CampaignAnswer, responses=refusals(404, 422))
async def participant_twin(campaign: Name, collector: Running) -> Response:
    """What a campaign's page shows, as JSON."""
    return respond(CampaignAnswer(campaign=views.campaign_view(*await collector.fresh(campaign))))


@router.get("/campaigns/{campaign}", response_class=Response, responses={**_HTML, **refusals(404, 422)})
async def participant(campaign: Name, collector: Running) -> Response:
    """A campaign's page: what will be sent, and what it reveals."""
    return await _participant(collector, campaign)


@router.get("/campaigns/{campaign}/dashboard.json", response_model=DashboardAnswer, responses=refusals(404, 422))
async def dashboard_twin(campaign: Name, collector: Running) -> Response:
    """What the dashboard shows, as JSON."""
    about, closed = await _dashboard(collector, campaign)
    return respond(DashboardAnswer(campaign=about, history=closed))


@router.get("/campaigns/{campaign}/dashboard", response_class=Response, responses={**_HTML, **refusals(404, 422)})
async def dashboard(campaign: Name, collector: Running) -> Response:
    """The operator's dashboard: the map, its uncertainty, the cycles and the alarm."""
    return _page(pages.dashboard_page(*await _dashboard(collector, campaign)))


async def _participant(collector: Collector, name: str) -> Response:
    campaign, cycle = await collector.fresh(name)
    payload = cycle.payload if cycle.state == "open" else None
    return _page(pages.participant_page(views.campaign_view(campaign, cycle), payload))


async def _dashboard(collector: Collector, name: str) -> tuple[DashboardCampaignView, list[EstimatedCycleView]]:
    campaign, cycle = await collector.fresh(name)
    about = views.dashboard_view(campaign, cycle, tile_url=collector.settings.text("tile_url") or None)
    closed = await collector.store.closed_cycles(campaign.id, latest=_SHOWN_CYCLES)
    return about, [views.estimated_view(campaign, *pair) for pair in closed]


def _page(html: str) -> Response:
    return HTMLResponse(html, headers={"cache-control": "no-store"})
