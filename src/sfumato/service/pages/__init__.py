"""The pages people see, drawn by the server and complete without JavaScript; the bundle makes them livelier."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.service.models.shown import CampaignView
from sfumato.service.pages.dashboard import dashboard_page
from sfumato.service.pages.layout import page, text
from sfumato.service.pages.operate import operate_page
from sfumato.service.pages.participant import participant_page
from sfumato.service.pages.privacy import privacy_notice

__all__ = ["dashboard_page", "home_page", "operate_page", "participant_page", "privacy_notice"]


def home_page(campaigns: Sequence[CampaignView]) -> str:
    """The list of campaigns, or a word to the operator when there is none."""
    if not campaigns:
        body = """<h1>No campaign yet</h1><p>This collector is running. The operator creates a campaign
<a href="/operate">on the operator's screens</a>, or with <code>sfumato campaign create</code>.</p>"""
        return page("No campaign yet", body)
    items = "".join(
        f'<li class="card"><h2><a href="/campaigns/{text(one.name)}">{text(one.title)}</a></h2>'
        f"<p>{one.cells:,} cells, at most {one.two_beta_per_km:.3g} per km; cycle "
        f'{one.cycle.number}. <a href="/campaigns/{text(one.name)}/dashboard">Dashboard</a></p></li>'
        for one in campaigns
    )
    return page("Campaigns", f'<h1>Campaigns</h1><ul style="list-style:none;padding:0">{items}</ul>')
