"""What ``estimate`` does and says: releases with their certificates in, an answer with its limits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.things.estimated_map import EstimatedMap, Weight
from sfumato.base.things.grid import Grid
from sfumato.base.units import bounds_deg, count_of, format_length, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.estimate_options import Question, WhichCells
from sfumato.cli.tracks.estimated_reports import map_of_reports
from sfumato.tracks.answers.flows.flows import USUAL_STEPS as FLOWS_STEPS
from sfumato.tracks.answers.flows.flows import Flows, estimate_flows
from sfumato.tracks.answers.flows.trips import paused
from sfumato.tracks.answers.maps.areas import Areas
from sfumato.tracks.answers.maps.heatmap import BY_PEOPLE, estimate_heatmap
from sfumato.tracks.answers.maps.heatmap import USUAL_STEPS as HEATMAP_STEPS
from sfumato.tracks.answers.maps.picture import write_picture
from sfumato.tracks.answers.maps.window import Bounds
from sfumato.tracks.answers.received import Received, receive
from sfumato.tracks.answers.written import check_ending, write_answer
from sfumato.tracks.certificates.document import SEAL
from sfumato.tracks.certificates.verify import read_certificate

SEEDED = "A simulation: a release was drawn from a seed, so whoever knows it can take the noise out altogether."
SMOOTHER_THAN_COUNTING = 2  # steps
MOSTLY_ONE = 0.3  # of the points
MEANING = (
    "Corrected for noise whose law is on the certificate; nobody's own place is any less hidden. Intervals are for the "
    "shares of people like these over the released period; they do not say that cells finer than the noise can be told "
    "apart, nor on which side of a line between cells a street along it lies."
)


def answer_heatmap(asked: Question, cells: WhichCells, weight: str, channels: Sequence[Path] | None = None) -> None:
    """Where people are."""
    if channels:
        found = map_of_reports(asked, cells, channels)
        _told(found, asked, f"{_many(found.points, 'reports')} of {_many(found.people, 'people')}", 0, "reports")
        return
    received = received_from(asked)
    with progress("Taking the blur out", HEATMAP_STEPS, quiet=asked.json) as step:
        found = estimate_heatmap(
            received,
            **_cells(cells, "500m"),
            weight=_weight(weight),
            confidence=asked.confidence,
            each_release_a_person=asked.each,
            on_step=step,
        )
    what = f"{_many(found.points, 'points')} of {_many(found.people, 'people')}"
    _told(found, asked, what, found.outside, "points", seeded_said(asked))


def answer_flows(asked: Question, cells: WhichCells) -> None:
    """From where to where."""
    received = received_from(asked)
    with progress("Taking the blur out of both ends", FLOWS_STEPS, quiet=asked.json) as step:
        found = estimate_flows(
            received,
            **_cells(cells, "1500m"),
            confidence=asked.confidence,
            each_release_a_person=asked.each,
            on_step=step,
        )
    what = f"{_many(found.trips, 'trips')} of {_many(found.people, 'people')}"
    _told(found, asked, what, found.outside, "trips", [*pauses_said(received), *seeded_said(asked)])


def seeded_said(asked: Question) -> list[str]:
    """A line where a release was drawn from a seed."""
    return [SEEDED] if any(read_certificate(one).get("simulation") for one in asked.certificates or ()) else []


def pauses_said(received: Sequence[Received]) -> list[str]:
    """A line where trips have long pauses in them: whoever gave no segments has whole weeks for trips."""
    counts = [paused(trace) for one in received for _, trace in one.people]
    with_pauses, trips = (sum(one[part] for one in counts) for part in (0, 1))
    if not with_pauses:
        return []
    return [
        f"{with_pauses} of {trips} trips have a pause of more than an hour in them. A trip is one segment of a track; "
        "a table of people tells trips apart by a column called segment (protect --column segment=NAME)."
    ]


def _told(
    found: EstimatedMap | Flows, asked: Question, what: str, outside: int, things: str, notes: Sequence[str] = ()
) -> None:
    if asked.output is not None:
        write_answer(found, asked.output)
    if asked.picture is not None:
        write_picture(found, asked.picture)
    moved = 0.5 * float(np.abs(found.share - found.naive).sum())
    written = {"output": asked.output and str(asked.output), "picture": asked.picture and str(asked.picture)}
    if asked.json:
        print_json({"ok": True, **found.to_dict(), "moved_from_naive": moved, **written})
        return
    steps = count_of(found.steps, "step")
    lines = [
        f"{what}, {_words(found)}, worked out on cells of {format_length(found.latent_m)} in {steps} "
        f"({found.steps_by}).",
        f"The correction moves {100 * moved:.1f} % of the map, compared with counting released {things}.",
        f"Intervals of {100 * found.confidence:g} % over people."
        if np.isfinite(found.low).any()
        else "No intervals: they are over people, and there are too few here.",
    ]
    if isinstance(found, EstimatedMap) and found.steps_by == BY_PEOPLE and found.steps <= SMOOTHER_THAN_COUNTING:
        lines.append(
            "People left out look so unlike the others that the map is smoother than counting: it is one of people "
            "like these; counting may come nearer to these."
        )
    if found.people > 1 and found.largest_person > MOSTLY_ONE:
        lines.append(
            f"One person has {100 * found.largest_person:.0f} % of the {things}: the map is mostly of that person."
        )
    if outside:
        lines.append(f"{outside} {things} lie outside the rectangle and were left out.")
    lines += [*notes, MEANING]
    lines += [f"Written: {path}" for path in written.values() if path]
    typer.echo("\n".join(lines))


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count != 1 else "1 person" if what == "people" else f"1 {what[:-1]}"


def _words(found: EstimatedMap | Flows) -> str:
    grid = found.grid
    if isinstance(found.cells, Grid):
        return f"{grid.rows} x {grid.columns} cells of {format_length(grid.cell_height)}"
    return f"{found.cells.cells} {'areas' if isinstance(found.cells, Areas) else 'hexagons'}"


def received_from(asked: Question) -> list[Received]:
    """Every release with its own certificate."""
    certificates: Sequence[Path] = asked.certificates or ()
    if len(asked.releases) != len(certificates):
        raise InputError(
            f"{_many(len(asked.releases), 'releases')} and {_many(len(certificates), 'certificates')}.",
            "Give --certificate once for each release, in the same order: without it the noise has no known law.",
        )
    seals = [read_certificate(one).get(SEAL) for one in certificates]
    if len(set(map(str, seals))) < len(seals):
        raise InputError("A release was given twice.", "Give each one once: its people would count twice.")
    if asked.output is not None:
        check_ending(asked.output)
    return [receive(release, one) for release, one in zip(asked.releases, certificates, strict=True)]


def _cells(asked: WhichCells, otherwise: str) -> dict[str, Any]:
    named = asked.h3 is not None or asked.areas is not None
    return {
        "cell_m": length_m(asked.cell or otherwise) if asked.cell or not named else None,
        "h3": asked.h3,
        "areas": None if asked.areas is None else Areas.read(asked.areas),
        "bounds": bounds_of(asked.bounds),
    }


def _weight(text: str) -> Weight:
    if text == "points":
        return "points"
    if text == "time":
        return "time"
    raise InputError(f"There is no weight '{text}'.", "Use points, or time.")


def bounds_of(text: str | None) -> Bounds | None:
    """The rectangle of ``--bounds``."""
    if text is None:
        return None
    return bounds_deg(text)
