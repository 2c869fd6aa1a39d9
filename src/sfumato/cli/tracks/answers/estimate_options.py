"""What all questions of ``estimate`` share: their options, spelled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sfumato.tracks.answers.flows.trips import count_pauses
from sfumato.tracks.answers.received import Received

Releases = Annotated[
    list[Path], typer.Argument(help="One or more releases: files (tracks, tables of people) or folders of them.")
]
Certificates = Annotated[
    list[Path] | None,
    typer.Option("--certificate", "-c", help="The certificate of each release, in the same order."),
]
Channels = Annotated[
    list[Path] | None,
    typer.Option("--channel", help="For reports of a collection: the signed channel of each file, in the same order."),
]
Cell = Annotated[str | None, typer.Option(help="Side of a cell (m, km); its lines run along parallels and meridians.")]
Hexagons = Annotated[int | None, typer.Option("--h3", help="H3 hexagons of this resolution instead (8: 0.7 km²).")]
AreasFile = Annotated[Path | None, typer.Option("--areas", help="Named areas of a GeoJSON file instead.")]
BoundsText = Annotated[
    str | None, typer.Option("--bounds", help="south,west,north,east in degrees; by default where the release is.")
]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals over people, between 0 and 1.")]
EachAPerson = Annotated[bool, typer.Option("--each-file-a-person", help="Files without ids are of different people.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="A file ending in .csv, .parquet, .json, and for maps .geojson, .geoparquet."),
]
Picture = Annotated[Path | None, typer.Option(help="Draw the answer as a file ending in .svg.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True, slots=True)
class Question:
    """What every question is asked of, and where its answer goes."""

    releases: Sequence[Path]
    certificates: Sequence[Path] | None
    confidence: float
    each: bool
    output: Path | None
    json: bool
    picture: Path | None = None


@dataclass(frozen=True, slots=True)
class WhichCells:
    """Square cells, hexagons or areas, as they were typed."""

    cell: str | None
    h3: int | None
    areas: Path | None
    bounds: str | None


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
