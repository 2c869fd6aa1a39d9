"""What commands print: one JSON object, or what went wrong, in words."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from sfumato.base.arrays import jsonable
from sfumato.base.errors import SfumatoError

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.accountant.compose import Guarantee

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def in_panel(panel: str) -> Callable[..., object]:
    """Options under one heading of the help: ``Annotated[int, in_panel("Cycles")("How many.", "--cycles")]``."""
    return lambda words, *names, **more: typer.Option(*names, help=words, rich_help_panel=panel, **more)


def print_json(value: object) -> None:
    """One JSON object on stdout, without NaN or Infinity (they become null)."""
    sys.stdout.write(json_module.dumps(jsonable(value), indent=2, allow_nan=False) + "\n")


def tell_progress(words: str) -> None:
    """One line of the terminal, written over ("" clears it); nothing where no one watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()


def table_console() -> Console:
    """For tables: as wide as the terminal, and wide enough for every digit where the output goes to a file or pipe."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=500)


def print_table(title: str, rows: Sequence[Mapping[str, object]], digits: int = 4) -> None:
    """Rows under the names of their fields; a field that is not there is a dash."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        shown = (f"{value:.{digits}g}" if isinstance(value, float) else value for value in row.values())
        table.add_row(*("-" if value is None else str(value) for value in shown))
    table_console().print(table)


def print_promise(guarantee: Guarantee, more: Mapping[str, object] | None = None) -> None:
    """What is promised, in numbers; ``more`` numbers stand below them."""
    typer.echo(f"Promise: {guarantee.notion}")
    for name, number in {**guarantee.parameters, **(more or {})}.items():
        if number is not None:
            typer.echo(f"  {name} {number:.6g}" if isinstance(number, float) else f"  {name} {number}")


@contextmanager
def spinner(words: str) -> Iterator[Callable[[str], None] | None]:
    """Turns on stderr while something long runs, on a terminal only; what it yields says how far it is."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(words) as status:
        yield lambda said: status.update(f"{words}: {said}")


def fail(error: SfumatoError, *, json: bool, code: int = 2) -> NoReturn:
    """Say what happened and what to change, on stderr (and as an object on stdout with --json), and exit."""
    if json:
        print_json({"ok": False, "error": error.what, "advice": error.advice, "kind": type(error).__name__})
    sys.stderr.write(f"Error: {error.what}\n")
    if error.advice:
        sys.stderr.write(f"       {error.advice}\n")
    raise SystemExit(code)
