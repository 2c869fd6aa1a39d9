"""``sfumato reproduce``: the papers' figures, tables and statements, with a verdict on every claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``reproduce`` to the app."""
    app.command("reproduce")(reproduce_command)


def reproduce_command(
    name: Annotated[str, typer.Argument(help="Which one; 'list' prints their names, 'all' runs every one.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and rounds: seconds each, all in under 5 minutes.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the picture here (SVG); with 'all', a folder for one HTML page."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="With 'all': how many at a time. Default: one per core.")
    ] = None,
) -> None:
    """Regenerate a published figure, table or section and give a verdict on every claim, the paper's and ours apart.

    A claim holds, fails, or cannot be checked. What a paper is known to get wrong is printed as a failure of the paper
    and is expected; the command exits with 1 when a verdict differs from the one recorded here.
    """
    from sfumato.cli.reproduced import run

    run(name, json=json, quick=quick, output=output, processes=processes)
