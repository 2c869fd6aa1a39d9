"""The command ``publish``: a table of everybody from raw data, with user-level differential privacy by OpenDP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import Staged, checked_target
from sfumato.base.things.areas import Areas
from sfumato.base.units import bounds_deg, length_m
from sfumato.cli import command_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import named_columns
from sfumato.tracks.aggregates.holder import LEAST, HeldLedger, publish
from sfumato.tracks.aggregates.public_table import Question
from sfumato.tracks.answers.answer_files import check_ending, write_answer, write_picture
from sfumato.tracks.certificates.document import certificate_beside, certificate_text
from sfumato.tracks.certificates.sign import signer_with

_read = partial(typer.Option, rich_help_panel="How the data is read")
_rows = partial(typer.Option, rich_help_panel="What the rows of the table are")
_proof = partial(typer.Option, rich_help_panel="Certificate and ledger")


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """What every table takes."""

    data: list[Path] = typer.Argument(..., metavar="DATA...", help="CSV or Parquet files, or folders of them.")
    epsilon: float = typer.Option(..., help="How much the table may tell of one person: 1 is usual, 0.1 cautious.")
    output: Path = typer.Option(
        ..., "--output", "-o", help="The table: .csv, .parquet, .json; with places .geojson, .geoparquet."
    )
    most: int | None = typer.Option(None, help="So many rows of one person count; else a tenth of epsilon chooses.")
    least: int = typer.Option(LEAST, help="Counts below this are not shown (more, where the noise is larger).")
    confidence: float = typer.Option(0.9, help="Confidence of the intervals, between 0 and 1.")
    picture: Path | None = typer.Option(None, help="Draw the table as a file ending in .svg.")
    seed: int | None = typer.Option(None, help="A simulation: noise that whoever knows the seed takes away.")
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")
    cell: str | None = _rows(None, help="Side of square cells (m, km); needs --bounds.")
    h3: int | None = _rows(None, "--h3", help="H3 hexagons of this resolution; needs --bounds.")
    areas: Path | None = _rows(None, help="Named areas: GeoJSON, zipped shapefile, GeoPackage.")
    bounds: str | None = _rows(None, help="south,west,north,east in degrees, chosen without looking at the data.")
    person_column: str | None = _read(None, help="Whose each row is; found by usual names (user_id, driver ...).")
    column: list[str] = _read([], help="role=name for lat, lon, time, geometry; repeat for more.")
    certificate: Path | None = _proof(None, help="Where the certificate goes (JSON); else beside the table.")
    sign: Path | None = _proof(None, help="Sign the certificate with this private key (sfumato keys make).")
    ledger: Path | None = _proof(None, help="Enter the table in this ledger first; refused if it would pass the cap.")
    cap: float | None = _proof(None, help="Start the ledger with this cap: the epsilon all tables may sum to.")
    dataset: str = _proof("everybody", help="The line of the ledger: whose tables add up.")


@dataclass(frozen=True, slots=True)
class HeatmapOptions(PublishOptions):
    """Where people are."""

    weight: str = typer.Option("people", help="Everybody counts as one ('people'), or every row ('points').")


@dataclass(frozen=True, slots=True)
class ColumnOptions(PublishOptions):
    """Tables whose rows may be texts of the data."""

    by: list[str] = _rows([], help="A column of places (stops, zones) instead of cells; for flows twice: from, to.")
    values: Path | None = _rows(None, help="All texts there may be in --by, one a line.")
    delta: float | None = _rows(None, help="Or hide texts of few people, but for this probability: 1e-6.")


@dataclass(frozen=True, slots=True)
class FlowsOptions(ColumnOptions):
    """Trips."""

    trip_column: str | None = _read(None, help="Which rows are one trip of a person; found by usual names (trip_id).")
    time_zone: str | None = _read(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC.")


def act_on(question: Question) -> Callable[[PublishOptions], None]:
    """The command of one question."""

    def act(asked: PublishOptions) -> None:
        _publish(question, asked)

    return act


_TABLES: dict[Question, tuple[str, type[PublishOptions]]] = {
    "heatmap": (
        "Where people are: how many in each cell, cells put together where they cannot be told.",
        HeatmapOptions,
    ),
    "flows": ("From where to where: how many trips, each from its first to its last point.", FlowsOptions),
    "counts": ("How many people were in each area, or at each stop.", ColumnOptions),
}


def register(app: typer.Typer) -> None:
    """Add ``publish`` and its tables to the app."""
    tables = typer.Typer(
        help="Publish a table of everybody from raw data, with differential privacy for each person (by OpenDP).",
        no_args_is_help=True,
    )
    for question, (said, kind) in _TABLES.items():
        tables.command(question, help=said)(command_of(kind, act_on(question)))
    app.add_typer(tables, name="publish")


def _publish(question: Question, asked: PublishOptions) -> None:
    check_ending(asked.output)
    certificate = asked.certificate or certificate_beside(asked.output)
    for target in (asked.output, certificate, *([asked.picture] if asked.picture else [])):
        checked_target(target)
    sign = None if asked.sign is None else signer_with(asked.sign)
    if asked.ledger is None and asked.cap is not None:
        raise InputError("A cap is a ledger's.", "Name the ledger with --ledger.")
    found = publish(
        asked.data,
        question,
        epsilon=asked.epsilon,
        person=asked.person_column,
        columns=named_columns(asked.column),
        cell_m=None if asked.cell is None else length_m(asked.cell),
        h3=asked.h3,
        areas=None if asked.areas is None else Areas.read(asked.areas),
        bounds=None if asked.bounds is None else bounds_deg(asked.bounds),
        most=asked.most,
        least=asked.least,
        confidence=asked.confidence,
        ledger=None if asked.ledger is None else HeldLedger(asked.ledger, asked.cap, asked.dataset),
        rng=asked.seed,
        **_more(asked),
    )
    with Staged() as staged:
        table = staged.add(asked.output, lambda path: write_answer(found, path))
        sealed = found.certificate(table, sign)
        staged.add_text(certificate, certificate_text(sealed))
        if asked.picture is not None:
            staged.add(asked.picture, lambda path: write_picture(found, path))
        staged.commit(last=certificate)
    written = {"output": str(asked.output), "certificate": str(certificate)}
    if asked.picture is not None:
        written["picture"] = str(asked.picture)
    if asked.json:
        print_json({"ok": True, **sealed, **written})
        return
    typer.echo("\n".join([*found.lines(), *(f"Written: {path}" for path in written.values())]))


class _More(TypedDict, total=False):
    weight: str
    by: Sequence[str]
    values: Sequence[str] | None
    delta: float | None
    trip: str | None
    zone: str | None


def _more(asked: PublishOptions) -> _More:
    """What one of the tables takes and the others do not."""
    if isinstance(asked, HeatmapOptions):
        return {"weight": asked.weight}
    assert isinstance(asked, ColumnOptions)
    values = None if asked.values is None else _lines(asked.values)
    more: _More = {"by": asked.by, "delta": asked.delta, "values": values}
    if isinstance(asked, FlowsOptions):
        return {**more, "trip": asked.trip_column, "zone": asked.time_zone}
    return more


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"Cannot read the values in {path}.", "Give a text file with one value a line.") from error
