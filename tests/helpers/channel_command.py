"""`sfumato channel` run in this process."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from sfumato.cli import main


def run(*arguments: object) -> str:
    """What a command that succeeds prints on stdout; in this process: starting Python takes longer than the work."""
    status, out, err = _ended(*arguments)
    assert status == 0, err
    return out


def refused(*arguments: object, says: str) -> dict[str, Any]:
    """The object of a command that is refused with exit code 2 and with these words; a usage error is no refusal."""
    status, out, err = _ended(*arguments, "--json")
    assert status == 2, err
    assert out, f"not refused by us, but by the option parser: {err}"
    found = json.loads(out)
    assert found["ok"] is False
    assert found["error"]
    assert says in f"{found['error']} {found['advice']}", found
    assert found["error"] in err
    return dict(found)


def answer(*arguments: object) -> dict[str, Any]:
    """The JSON object of a command that succeeds."""
    found = json.loads(run(*arguments, "--json"))
    assert isinstance(found, dict)
    return found


def _ended(*arguments: object) -> tuple[object, str, str]:
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
    return status, out.getvalue(), err.getvalue()
