"""The command line: thin, complete help, one JSON object on request, a non-zero exit and advice on error."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, Signature
from typing import NoReturn, TypeVar, get_type_hints

# Before typer is loaded: in a narrow terminal its framed help cuts the names of options off.
if shutil.get_terminal_size().columns < 60:
    os.environ.setdefault("TYPER_USE_RICH", "0")

import typer

# Before NumPy is loaded: our matrix products are many and small, and the BLAS's threads only wait for one another.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from sfumato.base.errors import InputError, SfumatoError  # noqa: E402
from sfumato.base.version import __version__  # noqa: E402
from sfumato.cli.commands import LazyGroup  # noqa: E402

app = typer.Typer(
    name="sfumato",
    cls=LazyGroup,
    help="Use and share location data without giving anyone away.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


Options = TypeVar("Options")


def command_of(kind: type[Options], act: Callable[[Options], None]) -> Callable[..., None]:
    """The command that takes the fields of a dataclass as its options (their defaults are typer's) and acts on it."""

    def command(**options: object) -> None:
        act(kind(**options))

    hints, named = get_type_hints(kind), Parameter.POSITIONAL_OR_KEYWORD
    described = fields(kind)  # type: ignore[arg-type]  # a dataclass
    taken = [Parameter(f.name, named, default=f.default, annotation=hints[f.name]) for f in described]
    command.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    return command


def main() -> None:
    """Run the command line; an error on purpose becomes one message, its advice and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files and letters that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except SfumatoError as error:
        _fail(error)
    except PermissionError as error:
        what = f"Cannot use {error.filename or 'a file'}: {error.strerror}."
        _fail(InputError(what, "Check its permissions, and those of its folder."))


def _fail(error: SfumatoError) -> NoReturn:
    from sfumato.cli.output import fail

    fail(error, json="--json" in sys.argv)
