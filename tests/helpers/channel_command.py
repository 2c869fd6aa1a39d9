"""`sfumato channel` run in this process."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from sfumato.cli import main


def run(*arguments: object, code: int = 0) -> str:
    """What the command prints on stdout; run in this process, because starting Python takes longer than the work."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["sfumato", "channel", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        status: object = 0
    except SystemExit as stop:
        status = stop.code or 0
    finally:
        sys.argv = argv
    assert status == code, err.getvalue()
    return out.getvalue()


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    found = json.loads(run(*arguments, "--json", code=code))
    assert isinstance(found, dict)
    return found
