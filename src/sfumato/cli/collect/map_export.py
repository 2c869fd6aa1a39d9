"""``sfumato verify estimate.json``: recompute what an exported map says that it gives away."""

from __future__ import annotations

import json as json_module
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.things.grid import Grid
from sfumato.base.units import format_length
from sfumato.cli.output import print_json
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.map_odds import map_odds

_NEAR = 1e-6


def exported_map(path: Path) -> dict[str, Any] | None:
    """The cycle of a map exported as JSON (``campaign export -o estimate.json``); None for any other file."""
    try:
        found = json_module.loads(path.read_text(encoding="utf-8")) if path.suffix.lower() == ".json" else None
    except (OSError, ValueError):
        return None
    cycle = found.get("cycle") if isinstance(found, dict) else None
    return cycle if isinstance(cycle, dict) and {"output_weights", "estimate", "counts"} <= set(cycle) else None


def verify_map(cycle: dict[str, Any], *, json: bool) -> None:
    """Say whether the odds that the map states are those of its channel, its shares and its reports. Exit 1 if not."""
    stated = cycle.get("map_odds")
    if not isinstance(stated, dict):
        raise InputError("This map states no odds.", "Export it from a collector of version 0.3.0 or newer.")
    try:
        grid = Grid(**cycle["grid"])
        channel = GridChannel(grid, float(cycle["beta_per_m"]), cycle["output_weights"])
        people = sum(cycle["counts"]) + sum(cycle["relayed_counts"])
        found = asdict(map_odds(channel, cycle["estimate"], people, within_m=float(stated["distance_m"])))
        exponent = float(cycle["spent_epsilon_per_km"]) * found["distance_m"] / 1000
        found["together"] = max(found["local"], math.exp(min(700.0, exponent)))
        wrong = [name for name, value in found.items() if not _holds(float(stated[name]), value)]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("This map is not whole.", "Export it again.") from error
    if json:
        print_json({"ok": not wrong, "wrong": wrong, "stated": stated, "recomputed": found})
    elif not wrong:
        average, worst, local = (odds_words(found[name]) for name in ("average", "worst", "local"))
        apart = format_length(found["distance_m"])
        typer.echo(f"The map gives away what it says: two places {apart} apart at {average} on average over people and")
        typer.echo(f"{worst} for 99 in 100 of them, 99 times in 100; {local} to who knows where everybody else was.")
    else:
        typer.echo(f"Error: the map states another {' and '.join(wrong)} than its reports have.", err=True)
    if wrong:
        raise typer.Exit(1)


def _holds(stated: float, found: float) -> bool:
    """No less than what was recomputed, but for rounding; and no more, so that what is stated is said of this map."""
    return abs(stated - found) <= _NEAR * max(1.0, found)
