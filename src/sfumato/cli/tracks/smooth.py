"""The command ``smooth``: a release to look at, made from a release and its certificate alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import typer

from sfumato.base.errors import InputError


def register(app: typer.Typer) -> None:
    """Add ``smooth`` to the app."""
    app.command("smooth", help="Make a release fit to look at: the likeliest track, with the same promise.")(smooth)


def smooth(
    release: Path = typer.Argument(..., help="The released file (a track, or a table of people)."),
    certificate: Path | None = typer.Option(None, "--certificate", "-c", help="The release's certificate (needed)."),
    output: Path = typer.Option(..., "--output", "-o", help="Where the smooth track goes, in any format written here."),
    new_certificate: Path | None = typer.Option(
        None, help="Where its own certificate goes; by default beside it, ending in .certificate.json."
    ),
    format: str | None = typer.Option(None, help="The output's format, where its ending does not tell."),
    live: bool = typer.Option(
        False,
        "--live",
        help="As somebody who watched saw it: each place from what was released by then, with the radius of the circle "
        "that holds the truth with 68 % (.csv, .parquet or .json; without a certificate of its own).",
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """The path most likely taken, given the release and the law of its noise; it needs and shows no original."""
    if certificate is None:
        raise InputError(
            "Without its certificate the noise of a release has no known law.", "Give it: --certificate c.json."
        )
    faces = import_module("sfumato.cli.tracks.smoothed")
    if live:
        faces.write_live(release, certificate, output, (new_certificate, format), json=json)
    else:
        faces.write_smooth(release, certificate, output, new_certificate, format, json=json)
