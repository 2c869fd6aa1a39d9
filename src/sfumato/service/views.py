"""How campaigns, cycles and the log look to the outside: plain dictionaries, the same for routes, pages and exports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.arrays import jsonable
from sfumato.service.offers import grid_of
from sfumato.service.store import Campaign, Cycle, Estimate, Tally

_ROUNDED_TO = 10


def campaign_view(campaign: Campaign, cycle: Cycle) -> dict[str, Any]:
    """A campaign and its current cycle; counts of the open cycle are rounded down to tens."""
    asked = campaign.specification
    reports = cycle.tickets + cycle.relayed_reports
    return {
        "name": campaign.name,
        **asked,
        "cells": grid_of(asked).cells,
        "two_beta_per_km": 2000 * asked["beta_per_m"],
        "created_at_s": campaign.created_at_s,
        "cycle": {
            "number": cycle.number,
            "version": cycle.version,
            "state": cycle.state,
            "opened_at_s": cycle.opened_at_s,
            "due_at_s": cycle.due_at_s,
            "tickets": _rounded(cycle.tickets),
            "reports": _rounded(reports),
            "relayed_reports": _rounded(cycle.relayed_reports),
            "merged_periods": cycle.merged_periods,
            **cycle.facts,
        },
    }


def cycle_view(campaign: Campaign, cycle: Cycle, estimate: Estimate, *, arrays: bool) -> dict[str, Any]:
    """A closed cycle, with the estimate and its interval per cell if ``arrays``."""
    view = {
        "cycle": cycle.number,
        "version": cycle.version,
        "opened_at_s": cycle.opened_at_s,
        "closed_at_s": cycle.closed_at_s,
        "tickets": cycle.tickets,
        "reports": cycle.tickets + cycle.relayed_reports,
        "relayed_reports": cycle.relayed_reports,
        "merged_periods": cycle.merged_periods,
        "two_beta_per_km": 2000 * campaign.specification["beta_per_m"],
        **cycle.facts,
        **estimate.facts,
    }
    if arrays:
        view["estimate"] = estimate.probabilities.tolist()
        view["low"] = jsonable(estimate.low)
        view["high"] = jsonable(estimate.high)
    return view


def with_counts(view: dict[str, Any], cycle: Cycle, tally: Tally) -> dict[str, Any]:
    """A closed cycle's view with its reports per cell and its output weights."""
    counts = {"counts": tally.direct.tolist(), "relayed_counts": tally.relayed.tolist()}
    return {**view, **counts, "output_weights": json.loads(cycle.payload)["output_weights"]}


def channel_view(cycle: Cycle, public_key: str) -> dict[str, Any]:
    """The offered channel with its hash and signature."""
    return {
        "payload": cycle.payload,
        "version": cycle.version,
        "signature": cycle.signature,
        "public_key": public_key,
        "log_index": cycle.number - 1,
        "opened_at_s": cycle.opened_at_s,
        "due_at_s": cycle.due_at_s,
    }


def log_view(campaign: Campaign, rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The public log, oldest first."""
    return [
        {
            "index": row.position,
            "campaign": campaign.name,
            "cycle": row.cycle,
            "version": row.version,
            "previous": row.previous,
            "entry": row.entry,
            "signature": row.signature,
        }
        for row in rows
    ]


def summary(view: Mapping[str, Any]) -> dict[str, Any]:
    """A cycle's view without its arrays."""
    return {key: value for key, value in view.items() if not isinstance(value, list)}


def _rounded(count: int) -> int:
    return count - count % _ROUNDED_TO
