"""A command that must fail, and must say why: an exit code alone would also pass for a mistyped option."""

from __future__ import annotations

from typer.testing import CliRunner

from sfumato.base.errors import SfumatoError
from sfumato.cli import app


def refused(*words: str, says: str) -> SfumatoError:
    """The error on purpose with which ``sfumato words`` ends, whose message holds ``says``."""
    assert says, "say what the message must hold"
    run = CliRunner().invoke(app, list(words))
    assert isinstance(run.exception, SfumatoError), f"not refused on purpose: {run.exception!r}\n{run.output}"
    assert says in run.exception.what, f"refused for another reason: {run.exception}"
    return run.exception
