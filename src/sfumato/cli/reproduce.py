"""``sfumato reproduce``: the papers' figures, tables and statements, with a verdict on every claim."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.cli.output import AsJson, print_json, print_table, spinner, table_console
from sfumato.papers import REPRODUCTIONS, Reproduction, reproduce
from sfumato.papers.claims import Claim, count_verdicts, surprises
from sfumato.papers.every import Done, all_claims, in_order, page_of_all, run_all


def register(app: typer.Typer) -> None:
    """Add ``reproduce`` to the app."""
    app.command("reproduce")(reproduce_command)


def reproduce_command(
    name: Annotated[str, typer.Argument(help="Which one; 'list' prints their names, 'all' runs every one.")],
    json: AsJson = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and rounds: seconds each, all in under 3 minutes.")
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

    The word before a paper's claim is that of its row in the docs: holds, typo, true and empty, false as printed and
    corrected here, experiment differs. The command exits with 1 when something seen differs from what is recorded.
    """
    if name == "list":
        _list(json)
        return
    if name == "all":
        _all(json=json, quick=quick, folder=output, processes=processes)
        return
    with spinner(f"reproducing {name}"):
        result = reproduce(name, quick=quick)
    drawn, missing = _drawn(result) if output is not None else ("", "")
    if output is not None and drawn:
        write_text(output, drawn)
    if json:
        said = {"picture_needs": missing} if missing else {}
        print_json({**result.to_dict(), "quick": quick, "picture": str(output) if drawn else None, **said})
    else:
        typer.echo(REPRODUCTIONS[name].heading)
        _print_result(result)
        if output is not None:
            typer.echo(f"Picture: {output}" if drawn else f"No picture. {missing}")
    if not result.as_expected:
        raise typer.Exit(1)


def _drawn(result: Reproduction) -> tuple[str, str]:
    """The picture as SVG, or why there is none."""
    if result.picture is None:
        return "", "There is nothing to draw here."
    try:
        return result.picture.svg(), ""
    except InputError as error:
        return "", f"{error.what} {error.advice}"


def _list(json: bool) -> None:
    if json:
        print_json({"reproductions": {name: entry._asdict() for name, entry in REPRODUCTIONS.items()}})
        return
    heading = ""
    for name, entry in REPRODUCTIONS.items():
        if entry.heading != heading:
            heading = entry.heading
            typer.echo(heading)
        typer.echo(f"  {name:24s} {entry.words}")


def _all(*, json: bool, quick: bool, folder: Path | None, processes: int | None) -> None:
    finished: list[Done] = []
    with _progress(len(REPRODUCTIONS)) as advance:
        for one in run_all(quick=quick, workers=processes):
            finished.append(one)
            advance(one.result.name)
    done = in_order(finished)
    claims = all_claims(done)
    written, missing = None, ""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        drawn = {one.result.name: _drawn(one.result) for one in done}
        pictures = {name: svg for name, (svg, _) in drawn.items() if svg}
        missing = next((why for one in done if one.result.picture for _, why in [drawn[one.result.name]] if why), "")
        for name, svg in pictures.items():
            write_text(folder / f"{name}.svg", svg)
        written = folder / "index.html"
        write_text(written, page_of_all(done, pictures, quick=quick))
    wrong = surprises(claims)
    if json:
        print_json(
            {
                "reproductions": [{**one.result.to_dict(), "seconds": one.seconds} for one in done],
                "claims": [{"reproduction": o.result.name, **c.to_dict()} for o in done for c in o.result.claims],
                "as_expected": not wrong,
                "quick": quick,
                "page": str(written) if written else None,
            }
        )
    else:
        _print_claims([(one.result.name, claim) for one in done for claim in one.result.claims])
        typer.echo(count_verdicts(claims))
        typer.echo(f"{len(wrong)} verdict(s) differ from those recorded." if wrong else "Every verdict is as recorded.")
        if written is not None:
            typer.echo(f"Page: {written}" + (f" No pictures. {missing}" if missing else ""))
    if wrong:
        raise typer.Exit(1)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on stderr that names what has just finished, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reproducing", total=total)
        yield lambda name: bar.update(task, advance=1, description=f"{name} done")


def _print_result(result: Reproduction) -> None:
    console = table_console()
    console.print(f"[bold]{result.title}[/bold]")
    for title, rows in result.tables.items():
        if rows:
            print_table(title, rows, 5)
    for claim in result.claims:
        console.print(claim.line(), markup=False)
    for note in result.notes:
        console.print(f"note: {note}", markup=False)


def _print_claims(claims: Sequence[tuple[str, Claim]]) -> None:
    table = Table(title="Claims", title_justify="left")
    for column in ("reproduction", "verdict", "whose", "claim"):
        table.add_column(column)
    for name, claim in claims:
        verdict = claim.verdict if claim.as_expected else f"{claim.verdict} (recorded: {claim.recorded})"
        words = claim.line().split("] ", 1)[1]
        table.add_row(*(Text(part) for part in (name, verdict, claim.whose, words)))
    table_console().print(table)
