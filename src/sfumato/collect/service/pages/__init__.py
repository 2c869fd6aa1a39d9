"""The pages people see, drawn by the server and complete without JavaScript; the bundle makes them livelier."""

from __future__ import annotations

from sfumato.collect.service.pages.dashboard import dashboard_page
from sfumato.collect.service.pages.home import home_page, missing_page, operate_page
from sfumato.collect.service.pages.map_picture import map_file
from sfumato.collect.service.pages.paper import Paper, paper_page, paper_table
from sfumato.collect.service.pages.participant import participant_page
from sfumato.collect.service.pages.privacy import privacy_notice

__all__ = ["Paper", "dashboard_page", "home_page", "map_file", "missing_page", "operate_page", "paper_page"]
__all__ += ["paper_table"]
__all__ += ["participant_page", "privacy_notice"]
