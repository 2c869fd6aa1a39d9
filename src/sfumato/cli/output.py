"""What commands print: one JSON object, or what went wrong, in words."""

from __future__ import annotations

import json as json_module
import sys
from typing import NoReturn

from sfumato.arrays import jsonable
from sfumato.errors import SfumatoError


def print_json(value: object) -> None:
    """One JSON object on stdout, without NaN or Infinity (they become null)."""
    sys.stdout.write(json_module.dumps(jsonable(value), indent=2, allow_nan=False) + "\n")


def fail(error: SfumatoError, *, json: bool, code: int = 2) -> NoReturn:
    """Say what happened and what to change, on stderr (and as an object on stdout with --json), and exit."""
    if json:
        print_json({"ok": False, "error": error.what, "advice": error.advice, "kind": type(error).__name__})
    sys.stderr.write(f"Error: {error.what}\n")
    if error.advice:
        sys.stderr.write(f"       {error.advice}\n")
    raise SystemExit(code)
