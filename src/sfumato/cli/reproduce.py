"""``sfumato reproduce``: the papers' figures and tables, printed, drawn and checked against the papers' claims."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.files import write_text

if TYPE_CHECKING:
    from sfumato.reproductions import Reproduction


def register(app: typer.Typer) -> None:
    """Add ``reproduce`` to the app."""
    app.command("reproduce")(reproduce_command)


def reproduce_command(
    name: Annotated[str, typer.Argument(help="Which one; 'list' prints their names.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points per panel: seconds instead of minutes.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the picture here (SVG).")] = None,
) -> None:
    """Regenerate a published figure or table, say which of the paper's claims hold, and add our optimum to it.

    Exits with 1 when a claim does not hold.
    """
    from sfumato.reproductions import REPRODUCTIONS, reproduce

    if name == "list":
        listing = {key: text for key, (_, text) in REPRODUCTIONS.items()}
        print_json({"reproductions": listing}) if json else _print_listing(listing)
        return
    with _waiting(f"reproducing {name}"):
        result = reproduce(name, quick=quick)
    if output is not None:
        write_text(output, result.picture_svg)
    if json:
        print_json({**result.to_dict(), "quick": quick, "picture": str(output) if output else None})
    else:
        _print_result(result)
        if output is not None:
            typer.echo(f"Picture: {output}")
    if not all(result.claims.values()):
        raise typer.Exit(1)


@contextlib.contextmanager
def _waiting(words: str) -> Iterator[None]:
    """A spinner on stderr while a long run works, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


def _print_listing(listing: dict[str, str]) -> None:
    for key, text in listing.items():
        typer.echo(f"{key:24s} {text}")


def _print_result(result: Reproduction) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{result.title}[/bold]")
    for title, rows in result.tables.items():
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        for column in rows[0]:
            table.add_column(str(column), justify="right")
        for row in rows:
            table.add_row(*(f"{v:.5g}" if isinstance(v, float) else str(v) for v in row.values()))
        console.print(table)
    for claim, held in result.claims.items():
        console.print(f"{'holds' if held else 'FAILS'}: {claim}", markup=False)
    for note in result.notes:
        console.print(f"note: {note}", markup=False)
