"""The command line in this process: exit code, stdout, stderr, as ``main`` would give them."""

from __future__ import annotations

import os
from pathlib import Path

from typer.testing import CliRunner

import sfumato.cli
from sfumato.base.errors import SfumatoError


def run(*words: object, folder: Path | None = None) -> tuple[int, str, str]:
    """``sfumato words...`` in ``folder``."""
    before = os.getcwd()
    os.chdir(folder or before)
    try:
        result = CliRunner().invoke(sfumato.cli.app, [str(word) for word in words])
    finally:
        os.chdir(before)
    if isinstance(result.exception, SfumatoError):
        return 2, result.stdout, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def refused(*words: object, says: str, folder: Path | None = None, code: int = 2) -> None:
    """The command fails with this code, and with these words: a mistyped option in a test would say others."""
    found, _, error = run(*words, folder=folder)
    assert (found, says in error) == (code, True), f"exit {found}: {error}"
