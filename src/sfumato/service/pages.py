"""The pages (a plain beginning, replaced by the clients' and web part)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def home_page(campaigns: Sequence[Mapping[str, Any]]) -> str:
    """The list of campaigns."""
    items = "".join(f"<li>{escape(str(one['title']))}</li>" for one in campaigns)
    return f"<!doctype html><title>sfumato</title><ul>{items}</ul>"


def participant_page(campaign: Mapping[str, Any], channel: Mapping[str, Any]) -> str:
    """A campaign's page."""
    return f"<!doctype html><title>{escape(str(campaign['title']))}</title><h1>{escape(str(campaign['title']))}</h1>"


def dashboard_page(campaign: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """The dashboard."""
    return f"<!doctype html><title>{escape(str(campaign['title']))}</title><p>{len(history)} closed cycles</p>"
