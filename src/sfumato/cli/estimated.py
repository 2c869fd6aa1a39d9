"""What ``estimate`` does and says: releases with their certificates in, an answer with its limits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer
from rich.console import Console

from sfumato.answers.flows import Flows, estimate_flows
from sfumato.answers.heatmap import EstimatedMap, Weight, estimate_heatmap
from sfumato.answers.received import Received, receive
from sfumato.answers.window import Bounds
from sfumato.answers.written import write_answer
from sfumato.cli.output import print_json
from sfumato.errors import InputError
from sfumato.units import format_length, length_m

MEANING = (
    "Corrected for noise whose law is on the certificate; nobody's own place is any less hidden. Intervals are over "
    "people: they say how far people like these may differ, not that cells finer than the noise can be told apart."
)


def answer_heatmap(
    releases: Sequence[Path],
    certificates: Sequence[Path],
    cell: str,
    weight: str,
    bounds: str | None,
    confidence: float,
    each: bool,
    output: Path | None,
    json: bool,
) -> None:
    """Where people are."""
    received = received_from(releases, certificates)
    with Console(stderr=True).status("Taking the blur out"):
        found = estimate_heatmap(
            received,
            cell_m=length_m(cell),
            bounds=bounds_of(bounds),
            weight=_weight(weight),
            confidence=confidence,
            each_release_a_person=each,
        )
    _told(found, output, json, f"{found.points} points of {found.people} people", found.outside, "points")


def answer_flows(
    releases: Sequence[Path],
    certificates: Sequence[Path],
    cell: str,
    bounds: str | None,
    confidence: float,
    each: bool,
    output: Path | None,
    json: bool,
) -> None:
    """From where to where."""
    received = received_from(releases, certificates)
    with Console(stderr=True).status("Taking the blur out of both ends"):
        found = estimate_flows(
            received,
            cell_m=length_m(cell),
            bounds=bounds_of(bounds),
            confidence=confidence,
            each_release_a_person=each,
        )
    _told(found, output, json, f"{found.trips} trips of {found.people} people", found.outside, "trips")


def _told(found: EstimatedMap | Flows, output: Path | None, json: bool, what: str, outside: int, things: str) -> None:
    if output is not None:
        write_answer(found, output)
    moved = 0.5 * float(np.abs(found.share - found.naive).sum())
    intervals = bool(np.isfinite(found.low).any())
    if json:
        print_json({"ok": True, **found.to_dict(), "moved_from_naive": moved, "output": output and str(output)})
        return
    grid = found.grid
    lines = [
        f"{what}, {grid.rows} x {grid.columns} cells of {format_length(grid.cell_height)}, worked out on cells of "
        f"{format_length(found.latent_m)} in {found.steps} steps ({found.steps_by}).",
        f"The correction moves {100 * moved:.1f} % of the map, compared with counting released {things}.",
        f"Intervals of {100 * found.confidence:g} % over people."
        if intervals
        else "No intervals: they are over people, and there are too few here.",
    ]
    if outside:
        lines.append(f"{outside} {things} lie outside the rectangle and were left out.")
    typer.echo("\n".join([*lines, MEANING]))
    if output is not None:
        typer.echo(f"Written: {output}")


def received_from(releases: Sequence[Path], certificates: Sequence[Path]) -> list[Received]:
    """Every release with its own certificate."""
    if len(releases) != len(certificates):
        raise InputError(
            f"{len(releases)} releases and {len(certificates)} certificates.",
            "Give --certificate once for each release, in the same order: without it the noise has no known law.",
        )
    return [receive(release, certificate) for release, certificate in zip(releases, certificates, strict=True)]


def _weight(text: str) -> Weight:
    if text == "points":
        return "points"
    if text == "time":
        return "time"
    raise InputError(f"There is no weight '{text}'.", "Use points, or time.")


def bounds_of(text: str | None) -> Bounds | None:
    if text is None:
        return None
    try:
        south, west, north, east = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError("--bounds is not four numbers.", "Give south,west,north,east in degrees.") from error
    return south, west, north, east
