"""What all questions of ``estimate`` share: their options, spelled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from sfumato.tracks.answers.flows.trips import count_pauses
from sfumato.tracks.answers.received import Received


@dataclass(frozen=True, slots=True)
class Question:
    """What every question is asked of, and where its answer goes."""

    release: list[Path] = typer.Argument(
        ..., help="One or more releases: files (tracks, tables of people) or folders of them."
    )
    certificate: list[Path] = typer.Option(
        [], "--certificate", "-c", help="The certificate of each release, in the same order, if not beside it."
    )
    confidence: float = typer.Option(0.9, help="Confidence of the intervals over people, between 0 and 1.")
    each_file_a_person: bool = typer.Option(
        False, "--each-file-a-person", help="Files without ids are of different people."
    )
    output: Path | None = typer.Option(
        None, "--output", "-o", help="A file ending in .csv, .parquet, .json, and for maps .geojson, .geoparquet."
    )
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")


@dataclass(frozen=True, slots=True)
class MapQuestion(Question):
    """A question about cells: square ones, hexagons or areas."""

    cell: str | None = typer.Option(None, help="Side of a cell (m, km); its lines run along parallels and meridians.")
    h3: int | None = typer.Option(None, "--h3", help="H3 hexagons of this resolution instead (8: 0.7 km²).")
    areas: Path | None = typer.Option(None, "--areas", help="Named areas of a GeoJSON file instead.")
    bounds: str | None = typer.Option(
        None, "--bounds", help="south,west,north,east in degrees; by default where the release is."
    )
    picture: Path | None = typer.Option(None, help="Draw the answer as a file ending in .svg.")


def pause_words(received: Sequence[Received]) -> list[str]:
    """A line where trips have long pauses in them: whoever gave no segments has whole weeks for trips."""
    counts = [count_pauses(trace) for one in received for _, trace in one.people]
    with_pauses, trips = (sum(one[part] for one in counts) for part in (0, 1))
    if not with_pauses:
        return []
    return [
        f"{with_pauses} of {trips} trips have a pause of more than an hour in them. A trip is one segment of a track; "
        "a table of people tells trips apart by a column called segment (protect --column segment=NAME)."
    ]
