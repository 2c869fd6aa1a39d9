"""``sfumato verify map.json``: recompute what a collection's exported map says that it gives away."""

from __future__ import annotations

import json as json_module
import math
from dataclasses import asdict
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.things.grid import Grid
from sfumato.base.units import format_length
from sfumato.cli.output import print_json
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.map_odds import map_odds

_NEAR = 1e-6


def verify_map(path: Path, *, json: bool) -> bool:
    """Whether this is a map exported as JSON (``campaign export -o map.json``); False for any other file.

    Says whether the odds it states are those of its channel, its shares and its reports; exit 1 if not.
    """
    try:
        cycle = json_module.loads(path.read_text(encoding="utf-8"))["cycle"] if path.suffix.lower() == ".json" else {}
        if not {"output_weights", "estimate", "counts"} <= set(cycle):
            return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    stated = cycle.get("map_odds")
    if not isinstance(stated, dict):
        raise InputError("This map states no odds.", "Export it from a collector of version 0.3.0 or newer.")
    try:
        channel = GridChannel(Grid(**cycle["grid"]), float(cycle["beta_per_m"]), cycle["output_weights"])
        people = sum(cycle["counts"]) + sum(cycle["relayed_counts"])
        found = asdict(map_odds(channel, cycle["estimate"], people, within_m=float(stated["distance_m"])))
        exponent = float(cycle["spent_epsilon_per_km"]) * found["distance_m"] / 1000
        found["together"] = max(found["local"], math.exp(min(700.0, exponent)))
        # No less than what was recomputed, but for rounding; and no more, so that it is said of this very map.
        wrong = [name for name, odds in found.items() if not abs(float(stated[name]) - odds) <= _NEAR * max(1.0, odds)]
        wrong += sorted(set(stated) - set(found))  # what this command does not recompute is not said to be true
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("This map is not whole.", "Export it again.") from error
    if json:
        print_json({"ok": not wrong, "wrong": wrong, "stated": stated, "recomputed": found})
    elif wrong:
        typer.echo(f"Error: the map states another {' and '.join(wrong)} than its reports have.", err=True)
    else:
        average, worst, local = (odds_words(found[name]) for name in ("average", "worst", "local"))
        apart = format_length(found["distance_m"])
        typer.echo(f"The map gives away what it says: two places {apart} apart at {average} on average over people and")
        typer.echo(f"{worst} for 99 in 100 of them, 99 times in 100; {local} to who knows where everybody else was.")
    if wrong:
        raise typer.Exit(1)
    return True
