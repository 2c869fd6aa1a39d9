"""What ``reproduce`` does and says: verdicts on the claims of the papers and on ours."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sfumato.base.files import write_text
from sfumato.base.version import __version__
from sfumato.cli.output import print_json, table_console
from sfumato.papers import REPRODUCTIONS, Reproduction, reproduce
from sfumato.papers.claims import Claim, counted, surprises
from sfumato.papers.every import Done, all_claims, in_order, run_all
from sfumato.papers.page import page


def run(name: str, *, json: bool, quick: bool, output: Path | None, processes: int | None) -> None:
    """One reproduction, the list of them, or all."""
    if name == "list":
        _list(json)
        return
    if name == "all":
        _all(json=json, quick=quick, folder=output, processes=processes)
        return
    with _waiting(f"reproducing {name}"):
        result = reproduce(name, quick=quick)
    if output is not None:
        write_text(output, result.picture_svg)
    if json:
        print_json({**result.to_dict(), "quick": quick, "picture": str(output) if output else None})
    else:
        typer.echo(REPRODUCTIONS[name].heading)
        _print_result(result)
        if output is not None:
            typer.echo(f"Picture: {output}")
    if not result.as_expected:
        raise typer.Exit(1)


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
    written = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for one in done:
            if one.result.picture_svg:
                write_text(folder / f"{one.result.name}.svg", one.result.picture_svg)
        written = folder / "index.html"
        write_text(written, page(done, quick=quick, version=__version__))
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
        typer.echo(counted(claims))
        typer.echo(f"{len(wrong)} verdict(s) differ from those recorded." if wrong else "Every verdict is as recorded.")
        if written is not None:
            typer.echo(f"Page: {written}")
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


@contextlib.contextmanager
def _waiting(words: str) -> Iterator[None]:
    """A spinner on stderr while a long run works, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(words):
        yield


def _print_result(result: Reproduction) -> None:
    console = table_console()
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
