"""What commands print: one JSON object, or tables and sentences for people; and files written whole or not at all."""

from __future__ import annotations

import json as json_module
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from sfumato.arrays import jsonable
from sfumato.errors import InputError, SfumatoError


def print_json(value: Any) -> None:
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


def write_whole(path: str | Path, write: Callable[[Path], None], *, mode: int = 0o644) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: nothing is ever half-written."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent or ".")
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.", "Choose a folder you can write to.") from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.", "Choose a folder you can write to.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return target
