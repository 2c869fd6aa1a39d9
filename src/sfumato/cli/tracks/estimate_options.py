"""What all questions of ``estimate`` share: their options, spelled once, and the releases they are asked of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sfumato.base.errors import InputError
from sfumato.tracks.answers.answer_files import check_ending
from sfumato.tracks.answers.flows.trips import count_pauses
from sfumato.tracks.answers.received import Received, receive
from sfumato.tracks.certificates.document import SEAL
from sfumato.tracks.certificates.verify import read_certificate

SEEDED = "A simulation: a release was drawn from a seed, so whoever knows it can take the noise out altogether."
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


def received_from(asked: Question) -> list[Received]:
    """Every release with its own certificate."""
    certificates: Sequence[Path] = asked.certificates or ()
    if len(asked.releases) != len(certificates):
        raise InputError(
            f"{count_people(len(asked.releases), 'releases')} and {count_people(len(certificates), 'certificates')}.",
            "Give --certificate once for each release, in the same order: without it the noise has no known law.",
        )
    seals = [read_certificate(one).get(SEAL) for one in certificates]
    if len(set(map(str, seals))) < len(seals):
        raise InputError("A release was given twice.", "Give each one once: its people would count twice.")
    if asked.output is not None:
        check_ending(asked.output)
    return [receive(release, one) for release, one in zip(asked.releases, certificates, strict=True)]


def seeded_said(asked: Question) -> list[str]:
    """A line where a release was drawn from a seed."""
    return [SEEDED] if any(read_certificate(one).get("simulation") for one in asked.certificates or ()) else []


def pauses_said(received: Sequence[Received]) -> list[str]:
    """A line where trips have long pauses in them: whoever gave no segments has whole weeks for trips."""
    counts = [count_pauses(trace) for one in received for _, trace in one.people]
    with_pauses, trips = (sum(one[part] for one in counts) for part in (0, 1))
    if not with_pauses:
        return []
    return [
        f"{with_pauses} of {trips} trips have a pause of more than an hour in them. A trip is one segment of a track; "
        "a table of people tells trips apart by a column called segment (protect --column segment=NAME)."
    ]


def count_people(count: int, what: str) -> str:
    return f"{count} {what}" if count != 1 else "1 person" if what == "people" else f"1 {what[:-1]}"
