"""The commands ``preview`` and ``utility``: promise against usefulness, before a release and after it. Private."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import typer

_ORIGINAL = "The original: a track, a table of people, or one person's archive (folders, files, .gz, .zip)."
_CELLS = typer.Option("500m,1km,2km", help="Sides of the cells of heat maps.")
_FLOW_CELLS = typer.Option("1500m,3km,6km", help="Sides of the cells of flows; a trip is one segment of a track.")
_BOUNDS = typer.Option(None, help="south,west,north,east of the maps in degrees; by default where the points are.")
_REPORT = typer.Option(None, help="Write a page with the table and a picture (HTML, 0600, private) here.")
_TIME_ZONE = typer.Option(None, help="Time zone of the original's times that name none.")
_COLUMN = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more.")
_ONE_PERSON = typer.Option(False, "--one-person", help="All rows of every table are one person's.")
_JSON = typer.Option(False, "--json", help="Print one JSON object and nothing else (private).")


def register(app: typer.Typer) -> None:
    """Add ``preview`` and ``utility`` to the app."""
    app.command("preview", help="Before a release: what each size of noise promises, and what it leaves.")(preview)
    app.command("utility", help="After a release: how far its answers are from the truth. Private.")(utility)


def preview(
    original: list[Path] = typer.Argument(..., metavar="ORIGINAL...", help=_ORIGINAL),
    noise: str = typer.Option("100m,200m,400m,800m", help="Sizes of the noise per coordinate to try (m, km)."),
    radius: str = typer.Option("200m", help="The radius of the promise (m, km, ft, mi)."),
    odds: float = typer.Option(5.0, help="The odds of the promise, 99 times in 100."),
    mechanism: str = typer.Option("multiscale", help="The mechanism, as for protect."),
    prior_class: str = typer.Option("day", "--class", help="Length scales covered: day, week or year."),
    wish: list[str] = typer.Option(
        [],
        help="What you want together, e.g. length=10%,radius=500m or heatmap@1km=10% or flows@3km=15%,odds=5; repeat "
        "for more. By default everything within 10 % at --radius and --odds.",
    ),
    cells: str = _CELLS,
    flow_cells: str = _FLOW_CELLS,
    bounds: str | None = _BOUNDS,
    report: Path | None = _REPORT,
    time_zone: str | None = _TIME_ZONE,
    column: list[str] = _COLUMN,
    one_person: bool = _ONE_PERSON,
    json: bool = _JSON,
) -> None:
    """Releases are simulated from fresh randomness and thrown away; nothing of a real release is touched.

    What is shown was computed from the original: keep it to yourself.
    """
    import_module("sfumato.cli.tracks.useful_shown").show_preview(
        original,
        noise,
        (radius, odds, mechanism, prior_class),
        wish,
        (cells, flow_cells, bounds),
        report,
        (time_zone, column, one_person),
        json=json,
    )


def utility(
    paths: list[Path] = typer.Argument(
        ..., metavar="ORIGINAL... RELEASE", help=_ORIGINAL + " Then the release made from it, or the shared folder."
    ),
    certificate: list[Path] = typer.Option(
        [],
        "--certificate",
        "-c",
        help="The release's certificate: without it no answer can be corrected. With several, the last files are as "
        "many releases, each with its own law.",
    ),
    cells: str = _CELLS,
    flow_cells: str = _FLOW_CELLS,
    bounds: str | None = _BOUNDS,
    report: Path | None = _REPORT,
    time_zone: str | None = _TIME_ZONE,
    column: list[str] = _COLUMN,
    one_person: bool = _ONE_PERSON,
    json: bool = _JSON,
) -> None:
    """Naive reads the release as if it were the truth; corrected is what a receiver gets with the certificate."""
    import_module("sfumato.cli.tracks.useful_shown").show_utility(
        paths, certificate, (cells, flow_cells, bounds), report, (time_zone, column, one_person), json=json
    )
