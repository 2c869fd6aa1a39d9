"""The command ``estimate``: answers about many people, from protected releases and their certificates alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from sfumato.cli.tracks.estimate_options import (
    AreasFile,
    BoundsText,
    Cell,
    Certificates,
    Channels,
    Confidence,
    EachAPerson,
    Hexagons,
    Json,
    Output,
    Picture,
    Question,
    Releases,
    WhichCells,
)

FROM_PATHS = {
    "speeds": "How fast, from paths drawn given the release. Says when the answer is mostly the model: where the "
    "release tells less than half of the squared steps, or less than four fifths of the length.",
    "stays": "How many stays and how long (at least five minutes within 200 m of where it began), from paths drawn "
    "given the release. Says when the answer is mostly the model.",
}


def register(app: typer.Typer) -> None:
    """Add ``estimate`` and its questions to the app."""
    questions = typer.Typer(
        help="Answer questions about many people from protected releases, with the blur of the noise taken out.",
        no_args_is_help=True,
    )
    questions.command("heatmap", help="Where people are: the share of each cell, with intervals over people.")(heatmap)
    questions.command("flows", help="From where to where: shares of trips between cells, with intervals.")(flows)
    questions.command("distances", help="How far: squared displacement without bias, and lengths of trips.")(distances)
    for question, said in FROM_PATHS.items():
        questions.command(question, help=said)(asked_of_paths(question))
    app.add_typer(questions, name="estimate")


def heatmap(
    release: Releases,
    certificate: Certificates = None,
    channel: Channels = None,
    cell: Cell = None,
    h3: Hexagons = None,
    areas: AreasFile = None,
    weight: Annotated[str, typer.Option(help="Count 'points', or the 'time' that points stand for.")] = "points",
    bounds: BoundsText = None,
    confidence: Confidence = 0.9,
    each_file_a_person: EachAPerson = False,
    output: Output = None,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """``lat, lon, share, low, high`` for every cell, 500 m wide if unsaid."""
    from sfumato.cli.tracks.estimated import answer_heatmap

    asked = Question(release, certificate, confidence, each_file_a_person, output, json, picture)
    answer_heatmap(asked, WhichCells(cell, h3, areas, bounds), weight, channel)


def flows(
    release: Releases,
    certificate: Certificates = None,
    cell: Cell = None,
    h3: Hexagons = None,
    areas: AreasFile = None,
    bounds: BoundsText = None,
    confidence: Confidence = 0.9,
    each_file_a_person: EachAPerson = False,
    output: Output = None,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """A trip is one segment of a track, from its first to its last point; cells are 1500 m wide if unsaid."""
    from sfumato.cli.tracks.estimated import answer_flows

    asked = Question(release, certificate, confidence, each_file_a_person, output, json, picture)
    answer_flows(asked, WhichCells(cell, h3, areas, bounds))


def distances(
    release: Releases,
    certificate: Certificates = None,
    lags: Annotated[str, typer.Option(help="Times between two points whose distance is squared.")] = "1min,10min,1h",
    confidence: Confidence = 0.9,
    each_file_a_person: EachAPerson = False,
    output: Output = None,
    json: Json = False,
) -> None:
    """Squares have the noise taken out exactly; lengths are read off paths drawn given the release."""
    _moving("distances", Question(release, certificate, confidence, each_file_a_person, output, json), lags)


def asked_of_paths(question: str) -> Callable[..., None]:
    """The command of a question that is read off drawn paths alone."""

    def ask(
        release: Releases,
        certificate: Certificates = None,
        confidence: Confidence = 0.9,
        each_file_a_person: EachAPerson = False,
        output: Output = None,
        json: Json = False,
    ) -> None:
        _moving(question, Question(release, certificate, confidence, each_file_a_person, output, json))

    return ask


def _moving(question: str, asked: Question, lags: str = "") -> None:
    from sfumato.cli.tracks.moving import answer_moving

    answer_moving(question, asked, lags)
