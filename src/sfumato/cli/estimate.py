"""The command ``estimate``: answers about many people, from protected releases and their certificates alone."""

from __future__ import annotations

from pathlib import Path

import typer

_RELEASES = typer.Argument(..., help="One or more released files (tracks, or tables of people).")
_CERTIFICATES = typer.Option(..., "--certificate", "-c", help="The certificate of each release, in the same order.")
_CELL = typer.Option("500m", help="Side of a cell (m, km); its lines run along parallels and meridians.")
_BOUNDS = typer.Option(None, help="south,west,north,east in degrees; by default where the released points are.")
_CONFIDENCE = typer.Option(0.9, help="Confidence of the intervals over people, between 0 and 1.")
_EACH = typer.Option(False, "--each-file-a-person", help="Files without ids are of different people.")
_OUTPUT = typer.Option(None, "--output", "-o", help="A file ending in .csv, .parquet, .json or .geojson.")
_JSON = typer.Option(False, "--json", help="Print one JSON object and nothing else.")


def register(app: typer.Typer) -> None:
    """Add ``estimate`` and its questions to the app."""
    questions = typer.Typer(
        help="Answer questions about many people from protected releases, with the blur of the noise taken out.",
        no_args_is_help=True,
    )
    questions.command("heatmap", help="Where people are: the share of each cell, with intervals over people.")(heatmap)
    questions.command("flows", help="From where to where: shares of trips between cells, with intervals.")(flows)
    questions.command("distances", help="How far: squared displacement without bias, and lengths of trips.")(distances)
    questions.command("speeds", help="How fast, from paths drawn given the release.")(speeds)
    questions.command("stays", help="How many stays and how long, from paths drawn given the release.")(stays)
    app.add_typer(questions, name="estimate")


def heatmap(
    release: list[Path] = _RELEASES,
    certificate: list[Path] = _CERTIFICATES,
    cell: str = _CELL,
    weight: str = typer.Option("points", help="Count 'points', or the 'time' that points stand for."),
    bounds: str = _BOUNDS,
    confidence: float = _CONFIDENCE,
    each_file_a_person: bool = _EACH,
    output: Path = _OUTPUT,
    json: bool = _JSON,
) -> None:
    """The released points with their blur taken out; ``lat, lon, share, low, high`` for every cell."""
    from sfumato.cli.estimated import answer_heatmap

    answer_heatmap(release, certificate, cell, weight, bounds, confidence, each_file_a_person, output, json)


def flows(
    release: list[Path] = _RELEASES,
    certificate: list[Path] = _CERTIFICATES,
    cell: str = typer.Option("1500m", help="Side of a cell (m, km); its lines run along parallels and meridians."),
    bounds: str = _BOUNDS,
    confidence: float = _CONFIDENCE,
    each_file_a_person: bool = _EACH,
    output: Path = _OUTPUT,
    json: bool = _JSON,
) -> None:
    """A trip is one segment of a track, from its first to its last point."""
    from sfumato.cli.estimated import answer_flows

    answer_flows(release, certificate, cell, bounds, confidence, each_file_a_person, output, json)


def distances(
    release: list[Path] = _RELEASES,
    certificate: list[Path] = _CERTIFICATES,
    lags: str = typer.Option("1min,10min,1h", help="Times between two points whose distance is squared."),
    confidence: float = _CONFIDENCE,
    each_file_a_person: bool = _EACH,
    json: bool = _JSON,
) -> None:
    """Squares have the noise taken out exactly; lengths are read off paths drawn given the release."""
    _moving("distances", release, certificate, lags, confidence, each_file_a_person, json)


def speeds(
    release: list[Path] = _RELEASES,
    certificate: list[Path] = _CERTIFICATES,
    confidence: float = _CONFIDENCE,
    each_file_a_person: bool = _EACH,
    json: bool = _JSON,
) -> None:
    """Says when the answer is mostly the model: where the release tells less than half of the squared steps."""
    _moving("speeds", release, certificate, "", confidence, each_file_a_person, json)


def stays(
    release: list[Path] = _RELEASES,
    certificate: list[Path] = _CERTIFICATES,
    confidence: float = _CONFIDENCE,
    each_file_a_person: bool = _EACH,
    json: bool = _JSON,
) -> None:
    """A stay is at least five minutes within 200 m of where it began."""
    _moving("stays", release, certificate, "", confidence, each_file_a_person, json)


def _moving(
    question: str, release: list[Path], certificate: list[Path], lags: str, confidence: float, each: bool, json: bool
) -> None:
    from sfumato.cli.moving import answer_moving

    answer_moving(question, release, certificate, lags, confidence, each, json=json)
