"""The command ``estimate``: answers about many people, from protected releases and their certificates alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import typer

from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.things.areas import Areas
from sfumato.base.things.estimated_map import EstimatedMap, Weight
from sfumato.base.things.grid import Grid
from sfumato.base.units import bounds_deg, count_of, format_length, length_m
from sfumato.cli import command_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.answers.estimate_options import MapQuestion
from sfumato.cli.tracks.answers.estimate_reports import map_of_reports
from sfumato.cli.tracks.answers.estimate_ways import WAYS
from sfumato.tracks.answers.answer_files import check_ending, write_answer, write_picture
from sfumato.tracks.answers.flows.origin_destination import USUAL_STEPS as FLOWS_STEPS
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.flows.pair_shares import Flows
from sfumato.tracks.answers.maps.heatmap import USUAL_STEPS as HEATMAP_STEPS
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import receive_each

MEANING = "Corrected for noise whose law is on the certificate; nobody's own place is any less hidden."


@dataclass(frozen=True, slots=True)
class HeatmapQuestion(MapQuestion):
    """Where people are, from releases or from the reports of a collection."""

    channel: list[Path] = typer.Option(
        [], "--channel", help="For reports of a collection: the signed channel of each file, in the same order."
    )
    weight: str = typer.Option(
        "points", help="Count 'points', 'people' (all the same), or the 'time' points stand for."
    )


def heatmap(asked: HeatmapQuestion) -> None:
    """``lat, lon, share, low, high, low_alike, high_alike`` of areas of cells, 500 m wide if unsaid."""
    if asked.channel:
        found = map_of_reports(asked, asked.channel)
        _tell(found, asked, found.points, "report")
        return
    check_ending(asked.output)
    received = receive_each(asked.release, asked.certificate)
    with progress("Taking the blur out", HEATMAP_STEPS, quiet=asked.json) as step:
        found = estimate_heatmap(received, **_cells(asked, "500m"), weight=_weight(asked.weight), on_step=step)
    _tell(found, asked, found.points, "point")


def flows(asked: MapQuestion) -> None:
    """A trip is one segment of a track, from its first to its last point; cells are 1500 m wide if unsaid."""
    check_ending(asked.output)
    received = receive_each(asked.release, asked.certificate)
    with progress("Taking the blur out of both ends", FLOWS_STEPS, quiet=asked.json) as step:
        found = estimate_flows(received, **_cells(asked, "1500m"), on_step=step)
    _tell(found, asked, found.trips, "trip")


QUESTIONS: dict[str, tuple[str, Callable[..., None]]] = {
    "heatmap": (
        "Where people are: the share of each cell, with intervals over people.",
        command_of(HeatmapQuestion, heatmap),
    ),
    "flows": ("From where to where: shares of trips between cells, with intervals.", command_of(MapQuestion, flows)),
    **WAYS,
}


def register(app: typer.Typer) -> None:
    """Add ``estimate`` and its questions to the app."""
    questions = typer.Typer(
        help="Answer questions about many people from protected releases, with the blur of the noise taken out.",
        no_args_is_help=True,
    )
    for name, (said, ask) in QUESTIONS.items():
        questions.command(name, help=said)(ask)
    app.add_typer(questions, name="estimate")


def _tell(found: EstimatedMap | Flows, asked: MapQuestion, count: int, thing: str) -> None:
    things, whose = f"{thing}s", "1 person" if found.people == 1 else f"{found.people} people"
    if asked.output is not None:
        write_answer(found, asked.output)
    if asked.picture is not None:
        write_picture(found, asked.picture)
    apart = found.shares - found.naives if isinstance(found, Flows) else found.picture - found.counted
    moved = 0.5 * float(np.abs(apart).sum())
    written = {"output": asked.output and str(asked.output), "picture": asked.picture and str(asked.picture)}
    if asked.json:
        print_json({"ok": True, **found.to_dict(), "moved_from_naive": moved, **written})
        return
    steps = count_of(found.steps, "step")
    lines = [
        f"{count_of(count, thing)} of {whose}, {_words(found)}, worked out on cells of "
        f"{format_length(found.latent_m)} in {steps} ({found.steps_by}).",
        f"The correction moves {100 * moved:.1f} % of the map, compared with counting released {things}.",
        *([f"Intervals of {100 * found.confidence:g} % over people."] if _of_flows(found) else []),
        *found.notes,
        MEANING,
    ]
    lines += [f"Written: {path}" for path in written.values() if path]
    typer.echo("\n".join(lines))


def _of_flows(found: EstimatedMap | Flows) -> bool:
    return isinstance(found, Flows) and bool(np.isfinite(found.lows).any())


def _words(found: EstimatedMap | Flows) -> str:
    grid, asked = found.grid, found.cells if isinstance(found, Flows) else found.asked
    if isinstance(asked, Grid):
        return f"{grid.rows} x {grid.columns} cells of {format_length(grid.cell_height)}"
    return f"{asked.cells} {'areas' if isinstance(asked, Areas) else 'hexagons'}"


def _cells(asked: MapQuestion, otherwise: str) -> dict[str, Any]:
    named = asked.h3 is not None or asked.areas is not None
    return {
        "cell_m": length_m(asked.cell or otherwise) if asked.cell or not named else None,
        "h3": asked.h3,
        "areas": None if asked.areas is None else Areas.read(asked.areas),
        "bounds": bounds_deg(asked.bounds) if asked.bounds else None,
        "confidence": asked.confidence,
        "each_release_a_person": asked.each_file_a_person,
    }


def _weight(text: str) -> Weight:
    if text in get_args(Weight):
        return cast(Weight, text)
    raise InputError(f"There is no weight '{text}'.", f"Use {', '.join(get_args(Weight))}.")
